#include "cycloid/couple/guarded.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

namespace cycloid {
namespace {

System pendulum(double dt = 0.01, const char* integrator = "rk4", double length = 1) {
  return systems::make("pendulum", {{"length", {length}}}, {.dt = dt, .integrator = integrator});
}

// One step of one environment by the scalar stepper, state and carry in and out.
struct Walk {
  explicit Walk(const System& s)
      : system(s),
        stepper(s.steppers<double>().one),
        workspace(stepper->make_workspace({})),
        p(s.parameters().default_values()),
        x(static_cast<std::size_t>(stepper->sizes().kept()), 0.0) {
    stepper->begin({p.data()}, *workspace);
  }
  int step(std::int64_t k) {
    std::vector<double> next(x.size());
    double branch = -1;
    StepRecord record{reinterpret_cast<std::byte*>(&branch), sizeof branch, {}};
    const double u = 0;
    stepper->step({x.data(), &u, k, 0.0}, next.data(), &record, *workspace);
    x = next;
    return static_cast<int>(branch);
  }
  System system;
  std::shared_ptr<const Stepper<double>> stepper;
  std::unique_ptr<StepWorkspace> workspace;
  std::vector<double> p, x;
};

}  // namespace

TEST_CASE("guarded: the first steps are comparisons, and with every = 3 each third one is") {
  Walk walk(guarded(pendulum(0.01, "euler"), pendulum(), {.bound = 0.1, .every = 3}));
  walk.x[0] = 1;
  std::vector<int> branches;
  for (int k = 0; k < 8; ++k) branches.push_back(walk.step(k));
  CHECK(branches == std::vector<int>{1, 0, 0, 1, 0, 0, 1, 0});
}

TEST_CASE("guarded: a model equal to the truth is soon left to itself, and changes nothing") {
  Walk walk(guarded(pendulum(), pendulum(), {.bound = 0.1})), truth(pendulum());
  walk.x[0] = truth.x[0] = 1;
  int comparisons = 0;
  for (int k = 0; k < 200; ++k) {
    comparisons += walk.step(k) != 0;
    std::vector<double> next(2);
    const double u = 0;
    truth.stepper->step({truth.x.data(), &u, k, 0.0}, next.data(), nullptr, *truth.workspace);
    truth.x = next;
  }
  CHECK(walk.x[0] == doctest::Approx(truth.x[0]).epsilon(1e-12));
  CHECK(comparisons < 15);
}

TEST_CASE("guarded: parameters that both have alike are one, others go by model.NAME") {
  const System same = guarded(pendulum(0.04), pendulum(), {.bound = 0.1});
  CHECK(same.parameters().contains("length"));
  CHECK_FALSE(same.parameters().contains("model.length"));
  CHECK(same.parameters().contains("truth.timestep"));
  CHECK(same.parameters().contains("model.timestep"));
  CHECK(same.timestep() == 0.04);
  CHECK(same.states().size() == 6);
  CHECK(same.counters() == std::vector<std::string>{"classical_steps", "comparisons", "alarms"});
  const System other = guarded(pendulum(0.01, "rk4", 1.2), pendulum(), {.bound = 0.1});
  CHECK(other.parameters().contains("model.length"));
  CHECK_FALSE(other.parameters().contains("model.mass"));
}

TEST_CASE("guarded: what cannot be guarded is refused by its reason") {
  const GuardOptions options{.bound = 0.1};
  CHECK_THROWS_AS(guarded(pendulum(), pendulum(), {}), ParameterError);
  CHECK_THROWS_AS(guarded(pendulum(0.015), pendulum(), options), ModelError);
  CHECK_THROWS_AS(guarded(systems::make("lorenz", {}, {}), pendulum(), options), ModelError);
  CHECK_THROWS_AS(guard_log(pendulum(), {}), Error);
  CHECK_THROWS_AS(guarded(pendulum(), pendulum(), {.bound = 0.1, .horizon = -1}), ParameterError);
}

TEST_CASE("guard_log: every step of the truth with its reason; a ball's bounces are among them") {
  const System ball = systems::make("bouncing_ball", {}, {.dt = 0.01}),
               rough = systems::make("bouncing_ball", {}, {.dt = 0.01, .integrator = "euler"});
  const System safe = guarded(rough, ball, {.bound = 0.2, .most = 8});
  const std::vector<double> x0 = {1, 0, 0, 0, 0, 0};
  const std::vector<GuardEntry> log = guard_log(safe, {x0, {}, {}, 130});
  REQUIRE(log.size() > 3);
  CHECK(log[0].reason == GuardReason::start);
  int bounces = 0;
  for (std::size_t i = 0; i < log.size(); ++i) {
    CHECK(log[i].bound == 0.2);
    if (i > 0) CHECK(log[i].step > log[i - 1].step);
    if (log[i].reason != GuardReason::event) continue;
    ++bounces;
    // The fall takes 0.4515 s, the second bounce comes at 1.174 s.
    CHECK(log[i].time == doctest::Approx(bounces == 1 ? 0.45 : 1.17).epsilon(0.02));
  }
  CHECK(bounces == 2);
}

}  // namespace cycloid
