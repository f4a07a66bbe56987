// Room couple: Systems made of Systems.
//
//   close_loop.h        a System whose inputs are a function of its state
//   closing.h           ... the step under it; such a function in lanes is system/feedback.h
//   linear_feedback.h, linear_loop.h      linear
//   network_feedback.h, sight.h     a network of what is observed, with noise
//   mass_feedback.h     accelerations as the forces that a robot's mass takes
//   paired_lanes.h, tangent_arrays.h     what these share in dual numbers
//   closed_observables.h   ... and what such a System shows
//   guarded.h           a fast model that the classical solver watches and corrects
//
// close_loop: state -> u = feedback(state) -> step. u is computed once, at the start of the step,
// under every integrator. The new System has no inputs; its parameters are those of the old one and
// `feedback.gain` (inputs, tangents), `feedback.target` (states), `feedback.command` (inputs),
// which may differ between environments; of a network the arrays `policy.weight0` (out, in),
// `policy.bias0`, …, with its normalisation folded into the first and the last layer. Records,
// events, counters and what is carried on are those of the inner step. The gradient is that of the
// whole: ū of the inner pullback goes on through the feedback to x̄ and to its parameters.
//
// A wrapper around a Stepper is a page (closing.cpp): it owns the inner workspace and hands
// everything through.
#pragma once

#include <vector>

#include "cycloid/couple/network_feedback.h"

namespace cycloid::inline couple {

struct LinearFeedback {
  std::vector<double> gain;     // (inputs, tangents)
  std::vector<double> target;   // (states); quaternions may have any length but zero
  std::vector<double> command;  // (inputs)
};

// Throws ModelError on sizes that do not fit, a system without inputs, or one that has a parameter
// of these names already (its loop is closed).
System close_loop(const System& system, const LinearFeedback& feedback);

// Noise on what a network gives (network_feedback.h (2)): the arrays `policy.noise` (inputs), which
// is differentiated, and `policy.key`, which is not.
struct PolicyNoise {
  std::vector<double> deviation = {};  // standard deviations (inputs); empty: no noise
  std::int64_t key = 0;                // 0 … kMostKey
};
// A float holds it.
inline constexpr std::int64_t kMostKey = (1 << 24) - 1;

// The inputs are the network's outputs, clipped to their bounds; it sees what goes by these names,
// or the whole state. Throws Error on sizes that do not fit and on clip = tanh of an input with one
// bound only. Observables are those of the policy without its noise.
System close_loop(const System& system, const Network& network,
                  const std::optional<std::vector<std::string>>& observe = std::nullopt,
                  Clip clip = Clip::hard, const PolicyNoise& noise = {});

}  // namespace cycloid::inline couple
