#include "cycloid/optimise/fit/fit_gradient.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

namespace cycloid::fit_gradient_test {

using Numbers = std::vector<double>;

// A swing of which angles and energy were seen at uneven times, with a few far off.
Recording swing() {
  const System truth = systems::pendulum({.length = 0.8, .damping = 0.1});
  const Numbers x0{1, 0.2};
  const Trajectory<double> run = rollout(truth, x0, 120);
  Recording r{.times = {}, .values = {}};
  for (std::size_t i = 0; i < 120; i += i % 7 == 0 ? 1 : 3) {
    r.times.push_back(run.times()[i] + (i % 2 == 0 ? 0 : 0.004));
    r.values.push_back(run.states()[2 * i] + 0.02 * std::sin(3.0 * static_cast<double>(i)));
  }
  r.times.front() = 0;
  r.values[5] += 3;
  r.values[9] = NAN;
  r.names = {"angle"};
  r.sigma = {0.02};
  return r;
}

TEST_CASE("fit gradient: equals differences, for every loss, with sensors, starts and a prior") {
  const System system = systems::pendulum({.length = 0.75});
  for (const Loss loss : {Loss::squared, Loss::huber, Loss::cauchy}) {
    UnknownOptions options;
    options.priors.push_back({"length", {0.7}, {0.05}});
    const FitProblem problem(
        system, {swing()}, Unknowns(system, {{{"length"}}, {{"damping"}, {0.05}}}, options),
        {{{"output:angle.gain"}, {1.1}}, {{"output:angle.offset"}}}, {}, {}, 0, {});
    FitPoint at{{0.75, 0.05, 1.1, 0.01}, {1.05, 0.1}};
    Numbers theta_bar(4), starts_bar(2), none(4), nothing(2);
    const double F = problem.gradient(at, loss, theta_bar, starts_bar);
    CHECK(std::isfinite(F));
    for (std::size_t j = 0; j < 6; ++j) {
      const auto moved = [&](double by) {
        FitPoint to = at;
        (j < 4 ? to.theta[j] : to.starts[j - 4]) += by;
        return problem.gradient(to, loss, none, nothing);
      };
      const double e = 1e-6, slope = (moved(e) - moved(-e)) / (2 * e),
                   got = j < 4 ? theta_bar[j] : starts_bar[j - 4];
      CHECK(got == doctest::Approx(slope).epsilon(1e-5));
      CHECK(std::abs(got) > 1);
    }
  }
}

TEST_CASE("fit gradient: both ways down end where Levenberg and Marquardt do") {
  const System system = systems::pendulum();
  const FitProblem problem(system, {swing()}, Unknowns(system, {{{"length"}}, {{"damping"}}}), {},
                           {}, {}, 0, {});
  FitProblem own = problem;
  FitEffort effort;
  FitDescent exact(problem, effort, Loss::huber, own.start());
  REQUIRE(exact.begin());
  exact.descend(1e-12, 100);
  for (const GradientMethod method : {GradientMethod::lbfgs, GradientMethod::adam}) {
    GradientDescentOptions options;
    options.method = method;
    options.iterations = method == GradientMethod::lbfgs ? 100 : 1500;
    const GradientDescent found =
        descend_by_gradient(problem, effort, Loss::huber, own.start(), options);
    CHECK(found.cost == doctest::Approx(exact.cost()).epsilon(1e-3));
    CHECK(is_converged(found.status));
    CHECK(found.at.theta[0] == doctest::Approx(exact.at().theta[0]).epsilon(1e-2));
  }
}

TEST_CASE("fit gradient: segments are refused") {
  const System system = systems::pendulum();
  FitProblem problem(system, {swing()}, Unknowns(system, {{{"length"}}}), {}, {}, {}, 0.3, {});
  FitEffort effort;
  CHECK_THROWS_AS(descend_by_gradient(problem, effort, Loss::squared, problem.start(), {}), Error);
}

}  // namespace cycloid::fit_gradient_test
