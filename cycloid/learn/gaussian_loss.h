// gaussian_loss.h: laws that say how wrong a step may be, trained on how well they say it.
//
//   x⁺ = step(x, u; p) ⊕ s(x, u; v) ξ,   ξ normal, new in every step                          (1)
//   loss = mean over chosen transitions and numbers of score(e / c, s / c)                     (2)
// with e = step(x, u; p) - x⁺, s by a network (noise_network.h), score the negative log-likelihood
// (less that of the least deviation, so that it is never negative) or the CRPS (gaussian_score.h),
// and c the root mean square of x⁺ - x of each number, so that numbers of different units count
// alike. p and v are trained together: v are the loss's own numbers (training_loss.h).
#pragma once

#include "cycloid/learn/gaussian_score.h"
#include "cycloid/learn/noise_network.h"

namespace cycloid::inline learn {

// Rows to validate with are the last ones. Throws Error on data that do not fit, and on a System
// with quaternions.
std::unique_ptr<TrainingLoss> gaussian_loss(const System& system, const Transitions& data,
                                            const NoiseNetwork& noise, GaussianScore score,
                                            int threads = 0);

// c of (2), (tangents); a number that never moves has the largest of the others, or 1.
std::vector<double> step_sizes(const System& system, const Transitions& data);

// Runs by (1), (members, rows, T + 1, states): each member and row with noise of its own. x0 (rows,
// states), controls (rows, T, inputs) or empty for zeros.
std::vector<double> sample_runs(const System& system, const NoiseNetwork& noise,
                                std::span<const double> x0, std::span<const double> controls,
                                std::int64_t steps, std::int64_t members, std::uint64_t seed,
                                int threads = 0, const KeepGoing& keep_going = {});

}  // namespace cycloid::inline learn
