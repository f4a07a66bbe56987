// gradient_scores.h: whether a model's gradients can be followed in the truth.
//
// Of L = w · x_T, w normal, with respect to the start and the inputs, g in the model and g* in the
// truth:
//   cosine   g · g* / (|g| |g*|)                                                               (1)
//   error    |g - g*| / |g*|                                                                   (2)
// per run, for several horizons T. The gradient is worth following as long as (1) is at least ½,
// and not beyond the time in which a cotangent grows a thousandfold (adjoint/diagnose.h).      (3)
// At the longest horizon also, with σ the truth's standard deviations and ξ normal:
//   perturbed    the least of (1) from starts x0 ⊕ 0.01 σ ξ, model and truth alike              (4)
//   difference   |g · d - (L(x0 ⊕ h d) - L(x0 ⊕ -h d)) / 2h| / |g| |d| in the model, d = σ ξ, of
//                the best of several h: whether g is the gradient of what the model does       (5)
#pragma once

#include <optional>

#include "cycloid/evaluate/contest.h"

namespace cycloid::inline evaluate {

struct GradientScores {
  std::vector<std::int64_t> samples;        // horizons, in samples of the contest
  std::vector<std::vector<double>> cosine;  // of each horizon, (runs); (1)
  std::vector<double> error;                // (runs) at the last; (2)
  std::vector<double> finite;               // (runs) 1 where it is at every horizon, else 0
  std::vector<double> finite_at;            // (horizons) share of runs
  std::vector<double> horizon;              // (runs) [s]; (3)
  // (runs); empty where moved starts cannot be run
  std::vector<double> moved_cosine, difference;  // (4), (5)
};

// None where the model is no System with the truth's inputs.
std::optional<GradientScores> gradient_scores(const Contest& contest, std::uint64_t seed);

}  // namespace cycloid::inline evaluate
