// transitions.h: what came one step after what, the data of models that state their uncertainty.
#pragma once

#include <span>
#include <vector>

#include "cycloid/learn/training_loss.h"

namespace cycloid::inline learn {

struct Transitions {
  std::vector<double> x, next;  // (N, states)
  std::vector<double> u = {};   // (N, inputs); empty: zeros

  std::int64_t rows(const System& system) const {
    return static_cast<std::int64_t>(x.size()) / system.states().size();
  }
};

// Throws Error on wrong sizes and on numbers that are not finite.
void check_transitions(const System& system, const Transitions& data);

// Of derivatives: next = x + dt ẋ, which are steps of `euler_step` of the same law.
Transitions transitions_of(const System& system, const Derivatives& data);
// The learned law with Euler's rule, its parameters as they are. Throws Error on another System.
System euler_step(const System& system);

// What steps miss, next from step(x, u), in tangents (N, tangents); angles of a learned law around
// the circle.
std::vector<double> step_misses(const System& system, const Transitions& data,
                                std::span<const double> ahead);

}  // namespace cycloid::inline learn
