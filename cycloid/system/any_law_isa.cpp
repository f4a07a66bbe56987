// Every integrator but rk4, each compiled once for all laws.
#include "cycloid/system/any_law.h"
#include "cycloid/system/catalogue.h"
#include "cycloid/system/dopri5.h"
#include "cycloid/system/euler.h"
#include "cycloid/system/implicit_midpoint.h"
#include "cycloid/system/law_steppers.h"
#include "cycloid/system/laws/double_pendulum.h"
#include "cycloid/system/laws/kepler.h"
#include "cycloid/system/laws/lorenz.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/projectile.h"
#include "cycloid/system/laws/spring_chain.h"
#include "cycloid/system/sdirk4.h"
#include "cycloid/system/semi_implicit.h"
#include "cycloid/system/verlet.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

template <class S>
using Made = std::shared_ptr<const Stepper<Scalar<S>>>;

// Fills `out` where the key is for this integrator.
template <class Scheme, class S>
void try_scheme(const AnyLaw<S>& law, const CatalogueKey& key, Made<S>& out) {
  if (key.integrator != Scheme::kName) return;
  out =
      std::make_shared<LawStepper<AnyLaw<S>, Scheme, S>>(law, make_scheme<Scheme>(key.tolerances));
}

template <class S, class Law>
Made<S> stepper(const Law& law, const CatalogueKey& key) {
  const AnyLaw<S> any(law);
  Made<S> out;
  try_scheme<Euler>(any, key, out);
  try_scheme<ImplicitMidpoint>(any, key, out);
  try_scheme<Dopri5>(any, key, out);
  try_scheme<Sdirk4>(any, key, out);
  if constexpr (SecondOrder<Law>) {
    try_scheme<SemiImplicitEuler>(any, key, out);
    try_scheme<VelocityVerlet>(any, key, out);
  }
  return out;
}

template <class Law>
void fill(const Law& law, const CatalogueKey& key, CatalogueEntry& entry) {
  if (key.law != Law::kName) return;
  using Doubles = Pack<double, kLawLanes<double>>;
  using Floats = Pack<float, kLawLanes<float>>;
  entry.float64.one = stepper<double>(law, key);
  entry.float64.packed = stepper<Doubles>(law, key);
  entry.float64.dual = stepper<Dual<Doubles, 1>>(law, key);
  if (key.precision != Precision::float32) return;
  entry.float32.one = stepper<float>(law, key);
  entry.float32.packed = stepper<Floats>(law, key);
}

}  // namespace

CatalogueEntry any_law_steppers(const CatalogueKey& key) {
  CatalogueEntry entry;
  fill(Pendulum{}, key, entry);
  fill(DoublePendulum{}, key, entry);
  fill(Projectile{}, key, entry);
  fill(SpringChain{key.n}, key, entry);
  fill(Kepler{}, key, entry);
  fill(Lorenz{}, key, entry);
  return entry;
}

}  // namespace cycloid::isa::CYCLOID_ISA
