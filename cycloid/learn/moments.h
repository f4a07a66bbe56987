// moments.h: mean and covariance of a run whose start, parameters or steps are uncertain.
//
// To first order, with A = ∂x⁺/∂x and Q = ∂x⁺/∂p along given directions D (columns of a factor of
// the parameters' covariance, D Dᵀ), both at the mean:
//   m⁺ = step(m, u)                                                            (1)
//   S⁺ = A S + Q,    S_0 = 0         what each direction has done so far         (2)
//   P⁺ = A P Aᵀ + diag(s²)           the start's covariance and every step's noise  (3)
//   C  = P + S Sᵀ                    tangents of the mean                        (4)
// Parameters are drawn once and act all along, which is why they have a sensitivity of their own
// (2) and are no noise. The deviation of a coordinate is that of its tangents (Space::velocity).
// Exact where a System is linear; a spread over which A changes is seen by samples only.
#pragma once

#include "cycloid/learn/noise_network.h"

namespace cycloid::inline learn {

struct MomentOptions {
  std::span<const double> params = {};      // empty: the default ones
  std::span<const double> directions = {};  // (q, parameters), or none
  const NoiseNetwork* noise = nullptr;      // s, or none
  std::span<const double> start = {};       // P_0 (tangents, tangents) of every row; empty: zero
  int threads = 0;
  KeepGoing keep_going = {};
};

struct MomentRun {
  std::vector<double> mean, std;   // (rows, T + 1, states)
  std::vector<double> covariance;  // C (rows, T + 1, tangents, tangents)
};

// x0 (rows, states), controls (rows, T, inputs) or empty for zeros. Throws Error on wrong sizes,
// GradientError where a step fails or has no derivative.
MomentRun propagate_moments(const System& system, std::span<const double> x0,
                            std::span<const double> controls, std::int64_t steps,
                            const MomentOptions& options = {});

}  // namespace cycloid::inline learn
