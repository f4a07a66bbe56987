#include "cycloid/optimise/verify.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

namespace cycloid::verify_test {

using Row = std::vector<double>;

// A plan from controls, with the cost of its last state's distance from where it ends.
PlanUnderTest plan_of(const System& system, const Row& x0, const Row& controls, const Row& gain) {
  const std::int64_t T = static_cast<std::int64_t>(controls.size());
  const Trajectory<double> run = rollout(system, x0, Controls<double>(controls, T));
  PlanUnderTest plan{x0, controls, {run.states().begin(), run.states().end()}};
  for (std::int64_t t = 0; t < T && !gain.empty(); ++t) {
    plan.gains.insert(plan.gains.end(), gain.begin(), gain.end());
  }
  const Row goal(plan.states.end() - 2, plan.states.end());
  plan.cost = [goal](const System&, std::span<const double> states, std::span<const double>) {
    const double a = states[states.size() - 2] - goal[0], w = states.back() - goal[1];
    return a * a + 0.1 * w * w;
  };
  return plan;
}

// A torque that holds a pendulum to the side, with feedback.
PlanUnderTest honest(const System& system) {
  return plan_of(system, {0.0, 0.0}, Row(150, 9.81 * std::sin(0.6)), {20, 6});
}

// A kick, and then the explicit Euler method's energy from nothing.
PlanUnderTest exploiting(const System& system) {
  Row kick(60, 0.0);
  kick[0] = 1;
  return plan_of(system, {0.0, 0.0}, kick, {});
}

std::map<std::string, double> by_test(const Trust& trust) {
  std::map<std::string, double> out;
  for (const TestResult& t : trust.tests) out[t.name] = t.survives;
  return out;
}

TEST_CASE("verify: an honest plan passes every test that the system can vary") {
  const System system = systems::pendulum({.damping = 0.5}, {.dt = 0.02});
  const Trust trust = verify(system, honest(system));
  CHECK(trust.ok);
  CHECK(trust.survives > 0.9);
  CHECK(trust.exploits.empty());
  CHECK(trust.costs.result < 1e-12);
  const auto tests = by_test(trust);
  for (const char* name :
       {"half step", "quarter step", "other integrator", "parameters", "delay", "noise"}) {
    CAPTURE(name);
    CHECK(tests.count(name) == 1);
  }
  CHECK(tests.count("hard contact") == 0);
  CHECK(trust.verdict.find("trustworthy: ") == 0);
  CHECK(trust.page("A plan").html().find("half step") != std::string::npos);
}

TEST_CASE("verify: a plan that lives on a large step is called out") {
  const System system = systems::pendulum({}, {.dt = 0.1, .integrator = "euler"});
  const Trust trust = verify(system, exploiting(system));
  CHECK_FALSE(trust.ok);
  CHECK(trust.survives < 0.3);
  CHECK(by_test(trust).at("quarter step") < 0.3);
  REQUIRE(trust.exploits.size() == 1);
  CHECK(trust.exploits[0].name == "energy from nothing");
  CHECK(trust.verdict.find("not to be trusted: ") == 0);
}

TEST_CASE("verify: the share is cut to 0 … 1, and nothing gained is nothing that survives") {
  CHECK(surviving_share({10, 4}, 2) == 0.75);
  CHECK(surviving_share({10, 1}, 2) == 1);
  CHECK(surviving_share({10, 12}, 2) == 0);
  CHECK(surviving_share({2, 2}, 2) == 0);
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(surviving_share({10, inf}, 2) == 0);
  CHECK(surviving_share({inf, 2}, 2) == 0);
}

TEST_CASE("verify: a plan in its own world is the plan; delay and noise act on its inputs") {
  const System system = systems::pendulum({.damping = 0.5}, {.dt = 0.02});
  const PlanUnderTest plan = honest(system);
  const PlanRuns same = run_plan(plan, {system});
  // Lanes round otherwise than the lone run of the plan, and the gains feel it.
  REQUIRE(same.controls.size() == plan.controls.size());
  for (std::size_t i = 0; i < plan.controls.size(); ++i) {
    CHECK(same.controls[i] == doctest::Approx(plan.controls[i]).epsilon(1e-12));
  }
  for (std::size_t i = 0; i < plan.states.size(); ++i) {
    CHECK(same.states[i] == doctest::Approx(plan.states[i]).epsilon(1e-12));
  }
  CHECK(same.start_controls == Row(150, 0.0));
  const PlanRuns late = run_plan(plan, {.system = system, .delay = 3});
  CHECK(late.controls[2] == 0);
  CHECK(late.controls[3] == plan.controls[0]);
  const PlanRuns noisy = run_plan(plan, {.system = system, .noise = 0.1, .seed = 5});
  CHECK(noisy.controls[0] != plan.controls[0]);
  CHECK(noisy.start_controls[0] == doctest::Approx(noisy.controls[0] - plan.controls[0]));
  CHECK(run_plan(plan, {.system = system, .noise = 0.1, .seed = 5}).states == noisy.states);
}

TEST_CASE("verify: a plan that plan found is judged by its own cost") {
  const System system = systems::pendulum({.damping = 0.1}, {.dt = 0.02});
  const Cost cost = Cost(Reach{"angle", {1.0}, {100}}) + Effort{{1e-2}};
  const PlanOptions options{.low = {-4}, .high = {4}};
  const Plan found = plan(system, Row{0, 0}, cost, 80, options);
  const Trust trust = verify(system, Row{0, 0}, cost, found, options);
  CHECK(trust.ok);
  CHECK(trust.costs.result == doctest::Approx(found.cost).epsilon(1e-9));
  CHECK(trust.costs.start == doctest::Approx(100));
}

TEST_CASE("verify: uncertainty of parameters is what is given, and bad plans are refused") {
  const System system = systems::pendulum({.damping = 0.5}, {.dt = 0.02});
  PlanUnderTest plan = honest(system);
  plan.gains.clear();
  VerifyOptions options;
  options.std = {{"mass", {0.0}}};
  CHECK(by_test(verify(system, plan, options)).at("parameters") == doctest::Approx(1));
  options.std = {{"mass", {0.5}}};
  CHECK(by_test(verify(system, plan, options)).at("parameters") < 0.9);
  plan.controls.pop_back();
  CHECK_THROWS_WITH_AS(verify(system, plan), doctest::Contains("verify"), Error);
}

}  // namespace cycloid::verify_test
