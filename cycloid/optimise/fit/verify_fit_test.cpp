#include "cycloid/optimise/fit/verify_fit.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/system/systems.h"

namespace cycloid::verify_fit_test {

using Numbers = std::vector<double>;

Recording swing(double length, double phase) {
  const System truth = systems::pendulum({.length = length, .damping = 0.1}, {.dt = 0.02});
  Numbers torque(200);
  for (std::size_t i = 0; i < torque.size(); ++i) {
    torque[i] = std::sin(0.05 * static_cast<double>(i) + phase);
  }
  const Numbers x0{0.5, 0};
  const Trajectory<double> run = rollout(truth, x0, Controls<double>(torque, 200));
  torque.push_back(0);
  Recording r{.times = run.times(), .values = {run.states().begin(), run.states().end()}};
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    r.values[i] += 0.005 * std::sin(7.3 * static_cast<double>(i * i));
  }
  r.controls = torque;
  r.sigma = {0.005};
  return r;
}

TEST_CASE("verify fit: a fit that foretells another swing is trusted, a wrong one costs more") {
  const System system = systems::pendulum({}, {.dt = 0.02});
  const Fit fit = identify(system, {swing(0.7, 0)}, {{{"length"}}, {{"damping"}}});
  const Numbers guess = system.parameters().default_values();
  const Trust good = verify_fit(system, fit, {swing(0.7, 1)}, guess);
  CHECK(good.ok);
  CHECK(good.survives > 0.9);
  CHECK(good.costs.result < 600);
  const Trust wrong = verify_fit(system, fit, {swing(0.95, 1)}, guess);
  CHECK(wrong.costs.result > 10 * good.costs.result);
  CHECK(good.tests.size() >= 5);
}

TEST_CASE("verify fit: without controls nothing is delayed; a sensor's numbers are held") {
  const System system = systems::pendulum({.damping = 0.1}, {.dt = 0.02});
  const Numbers x0{1, 0};
  const Trajectory<double> run = rollout(system, x0, 100);
  Recording r{.times = run.times(), .values = {}};
  for (std::size_t i = 0; i <= 100; ++i) r.values.push_back(run.states()[2 * i] + 0.3);
  r.names = {"angle"};
  r.sigma = {0.01};
  const Fit fit = identify(system, {r}, {{{"length"}, {1.2}}, {{"output:angle.offset"}}});
  const IdentifyOptions held = start_options(system, fit, r, {});
  REQUIRE(held.unknowns.bounds.size() == 1);
  CHECK(held.unknowns.bounds[0].low[0] == doctest::Approx(0.3).epsilon(1e-3));
  Numbers guess = system.parameters().default_values();
  guess[static_cast<std::size_t>(system.parameters().find("length").offset)] = 1.2;
  const Trust trust = verify_fit(system, fit, {r}, guess);
  for (const TestResult& t : trust.tests) {
    CHECK(t.name != "delay");
    CHECK(t.name != "noise");
  }
  CHECK(trust.costs.result < 1e-3);
}

}  // namespace cycloid::verify_fit_test
