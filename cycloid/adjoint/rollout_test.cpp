#include "cycloid/adjoint/rollout.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/check_gradient.h"
#include "cycloid/adjoint/diagnose.h"
#include "cycloid/adjoint/engine/run.h"
#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/pushforward.h"
#include "cycloid/base/error.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/make_system.h"
#include "tests/support/failing_laws.h"
#include "tests/support/rollout_cases.h"
#include "tests/support/test_laws.h"
#include "tests/support/watched_stepper.h"

namespace cycloid::rollout_test {

using test::Brittle;
using test::contains;
using test::Dipole;
using test::DrivenOscillator;
using test::Numbers;
using test::relative_error;
using test::rollout_case;
using test::RolloutCase;
using test::same_bits;
using test::text_of_error;
using test::Watch;

RolloutOptions saving(const Save& save) {
  RolloutOptions options;
  options.save = save;
  return options;
}

// The least that a Stepper may be: x⁺ = 2 x, without inputs, parameters or a record.
class Doubling final : public Stepper<double> {
 public:
  explicit Doubling(int lanes) : Stepper<double>(sizes(lanes)) {}
  void begin(const StepParameters<double>&, StepWorkspace&) const override {}
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord*,
                  StepWorkspace&) const override {
    for (int l = 0; l < sizes_.lanes; ++l) x_next[l] = 2 * in.x[l];
    return StepStatus::ok;
  }
  void pullback(const StepInput<double>&, const StepRecord&, const double* x_next_bar,
                double* x_bar, double*, StepWorkspace&) const override {
    for (int l = 0; l < sizes_.lanes; ++l) x_bar[l] += 2 * x_next_bar[l];
  }
  void finish(StepWorkspace&, double*) const override {}
  StepTrouble explain(const StepInput<double>&, int, StepWorkspace&) const override { return {}; }

 private:
  static StepperSizes sizes(int lanes) {
    StepperSizes s;
    s.lanes = lanes;
    s.state = s.tangent = 1;
    return s;
  }
};

// Brittle oscillators; those in `breaks` stop being finite at that time.
RolloutCase<double> brittle(std::int64_t batch, std::int64_t steps,
                            const std::map<std::int64_t, double>& breaks) {
  const System system = make_system(Brittle{}, {.dt = 0.1, .vary = {"breaks_at"}});
  RolloutCase<double> c = rollout_case<double>(system, batch, steps);
  const Numbers row = system.parameters().default_values();
  c.params.clear();
  for (std::int64_t e = 0; e < batch; ++e) {
    c.params.insert(c.params.end(), row.begin(), row.end());
    if (breaks.contains(e)) c.params[static_cast<std::size_t>(e) * row.size() + 1] = breaks.at(e);
  }
  return c;
}

TEST_CASE(
    "rollout: states are (batch, saved, states), start with x0, and follow each other by step") {
  for (const std::int64_t batch : {1, 5}) {
    RolloutCase<double> c = rollout_case<double>(systems::double_pendulum(), batch, 70);
    const Trajectory<double> run = c.run();
    REQUIRE(run.batch() == batch);
    REQUIRE(run.steps() == 70);
    REQUIRE(run.states().size() == static_cast<std::size_t>(batch * 71 * 4));
    for (std::int64_t e = 0; e < batch; ++e) {
      const RolloutCase<double> own = c.slice(e, 1);
      CHECK(same_bits(run.state(e, 0), own.x0));
      for (std::int64_t k = 0; k < 70; ++k) {
        const Numbers u(own.controls.begin() + 2 * k, own.controls.begin() + 2 * (k + 1));
        // One environment steps in the scalar type, several in lanes: equal to rounding.
        const Numbers next = step(c.system, run.state(e, k), u, c.params);
        REQUIRE(relative_error(run.state(e, k + 1), next) < 1e-12);
        if (batch == 1) REQUIRE(same_bits(run.state(e, k + 1), next));
      }
    }
    CHECK(same_bits(run.state(0, -1), run.state(0, 70)));
  }
}

TEST_CASE("rollout: a count of steps means zero inputs") {
  RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 3, 20);
  c.controls.assign(c.controls.size(), 0.0);
  const Trajectory<double> zeros = c.run();
  c.controls.clear();
  CHECK(same_bits(zeros.states(), c.run().states()));
}

TEST_CASE("rollout: saved states are those of the full run, and times are theirs") {
  const RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 3, 150);
  RolloutOptions options;
  options.t0 = 2.0;
  const Trajectory<double> full = c.run(options);
  for (const Save& save :
       {Save::last(), Save::every(7), Save::at({0, 63, 64, 65, -2}), Save::at({5})}) {
    options.save = save;
    const Trajectory<double> part = c.run(options);
    const double h = c.params.back();
    REQUIRE(part.times().size() == part.saved_steps().size());
    for (std::size_t s = 0; s < part.saved_steps().size(); ++s) {
      const std::int64_t k = part.saved_steps()[s];
      CHECK(part.times()[s] == 2.0 + static_cast<double>(k) * h);
      for (std::int64_t e = 0; e < 3; ++e) {
        CHECK(same_bits(part.state(e, static_cast<std::int64_t>(s)), full.state(e, k)));
      }
    }
  }
}

TEST_CASE("rollout: laws see the time t0 + k h, in both precisions") {
  // Begun on the closed form at t0, the motion follows it; rk4's own error is far below.
  const std::array<double, 4> p = {4.0, 0.3, 1.5, 1.3};
  const double t0 = 1.7, h = 0.01;
  const std::int64_t T = 300;
  const auto start = DrivenOscillator::solution(t0, 0.8, -0.4, p);
  const auto end = DrivenOscillator::solution(t0 + static_cast<double>(T) * h, 0.8, -0.4, p);
  RolloutOptions options = saving(Save::last());
  options.t0 = t0;
  const Numbers params = {p[0], p[1], p[2], p[3], h};
  const System in_double = make_system(DrivenOscillator{});
  const auto run = rollout(in_double, start, Controls<double>(T), params, options);
  CHECK(relative_error(run.states(), end) < 1e-8);
  options.t0 = 0;
  CHECK(relative_error(rollout(in_double, start, Controls<double>(T), params, options).states(),
                       end) > 1e-2);

  // A float's own rounding, 6e-8 per step.
  options.t0 = t0;
  const System in_float = make_system(DrivenOscillator{}, {.precision = Precision::float32});
  const std::vector<float> x0(start.begin(), start.end());
  const auto floats = rollout(in_float, x0, Controls<float>(T), params, options);
  CHECK(relative_error(Numbers(floats.states().begin(), floats.states().end()), end) < 1e-5);
}

TEST_CASE("rollout: quaternions are normalised on entry and stay unit") {
  RolloutCase<double> c = rollout_case<double>(make_system(Dipole{}), 3, 200);
  c.x0[0] = 3.0;
  const Trajectory<double> run = c.run();
  for (std::int64_t e = 0; e < 3; ++e) {
    for (const std::int64_t k : {0, 1, 200}) {
      const auto x = run.state(e, k);
      CHECK(std::abs(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3] - 1) < 1e-13);
    }
  }
  const double norm = std::sqrt(9 + c.x0[1] * c.x0[1] + c.x0[2] * c.x0[2] + c.x0[3] * c.x0[3]);
  CHECK(run.state(0, 0)[1] == doctest::Approx(c.x0[1] / norm).epsilon(1e-14));
}

TEST_CASE("rollout: a trajectory keeps copies of its inputs") {
  RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 2, 30);
  const Trajectory<double> run = c.run(Memory::checkpoints(2));
  const Numbers bar(run.states().size(), 1.0);
  const Gradient<double> before = run.pullback(bar);
  for (double& x : c.x0) x = 1e3;
  for (double& u : c.controls) u = -1e3;
  for (double& p : c.params) p = 7;
  CHECK(test::same_gradient(run.pullback(bar), before));
}

TEST_CASE("rollout: the report says what is kept, in how many lanes and with which instructions") {
  const RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 2, 100);
  const Trajectory<double> run = c.run(Memory::checkpoints(4));
  const Report& report = run.report();
  CHECK(contains(report.memory, "4 checkpoints by the binomial schedule"));
  CHECK(report.lanes > 1);
  CHECK(report.tape_bytes == static_cast<std::uint64_t>(5 * 2 * 8 * report.lanes));
  CHECK(!report.instruction_set.empty());
  CHECK(report.failed.empty());
  CHECK(c.slice(0, 1).run().report().lanes == 1);
}

TEST_CASE("rollout: a million steps of one environment fit in 16 MB") {
  const System system = systems::pendulum();
  const auto run = rollout(system, system.initial_state(), 1000000, {}, saving(Save::last()));
  CHECK(run.report().tape_bytes + run.run().plan.working_bytes < 16000000);
  CHECK(run.states().size() == 2);
  const Gradient<double> g = run.pullback(Numbers{1.0, 0.0}, {.controls = false});
  CHECK(g.controls.empty());
  CHECK(test::largest(g.x0) > 0.1);
}

TEST_CASE("rollout: Verlet's energy error stays bounded over a million steps of Kepler") {
  // dt 0.05, 126 steps per round and an eccentricity of 0.44: 8000 rounds.
  const auto energy_growth = [](const char* integrator) {
    const System system = systems::kepler({}, {.dt = 0.05, .integrator = integrator});
    const Numbers x0 = {1, 0, 0, 1.2};
    const auto run = rollout(system, x0, 1000000, {}, saving(Save::every(7)));
    const std::size_t n = run.states().size() / 4;
    const auto energy = [&](std::size_t i) {
      const auto x = run.states().subspan(4 * i, 4);
      return 0.5 * (x[2] * x[2] + x[3] * x[3]) - 1 / std::sqrt(x[0] * x[0] + x[1] * x[1]);
    };
    const auto worst = [&](std::size_t begin, std::size_t end) {
      double most = 0;
      for (std::size_t i = begin; i < end; ++i) {
        most = std::max(most, std::abs(energy(i) - energy(0)));
      }
      return most;
    };
    return worst(n - n / 10, n) / worst(0, n / 10);
  };
  // The error oscillates with the orbit: the same in the first tenth as in the last. rk4 drifts.
  CHECK(energy_growth("verlet") < 1.01);
  CHECK(energy_growth("semi_implicit") < 1.05);
  CHECK(energy_growth("rk4") > 2);
}

TEST_CASE("rollout: an environment that fails is reported with step, stage and body, and frozen") {
  const double h = 0.1;
  // In the middle of step 4 (its stages 2 and 3), at its end (stage 4), and at the start of step 0.
  const RolloutCase<double> c = brittle(7, 20, {{1, 4.4 * h}, {3, 4.9 * h}, {6, 0.0}});
  const Trajectory<double> run = c.run();
  const std::vector<Failure>& failed = run.report().failed;
  REQUIRE(failed.size() == 3);
  const auto is = [&](const Failure& f, std::int64_t e, std::int64_t step, const char* stage) {
    CAPTURE(describe(f));
    CHECK(f.environment == e);
    CHECK(f.step == step);
    CHECK(f.stage == stage);
    CHECK(f.body == "v");
    CHECK(contains(f.reason, "not finite"));
  };
  is(failed[0], 1, 4, "rk4 stage 2");
  is(failed[1], 3, 4, "rk4 stage 4");
  is(failed[2], 6, 0, "rk4 stage 1");
  for (const Failure& f : failed) {
    for (std::int64_t k = f.step + 1; k <= 20; ++k) {
      CHECK(same_bits(run.state(f.environment, k), run.state(f.environment, f.step)));
    }
    if (f.step > 0) {
      CHECK(!same_bits(run.state(f.environment, f.step), run.state(f.environment, f.step - 1)));
    }
  }
  for (const double x : run.states()) REQUIRE(std::isfinite(x));

  // The others move as if no one had failed.
  const Trajectory<double> whole = brittle(7, 20, {}).run();
  CHECK(whole.report().failed.empty());
  for (const std::int64_t e : {0, 2, 4, 5}) {
    for (std::int64_t k = 0; k <= 20; ++k) CHECK(same_bits(run.state(e, k), whole.state(e, k)));
  }
}

TEST_CASE("rollout: a lone environment that fails is frozen too, whatever is kept") {
  const RolloutCase<double> c = brittle(1, 12, {{0, 0.55}});
  for (const Memory& memory : {Memory::all(), Memory::sqrt(), Memory::checkpoints(2)}) {
    const Trajectory<double> run = c.run(memory);
    REQUIRE(run.report().failed.size() == 1);
    CHECK(run.report().failed[0].step == 5);
    CHECK(same_bits(run.state(0, 12), run.state(0, 5)));
    CHECK(std::isfinite(run.state(0, 12)[0]));
  }
}

TEST_CASE("rollout: Kepler's singular centre is named by the law's own blocks") {
  const System system = systems::kepler();
  const Numbers x0 = {1, 0, 0, 1, 0, 0, 0, 0};
  const auto run = rollout(system, x0, 5);
  REQUIRE(run.report().failed.size() == 1);
  CHECK(
      describe(run.report().failed[0]) ==
      "environment 1, step 0, rk4 stage 1, velocity[0]: its rate of change (x_dot) is not finite");
}

TEST_CASE("rollout: a System may have no inputs, no parameters, no record and no dual kernels") {
  SystemParts parts;
  parts.name = "doubling";
  parts.timestep = 0.5;
  parts.states = Space({{"x", 1, "1"}});
  parts.initial_state = {1};
  parts.float64 = {std::make_shared<Doubling>(1), std::make_shared<Doubling>(4), nullptr};
  const System system{std::move(parts)};
  for (const Numbers& x0 : {Numbers{3}, Numbers{3, 5, 7, 9, 11}}) {
    for (const Memory& memory : {Memory::all(), Memory::sqrt(), Memory::checkpoints(2)}) {
      RolloutOptions options = saving(Save::at({0, 10}));
      options.memory = memory;
      const Trajectory<double> run = rollout(system, x0, 10, {}, options);
      CHECK(run.times() == Numbers{0, 5});
      const Numbers bar(run.states().size(), 1.0);
      const Gradient<double> g = run.pullback(bar);
      for (std::size_t e = 0; e < x0.size(); ++e) {
        CHECK(run.states()[2 * e + 1] == 1024 * x0[e]);
        CHECK(g.x0[e] == 1025);
      }
      CHECK(g.controls.empty());
      CHECK(g.params.empty());
      CHECK(diagnose(run, bar).lyapunov[0] == doctest::Approx(std::log(2.0) / 0.5));
    }
    const Numbers direction(x0.size(), 1.0);
    CHECK(pushforward(system, x0, 10, {.x0 = direction}).states_tan()[10] == 1024);
    CHECK(linearise(system, x0, {}, {}, {.params = true}).A[0] == 2);
    CHECK(check_gradient(system, x0, 10).ok);
    CHECK(contains(text_of_error([&] { (void)rollout(system, x0, 10, Numbers{1}); }),
                   "expected 0 parameter numbers"));
  }
}

TEST_CASE("step: takes rows, shares rows, and says where it failed") {
  const System system = systems::pendulum();
  const Numbers x = {0.3, 0.1, -0.4, 0.2}, u = {0.5};
  const Numbers next = step(system, x, u);
  REQUIRE(next.size() == 4);
  const auto run = rollout(system, x, Controls<double>(u, 1), {}, saving(Save::last()));
  CHECK(same_bits(next, run.states()));
  CHECK(!same_bits(next, step(system, x)));

  const Numbers centre = {0, 0, 0, 0};
  const std::string text = text_of_error([&] { (void)step(systems::kepler(), centre); });
  CHECK(contains(text, "the step failed: environment 0, step 0, rk4 stage 1"));
}

TEST_CASE("Trajectory::state: what does not exist is refused with the sizes") {
  const auto run = rollout(systems::pendulum(), Numbers{1, 0}, 5);
  for (const auto& [e, s] : {std::pair{1, 0}, {-1, 0}, {0, 6}, {0, -7}}) {
    const std::string text = text_of_error([&] { (void)run.state(e, s); });
    CHECK(contains(text, "there are 1 environments with 6 saved states each"));
  }
}

TEST_CASE("rollout, pullback: stop soon when asked to, and nothing is broken afterwards") {
  // Each call of the stepper takes a millisecond, so that the question is asked within a run.
  Watch watch;
  const System slow = test::watched_system(Pendulum{}, watch, false);
  const Numbers x0 = {1, 0};
  const std::int64_t T = 3000;
  RolloutOptions options = saving(Save::last());
  int asked = 0;
  options.keep_going = [&] { return ++asked < 2; };
  watch.pause = std::chrono::milliseconds(1);
  for (const Memory& memory : {Memory::all(), Memory::sqrt(), Memory::checkpoints(5)}) {
    options.memory = memory;
    asked = 0;
    watch.steps = 0;
    CHECK_THROWS_AS((void)rollout(slow, x0, T, {}, options), Interrupted);
    CHECK(watch.steps < T / 2);
  }

  options.keep_going = {};
  for (const Memory& memory : {Memory::all(), Memory::sqrt(), Memory::truncate(500),
                               Memory::checkpoints(5), Memory::checkpoints(T)}) {
    CAPTURE(memory.value);
    options.memory = memory;
    watch.pause = {};
    const Trajectory<double> run = rollout(slow, x0, T, {}, options);
    watch.pause = std::chrono::milliseconds(1);
    watch.steps = watch.pullbacks = 0;
    asked = 0;
    PullbackOptions stopping;
    stopping.keep_going = [&] { return ++asked < 2; };
    CHECK_THROWS_AS((void)run.pullback(Numbers{1, 1}, stopping), Interrupted);
    CHECK(watch.steps + watch.pullbacks < T / 2);
    watch.pause = {};
    const Gradient<double> g = run.pullback(Numbers{1, 1});
    options.memory = Memory::all();
    const Gradient<double> reference = rollout(slow, x0, T, {}, options).pullback(Numbers{1, 1});
    if (memory.kind != Memory::Kind::truncate) CHECK(test::same_gradient(g, reference));
  }
}

TEST_CASE("rollout: what keep_going throws comes out") {
  Watch watch;
  const System slow = test::watched_system(Pendulum{}, watch, false);
  watch.pause = std::chrono::milliseconds(1);
  RolloutOptions options;
  options.keep_going = []() -> bool { throw std::runtime_error("the user's own"); };
  CHECK_THROWS_WITH((void)rollout(slow, Numbers{1, 0}, 3000, {}, options), "the user's own");
}

}  // namespace cycloid::rollout_test
