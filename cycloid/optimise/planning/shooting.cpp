#include "cycloid/optimise/planning/shooting.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/optimise/lbfgs.h"

namespace cycloid::inline optimise {

Plan plan_shooting(Planner& p) {
  if (p.cost.has_constraints()) {
    throw Error(
        "plan: method \"lbfgs\" does not hold Keep; take \"ilqr\" or \"multiple_shooting\"");
  }
  p.begin_with_start();
  std::vector<BoundedNumber> map;
  for (int i = 0; i < p.nu; ++i) map.push_back({p.low(i), p.high(i)});
  std::vector<double> z(p.best.controls.size());
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = map[i % p.nu].free_of(p.best.controls[i]);

  std::vector<double> controls(z.size()), states_bar((p.T + 1) * p.nx), controls_bar(z.size());
  const auto put = [&](std::span<const double> free) {
    for (std::size_t i = 0; i < free.size(); ++i) controls[i] = map[i % p.nu].value_of(free[i]);
  };
  const Objective objective = [&](std::span<const double> free, std::span<double> gradient) {
    put(free);
    RolloutOptions how;
    how.threads = p.options.threads;
    how.t0 = p.options.t0;
    how.keep_going = p.options.keep_going;
    const Trajectory<double> run =
        rollout(p.system, p.x0, Controls<double>(controls, p.T), p.params, how);
    p.best.steps += p.T;
    std::fill(gradient.begin(), gradient.end(), 0.0);
    if (!run.report().failed.empty()) return static_cast<double>(INFINITY);
    const double value =
        p.cost.gradient(run.states(), controls, states_bar, controls_bar, p.options.keep_going);
    PullbackOptions back;
    back.x0 = back.params = false;
    back.keep_going = p.options.keep_going;
    const Gradient<double> g = run.pullback(states_bar, back);
    for (std::size_t i = 0; i < free.size(); ++i) {
      gradient[i] = (controls_bar[i] + g.controls[i]) * map[i % p.nu].slope_of(free[i]);
    }
    return value;
  };

  LbfgsOptions how;
  how.max_iterations = p.options.iterations;
  how.gradient_tolerance = 0;
  std::string words;
  OptimiserStatus ended = OptimiserStatus::stopped;
  double before = INFINITY;
  int still = 0;
  bool settled = false;
  how.watch = [&](const LbfgsIterate& now) {
    if (now.iteration == 0 || now.value < p.best.cost) {
      put(now.x);
      p.best.controls = controls;
      p.best.cost = now.value;
    }
    if (!p.report(p.best.cost)) return false;
    const double scale = std::max(std::abs(now.value), 1e-9 * std::abs(p.best.history.front()));
    still = before - now.value <= p.options.tolerance * scale ? still + 1 : 0;
    before = now.value;
    // L-BFGS learns the curvature on its way: one small decrease says little.
    settled = still >= 5 || now.gradient_norm == 0;
    if (settled) return false;
    if (!p.out_of_time()) return true;
    words = message("Stopped at the time limit of ", *p.options.time_limit, " s.");
    return false;
  };
  try {
    const LbfgsResult found = lbfgs(objective, z, how);
    ended = settled ? OptimiserStatus::converged_value : found.status;
    if (ended == OptimiserStatus::line_search_failed && still > 0) {
      ended = OptimiserStatus::converged_value;
    }
  } catch (const Interrupted&) {
  }
  p.best.gains.assign(p.T * p.nu * p.nt, 0.0);
  return p.finish(ended, words);
}

}  // namespace cycloid::inline optimise
