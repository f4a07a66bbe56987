// sampling.h: plans by random samples: MPPI and the cross-entropy method, in batched rollouts.
//
// Noise ε is normal at some knots and linear between them, in units of the bounds' half width (1
// where there are none). Samples u_i = clamp(ū + σ ε_i), the first one ū itself; J_i their costs.
//   MPPI [Williams2017]      w_i ∝ exp(-(J_i - J_min) / (λ s)),  ū ← Σ w_i u_i                 (1)
//                            s: the samples' mean cost above J_min; λ: the temperature
//   CEM [Rubinstein1999]     ū, σ ← mean and standard deviation of the elite, smoothed          (2)
// Both keep the best sample that they have seen, and that is the plan. Numbers depend on the seed,
// the iteration and the sample alone. In (2) σ has a value for each step and input.
#pragma once

#include "cycloid/optimise/planning/planner.h"

namespace cycloid::inline optimise {

// ε of one sample, (T, inputs).
std::vector<double> knotted_noise(std::uint64_t seed, int iteration, std::int64_t sample,
                                  std::int64_t T, int inputs, int knots);

// (1) of costs, with infinite ones left out.
std::vector<double> mppi_weights(const std::vector<double>& costs, double temperature);

}  // namespace cycloid::inline optimise
