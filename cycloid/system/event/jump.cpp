#include "cycloid/system/event/jump.h"

#include "cycloid/system/integrator/dopri5.h"
#include "cycloid/system/integrator/euler.h"
#include "cycloid/system/integrator/implicit_midpoint.h"
#include "cycloid/system/integrator/partitioned.h"
#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/integrator/sdirk4.h"
#include "cycloid/system/integrator/semi_implicit.h"
#include "cycloid/system/integrator/verlet.h"
#include "cycloid/system/law/law_steppers.h"
#include "cycloid/system/laws/bare_motion.h"

namespace cycloid::inline system {
namespace {

template <class Scheme, class T>
void try_scheme(const JumpLaw<T>& law, const TermKey& key, std::shared_ptr<const Stepper<T>>& out) {
  if (key.integrator != Scheme::kName) return;
  out = std::make_shared<LawStepper<JumpLaw<T>, Scheme, T>>(
      law, make_scheme<Scheme>({key.rtol, key.atol}));
}

template <class T, class Law>
std::shared_ptr<const Stepper<T>> stepper(const Law& bare, const TermKey& key, int jumps) {
  const auto term = key.term->in_lanes<T>(1, false);
  const TermLaw<T> with(bare, term, key.place);
  const JumpLaw<T> law(AnyLaw<T>(with), jumps);
  std::shared_ptr<const Stepper<T>> out;
  try_scheme<Euler>(law, key, out);
  try_scheme<Rk4>(law, key, out);
  try_scheme<ImplicitMidpoint>(law, key, out);
  try_scheme<Dopri5>(law, key, out);
  try_scheme<Sdirk4>(law, key, out);
  if (SecondOrder<Law>) {
    try_scheme<SemiImplicitEuler>(law, key, out);
    try_scheme<VelocityVerlet>(law, key, out);
  } else if (key.halves) {
    try_scheme<PartitionedEuler>(law, key, out);
    try_scheme<PartitionedVerlet>(law, key, out);
  }
  if (!out) return out;
  return std::make_shared<TermStepper<T>>(out, term, with.outputs(), key.term->arrays());
}

template <class Law>
void fill(const Law& bare, const TermKey& key, int jumps, TermEntry& entry) {
  if (key.law != Law::kName) return;
  entry.float64.one = entry.float64.packed = stepper<double>(bare, key, jumps);
  if (key.precision != Precision::float32) return;
  entry.float32.one = entry.float32.packed = stepper<float>(bare, key, jumps);
}

}  // namespace

TermEntry jump_law_steppers(const TermKey& key, int jumps) {
  TermEntry entry;
  fill(AtRest{key.n, key.inputs}, key, jumps, entry);
  fill(Coasting{key.n, key.inputs}, key, jumps, entry);
  return entry;
}

}  // namespace cycloid::inline system
