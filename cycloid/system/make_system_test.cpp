#include "cycloid/system/make_system.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/system/laws/pendulum.h"
#include "tests/support/pullback_check.h"
#include "tests/support/stepper_run.h"
#include "tests/support/test_laws.h"

namespace cycloid::make_system_test {

using test::Numbers;

// The law of law.h's header comment, as a user writes it.
struct VanDerPol {
  static constexpr const char* kName = "van_der_pol";
  static constexpr std::array kState = {BlockSpec{"x", 1, "m"}, BlockSpec{"v", 1, "m/s"}};
  static constexpr std::array kParameters = {ParameterSpec{"mu", 1.0, "1/s"}};
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    dx[0] = x[1];
    dx[1] = p[0] * (S(1) - x[0] * x[0]) * x[1] - x[0];
  }
};

struct Halving {
  static constexpr const char* kName = "halving";
  static constexpr std::array kState = {BlockSpec{"x", 1, "1"}};
  template <class S>
  void step(const S&, const S&, const S* x, const S*, const S*, S* x_next) const {
    x_next[0] = S(0.5) * x[0];
  }
};

SystemParts parts_of(const std::vector<BlockSpec>& state,
                     const std::vector<ParameterSpec>& parameters,
                     const LawSettings& settings = {}) {
  return law_parts("law", state, {}, parameters, settings);
}

TEST_CASE(
    "make_system: a law in ten lines becomes a System with RK4 and a differentiable time step") {
  const System system = make_system(VanDerPol{}, {.dt = 0.02, .values = {{"mu", {0.5}}}});
  CHECK(system.describe() == "System van_der_pol: 2 states, 0 inputs, dt 20 ms");
  CHECK(system.initial_state() == Numbers{0, 0});
  CHECK(system.parameters().default_values() == Numbers{0.5, 0.02});
  const Parameter& h = system.parameters().find("option.timestep");
  CHECK(h.offset == 1);
  CHECK(h.unit == "s");
  CHECK(h.constraint == Constraint::positive);
  const Steppers<double>& steppers = system.steppers<double>();
  CHECK(steppers.one->sizes().lanes == 1);
  CHECK(steppers.packed->sizes().lanes == kLawLanes<double>);
  CHECK(steppers.dual->sizes().lanes == 2 * kLawLanes<double>);
  CHECK(steppers.one->sizes().record == 4 * 2);
  // The step itself is rk4_test's; here it is enough that it is this law, with this h.
  const auto out = test::run_step(*steppers.one, {{0.3, -0.2}}, {{}}, {{0.5, 0.02}}, {{1, 0}});
  const double v_dot = 0.5 * (1 - 0.3 * 0.3) * -0.2 - 0.3, h_given = 0.02;
  CHECK(std::abs(out.x_next[0][0] - (0.3 - 0.2 * h_given + 0.5 * v_dot * h_given * h_given)) <
        1e-6);
  CHECK(std::abs(out.p_bar[0][1] - (-0.2 + v_dot * h_given)) < 1e-4);  // ∂x⁺/∂h
}

TEST_CASE("make_system: float32 brings float steppers and keeps double ones for checks") {
  const System system = make_system(VanDerPol{}, {.precision = Precision::float32});
  CHECK(system.steppers<float>().packed->sizes().lanes == kLawLanes<float>);
  CHECK(system.in_double().steppers<double>().one != nullptr);
  CHECK_THROWS_AS(make_system(VanDerPol{}).steppers<float>(), Error);
}

TEST_CASE("make_system: integrators are chosen by type, a discrete law steps itself") {
  CHECK(make_system<Euler>(Pendulum{}).steppers<double>().one->sizes().record == 2 + 2);
  CHECK(make_system<VelocityVerlet>(Pendulum{}).steppers<double>().one->sizes().record == 2 * 4);
  const System halving = make_system(Halving{});
  const auto out =
      test::run_step(*halving.steppers<double>().one, {{3.0}}, {{}}, {{0.01}}, {{4.0}});
  CHECK(out.x_next[0][0] == 1.5);
  CHECK(out.x_bar[0][0] == 2.0);
  CHECK(out.p_bar[0][0] == 0.0);  // its step does not use h
}

TEST_CASE("make_system: the initial state is zero with identity quaternions, or the one given") {
  CHECK(law_parts(test::Dipole{}, {}).initial_state == Numbers{1, 0, 0, 0, 0, 0, 0});
  const SystemParts given = law_parts(Pendulum{}, {.initial_state = {1, 2}});
  CHECK(given.initial_state == Numbers{1, 2});
  CHECK_THROWS_AS(make_system(VanDerPol{}, {.initial_state = {1}}), ModelError);
}

TEST_CASE("make_system: vary marks numbers, and an unknown name in it is refused") {
  const System system = make_system(VanDerPol{}, {.vary = {"option.timestep"}});
  CHECK_FALSE(system.varies(0));
  CHECK(system.varies(1));
  CHECK_THROWS_WITH_AS(make_system(VanDerPol{}, {.vary = {"nu"}}),
                       doctest::Contains("no parameter is called \"nu\""), ParameterError);
}

TEST_CASE("law_parts: refuses bad time steps, values and names, with what to do") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double dt : {0.0, -0.01, nan, std::numeric_limits<double>::infinity()}) {
    CHECK_THROWS_WITH_AS(law_parts(Pendulum{}, {.dt = dt}),
                         doctest::Contains("the time step dt must be positive [s]; got "),
                         ParameterError);
  }
  CHECK_THROWS_WITH_AS(law_parts(Pendulum{}, {.values = {{"lengt", {1}}}}),
                       "no parameter is called \"lengt\"; did you mean \"length\"?",
                       ParameterError);
  CHECK_THROWS_WITH_AS(law_parts(Pendulum{}, {.values = {{"length", {-1}}}}),
                       "parameter \"length\" must be positive [m]; got [-1]", ParameterError);
  CHECK_THROWS_AS(law_parts(Pendulum{}, {.values = {{"length", {nan}}}}), ParameterError);
  CHECK_THROWS_AS(law_parts(Pendulum{}, {.values = {{"length", {1, 2}}}}), ParameterError);
  CHECK_THROWS_WITH_AS(law_parts(Pendulum{}, {.values = {{"option.timestep", {0.1}}}}),
                       "set the time step by dt, not by a value", ParameterError);
}

TEST_CASE(
    "law_parts: refuses a law without states, repeated names, and one that takes the step's name") {
  CHECK_THROWS_WITH_AS(parts_of({}, {}), "law \"law\" has no states", ModelError);
  CHECK_THROWS_AS(parts_of({{"x", 1, "m"}, {"x", 1, "m"}}, {}), ModelError);
  CHECK_THROWS_AS(parts_of({{"x", 1, "m"}}, {{"a", 1, "1"}, {"a", 2, "1"}}), ModelError);
  CHECK_THROWS_AS(parts_of({{"x", 1, "m"}}, {{"option.timestep", 1, "s"}}), ModelError);
}

TEST_CASE("law_parts: an inertia's default is a sphere of that moment") {
  const SystemParts parts =
      parts_of({{"x", 1, "m"}}, {{"inertia", 0.4, "kg·m²", Constraint::inertia, 6}});
  CHECK(parts.parameters.default_values() == Numbers{0.4, 0.4, 0.4, 0, 0, 0, 0.01});
  CHECK(parts.parameters.find("inertia").shape == std::vector<int>{6});
}

}  // namespace cycloid::make_system_test
