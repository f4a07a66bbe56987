// Laws with a term: every integrator compiled once for all laws, as in any_law_isa.cpp.
#include "cycloid/system/dopri5.h"
#include "cycloid/system/euler.h"
#include "cycloid/system/implicit_midpoint.h"
#include "cycloid/system/law_steppers.h"
#include "cycloid/system/laws/bare_motion.h"
#include "cycloid/system/laws/double_pendulum.h"
#include "cycloid/system/laws/kepler.h"
#include "cycloid/system/laws/lorenz.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/projectile.h"
#include "cycloid/system/laws/spring_chain.h"
#include "cycloid/system/partitioned.h"
#include "cycloid/system/rk4.h"
#include "cycloid/system/sdirk4.h"
#include "cycloid/system/semi_implicit.h"
#include "cycloid/system/term_law.h"
#include "cycloid/system/verlet.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

template <class S>
using Made = std::shared_ptr<const Stepper<Scalar<S>>>;

template <class S>
inline constexpr bool kIsDual = false;
template <class S>
inline constexpr bool kIsDual<Dual<S, 1>> = true;

template <class Scheme, class S>
void try_scheme(const TermLaw<S>& law, const TermKey& key, Made<S>& out) {
  if (key.integrator != Scheme::kName) return;
  out = std::make_shared<LawStepper<TermLaw<S>, Scheme, S>>(
      law, make_scheme<Scheme>(Tolerances{key.rtol, key.atol}));
}

template <class S, class Law>
Made<S> stepper(const Law& law, const TermKey& key) {
  const auto term = key.term->in_lanes<Scalar<S>>(TermLaw<S>::W, kIsDual<S>);
  Made<S> out;
  if (!term) return out;
  const TermLaw<S> with(law, term, key.place);
  try_scheme<Rk4>(with, key, out);
  try_scheme<Euler>(with, key, out);
  try_scheme<ImplicitMidpoint>(with, key, out);
  try_scheme<Dopri5>(with, key, out);
  try_scheme<Sdirk4>(with, key, out);
  if constexpr (std::is_same_v<Law, AtRest>) {
    if (key.halves) {
      try_scheme<PartitionedEuler>(with, key, out);
      try_scheme<PartitionedVerlet>(with, key, out);
    }
  }
  if constexpr (SecondOrder<Law>) {  // they take the first half of x_dot for the velocities
    if (key.place != TermPlace::rate) {
      try_scheme<SemiImplicitEuler>(with, key, out);
      try_scheme<VelocityVerlet>(with, key, out);
    }
  }
  if (!out) return out;
  return std::make_shared<TermStepper<S>>(out, term, with.outputs(), key.term->arrays());
}

template <class Law>
void fill(const Law& law, const TermKey& key, TermEntry& entry) {
  if (key.law != Law::kName) return;
  entry.float64.one = stepper<double>(law, key);
  entry.float64.packed = stepper<Pack<double, kLawLanes<double>>>(law, key);
  entry.float64.dual = stepper<Dual<Pack<double, kLawLanes<double>>, 1>>(law, key);
  if (key.precision != Precision::float32) return;
  entry.float32.one = stepper<float>(law, key);
  entry.float32.packed = stepper<Pack<float, kLawLanes<float>>>(law, key);
}

}  // namespace

TermEntry term_law_steppers(const TermKey& key) {
  TermEntry entry;
  fill(Pendulum{}, key, entry);
  fill(DoublePendulum{}, key, entry);
  fill(Projectile{}, key, entry);
  fill(SpringChain{key.n}, key, entry);
  fill(Kepler{}, key, entry);
  fill(Lorenz{}, key, entry);
  fill(AtRest{key.n, key.inputs}, key, entry);
  fill(Coasting{key.n, key.inputs}, key, entry);
  return entry;
}

}  // namespace cycloid::isa::CYCLOID_ISA
