// Scheme: what LawStepper asks of an integrator.
//
//   kName                                                 "rk4"
//   step(at, x, x_next, record)                           one step of length at.h
//   step_pullback(at, x, record, x_next_bar, at_bar, x_bar)   adds; `at` and x as in step
// Of these the record is the stages' x_dot, each followed by what the law saves: kStages of them.
// An integrator that iterates or adapts its steps may also have
//   record_numbers(shape)    of a record of another form
//   scratch_numbers(shape)   memory that it takes from at.scratch besides kLocalArrays local arrays
//   kGivesNotes = true       it writes at.notes, one for each lane
//   kRecordIsCostly = true   a solve went into its record
//   kGivesSamples = true     step_sampled and step_sampled_pullback, with states inside the step
//   kAdaptive = true         it divides its step into substeps, which run(…, visit) shows and its
//                            member `log` (substep_log.h) records or prescribes
//   kReversible = true       a step of length -h undoes one of length h
//   explain(record, lane)    why a lane's step is not finite, as read from its record
// and settings of its own as members: LawStepper keeps a copy.
#pragma once

#include "cycloid/system/law/law_point.h"

namespace cycloid::inline system {

// Local arrays of the longest of states, inputs and parameters that a step and its integrator have
// at once, at most.
inline constexpr int kLocalArrays = 24;

template <class Law>
int longest_array(const LawShape<Law>& shape) {
  int longest = shape.states;
  if (shape.inputs > longest) longest = shape.inputs;
  if (shape.parameters > longest) longest = shape.parameters;
  return longest;
}

template <class Scheme, class Law>
int record_numbers(const LawShape<Law>& shape) {
  if constexpr (requires { Scheme::record_numbers(shape); }) {
    return Scheme::record_numbers(shape);
  } else {
    return Scheme::kStages * (shape.tangents + shape.saved);
  }
}

// In numbers of S.
template <class Scheme, class Law>
std::size_t scratch_numbers(const Scheme& scheme, const LawShape<Law>& shape) {
  std::size_t numbers = 0;
  if constexpr (!StaticLaw<Law>) {
    numbers += static_cast<std::size_t>(kLocalArrays) * longest_array(shape);
  }
  if constexpr (requires { scheme.scratch_numbers(shape); }) {
    numbers += scheme.scratch_numbers(shape);
  }
  return numbers;
}

template <class Scheme>
constexpr bool gives_notes() {
  if constexpr (requires { Scheme::kGivesNotes; }) return Scheme::kGivesNotes;
  return false;
}

template <class Scheme>
constexpr bool record_is_costly() {
  if constexpr (requires { Scheme::kRecordIsCostly; }) return Scheme::kRecordIsCostly;
  return false;
}

template <class Scheme>
constexpr bool is_reversible() {
  if constexpr (requires { Scheme::kReversible; }) return Scheme::kReversible;
  return false;
}

// StepSamples of an integrator, in numbers of S: n of each state.
template <class S>
struct SampleLanes {
  std::span<const double> offsets;  // since the step's beginning [s], rising, in (0, h]
  S* states;                        // (offsets, n), or null
  const S* bar;                     // (offsets, n), or null
};

template <class Scheme>
constexpr bool gives_samples() {
  if constexpr (requires { Scheme::kGivesSamples; }) return Scheme::kGivesSamples;
  return false;
}

// What a solver left in each lane, 0 where it met its tolerance.
template <class Law, class S>
CYCLOID_INLINE void note_residuals(const LawPoint<Law, S>& at, const S& residual) {
  for (int l = 0; l < kLanes<S> && at.notes; ++l) {
    at.notes[l].residual = static_cast<double>(lane(primal(residual), l));
  }
}

// The counters of an adaptive integrator, by name in kAdaptiveCounters.
enum AdaptiveCounter { kSubsteps, kRejectedSubsteps };
inline constexpr const char* kAdaptiveCounters[] = {"substeps", "rejected_substeps"};

// Substeps of a stretch that each lane took, among those tried; adds.
template <class Law, class S>
CYCLOID_INLINE void note_substeps(const LawPoint<Law, S>& at, const S& taken, const S& tried) {
  for (int l = 0; l < kLanes<S> && at.notes; ++l) {
    const int steps = static_cast<int>(lane(primal(taken), l));
    at.notes[l].counters[kSubsteps] += steps;
    at.notes[l].counters[kRejectedSubsteps] += static_cast<int>(lane(primal(tried), l)) - steps;
  }
}

}  // namespace cycloid::inline system
