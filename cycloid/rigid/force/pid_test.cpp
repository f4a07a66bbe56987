#include "cycloid/rigid/force/pid.h"

#include "cycloid/rigid/force/motor_case_test.h"

namespace cycloid::pid_test {

using test::MotorCase;
using test::Numbers;

struct Kept {
  template <class S>
  using Of = PidValues<S>;
};

void check(const MotorCase& c, const std::vector<Numbers>& points) {
  test::check_motor<Kept>(
      "pid_force", c, points,
      [](const auto& tree, const auto* p, const auto& h, const auto& at, auto& kept) {
        return pid_force(tree, p, 0, h, at, kept);
      },
      [](const auto& tree, const auto* p, const auto& h, const auto& at, const auto& out,
         const auto& kept, const auto& bar, auto& at_bar, auto& h_bar, auto* p_bar) {
        pid_force_pullback(tree, p, 0, h, at, out, kept, bar, at_bar, h_bar, p_bar);
      });
}

TEST_CASE("pid_force: pullback equals dual numbers, early or not, at limits and within") {
  for (const bool early : {false, true}) {
    Model m = test::motor_model(ActuatorLaw::pid);
    m.actuators[0].early = early;
    m.actuators[0].force_range = {true, -6, 6};
    m.actuators[0].third_range = {true, -1, 1};
    m.actuators[0].activation_range = {true, -2, 2};
    const MotorCase c(m);
    // Slewing up and down, an integral at its bound, a clamped force and a clamped control.
    check(c, {c.point, c.with(0, 2), c.with(0, -2), c.with(5, 0.9), c.with(5, -0.9), c.with(9, 30),
              c.with(2, 3), c.with(4, 9)});
  }
}

TEST_CASE("pid_force: on a ball the setpoint counts by its nearest turn") {
  const MotorCase c(test::motor_model(ActuatorLaw::pid, JointKind::ball));
  check(c, {c.point, c.with(0, 8.1), c.with(9, -20)});
}

TEST_CASE("pid_force: force, integral and slewed setpoint of a small case") {
  Model m = test::motor_model(ActuatorLaw::pid);
  m.actuators[0].dynamics_numbers = {0.8, 5};
  const MotorCase c(m);
  Numbers row = c.with(0, 2);  // from 0.69 towards 2 at 5 per second, in 0.01 s
  PidValues<double> kept;
  const auto out = pid_force(c.tree, row.data() + test::kMotorP, 0, row[test::kMotorH],
                             MotorCase::point_of(row.data()), kept);
  CHECK(out.x_next[kSetpoint] == doctest::Approx(0.74));
  CHECK(out.x_dot[kIntegral] == doctest::Approx(0.74 - 0.66));
  CHECK(out.force ==
        doctest::Approx(0.1 + 3 * (0.74 - 0.66) + 0.4 * (-0.3 + 0.35) + 0.2 + 0.7 * 0.2));
  CHECK(out.slope == doctest::Approx(-0.4));
}

}  // namespace cycloid::pid_test
