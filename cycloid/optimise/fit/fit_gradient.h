// The cost of a fit by its gradient alone, which one pullback gives: for unknowns too many for a
// Jacobian, such as fields and weights of networks.
//
// With the residuals r of fit_problem.h, whole recordings:
//   F(θ, s) = Σ ρ(r_i) + ½ Σ ((v_j - mean_j) / std_j)²                                     (1)
//   ȳ_i = Σ w(r) r/σ ∂h/∂y,   (θ̄, s̄) += Trajectory::pullback(ȳ)                           (2)
// (FitProblem::gradient).
// The work is that of a run and its pullback, whatever the number of unknowns. Minimised by L-BFGS
// (lbfgs.h) or Adam [Kingma2015] over free variables z: each number in units of its start, between
// bounds as bounded_number.h has it. Starts with unit quaternions must be known, and no delay of a
// sensor may be unknown.
#pragma once

#include "cycloid/optimise/fit/fit_descent.h"

namespace cycloid::inline optimise {

enum class GradientMethod { lbfgs, adam };

struct GradientDescentOptions {
  GradientMethod method = GradientMethod::lbfgs;
  int iterations = 100;
  double tolerance = 1e-9;      // of L-BFGS on the fall of F, relative, five times in a row
  double learning_rate = 0.02;  // of Adam, falling to nothing along a half cosine
};

struct GradientDescent {
  OptimiserStatus status = OptimiserStatus::max_iterations;
  FitPoint at;  // the best
  double cost = 0;
  std::vector<double> history;
};

// Throws Error on what gradients are not made for, and where the start cannot be run.
GradientDescent descend_by_gradient(const FitProblem& problem, FitEffort& effort, Loss loss,
                                    const FitPoint& start, const GradientDescentOptions& options);

}  // namespace cycloid::inline optimise
