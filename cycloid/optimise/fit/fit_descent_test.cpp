#include "cycloid/optimise/fit/fit_descent.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/system/systems.h"

namespace cycloid::fit_descent_test {

using Numbers = std::vector<double>;

Recording swing(double noise) {
  const Numbers x0{1, 0};
  const Trajectory<double> run = rollout(systems::pendulum({.length = 0.7}), x0, 100);
  Recording r{.times = run.times(), .values = {run.states().begin(), run.states().end()}};
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    r.values[i] += noise * std::sin(12.9 * static_cast<double>(i) * static_cast<double>(i));
  }
  r.sigma = {0.01};
  return r;
}

TEST_CASE("fit descent: ends where the gradient is zero, and counts what it has simulated") {
  const System system = systems::pendulum();
  FitProblem problem(system, {swing(0.01)}, Unknowns(system, {{{"length"}}}), {}, {}, {}, 0, {});
  FitEffort effort;
  FitDescent descent(problem, effort, Loss::squared, problem.start());
  REQUIRE(descent.begin());
  CHECK(effort.steps == 200);  // a run, and its Jacobian
  CHECK(is_converged(descent.descend(1e-12, 50)));
  Numbers theta_bar(1), starts_bar(2);
  problem.gradient(descent.at(), Loss::squared, theta_bar, starts_bar);
  CHECK(std::abs(theta_bar[0]) < 1e-3 * descent.cost());
  CHECK(descent.at().theta[0] == doctest::Approx(0.7).epsilon(0.01));
  for (std::size_t i = 1; i < descent.history().size(); ++i) {
    CHECK(descent.history()[i] < descent.history()[i - 1]);
  }
}

TEST_CASE("fit descent: gaps between segments close as they weigh more") {
  const System system = systems::pendulum();
  FitProblem problem(system, {swing(0)}, Unknowns(system, {{{"length"}}}), {}, {}, {}, 0.2, {});
  FitEffort effort;
  FitDescent descent(problem, effort, Loss::squared, problem.start());
  REQUIRE(descent.begin());
  descent.weigh_links(0.1);
  const double before = descent.largest_gap();
  CHECK(before > 0.01);
  for (int round = 0; round < 6; ++round) descent.descend(1e-10, 50), descent.tighten(10);
  CHECK(descent.largest_gap() < 1e-6);
}

TEST_CASE("fit descent: a watch that says no ends it with the best so far") {
  const System system = systems::pendulum();
  FitProblem problem(system, {swing(0)}, Unknowns(system, {{{"length"}}}), {}, {}, {}, 0, {});
  FitEffort effort;
  effort.watch = [](const Progress& now) { return now.iteration < 2; };
  FitDescent descent(problem, effort, Loss::squared, problem.start());
  REQUIRE(descent.begin());
  CHECK(descent.descend(1e-12, 50) == OptimiserStatus::stopped);
  CHECK(effort.iterations == 2);
}

}  // namespace cycloid::fit_descent_test
