// levenberg_marquardt: fits the variables x of a model to data by least squares, with error bars.
//
// Residuals r(x) (m), J = ∂r/∂x (m, n), loss F = ½ |r|².
//   (JᵀJ + μ D²) h = -Jᵀ r                            (1)  D: largest column norms of J so far
//   ρ = (F(x) - F(x + h)) / (½ hᵀ (μ D² h - Jᵀ r))    (2)  fall of F over the promised fall
//   ρ > 0: x += h,  μ *= max(1/3, 1 - (2 ρ - 1)³),  ν = 2
//   else:           μ *= ν,  ν *= 2                   (3)  damping after Nielsen 1999
// (1) is solved as the least-squares problem [J; √μ D] h = [-r; 0] by QR, which does not square the
// condition of J. D makes the steps independent of the units of x (Moré 1978). Where r is not
// finite the step is refused, as for ρ ≤ 0. A fall below the rounding of F is taken on trust.
//
// If r are measurement errors of one spread σ, independent and nearly normal, the estimate has
//   covariance = s² (JᵀJ)⁻¹,   s² = |r|² / (m - n)    (4)  or s = σ where it is known
// to first order, J at the solution. The estimate ± 1.96 √covariance_ii then covers the truth in
// 95 of 100 experiments.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "cycloid/optimise/status.h"

namespace cycloid::inline optimise {

// Writes r(x), and J row by row unless `jacobian` is empty, which means that it is not needed.
using Residuals = std::function<void(std::span<const double> x, std::span<double> residuals,
                                     std::span<double> jacobian)>;

// What the callback sees: the starting point as iteration 0, then each accepted step. The span
// lives as long as the call.
struct LmIterate {
  int iteration = 0;
  double value = 0;    // F
  double damping = 0;  // μ
  int evaluations = 0;
  std::span<const double> x;
};

// What a run knows besides x: one from where another ended, with its memory, is the same as one
// that did not end.
struct LmMemory {
  double damping = 0, growth = 2;  // μ and ν of (3); μ = 0: there is none
  std::vector<double> scale = {};  // D
  int tried = 0;                   // steps, accepted and refused, which max_iterations counts too
};

struct LmOptions {
  int max_iterations = 100;           // accepted and refused steps together
  double gradient_tolerance = 1e-10;  // on the largest cosine between r and a column of J
  double step_tolerance = 1e-12;      // on |D h|, relative to |D x|
  double value_tolerance = 0;         // on the fall of F, relative to F; 0: not looked at
  double rank_tolerance = 1e-10;      // on the columns of J D⁻¹ (qr.h)
  double first_damping = 1e-3;        // μ at the start, in units of D²
  double noise = 0;                   // σ, if known; 0: from the residuals
  LmMemory from = {};                 // of the run that this one continues
  std::function<bool(const LmIterate&)> watch = {};  // false: stop
};

struct LmResult {
  OptimiserStatus status = OptimiserStatus::max_iterations;
  std::vector<double> x, residuals;
  double value = 0;                  // F
  double noise = 0;                  // s of (4); 0 where m ≤ n leaves nothing to estimate it from
  std::vector<double> covariance;    // (n, n), (4); empty where s or (JᵀJ)⁻¹ does not exist
  std::vector<double> undetermined;  // if rank_deficient: a unit direction that r does not feel
  int iterations = 0, evaluations = 0;
  std::vector<double> values;  // F at the start and after each accepted step
  LmMemory memory;             // to go on from x

  // √covariance_ii. Throws Error when there is no covariance, with the status's advice.
  double standard_error(std::size_t i) const;
};

// `residual_count` is m. Throws Error on an empty or non-finite x0, m = 0, options out of range;
// passes on what the residuals throw.
LmResult levenberg_marquardt(const Residuals& residuals, std::size_t residual_count,
                             std::span<const double> x0, const LmOptions& options = {});

}  // namespace cycloid::inline optimise
