#include "cycloid/optimise/mpc.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/optimise/planning/planner.h"

namespace cycloid::inline optimise {

Mpc::Mpc(const System& system, const Cost& cost, std::int64_t horizon, const MpcOptions& options)
    : system_(system), cost_(cost), horizon_(horizon), options_(options) {
  if (options.every < 1) throw Error(message("MPC: every must be at least 1; got ", options.every));
  if (options.every > horizon) {
    throw Error(
        message("MPC: every (", options.every, ") must not exceed the horizon (", horizon, ")"));
  }
  planner_ = make_planner(system, system.initial_state(), cost, horizon, options.plan);
}

Mpc::~Mpc() = default;

void Mpc::reset() {
  plan_ = {};
  calls_ = 0;
}

const Plan& Mpc::plan() const {
  if (calls_ == 0) throw Error("MPC: there is no plan before the first call");
  return plan_;
}

std::vector<double> Mpc::control(std::span<const double> x, const KeepGoing& keep_going) {
  const std::size_t nu = static_cast<std::size_t>(system_.inputs().size()),
                    moved = static_cast<std::size_t>(options_.every) * nu;
  std::vector<double> start = options_.plan.start;
  planner_->options.iterations = options_.first_iterations;
  if (calls_ > 0) {
    start.assign(plan_.controls.begin() + static_cast<std::ptrdiff_t>(moved), plan_.controls.end());
    for (std::size_t i = 0; i < moved; ++i) {
      start.push_back(plan_.controls[plan_.controls.size() - nu + i % nu]);
    }
    planner_->options.iterations = options_.plan.iterations;
  }
  planner_->options.keep_going = keep_going;
  planner_->begin_again(x, start);
  bool failed = false;
  try {
    plan_ = run_planner(*planner_);
  } catch (const GradientError&) {
    failed = true;  // no derivative here: go on with the last plan
  } catch (const StartFails&) {
    failed = true;
  }
  if (failed) {
    if (calls_ == 0 && start.empty()) start.assign(static_cast<std::size_t>(horizon_) * nu, 0.0);
    // Without a better one, and with nothing on the way wrong: what was planned before.
    plan_.controls = start;
    planner_->clamp(plan_.controls);
    plan_.states.assign(static_cast<std::size_t>(horizon_ + 1) * x.size(), 0.0);
    for (std::int64_t t = 0; t <= horizon_; ++t) {
      std::copy(planner_->x0.begin(), planner_->x0.end(),
                plan_.states.begin() + t * std::ssize(planner_->x0));
    }
    plan_.gains.assign(
        plan_.controls.size() * static_cast<std::size_t>(system_.states().tangent_size()), 0.0);
    plan_.converged = false;
    plan_.cost = INFINITY;
    plan_.message =
        "No plan could be made from this state: its rollout fails. The last one is "
        "held.";
  }
  ++calls_;
  // A loop around it ends too; what was found so far stays in plan_.
  if (keep_going && !keep_going()) throw Interrupted("interrupted");
  return {plan_.controls.begin(), plan_.controls.begin() + static_cast<std::ptrdiff_t>(nu)};
}

std::vector<double> Mpc::feedback(std::span<const double> x, std::int64_t step) const {
  const Plan& now = plan();
  const Space& space = system_.states();
  const std::int64_t nu = system_.inputs().size(), nt = space.tangent_size();
  if (step < 0 || step >= horizon_) {
    throw Error(message("MPC: there is no input ", step, " in a horizon of ", horizon_));
  }
  std::vector<double> d(nt),
      u(now.controls.begin() + step * nu, now.controls.begin() + (step + 1) * nu);
  if (std::ssize(x) != space.size()) {
    throw Error(message("MPC: x must have ", space.size(), " numbers; got ", x.size()));
  }
  space.difference(now.states.data() + step * space.size(), x.data(), d.data());
  for (std::int64_t i = 0; i < nu; ++i) {
    for (std::int64_t j = 0; j < nt; ++j) u[i] -= now.gains[(step * nu + i) * nt + j] * d[j];
  }
  planner_->clamp(u);
  return u;
}

}  // namespace cycloid::inline optimise
