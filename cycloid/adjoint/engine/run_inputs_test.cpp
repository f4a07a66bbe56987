#include "cycloid/adjoint/engine/run_inputs.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "cycloid/adjoint/check_gradient.h"
#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/pushforward.h"
#include "cycloid/base/error.h"
#include "cycloid/system/make_system.h"
#include "tests/support/rollout_cases.h"
#include "tests/support/test_laws.h"

namespace cycloid::run_inputs_test {

using test::contains;
using test::Numbers;
using test::text_of_error;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The text of the Error of a rollout of pendulums.
std::string refusal(const Numbers& x0, const Controls<double>& controls, const Numbers& params = {},
                    const RolloutOptions& options = {}) {
  const System system = systems::pendulum({}, {.vary = {"length"}});
  return text_of_error([&] { (void)rollout(system, x0, controls, params, options); });
}

TEST_CASE("rollout: a number of x0 that is not finite is named by row and block") {
  for (const double bad : {kNaN, kInfinity, -kInfinity}) {
    const std::string text = refusal({1, 0, 2, bad}, 5);
    CHECK(contains(text, "x0 must be finite"));
    CHECK(contains(text, "number 1 of row 1 (angular_velocity)"));
  }
}

TEST_CASE("rollout: a number of the controls that is not finite is named by row and block") {
  Numbers controls(10, 0.0);
  controls[7] = kInfinity;
  const std::string text = refusal({1, 0, 2, 0}, Controls<double>(controls, 5));
  CHECK(contains(text, "controls must be finite"));
  CHECK(contains(text, "number 2 of row 1 (torque) is inf"));
}

TEST_CASE("rollout: parameters that are not finite or break their constraint are named") {
  std::string text = refusal({1, 0}, 5, {1, 1, kNaN, 9.81, 0.01});
  CHECK(contains(text, "\"damping\" must be finite; got nan"));
  text = refusal({1, 0}, 5, {1, -1, 0, 9.81, 0.01});
  CHECK(contains(text, "\"mass\" must be positive [kg]"));
  CHECK(contains(text, "-1"));
  text = refusal({1, 0}, 5, {1, 1, 0, 9.81, 0});
  CHECK(contains(text, "\"option.timestep\" must be positive"));
  // In the second row too.
  text = refusal({1, 0}, 5, {1, 1, 0, 9.81, 0.01, kInfinity, 1, 0, 9.81, 0.01});
  CHECK(contains(text, "\"length\" must be finite"));
  CHECK_THROWS_AS((void)systems::pendulum({.mass = -1}), ParameterError);
  CHECK_THROWS_AS((void)systems::pendulum({.mass = kNaN}), ParameterError);
}

TEST_CASE("rollout: parameters that differ between environments must be declared in vary") {
  const Numbers lengths = {1, 1, 0, 9.81, 0.01, 2, 1, 0, 9.81, 0.01};
  CHECK(refusal({1, 0}, 5, lengths).empty());
  const Numbers masses = {1, 1, 0, 9.81, 0.01, 1, 2, 0, 9.81, 0.01};
  const System system = systems::pendulum({}, {.vary = {"length"}});
  const std::string text =
      text_of_error<ParameterError>([&] { (void)rollout(system, Numbers{1, 0}, 5, masses); });
  CHECK(contains(text, "\"mass\" differs between environments (1 and 2)"));
  CHECK(contains(text, "vary"));
}

TEST_CASE("rollout: wrong sizes say what was expected and what came") {
  std::string text = refusal({1, 0, 1}, 5);
  CHECK(contains(text, "x0 has 3 numbers"));
  CHECK(contains(text, "2 (the states of an environment)"));
  CHECK(contains(refusal({}, 5), "x0 has 0 numbers"));

  text = refusal({1, 0}, Controls<double>(Numbers(7, 0.0), 5));
  CHECK(contains(text, "controls has 7 numbers"));
  CHECK(contains(text, "5 (steps times inputs of an environment)"));
  CHECK(contains(refusal({1, 0}, Controls<double>(Numbers{}, 5)), "controls has 0 numbers"));

  text = refusal({1, 0}, 5, {1, 1, 0, 9.81});
  CHECK(contains(text, "expected 5 parameter numbers"));
  CHECK(contains(text, "got 4"));

  text = refusal(Numbers(6, 0.1), Controls<double>(Numbers(10, 0.0), 5));
  CHECK(contains(text, "controls has 2 rows, but the batch has 3 environments"));
  text = refusal(Numbers(4, 0.1), Controls<double>(Numbers(15, 0.0), 5));
  CHECK(contains(text, "x0 has 2 rows, but the batch has 3 environments"));
  Numbers rows;
  for (int r = 0; r < 2; ++r) rows.insert(rows.end(), {1, 1, 0, 9.81, 0.01});
  CHECK(contains(refusal(Numbers(6, 0.1), 5, rows), "parameters has 2 rows"));
}

TEST_CASE("rollout: controls for a system without inputs are refused") {
  const System system = systems::kepler();
  const std::string text = text_of_error(
      [&] { (void)rollout(system, system.initial_state(), Controls<double>(Numbers(5, 0.0), 5)); });
  CHECK(contains(text, "\"kepler\" has no inputs"));
  CHECK(rollout(system, system.initial_state(), Controls<double>(Numbers{}, 5)).steps() == 5);
}

TEST_CASE("rollout: no steps, negative steps, bad t0 and negative threads are refused") {
  CHECK(contains(refusal({1, 0}, 0), "at least one step; got T = 0"));
  CHECK(contains(refusal({1, 0}, -3), "got T = -3"));
  CHECK(contains(refusal({1, 0}, Controls<double>(Numbers{}, 0)), "got T = 0"));
  RolloutOptions options;
  options.t0 = kNaN;
  CHECK(contains(refusal({1, 0}, 5, {}, options), "t0 must be finite; got nan"));
  options = {};
  options.threads = -1;
  CHECK(contains(refusal({1, 0}, 5, {}, options), "threads must not be negative; got -1"));
}

TEST_CASE("rollout: bad save and memory options are refused") {
  RolloutOptions options;
  options.save = Save::at({6});
  CHECK(contains(refusal({1, 0}, 5, {}, options), "step 6 does not exist"));
  options = {};
  options.memory = Memory::checkpoints(0);
  CHECK(contains(refusal({1, 0}, 5, {}, options), "at least 1 checkpoint"));
  options.memory = Memory::truncate(0);
  CHECK(contains(refusal({1, 0}, 5, {}, options), "Truncate(k)"));
  options.memory = Memory::budget(10);
  CHECK(contains(refusal({1, 0}, 5, {}, options), "10 B is too small"));
}

TEST_CASE("rollout: numbers of the other precision are refused") {
  const System in_double = systems::pendulum(),
               in_float = systems::pendulum({}, {.precision = Precision::float32});
  const std::vector<float> floats = {1, 0};
  const Numbers doubles = {1, 0};
  std::string text = text_of_error([&] { (void)rollout(in_double, floats, 5); });
  CHECK(contains(text, "computes in float64, but the numbers given are float32"));
  text = text_of_error([&] { (void)rollout(in_float, doubles, 5); });
  CHECK(contains(text, "computes in float32, but the numbers given are float64"));
}

TEST_CASE("rollout: a quaternion of zeros is refused, any other is normalised") {
  const System system = make_system(test::Dipole{});
  Numbers x0 = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1};
  const std::string text = text_of_error([&] { (void)rollout(system, x0, 5); });
  CHECK(contains(text, "quaternion of row 1 is zero"));
  for (const double tiny : {1e-300, 1e300}) {
    x0[7] = tiny;
    CHECK(rollout(system, x0, 5).state(1, 0)[0] == doctest::Approx(1).epsilon(1e-14));
  }
}

TEST_CASE("pullback: states_bar of a wrong size or not finite is refused") {
  const Trajectory<double> run = rollout(systems::pendulum(), Numbers{1, 0, 0, 1}, 5);
  std::string text = text_of_error([&] { (void)run.pullback(Numbers(23, 1.0)); });
  CHECK(contains(text, "states_bar has 23 numbers, the saved states have 24"));
  CHECK(contains(text, "2 environments, 6 saved steps, 2 states"));
  CHECK_THROWS_AS((void)run.pullback(Numbers{}), Error);
  Numbers bar(24, 1.0);
  bar[5] = kNaN;
  text = text_of_error([&] { (void)run.pullback(bar); });
  CHECK(contains(text, "states_bar must be finite"));
  CHECK(contains(text, "(angular_velocity) is nan"));
}

TEST_CASE("pushforward: a direction of a wrong size or not finite is refused by its part") {
  const System system = systems::pendulum();
  const Numbers x0 = {1, 0}, three(3, 1.0);
  const auto refused = [&](const Direction& direction) {
    return text_of_error([&] { (void)pushforward(system, x0, 4, direction); });
  };
  CHECK(contains(refused({.x0 = three}), "direction: x0 has 3 numbers, expected 2"));
  CHECK(contains(refused({.controls = three}), "direction: controls has 3 numbers, expected 4"));
  CHECK(contains(refused({.params = three}), "direction: params has 3 numbers, expected 5"));
  const Numbers bad = {1, kNaN};
  const std::string text = refused({.x0 = bad});
  CHECK(contains(text, "direction"));
  CHECK(contains(text, "must be finite"));
  CHECK(contains(text_of_error([&] { (void)pushforward(system, three, 4, {}); }),
                 "x0 has 3 numbers"));
  CHECK(contains(text_of_error([&] { (void)pushforward(system, x0, 0, {}); }), "T = 0"));
}

TEST_CASE("Pushforward::pullback: cotangents of a wrong size or not finite are refused") {
  const Pushforward forward = pushforward(systems::pendulum(), Numbers{1, 0, 0, 1}, 5, {});
  const Numbers bar(24, 1.0), wrong(10, 1.0);
  std::string text = text_of_error([&] { (void)forward.pullback(bar, wrong); });
  CHECK(contains(text, "must have 24 numbers"));
  CHECK(contains(text, "got 24 and 10"));
  CHECK_THROWS_AS((void)forward.pullback(wrong, bar), Error);
  Numbers bad = bar;
  bad[14] = kNaN;
  text = text_of_error([&] { (void)forward.pullback(bar, bad); });
  CHECK(contains(text, "states_bar_tan must be finite"));
  text = text_of_error([&] { (void)forward.pullback(bad, bar); });
  CHECK(contains(text, "states_bar must be finite"));
}

TEST_CASE("linearise, step, check_gradient: refuse what a rollout refuses") {
  const System system = systems::pendulum();
  const Numbers x = {1, 0}, three(3, 0.0), bad = {kNaN, 0};
  CHECK(contains(text_of_error([&] { (void)linearise(system, three); }), "x0 has 3 numbers"));
  CHECK(contains(text_of_error([&] { (void)linearise(system, bad); }), "must be finite"));
  CHECK_THROWS_AS((void)linearise(system, x, {}, three), ParameterError);
  CHECK(contains(text_of_error([&] { (void)linearise(system, x, {}, {}, {.t = kNaN}); }),
                 "must be finite"));
  CHECK(contains(text_of_error([&] { (void)step(system, three); }), "3 numbers"));
  CHECK(contains(text_of_error([&] { (void)check_gradient(system, three, 5); }), "3 numbers"));
  CHECK(contains(text_of_error([&] { (void)check_gradient(system, bad, 5); }), "must be finite"));
}

TEST_CASE("rollout: a start beyond a surface of the law is refused, wherever it begins") {
  const System ball = systems::bouncing_ball({}, {.vary = {"gravity"}});
  const auto refusal = [&](const Numbers& x0, const Numbers& params = {}) {
    return text_of_error([&] { (void)rollout(ball, x0, 5, params); });
  };
  CHECK(contains(refusal({1, 0, -0.5, 0}),
                 "x0 of environment 1 is no start for \"bouncing_ball\": height is -0.5 m"));
  CHECK(contains(text_of_error([&] { (void)step(ball, Numbers{-0.5, 0}); }), "environment 0"));
  CHECK(
      contains(text_of_error([&] { (void)linearise(ball, Numbers{-0.5, 0}); }), "below the floor"));
  // Of environments that differ in their parameters only.
  const System wheel = systems::rimless_wheel({}, {.vary = {"slope"}});
  const auto angle = [&](double slope) {
    return text_of_error([&] {
      (void)rollout(wheel, Numbers{0.45, 1}, 5,
                    Numbers{1, 0.4, 0.1, 9.81, 0.01, 1, 0.4, slope, 9.81, 0.01});
    });
  };
  CHECK(angle(0.2) == "");
  CHECK(contains(angle(0.0), "environment 1"));
  CHECK(contains(text_of_error([] { (void)systems::rimless_wheel({.half_angle = 0.8}); }), "π/4"));
}

TEST_CASE("rollout: a start on a surface, but for rounding, meets its event at once") {
  for (const char* integrator : {"rk4", "dopri5"}) {
    CAPTURE(integrator);
    systems::Settings settings;
    settings.integrator = integrator;
    const Trajectory<double> ball =
        rollout(systems::bouncing_ball({}, settings), Numbers{-1e-17, -2.0}, 5);
    REQUIRE(ball.events().size() == 1);
    CHECK(ball.events()[0].time == 0);
    CHECK(ball.state(0, -1)[0] > 0);
    const Trajectory<double> bead =
        rollout(systems::bead_on_curve({}, settings), Numbers{1 + 4e-16}, 5);
    REQUIRE(bead.events().size() == 1);
    CHECK(bead.state(0, -1)[0] == 1);
    const Trajectory<double> wheel =
        rollout(systems::rimless_wheel({}, settings), Numbers{0.5 + 2e-16, 1.0}, 5);
    REQUIRE(wheel.events().size() == 1);
    CHECK(wheel.events()[0].name == "step");
    const Trajectory<double> block =
        rollout(systems::stick_slip({}, settings), Numbers{0.6 * (1 + 1e-15), 0.21, 0}, 5);
    REQUIRE(block.events().size() == 1);
    CHECK(block.events()[0].name == "slip");
  }
}

TEST_CASE("rollout: a start that environments share is put on the surface for each of them") {
  const System system = systems::bouncing_ball({}, {.vary = {"restitution"}});
  const Numbers shared = {-1e-15, -3};
  Numbers params, rows;
  for (const double restitution : {0.5, 0.7, 0.8}) {
    Numbers own = system.parameters().default_values();
    own[static_cast<std::size_t>(system.parameters().find("restitution").offset)] = restitution;
    params.insert(params.end(), own.begin(), own.end());
    rows.insert(rows.end(), shared.begin(), shared.end());
  }
  const Trajectory<double> run = rollout(system, shared, 20, params),
                           each = rollout(system, rows, 20, params);
  CHECK(test::same_bits(run.states(), each.states()));
  CHECK(run.events().size() == 3);
  for (std::int64_t e = 0; e < 3; ++e) CHECK(run.state(e, -1)[0] > 0);
  const Numbers bar = test::seeded<double>(3, run.states().size());
  const Gradient<double> g = run.pullback(bar), r = each.pullback(bar);
  REQUIRE(g.x0.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(g.x0[i] == doctest::Approx(r.x0[i] + r.x0[2 + i] + r.x0[4 + i]).epsilon(1e-13));
  }
  CHECK(test::same_bits(g.params, r.params));
  const Numbers along = {0.3, -1}, along_each = {0.3, -1, 0.3, -1, 0.3, -1};
  CHECK(test::same_bits(pushforward(system, shared, 20, {.x0 = along}, params).states_tan(),
                        pushforward(system, rows, 20, {.x0 = along_each}, params).states_tan()));
}

TEST_CASE_TEMPLATE("rollout: every state of a run is a start", T, double, float) {
  // Admission moves by 256 ε, and sometimes to as much before the surface.
  const double most = 1024 * static_cast<double>(std::numeric_limits<T>::epsilon());
  const systems::Settings settings{.precision = std::is_same_v<T, float> ? Precision::float32
                                                                         : Precision::float64};
  const auto check = [&](const System& system, const std::vector<T>& x0, std::int64_t steps) {
    CAPTURE(system.name());
    const Trajectory<T> run = rollout(system, x0, steps);
    REQUIRE(run.events().size() > 0);
    const Trajectory<T> again = rollout(system, run.states(), 1);
    for (std::int64_t e = 0; e <= steps; ++e) {
      const auto given = run.state(0, e), taken = again.state(e, 0);
      for (std::size_t i = 0; i < given.size(); ++i) {
        CHECK(std::abs(static_cast<double>(taken[i] - given[i])) < most);
      }
    }
  };
  const T belt = static_cast<T>(0.21), half = static_cast<T>(0.5);
  check(systems::bouncing_ball({}, settings), {1, 0}, 300);
  check(systems::bead_on_curve({}, settings), {0}, 150);
  check(systems::stick_slip({}, settings), {0, belt, 0}, 1500);
  check(systems::rimless_wheel({}, settings), {0, 1}, 300);
  check(systems::rimless_wheel({.slope = 0}, settings), {0, -half}, 300);
}

}  // namespace cycloid::run_inputs_test
