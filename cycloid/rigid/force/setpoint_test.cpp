#include "cycloid/rigid/force/setpoint.h"

#include "cycloid/rigid/force/motor_case_test.h"

namespace cycloid::setpoint_test {

using test::MotorCase;
using test::Numbers;

TEST_CASE("follow_setpoint: pullback equals dual numbers for servos and motors") {
  for (const auto law : {ActuatorLaw::pid, ActuatorLaw::dc_motor}) {
    Model m = test::motor_model(law);
    m.actuators[0].control_range = {true, -3, 3};
    const MotorCase c(m);
    constexpr int kOutputs = kControlKinds + 4;
    const auto value = [&](const auto* in, auto* out) {
      using S = std::remove_cvref_t<decltype(*in)>;
      MotorForce<S> force;
      const Setpoint<S> s = follow_setpoint(c.tree, in + test::kMotorP, 0, in[test::kMotorH],
                                            MotorCase::point_of(in), force);
      for (int k = 0; k < kControlKinds; ++k) out[k] = s.u[k];
      for (int k = 0; k < 2; ++k) {
        out[kControlKinds + k] = force.x_dot[k];
        out[kControlKinds + 2 + k] = force.x_next[k];
      }
    };
    const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
      using S = std::remove_cvref_t<decltype(*in_bar)>;
      const MotorPoint<S> at = MotorCase::point_of(in);
      MotorForce<S> force, bar;
      const Setpoint<S> s =
          follow_setpoint(c.tree, in + test::kMotorP, 0, in[test::kMotorH], at, force);
      S u_bar[kControlKinds];
      for (int k = 0; k < kControlKinds; ++k) u_bar[k] = out_bar[k];
      for (int k = 0; k < 2; ++k) {
        bar.x_dot[k] = out_bar[kControlKinds + k];
        bar.x_next[k] = out_bar[kControlKinds + 2 + k];
      }
      MotorPoint<S> at_bar;
      follow_setpoint_pullback(c.tree, in + test::kMotorP, 0, in[test::kMotorH], at, force, s, bar,
                               u_bar, at_bar, in_bar[test::kMotorH], in_bar + test::kMotorP);
      MotorCase::add_point(at_bar, in_bar);
    };
    test::check_pullback("follow_setpoint", kOutputs, value, pullback,
                         {c.point, c.with(0, 2), c.with(0, -4), c.with(5, 0.97), c.with(5, -0.95)});
  }
}

TEST_CASE("setpoint: states follow one another in MuJoCo's order") {
  const Actuator motor = test::motor_model(ActuatorLaw::dc_motor).actuators[0];
  CHECK(motor_states(motor) == 5);
  CHECK(state_place(motor, kCurrent) == 4);
  Actuator cool = motor;
  cool.dynamics_numbers[2] = 0;
  CHECK(motor_states(cool) == 4);
  CHECK(state_place(cool, kCurrent) == 3);
  CHECK(first_control(cool) == kPositionControl);
  cool.signature = 8;
  CHECK(first_control(cool) == kVoltageControl);
}

}  // namespace cycloid::setpoint_test
