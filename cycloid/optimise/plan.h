// plan: inputs that bring a System where it is wanted, at least cost.
//
//   const Plan found = plan(cart_pole, x0, Reach{"state", upright} + Effort{{1e-3}}, 200);
//   found.controls, found.states, found.gains
//
//   min J(x, u)   over u_0 … u_{T-1},  x_{t+1} = step(x_t, u_t),  low ≤ u ≤ high,  Keep terms hold
//
// Methods, each a page:
//   ilqr               ilqr.h: Newton steps by a backward pass on linearised dynamics
//   multiple_shooting  multiple_shooting.h: states are unknowns too; gaps between steps are closed
//   lbfgs              shooting.h: one rollout, its gradient, L-BFGS (lbfgs.h)
//   mppi, cem          sampling.h: many rollouts with noise; no gradient
// A plan ends with the best that was found, whatever ends it: convergence, iterations, the time
// limit, a callback, Ctrl-C. Its states and cost are those of a rollout of its controls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cycloid/base/interrupt.h"
#include "cycloid/optimise/cost.h"
#include "cycloid/optimise/status.h"
#include "cycloid/optimise/watch.h"
#include "cycloid/system/gradient_mode.h"
#include "cycloid/system/system.h"

namespace cycloid::inline optimise {

struct PlanOptions {
  std::string method = "ilqr";
  std::vector<double> start = {};         // controls (T, inputs); empty: zeros, within the bounds
  std::vector<double> start_states = {};  // (T+1, states) for multiple_shooting; empty: a rollout's
  std::vector<double> low = {}, high = {};  // of each input, infinite where none; empty: no bounds
  std::vector<double> params = {};          // empty: the defaults
  int iterations = 200;
  std::optional<double> time_limit = {};  // [s]; the iteration that it ends in is finished
  std::uint64_t seed = 0;
  double tolerance = 1e-6;  // on the decrease of the cost that is still expected, relative
  double constraint_tolerance = 1e-4;  // on Keep, in units of its output
  int threads = 0;
  double t0 = 0;                              // time of x0 [s]
  std::optional<GradientMode> gradient = {};  // of contact; none: the system's
  // ilqr: add the curvature of the dynamics (full DDP), where the System has second derivatives.
  bool full_hessian = false;
  bool regularise_state = false;  // (8) of riccati.h
  double regularisation = 1e-6;   // the first μ
  // mppi, cem: samples of an iteration, the share that is elite, and the noise in units of the
  // bounds' half width (1 where there are none).
  int samples = 256;
  double elite = 0.1;
  double noise = 0.5;
  double temperature = 0.1;  // mppi: relative to the spread of the samples' costs
  int knots = 0;             // noise is linear between so many knots; 0: T/10, at least 4
  Watch watch = {};
  KeepGoing keep_going = {};
};

struct Plan {
  std::vector<double> controls;  // (T, inputs)
  std::vector<double> states;    // (T+1, states)
  std::vector<double> gains;     // (T, inputs, tangents): u = controls - gains (x ⊖ states)
  double cost = 0;
  double violation = 0;  // largest of the Keep terms
  int iterations = 0;
  std::vector<double> history;  // the cost at the start and after each iteration
  bool converged = false;
  OptimiserStatus status = OptimiserStatus::max_iterations;
  std::string message;
  std::int64_t steps = 0;  // simulated; one of linearise counts as one
  double seconds = 0;
};

std::vector<std::string> plan_methods();

// Throws Error on what cannot be: sizes, numbers that are not finite, bounds that exclude the
// start, an unknown method (with the nearest), a cost that the method cannot take (by its name), a
// start whose rollout fails.
Plan plan(const System& system, std::span<const double> x0, const Cost& cost, std::int64_t steps,
          const PlanOptions& options = {});

}  // namespace cycloid::inline optimise
