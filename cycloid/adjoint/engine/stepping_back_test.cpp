// The reversible tape: one state for any number of steps, and the gradient that comes of it.
#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/engine/run.h"
#include "cycloid/adjoint/rollout.h"
#include "tests/support/rollout_cases.h"

namespace cycloid::stepping_back_test {

using test::Numbers;
using test::relative_error;
using test::rollout_case;
using test::RolloutCase;

// A chain of three driven masses without damping, or with.
RolloutCase<double> chain(const char* integrator, std::int64_t batch, std::int64_t steps,
                          double damping = 0) {
  systems::Settings settings;
  settings.integrator = integrator;
  settings.dt = 0.05;
  const System system = systems::spring_chain(3, {1.3, 4.0, damping}, settings);
  RolloutCase<double> c = rollout_case<double>(system, batch, steps);
  c.params = {};  // the damping that was given
  return c;
}

Gradient<double> gradient(const RolloutCase<double>& c, const Memory& memory,
                          PullbackOptions::Failed failed = PullbackOptions::Failed::raise) {
  const Trajectory<double> run = c.run(memory, Save::last());
  PullbackOptions options;
  options.failed = failed;
  return run.pullback(test::seeded<double>(5, run.states().size()), options);
}

TEST_CASE("reversible tape: the gradient is that of the stored states, to the drift it reports") {
  for (const char* integrator : {"verlet", "implicit_midpoint"}) {
    for (const std::int64_t batch : {1, 5}) {
      CAPTURE(integrator);
      const RolloutCase<double> c = chain(integrator, batch, 2000);
      const Gradient<double> stored = gradient(c, Memory::all());
      const Gradient<double> back = gradient(c, Memory::reversible());
      CHECK(stored.drift == 0);
      CHECK(back.drift > 0);
      CHECK(back.drift < 1e-12);  // 2000 steps, a few units in the last place each
      CHECK(relative_error(back.x0, stored.x0) < 1e-11);
      CHECK(relative_error(back.controls, stored.controls) < 1e-11);
      CHECK(relative_error(back.params, stored.params) < 1e-11);
    }
  }
}

TEST_CASE("tape: its buffers are as large as the plan says") {
  for (const Memory& memory : {Memory::all(), Memory::sqrt(), Memory::checkpoints(7),
                               Memory::truncate(30), Memory::reversible()}) {
    const Trajectory<double> run = chain("verlet", 3, 1000).run(memory, Save::last());
    CHECK(run.tape().bytes() == run.run().plan.bytes);
    CHECK(run.tape().bytes() == run.report().tape_bytes);
  }
}

TEST_CASE("reversible tape: its buffers do not grow with the number of steps") {
  const auto bytes = [](std::int64_t steps, const Memory& memory) {
    return chain("verlet", 3, steps).run(memory, Save::last()).tape().bytes();
  };
  CHECK(bytes(10, Memory::reversible()) == bytes(100000, Memory::reversible()));
  CHECK(bytes(100000, Memory::reversible()) < bytes(100, Memory::sqrt()));
}

TEST_CASE("reversible tape: refused where a step back does not undo the step, with what to do") {
  CHECK_THROWS_WITH_AS(gradient(chain("rk4", 1, 10), Memory::reversible()),
                       doctest::Contains("verlet or implicit_midpoint"), Error);
  CHECK_THROWS_WITH_AS(gradient(chain("verlet", 3, 10, 0.5), Memory::reversible()),
                       doctest::Contains("does not depend on velocity"), Error);
  // Whatever its integrator, a law with events has resets.
  for (const char* integrator : {"rk4", "verlet", "implicit_midpoint"}) {
    systems::Settings settings;
    settings.integrator = integrator;
    RolloutOptions options;
    options.memory = Memory::reversible();
    CHECK_THROWS_WITH_AS(
        rollout(systems::bouncing_ball({}, settings), Numbers{1, 0}, 10, {}, options),
        doctest::Contains("a law with events cannot be run backwards"), Error);
  }
}

TEST_CASE("reversible tape: a run that cannot be found again has no gradient, or a zero one") {
  // Damping at a rate of 2/1.3 per second over 80 s is e^61 on the way back.
  const RolloutCase<double> c = chain("implicit_midpoint", 2, 1600, 2.0);
  CHECK_THROWS_WITH_AS(gradient(c, Memory::reversible()), doctest::Contains("miss the initial"),
                       GradientError);
  const Gradient<double> none = gradient(c, Memory::reversible(), PullbackOptions::Failed::skip);
  CHECK(test::all_zero(none.x0));
  // Over a shorter time it is found, to a drift that is reported.
  const Gradient<double> some =
      gradient(chain("implicit_midpoint", 2, 100, 2.0), Memory::reversible());
  CHECK(some.drift > 1e-15);
  CHECK(some.drift < 1e-9);
}

TEST_CASE("reversible tape: computes in float, to the drift of a float") {
  systems::Settings settings;
  settings.integrator = "verlet";
  settings.precision = Precision::float32;
  const System system = systems::kepler({}, settings);
  const std::vector<float> x0 = {1, 0, 0, 1.1f}, bar = {1, 0.5f, -1, 0.3f};
  RolloutOptions options;
  options.save = Save::last();
  const Gradient<float> stored = rollout(system, x0, 500, {}, options).pullback(bar);
  options.memory = Memory::reversible();
  const Gradient<float> back = rollout(system, x0, 500, {}, options).pullback(bar);
  CHECK(back.drift < 1e-4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(back.x0[i] == doctest::Approx(stored.x0[i]).epsilon(1e-3));
  }
}

}  // namespace cycloid::stepping_back_test
