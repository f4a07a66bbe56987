// Room optimise: finding the inputs that make a simulation do what is wanted.
//
// The optimisers know no physics. They see a function of a few numbers and its derivative, which a
// rollout gives: by Trajectory::pullback for one loss of many variables, by pushforward for many
// residuals of few variables. Variables that must stay positive, or in an interval, are optimised
// as the free variables of the parameter registry (system/constraint.h).
//
// Where to start reading:
//   lbfgs.h                 a smooth loss of many variables: aim, control, design
//   levenberg_marquardt.h   a sum of squares: fitting a model to a recording, with error bars
//   wolfe.h                 the line search of the first;   qr.h  the linear algebra of the second
//   status.h                why an optimiser stopped, and what to try
//   identify.h              parameters of a System from recordings, with (in fit/) unknowns.h
//                           (names to numbers), fit_problem.h (residuals), stretch_run.h (runs and
//                           tangents), measured.h (outputs), fit_descent.h and arrow_system.h
//                           (Levenberg and Marquardt), fit_gradient.h (gradients alone),
//                           fit_judgement.h, weak.h and whiteness.h (what the data say), sobol.h
//   cost.h, plan.h          what a trajectory costs, and the inputs that make it cost least, by
//                           one of the methods in planning/
//   mpc.h                   ... again and again, while a System runs
//
// lbfgs: minimises f(x) by limited-memory BFGS (Algorithm 7.5 of [NocedalWright2006]).
//   d_k = -H_k ∇f(x_k)                                  (1)
//   x_{k+1} = x_k + a_k d_k                             (2)  a_k by the strong-Wolfe search
//   s = x_{k+1} - x_k,  y = ∇f(x_{k+1}) - ∇f(x_k)       (3)  the last m pairs make H_k
//   H_k⁰ = (sᵀy / yᵀy) I                                (4)  scale of the newest pair
// H_k is applied by the two-loop recursion and never formed. Where f is not finite the search
// backs off; a pair without positive curvature is left out; a direction that leads nowhere is
// replaced once by the steepest descent.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "cycloid/optimise/status.h"
#include "cycloid/optimise/wolfe.h"

namespace cycloid::inline optimise {

// Returns f(x) and writes its gradient, which has the size of x.
using Objective = std::function<double(std::span<const double> x, std::span<double> gradient)>;

// What the callback sees: the starting point as iteration 0, then each accepted step. The spans
// live as long as the call.
struct LbfgsIterate {
  int iteration = 0;
  double value = 0;
  double gradient_norm = 0;  // largest |∂f/∂x_i|
  double step = 0;           // a_k
  int evaluations = 0;       // of the objective, so far
  LineStatus line = LineStatus::wolfe;
  std::span<const double> x, gradient;
};

// The pairs (3) of a run, oldest first: what it knows of the curvature. A run from where another
// ended, with its memory, is the same as one that did not end.
struct LbfgsMemory {
  std::vector<std::vector<double>> s, y;
};

struct LbfgsOptions {
  int memory = 10;  // m
  int max_iterations = 200;
  double gradient_tolerance = 1e-8;  // on the largest |∂f/∂x_i|
  double step_tolerance = 1e-14;     // on the largest |s_i|, relative to the largest |x_i|
  double first_move = 1;             // longest |s| of the first step, before the scale (4) is known
  WolfeOptions line = {};
  LbfgsMemory from = {};                                // of the run that this one continues
  std::function<bool(const LbfgsIterate&)> watch = {};  // false: stop
};

struct LbfgsResult {
  OptimiserStatus status = OptimiserStatus::max_iterations;
  std::vector<double> x, gradient;
  double value = 0, gradient_norm = 0;
  int iterations = 0, evaluations = 0;
  std::vector<double> values;  // f at the start and after each iteration
  LbfgsMemory memory;          // to go on from x
};

// Throws Error on an empty or non-finite x0 and on options out of their range; passes on what the
// objective throws.
LbfgsResult lbfgs(const Objective& objective, std::span<const double> x0,
                  const LbfgsOptions& options = {});

}  // namespace cycloid::inline optimise
