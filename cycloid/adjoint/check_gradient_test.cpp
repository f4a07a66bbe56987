#include "cycloid/adjoint/check_gradient.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/make_system.h"
#include "tests/support/failing_laws.h"
#include "tests/support/rollout_cases.h"
#include "tests/support/test_laws.h"

namespace cycloid::check_gradient_test {

using test::contains;
using test::Numbers;
using test::rollout_case;
using test::RolloutCase;

GradientCheck check(const RolloutCase<double>& c, const CheckOptions& options = {}) {
  return check_gradient(c.system, c.x0, c.inputs(), c.params, options);
}

// Pendulums with a fault in their pullback.
struct WrongSign : Pendulum {
  static constexpr const char* kName = "wrong_sign";
  template <class S>
  void x_dot_pullback(const S& t, const S* x, const S* u, const S* p, const S* saved,
                      const S* dx_bar, S& t_bar, S* x_bar, S* u_bar, S* p_bar) const {
    const S before = u_bar[0];
    Pendulum::x_dot_pullback(t, x, u, p, saved, dx_bar, t_bar, x_bar, u_bar, p_bar);
    u_bar[0] = before - (u_bar[0] - before);
  }
};
struct MissingTerm : Pendulum {
  static constexpr const char* kName = "missing_term";
  template <class S>
  void x_dot_pullback(const S& t, const S* x, const S* u, const S* p, const S* saved,
                      const S* dx_bar, S& t_bar, S* x_bar, S* u_bar, S* p_bar) const {
    Pendulum::x_dot_pullback(t, x, u, p, saved, dx_bar, t_bar, x_bar, u_bar, p_bar);
    // The damping's part in the cotangent of the angular velocity.
    x_bar[1] += dx_bar[1] * p[kDamping] / (p[kLength] * p[kLength] * p[kMass]);
  }
};
struct ForgottenParameter : Pendulum {
  static constexpr const char* kName = "forgotten_parameter";
  template <class S>
  void x_dot_pullback(const S& t, const S* x, const S* u, const S* p, const S* saved,
                      const S* dx_bar, S& t_bar, S* x_bar, S* u_bar, S* p_bar) const {
    const S before = p_bar[kMass];
    Pendulum::x_dot_pullback(t, x, u, p, saved, dx_bar, t_bar, x_bar, u_bar, p_bar);
    p_bar[kMass] = before;
  }
};

// A pendulum whose torque's cotangent is wrong by a tenth at one moment, around t = 1.505 s.
struct WrongOnce : Pendulum {
  static constexpr const char* kName = "wrong_once";
  template <class S>
  void x_dot_pullback(const S& t, const S* x, const S* u, const S* p, const S* saved,
                      const S* dx_bar, S& t_bar, S* x_bar, S* u_bar, S* p_bar) const {
    const S before = u_bar[0];
    Pendulum::x_dot_pullback(t, x, u, p, saved, dx_bar, t_bar, x_bar, u_bar, p_bar);
    const Mask<S> then = (t > S(1.501)) & (t < S(1.509));
    u_bar[0] += select(then, S(0.1) * (u_bar[0] - before), S(0));
  }
};

// A dipole whose orientation does not hear of the field.
struct WrongDipole : test::Dipole {
  static constexpr const char* kName = "wrong_dipole";
  template <class S>
  void x_dot_pullback(const S& t, const S* x, const S* u, const S* p, const S* dx_bar, S& t_bar,
                      S* x_bar, S* u_bar, S* p_bar) const {
    const S before[3] = {x_bar[0], x_bar[1], x_bar[2]};
    Dipole::x_dot_pullback(t, x, u, p, dx_bar, t_bar, x_bar, u_bar, p_bar);
    for (int i = 0; i < 3; ++i) x_bar[i] = before[i];
  }
};

template <class Law>
GradientCheck check_faulty(const Law& law) {
  return check(rollout_case<double>(make_system(law), 1, 50));
}

TEST_CASE("check_gradient: agrees with every law and integrator over 50 steps to 1e-7") {
  for (const auto& [name, system] : test::law_systems()) {
    CAPTURE(name);
    const RolloutCase<double> c = rollout_case<double>(system, 1, 50);
    const GradientCheck result = check(c, {.tolerance = 1e-7});
    CAPTURE(result.text);
    CHECK(result.ok);
    CHECK(result.max_relative_error < 1e-7);
    CHECK(result.max_relative_error > 0);
    // A block for each part of the inputs.
    std::size_t blocks = system.states().blocks().size() + system.parameters().all().size();
    if (system.inputs().size() > 0) ++blocks;
    CHECK(result.by_block.size() == blocks);
    for (const auto& [block, b] : result.by_block) {
      CAPTURE(block);
      CHECK(b.largest > 1e-6);
    }
  }
}

TEST_CASE("check_gradient: batches, shared rows, zero inputs, t0 and quaternions") {
  CHECK(check(rollout_case<double>(systems::double_pendulum(), 3, 30)).ok);
  RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 3, 30);
  c.controls.clear();
  GradientCheck result = check(c);
  CHECK(result.ok);
  CHECK(result.by_block.contains("controls"));
  c.controls = test::seeded<double>(3, 30);
  CHECK(check(c).ok);
  const System in_time = make_system(test::DrivenOscillator{});
  const RolloutCase<double> driven = rollout_case<double>(in_time, 1, 60);
  const GradientCheck later = check(driven, {.t0 = 3.3});
  CHECK(later.ok);
  CHECK(std::abs(later.by_block.at("params.frequency").largest -
                 check(driven).by_block.at("params.frequency").largest) > 1e-2);
  result = check(rollout_case<double>(make_system(test::Dipole{}), 2, 30), {.tolerance = 1e-7});
  CAPTURE(result.text);
  CHECK(result.ok);
  CHECK(result.by_block.contains("x0.orientation"));
}

TEST_CASE("check_gradient: of an adaptive integrator, differences hold its substeps") {
  // A straight slide is so smooth that a substep passes several knots of its spline; slides next to
  // it would be divided further.
  for (const char* integrator : {"dopri5", "sdirk4"}) {
    const System slide = systems::bead_on_curve({}, {.dt = 0.05, .integrator = integrator});
    const GradientCheck result = check_gradient(slide, Numbers{0.0}, 10);
    CAPTURE(result.text);
    CHECK(result.ok);
    CHECK(result.max_relative_error < 1e-7);
    CHECK(contains(result.text, "substeps held"));
  }
  // Coarse tolerances, several environments and steps, and an event that resets.
  for (const char* integrator : {"dopri5", "sdirk4"}) {
    const systems::Settings coarse{.dt = 0.7, .integrator = integrator, .rtol = 1e-3, .atol = 1e-3};
    const GradientCheck orbits = check_gradient(
        systems::kepler({}, coarse), Numbers{1, 0, 0, 1.1, 1, 0, 0.5, 0.9, 2, 0, 0, 0.5}, 4);
    CAPTURE(orbits.text);
    CHECK(orbits.max_relative_error < 1e-7);
    const GradientCheck wheel =
        check_gradient(systems::rimless_wheel({}, coarse), Numbers{-0.25, 1.2}, 4);
    CAPTURE(wheel.text);
    CHECK(wheel.ok);
  }
  // A fault is found.
  CHECK(!check_gradient(make_system<Dopri5>(WrongSign{}), Numbers{1, 0}, 10).ok);
}

TEST_CASE("check_gradient: a float32 gradient is held to the double's differences") {
  const System system = systems::double_pendulum({}, {.precision = Precision::float32});
  const RolloutCase<double> c = rollout_case<double>(system, 3, 50);
  const GradientCheck result = check(c);
  CAPTURE(result.text);
  CHECK(result.ok);
  CHECK(result.tolerance == 1e-3);
  CHECK(result.max_relative_error > 1e-9);
  CHECK(!check(c, {.tolerance = 1e-9}).ok);
}

TEST_CASE("check_gradient: in float32, differences hold the substeps of the float run") {
  // Past the centre at a ninth of the start's distance. At float's own tolerances dopri5's gradient
  // is off the motion's by 9e-3, sdirk4's by 5e-4 (docs/time.md), and so are differences on other
  // substeps. On the same ones they agree to float's rounding, which the passage enlarges to 4e-5.
  for (const char* integrator : {"dopri5", "sdirk4"}) {
    const System orbit =
        systems::kepler({}, {.dt = 2.0, .integrator = integrator, .precision = Precision::float32});
    for (const Numbers& x0 : {Numbers{1, 0, 0, 0.45}, Numbers{1, 0, 0, 0.45, 1, 0, 0.1, 0.5}}) {
      const GradientCheck result = check_gradient(orbit, x0, 1, {}, {.tolerance = 2e-4});
      CAPTURE(result.text);
      CHECK(result.ok);
      CHECK(result.max_relative_error > 1e-9);
      CHECK(contains(result.text, "substeps held"));
    }
  }
}

TEST_CASE("check_gradient: a wrong sign is caught, and the block named") {
  const GradientCheck result = check_faulty(WrongSign{});
  CHECK(!result.ok);
  CHECK(result.by_block.at("controls").relative_error > 1);
  CHECK(contains(result.by_block.at("controls").worst, "controls"));
  CHECK(result.by_block.at("params.length").relative_error < 1e-6);
  CHECK(contains(result.text, "does NOT agree"));
  CHECK(contains(result.text, "A pullback is wrong"));
  CHECK(contains(result.text, "controls"));
}

TEST_CASE("check_gradient: a missing term is caught") {
  const GradientCheck result = check_faulty(MissingTerm{});
  CHECK(!result.ok);
  CHECK(result.by_block.at("x0.angular_velocity").relative_error > 1e-3);
  CHECK(contains(result.text, "x0.angular_velocity: gradient"));
}

TEST_CASE("check_gradient: a forgotten parameter is caught, and the block named") {
  const GradientCheck result = check_faulty(ForgottenParameter{});
  CHECK(!result.ok);
  for (const auto& [name, block] : result.by_block) {
    CAPTURE(name);
    if (name == "params.mass") CHECK(block.relative_error > 0.1);
    else CHECK(block.relative_error < 1e-6);
  }
  CHECK(result.by_block.at("params.mass").gradient == 0);
  CHECK(contains(result.text, "params.mass: gradient 0, differences"));
}

TEST_CASE("check_gradient: a fault on a quaternion is caught in its tangents") {
  RolloutCase<double> c = rollout_case<double>(make_system(WrongDipole{}), 1, 30);
  c.params = {1.0, 2.0, 2.8, 0.7, 0.02};
  const GradientCheck result = check(c);
  CHECK(!result.ok);
  CHECK(result.by_block.at("x0.orientation").relative_error > 1e-4);
  CHECK(contains(result.by_block.at("x0.orientation").worst, "orientation"));
}

TEST_CASE(
    "check_gradient: a fault in a number that is not sampled is caught along a random direction") {
  // 300 controls, of which one is wrong; two are sampled.
  const RolloutCase<double> c = [] {
    RolloutCase<double> made = rollout_case<double>(make_system(WrongOnce{}), 1, 300);
    made.params = {1.0, 1.0, 0.1, 9.81, 0.01};
    return made;
  }();
  const GradientCheck result = check(c, {.numbers_per_block = 2});
  CHECK(!result.ok);
  CHECK(contains(result.by_block.at("controls").worst, "random direction"));
  CHECK(result.by_block.at("params.length").relative_error < 1e-6);
}

TEST_CASE("check_gradient: the verdict is a table and a sentence, the same for the same seed") {
  const RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 1, 20);
  const GradientCheck result = check(c);
  CHECK(contains(result.text, "block"));
  CHECK(contains(result.text, "params.option.timestep"));
  CHECK(contains(result.text, "The gradient agrees with central differences (tolerance 1e-06)."));
  CHECK(check(c).text == result.text);
  CHECK(check(c, {.seed = 5}).text != result.text);
}

TEST_CASE("check_gradient: differences that disagree among themselves are called inconclusive") {
  // Lorenz over 30 s: what differences see is noise, whatever the gradient.
  const RolloutCase<double> c = rollout_case<double>(systems::lorenz(), 1, 3000);
  const GradientCheck result = check(c);
  CHECK(!result.ok);
  CHECK(contains(result.text, "Inconclusive"));
}

TEST_CASE("check_gradient: names the surface that a start is on, and no other") {
  const System ball = systems::bouncing_ball();
  const GradientCheck on = check_gradient(ball, Numbers{0, -1}, 20);
  CHECK(!on.ok);
  CHECK(contains(on.text, "on a surface of the law"));
  CHECK(contains(on.text, "below the floor"));
  CHECK(contains(on.text, "a start off the surface"));
  // A wide step of the differences reaches beyond, the narrow ones do not.
  const GradientCheck off = check_gradient(ball, Numbers{0.05, -1}, 20);
  CHECK(off.ok);
  CHECK(!contains(off.text, "surface"));
  // Wrong for another reason.
  const GradientCheck strict =
      check_gradient(ball, Numbers{0.05, -1}, 20, {}, {.tolerance = 1e-16});
  CHECK(!strict.ok);
  CHECK(!contains(strict.text, "surface"));
}

TEST_CASE("check_gradient: raises as rollout and pullback do") {
  CHECK_THROWS_AS((void)check_gradient(systems::kepler(), Numbers{0, 0, 0, 0}, 5), GradientError);
  const System roots = make_system(test::RootsOfCountdown{});
  CHECK_THROWS_AS((void)check_gradient(roots, Numbers{3, 0}, 5), GradientError);
}

}  // namespace cycloid::check_gradient_test
