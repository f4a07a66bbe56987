#include "cycloid/system/any_law.h"
#include "cycloid/system/catalogue.h"
#include "cycloid/system/dopri5.h"
#include "cycloid/system/implicit_midpoint.h"
#include "cycloid/system/law_steppers.h"
#include "cycloid/system/laws/double_pendulum.h"
#include "cycloid/system/laws/kepler.h"
#include "cycloid/system/laws/lorenz.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/projectile.h"
#include "cycloid/system/laws/spring_chain.h"
#include "cycloid/system/sdirk4.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

template <class S>
using Made = std::shared_ptr<const Stepper<Scalar<S>>>;

// One integrator in one scalar, compiled once for all laws.
template <class S>
Made<S> stepper(const AnyLaw<S>& law, const CatalogueKey& key) {
  if (key.integrator == ImplicitMidpoint::kName) {
    return std::make_shared<LawStepper<AnyLaw<S>, ImplicitMidpoint, S>>(law);
  }
  if (key.integrator == Dopri5::kName) {
    return std::make_shared<LawStepper<AnyLaw<S>, Dopri5, S>>(law, Dopri5{key.tolerances});
  }
  if (key.integrator == Sdirk4::kName) {
    return std::make_shared<LawStepper<AnyLaw<S>, Sdirk4, S>>(law, Sdirk4{key.tolerances});
  }
  return nullptr;
}

template <class Law>
void fill(const Law& law, const CatalogueKey& key, CatalogueEntry& entry) {
  if (key.law != Law::kName) return;
  using Doubles = Pack<double, kLawLanes<double>>;
  using Floats = Pack<float, kLawLanes<float>>;
  entry.float64.one = stepper(AnyLaw<double>(law), key);
  entry.float64.packed = stepper(AnyLaw<Doubles>(law), key);
  if (key.precision != Precision::float32) return;
  entry.float32.one = stepper(AnyLaw<float>(law), key);
  entry.float32.packed = stepper(AnyLaw<Floats>(law), key);
}

}  // namespace

CatalogueEntry adaptive_steppers(const CatalogueKey& key) {
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
