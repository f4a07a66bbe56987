#include "cycloid/optimise/fit/fit_judgement.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/system/systems.h"

namespace cycloid::fit_judgement_test {

using Numbers = std::vector<double>;

TEST_CASE("fit judgement: covariance and information are those of the Jacobian, starts known") {
  const System system = systems::pendulum({.damping = 0.1});
  const Numbers x0{1, 0};
  const Trajectory<double> run = rollout(system, x0, 80);
  Recording r{.times = run.times(), .values = {run.states().begin(), run.states().end()}};
  r.sigma = {0.1, 0.2};
  r.x0 = x0;
  FitStarts known;
  known.known = true;
  FitProblem problem(system, {r}, Unknowns(system, {{{"length"}}, {{"damping"}}}), {}, {}, known, 0,
                     {});
  const FitPoint at = problem.start();
  const Evaluated seen = problem.evaluate(at, true);
  REQUIRE(problem.start_columns() == 0);
  Fit fit;
  judge(problem, at, seen, at, Loss::squared, fit);
  double a = 0, b = 0, d = 0;  // JᵀJ
  for (std::size_t i = 0; i < seen.stretches[0].r.size(); ++i) {
    const double* row = seen.stretches[0].J.data() + 2 * i;
    a += row[0] * row[0], b += row[0] * row[1], d += row[1] * row[1];
  }
  const double det = a * d - b * b;
  CHECK(fit.covariance[0] == doctest::Approx(d / det).epsilon(1e-9));
  CHECK(fit.covariance[1] == doctest::Approx(-b / det).epsilon(1e-9));
  CHECK(fit.std[1] == doctest::Approx(std::sqrt(a / det)).epsilon(1e-9));
  REQUIRE(fit.information_root.size() == 4);
  const Numbers& R = fit.information_root;
  CHECK(R[0] * R[0] + R[2] * R[2] == doctest::Approx(a).epsilon(1e-9));
  CHECK(R[0] * R[1] + R[2] * R[3] == doctest::Approx(b).epsilon(1e-9));
}

TEST_CASE("fit judgement: sigma comes from the residuals, per output, less the unknowns' share") {
  const System system = systems::pendulum();
  const Numbers x0{1, 0};
  const Trajectory<double> run = rollout(system, x0, 200);
  Recording r{.times = run.times(), .values = {run.states().begin(), run.states().end()}};
  for (std::size_t i = 0; i < r.values.size(); ++i) r.values[i] += i % 4 < 2 ? 0.01 : -0.01;
  r.names = {"angle", "angular_velocity"};
  FitProblem problem(system, {r}, Unknowns(system, {{{"length"}}}), {}, {}, {}, 0, {});
  const FitPoint at{{1}, x0};
  CHECK(estimate_sigma(problem, problem.evaluate(at, false)));
  const double share = 1 - 3.0 / 402;  // a length and a start of two numbers
  CHECK(problem.sigma(0)[0] == doctest::Approx(0.01 / std::sqrt(share)).epsilon(1e-6));
  CHECK_FALSE(estimate_sigma(problem, problem.evaluate(at, false)));
}

}  // namespace cycloid::fit_judgement_test
