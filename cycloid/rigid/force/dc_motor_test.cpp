#include "cycloid/rigid/force/dc_motor.h"

#include "cycloid/rigid/force/motor_case_test.h"

namespace cycloid::dc_motor_test {

using test::MotorCase;
using test::Numbers;

struct Kept {
  template <class S>
  using Of = DcMotorValues<S>;
};

void check(const MotorCase& c, const std::vector<Numbers>& points) {
  test::check_motor<Kept>(
      "dc_motor_force", c, points,
      [](const auto& tree, const auto* p, const auto& h, const auto& at, auto& kept) {
        return dc_motor_force(tree, p, 0, h, at, kept);
      },
      [](const auto& tree, const auto* p, const auto& h, const auto& at, const auto& out,
         const auto& kept, const auto& bar, auto& at_bar, auto& h_bar, auto* p_bar) {
        dc_motor_force_pullback(tree, p, 0, h, at, out, kept, bar, at_bar, h_bar, p_bar);
      });
}

TEST_CASE("hold_within: pullback equals dual numbers") {
  const auto value = [](const auto* in, auto* out) { out[0] = hold_within(in[0], in[1]); };
  const auto pullback = [](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    S most_bar(0);
    in_bar[1] += hold_within_pullback(in[0], in[1], out_bar[0], most_bar);
    in_bar[0] += most_bar;
  };
  test::check_pullback("hold_within", 1, value, pullback, {{2, 1}, {2, 5}, {2, -5}, {-1, 4}});
}

TEST_CASE("dc_motor_force: pullback equals dual numbers with all states, early or not") {
  for (const bool early : {false, true}) {
    Model m = test::motor_model(ActuatorLaw::dc_motor);
    m.actuators[0].early = early;
    m.actuators[0].force_range = {true, -0.9, 0.9};
    const MotorCase c(m);
    // Slewing, a voltage and a rate of current at their limits, a force at its own, bound integral.
    check(c, {c.point, c.with(0, 3), c.with(3, 40), c.with(2, 9), c.with(8, 5), c.with(5, 0.95)});
  }
}

TEST_CASE("dc_motor_force: ... with some of them, with and without a driver") {
  for (const int signature : {8, 7, 3, 1, 16}) {
    for (const int without : {-1, 0, 2, 5}) {
      Model m = test::motor_model(ActuatorLaw::dc_motor);
      Actuator& a = m.actuators[0];
      a.signature = signature;
      a.controls = (signature & 1) + ((signature >> 1) & 1) + ((signature >> 2) & 1) +
                   ((signature >> 3) & 1);
      a.gain[5] = signature & 1 ? 0.6 : 0;
      a.dynamics_numbers[7] = 0;
      if (without >= 0) a.dynamics_numbers[static_cast<std::size_t>(without)] = 0;
      a.acts = motor_states(a);
      m.na = a.acts, m.nu = a.controls;
      const MotorCase c(m);
      check(c, {c.point, c.with(10, 0.6)});
    }
  }
}

TEST_CASE("dc_motor_force: stall torque, speed without load, and heat of a plain motor") {
  Model m = test::motor_model(ActuatorLaw::dc_motor);
  Actuator& a = m.actuators[0];
  a.signature = 8, a.controls = 1, a.acts = 0;
  a.gain = {2, 0.5}, a.bias = {}, a.dynamics_numbers = {};
  const MotorCase c(m);
  const auto force = [&](double voltage, double rate) {
    MotorPoint<double> at;
    at.u[kVoltageControl] = voltage, at.rate = rate;
    DcMotorValues<double> kept;
    return dc_motor_force(c.tree, c.point.data() + test::kMotorP, 0, 0.01, at, kept);
  };
  CHECK(force(12, 0).force == doctest::Approx(0.5 * 12 / 2));
  CHECK(force(12, 24).force == doctest::Approx(0).epsilon(1e-12));  // back-EMF K v = V
  CHECK(force(0, 4).force == doctest::Approx(-0.25 / 2 * 4));       // a shorted motor brakes
  CHECK(force(0, 4).slope == doctest::Approx(-0.25 / 2));
}

}  // namespace cycloid::dc_motor_test
