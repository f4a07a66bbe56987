// gradient_scores.h: whether a model's gradients can be followed in the truth.
//
// Of L = w · x_T, w normal, with respect to the start and the inputs, g in the model and g* in the
// truth:
//   cosine   g · g* / (|g| |g*|)                                                               (1)
//   error    |g - g*| / |g*|                                                                   (2)
// per run, for several horizons T. The gradient is worth following as long as (1) is at least ½,
// and not beyond the time in which a cotangent grows a thousandfold (adjoint/diagnose.h).      (3)
#pragma once

#include <optional>

#include "cycloid/evaluate/contest.h"

namespace cycloid::inline evaluate {

struct GradientScores {
  std::vector<std::int64_t> samples;        // horizons, in samples of the contest
  std::vector<std::vector<double>> cosine;  // of each horizon, (runs); (1)
  std::vector<double> error;                // (runs) at the last; (2)
  std::vector<double> finite;               // (runs) 1 or 0
  std::vector<double> horizon;              // (runs) [s]; (3)
};

// None where the model is no System with the truth's inputs.
std::optional<GradientScores> gradient_scores(const Contest& contest, std::uint64_t seed);

}  // namespace cycloid::inline evaluate
