// Every integrator, each compiled once for all laws and for laws with a term (term_law.h), which
// are laws like any other here. rk4 of a law without a term is in catalogue_isa.cpp.
#include "cycloid/system/integrator/dopri5.h"
#include "cycloid/system/integrator/euler.h"
#include "cycloid/system/integrator/implicit_midpoint.h"
#include "cycloid/system/integrator/partitioned.h"
#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/integrator/sdirk4.h"
#include "cycloid/system/integrator/semi_implicit.h"
#include "cycloid/system/integrator/verlet.h"
#include "cycloid/system/law/any_law.h"
#include "cycloid/system/law/law_steppers.h"
#include "cycloid/system/law/term_law.h"
#include "cycloid/system/laws/bare_motion.h"
#include "cycloid/system/laws/catalogue.h"
#include "cycloid/system/laws/double_pendulum.h"
#include "cycloid/system/laws/kepler.h"
#include "cycloid/system/laws/lorenz.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/projectile.h"
#include "cycloid/system/laws/spring_chain.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

template <class S>
using Made = std::shared_ptr<const Stepper<Scalar<S>>>;

// Which semi_implicit and verlet a law has: none, those of velocities, those of two halves.
enum class Halves { none, velocities, partitioned };

struct Wanted {
  std::string_view integrator;
  Tolerances tolerances;
  Halves halves;
};

// Fills `out` where this integrator is wanted.
template <class Scheme, class S>
void try_scheme(const AnyLaw<S>& law, const Wanted& wanted, Made<S>& out) {
  if (wanted.integrator != Scheme::kName) return;
  out = std::make_shared<LawStepper<AnyLaw<S>, Scheme, S>>(law,
                                                           make_scheme<Scheme>(wanted.tolerances));
}

template <class S>
Made<S> stepper(const AnyLaw<S>& law, const Wanted& wanted) {
  Made<S> out;
  try_scheme<Euler>(law, wanted, out);
  try_scheme<ImplicitMidpoint>(law, wanted, out);
  try_scheme<Dopri5>(law, wanted, out);
  try_scheme<Sdirk4>(law, wanted, out);
  if (wanted.halves == Halves::velocities) {
    try_scheme<SemiImplicitEuler>(law, wanted, out);
    try_scheme<VelocityVerlet>(law, wanted, out);
  }
  return out;
}

template <class S, class Law>
Made<S> stepper(const Law& law, const CatalogueKey& key) {
  return stepper(AnyLaw<S>(law), {key.integrator, key.tolerances,
                                  SecondOrder<Law> ? Halves::velocities : Halves::none});
}

template <class Law>
void fill(const Law& law, const CatalogueKey& key, CatalogueEntry& entry) {
  if (key.law != Law::kName) return;
  entry.float64.one = stepper<double>(law, key);
  entry.float64.packed = stepper<LawLanes<double>>(law, key);
  entry.float64.dual = stepper<Dual<LawLanes<double>, 1>>(law, key);
  if (key.precision != Precision::float32) return;
  entry.float32.one = stepper<float>(law, key);
  entry.float32.packed = stepper<LawLanes<float>>(law, key);
}

// semi_implicit and verlet take the first half of x_dot for the velocities: nothing is added there.
template <class Law>
Halves halves_with_term(const TermKey& key) {
  if (SecondOrder<Law> && key.place != TermPlace::rate) return Halves::velocities;
  return std::is_same_v<Law, AtRest> && key.halves ? Halves::partitioned : Halves::none;
}

template <class S>
inline constexpr bool kIsDual = false;
template <class S>
inline constexpr bool kIsDual<Dual<S, 1>> = true;

template <class S, class Law>
Made<S> stepper_with_term(const Law& law, const TermKey& key) {
  const auto term = key.term->in_lanes<Scalar<S>>(TermLaw<S>::W, kIsDual<S>);
  if (!term) return {};
  const TermLaw<S> with(law, term, key.place);
  const AnyLaw<S> any(with);
  const Wanted wanted{key.integrator, {key.rtol, key.atol}, halves_with_term<Law>(key)};
  Made<S> out = stepper(any, wanted);
  try_scheme<Rk4>(any, wanted, out);
  if (wanted.halves == Halves::partitioned) {
    try_scheme<PartitionedEuler>(any, wanted, out);
    try_scheme<PartitionedVerlet>(any, wanted, out);
  }
  if (!out) return out;
  return std::make_shared<TermStepper<S>>(out, term, with.outputs(), key.term->arrays());
}

template <class Law>
void fill(const Law& law, const TermKey& key, TermEntry& entry) {
  if (key.law != Law::kName) return;
  entry.float64.one = stepper_with_term<double>(law, key);
  entry.float64.packed = stepper_with_term<LawLanes<double>>(law, key);
  entry.float64.dual = stepper_with_term<Dual<LawLanes<double>, 1>>(law, key);
  if (key.precision != Precision::float32) return;
  entry.float32.one = stepper_with_term<float>(law, key);
  entry.float32.packed = stepper_with_term<LawLanes<float>>(law, key);
}

// Key and entry of a law, or of a law with a term.
template <class Key, class Entry>
void fill_laws(const Key& key, Entry& entry) {
  fill(Pendulum{}, key, entry);
  fill(DoublePendulum{}, key, entry);
  fill(Projectile{}, key, entry);
  fill(SpringChain{key.n}, key, entry);
  fill(Kepler{}, key, entry);
  fill(Lorenz{}, key, entry);
}

}  // namespace

CatalogueEntry any_law_steppers(const CatalogueKey& key) {
  CatalogueEntry entry;
  fill_laws(key, entry);
  return entry;
}

TermEntry term_law_steppers(const TermKey& key) {
  TermEntry entry;
  fill_laws(key, entry);
  fill(AtRest{key.n, key.inputs}, key, entry);
  fill(Coasting{key.n, key.inputs}, key, entry);
  return entry;
}

}  // namespace cycloid::isa::CYCLOID_ISA
