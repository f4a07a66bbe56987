#include "cycloid/optimise/fit/fit_problem.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

namespace cycloid::fit_problem_test {

using Numbers = std::vector<double>;

TEST_CASE("fit problem: the Jacobian of residuals is that of central differences") {
  const System system = systems::pendulum({.length = 0.8, .damping = 0.2});
  Recording r{.times = {0, 0.113, 0.25, 0.3, 0.777},
              .values = {1, -7, 0.9, -7.1, 0.7, -7.2, 0.6, NAN, -0.8, -6.9},
              .names = {"angle", "energy"},
              .sigma = {0.01}};
  const Unknowns unknowns(system, {{{"length"}}, {{"gravity"}}});
  FitProblem problem(system, {r}, unknowns,
                     {{{"output:angle.gain"}, {1.1}}, {{"output:angle.delay"}, {0.017}}}, {}, {},
                     0.2, {});
  FitPoint at = problem.start();
  const std::size_t K = problem.size(), nt = problem.tangents(), c = K + nt;
  REQUIRE(problem.stretches().size() > 2);
  const Evaluated e = problem.evaluate(at, true);
  REQUIRE(e.ok);
  const double step = 1e-6;
  for (std::size_t s = 0; s < e.stretches.size(); ++s) {
    for (std::size_t j = 0; j < c; ++j) {
      Numbers theta = at.theta, tan(at.starts.size() / 2 * nt, 0.0);
      const auto moved = [&](double h) {
        Numbers t = theta, d = tan;
        if (j < K) {
          t[j] += h;
        } else {
          d[s * nt + j - K] = h;
        }
        return problem.evaluate(problem.moved(at, t, d), false);
      };
      const Evaluated up = moved(step), down = moved(-step);
      for (std::size_t i = 0; i < e.stretches[s].r.size(); ++i) {
        const double slope = (up.stretches[s].r[i] - down.stretches[s].r[i]) / (2 * step);
        CHECK(e.stretches[s].J[i * c + j] == doctest::Approx(slope).epsilon(1e-5).scale(100));
      }
      for (std::size_t i = 0; i < e.stretches[s].gap.size(); ++i) {
        const double slope = (up.stretches[s].gap[i] - down.stretches[s].gap[i]) / (2 * step);
        CHECK(-e.stretches[s].end_tan[i * c + j] == doctest::Approx(slope).epsilon(1e-6).scale(1));
      }
    }
  }
}

TEST_CASE("fit problem: a step uses the row of controls in force at its start") {
  // A mass without gravity: the speed after a second is the sum of the impulses.
  const System system = systems::spring_chain(1, {.stiffness = 1e-9}, {.dt = 0.1});
  Recording r{.times = {2, 2.25, 2.6, 3}, .values = Numbers(8, 0.0), .controls = {1, 10, 100, 1e6}};
  r.x0 = {0, 0};
  FitStarts starts;
  starts.known = true;
  FitProblem problem(system, {r}, Unknowns(system, {}), {}, {}, starts, 0, {});
  // Steps begin at 2, 2.1, 2.2 under 1; 2.3, 2.4, 2.5 under 10; 2.6 to 2.9 under 100.
  const FitPoint at = problem.start();
  const std::vector<Numbers> shown = problem.evaluate(at, false).shown;
  CHECK(shown[0][7] == doctest::Approx(0.1 * (3 + 30 + 400)).epsilon(1e-6));
}

TEST_CASE("fit problem: segments cover the recording, a short rest joins the last") {
  const System system = systems::pendulum();
  const Recording r{.times = {0, 0.5, 1.03}, .values = Numbers(6, 0.5)};
  const FitProblem problem(system, {r, r}, Unknowns(system, {}), {}, {}, {}, 0.2, {});
  std::int64_t steps = 0;
  int last = 0;
  for (const FitStretch& s : problem.stretches()) {
    steps += s.steps, last += s.last;
    CHECK(s.steps >= 20);
  }
  CHECK(steps == 206);
  CHECK(last == 2);
  CHECK(problem.steps_per_run() == 206);
}

TEST_CASE("fit problem: sensors that are not there are refused") {
  const System system = systems::pendulum();
  const Recording r{.times = {0, 1}, .values = Numbers(4, 0.5)};
  const auto made = [&](const char* name) {
    FitProblem(system, {r}, Unknowns(system, {}), {{{name}}}, {}, {}, 0, {});
  };
  CHECK_THROWS_AS(made("output:angel.offset"), ParameterError);
  CHECK_THROWS_AS(made("output:angle.bias"), ParameterError);
  CHECK_NOTHROW(made("output:angle.delay"));
}

}  // namespace cycloid::fit_problem_test
