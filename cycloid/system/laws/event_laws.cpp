#include "cycloid/system/laws/event_laws.h"

#include "cycloid/system/integrator/dopri5.h"
#include "cycloid/system/integrator/euler.h"
#include "cycloid/system/integrator/implicit_midpoint.h"
#include "cycloid/system/integrator/sdirk4.h"
#include "cycloid/system/integrator/semi_implicit.h"
#include "cycloid/system/integrator/verlet.h"
#include "cycloid/system/law/law_steppers.h"
#include "cycloid/system/laws/catalogue.h"

namespace cycloid::inline system {
namespace {

template <class Scheme, class Law>
void fill_scalar(const Law& law, const CatalogueKey& key, CatalogueEntry& entry) {
  if (key.integrator != Scheme::kName) return;
  const Scheme scheme = make_scheme<Scheme>(key.tolerances);
  entry.float64.one = std::make_shared<LawStepper<Law, Scheme, double>>(law, scheme);
  entry.float64.packed = entry.float64.one;
  if (key.precision != Precision::float32) return;
  entry.float32.one = std::make_shared<LawStepper<Law, Scheme, float>>(law, scheme);
  entry.float32.packed = entry.float32.one;
}

}  // namespace

CatalogueEntry scalar_event_law_steppers(const CatalogueKey& key) {
  CatalogueEntry entry;
  for_event_law(key.law, key.n, [&]<class Law>(const Law& law) {
    fill_scalar<Euler>(law, key, entry);
    fill_scalar<ImplicitMidpoint>(law, key, entry);
    fill_scalar<Dopri5>(law, key, entry);
    fill_scalar<Sdirk4>(law, key, entry);
    if constexpr (SecondOrder<Law>) {
      fill_scalar<SemiImplicitEuler>(law, key, entry);
      fill_scalar<VelocityVerlet>(law, key, entry);
    }
  });
  return entry;
}

}  // namespace cycloid::inline system
