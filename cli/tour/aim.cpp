#include "cli/tour/aim.h"

#include <cmath>

#include "cli/tour/stop.h"
#include "cycloid/adjoint/check_gradient.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/optimise/lbfgs.h"
#include "cycloid/system/systems.h"

namespace cycloid::tour {
namespace {

constexpr int kPathPoints = 75;

System ball(const AimProblem& problem) {
  return systems::projectile({.mass = problem.mass,
                              .drag = problem.drag,
                              .wind = problem.wind,
                              .gravity = problem.gravity},
                             {.dt = problem.dt});
}

std::int64_t steps_of(const AimProblem& problem) {
  return std::llround(problem.flight_time / problem.dt);
}

std::vector<double> launch(std::span<const double> velocity) {
  return {0, 0, 0, velocity[0], velocity[1], velocity[2]};
}

Vector3 textbook_velocity(const AimProblem& problem) {
  const double T = problem.flight_time;
  return {problem.target[0] / T, problem.target[1] / T,
          problem.target[2] / T + problem.gravity * T / 2};  // (2)
}

AimIterate fly(const System& system, const AimProblem& problem, std::span<const double> velocity) {
  const std::int64_t T = steps_of(problem);
  RolloutOptions options;
  options.save = Save::every(std::max<std::int64_t>(1, T / kPathPoints));
  const auto flight = rollout(system, launch(velocity), T, {}, options);
  AimIterate iterate;
  iterate.velocity = {velocity[0], velocity[1], velocity[2]};
  for (std::size_t s = 0; s < flight.saved_steps().size(); ++s) {
    const auto x = flight.state(0, static_cast<std::int64_t>(s));
    iterate.path.push_back({x[0], x[1], x[2]});
  }
  return iterate;
}

}  // namespace

AimResult aim_at_target(const AimProblem& problem, const KeepGoing& keep_going,
                        const std::function<void(int, const AimIterate&)>& watch) {
  const System system = ball(problem);
  const std::int64_t T = steps_of(problem);
  AimResult result;
  result.problem = problem;

  RolloutOptions options;
  options.save = Save::last();
  options.keep_going = keep_going;
  const Objective loss = [&](std::span<const double> velocity, std::span<double> gradient) {
    const auto flight = rollout(system, launch(velocity), T, {}, options);
    std::vector<double> states_bar(6, 0.0);
    double value = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      states_bar[i] = flight.states()[i] - problem.target[i];
      value += states_bar[i] * states_bar[i] / 2;  // (1)
    }
    const auto g = flight.pullback(states_bar, {.controls = false, .params = false});
    for (std::size_t i = 0; i < 3; ++i) gradient[i] = g.x0[3 + i];
    return value;
  };

  LbfgsOptions lbfgs_options;
  lbfgs_options.gradient_tolerance = 1e-6;  // about a third of a micrometre
  lbfgs_options.watch = [&](const LbfgsIterate& at) {
    stop_if_asked(keep_going);
    AimIterate iterate = fly(system, problem, at.x);
    iterate.miss = std::sqrt(2 * at.value);
    if (watch) watch(at.iteration, iterate);
    result.iterates.push_back(std::move(iterate));
    return true;
  };
  const LbfgsResult found = lbfgs(loss, textbook_velocity(problem), lbfgs_options);
  result.status = name(found.status);
  result.simulations = found.evaluations;

  const GradientCheck check =
      check_gradient(system, launch(found.x), T, {}, {.keep_going = keep_going});
  result.gradient_error = check.max_relative_error;
  result.gradient_ok = check.ok;
  return result;
}

}  // namespace cycloid::tour
