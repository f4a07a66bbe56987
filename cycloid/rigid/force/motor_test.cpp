#include "cycloid/rigid/force/motor.h"

#include "cycloid/rigid/force/motor_case_test.h"

namespace cycloid::motor_test {

using test::MotorCase;
using test::Numbers;

struct Kept {
  template <class S>
  using Of = MotorValues<S>;
};

void check(const MotorCase& c, const std::vector<Numbers>& points) {
  test::check_motor<Kept>(
      "motor_force", c, points,
      [](const auto& tree, const auto* p, const auto& h, const auto& at, auto& kept) {
        kept = motor_force(tree, p, 0, h, at);
        return kept.out;
      },
      [](const auto& tree, const auto* p, const auto& h, const auto& at, const auto&,
         const auto& kept, const auto& bar, auto& at_bar, auto& h_bar, auto* p_bar) {
        motor_force_pullback(tree, p, 0, h, at, kept, bar, at_bar, h_bar, p_bar);
      });
}

constexpr ActuatorLaw kLaws[] = {ActuatorLaw::pid, ActuatorLaw::dc_motor};

TEST_CASE("motor_force: pullback equals dual numbers, switched on and off") {
  for (const auto law : kLaws) {
    for (const bool on : {true, false}) {
      Model m = test::motor_model(law);
      m.actuators[0].enabled = on;
      m.actuators[0].activation_range = {true, -0.5, 0.9};
      const MotorCase c(m);
      check(c, {c.point, c.with(5, 1.3), c.with(5, -1.3)});
    }
    Model m = test::motor_model(law);
    m.options.acting.actuation = false;
    const MotorCase c(m);
    check(c, {c.point, c.with(5, 1.3)});
  }
}

TEST_CASE("held_state, motor_state_step: pullbacks equal dual numbers for every state") {
  for (const auto law : kLaws) {
    Model m = test::motor_model(law);
    m.actuators[0].activation_range = {true, -0.5, 0.9};
    const MotorCase c(m);
    for (int state = 0; state < kMotorStates; ++state) {
      if (!has_state(m.actuators[0], state)) continue;
      const auto held = [&](const auto* in, auto* out) {
        out[0] = held_state(c.tree, in + 1, 0, state, in[0]);
      };
      const auto held_pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
        auto bar = out_bar[0];
        held_state_pullback(c.tree, in + 1, 0, state, in[0], bar, in_bar + 1);
        in_bar[0] += bar;
      };
      const auto step = [&](const auto* in, auto* out) {
        out[0] = motor_state_step(c.tree, in + 3, 0, state, in[2], in[0], in[1]);
      };
      const auto step_pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
        motor_state_step_pullback(c.tree, in + 3, 0, state, in[2], in[0], in[1], out_bar[0],
                                  in_bar[0], in_bar[1], in_bar[2], in_bar + 3);
      };
      Numbers one = {0.3}, three = {0.3, 0.4, 0.02};
      for (const double p : c.tree.parameters.default_values()) {
        one.push_back(p);
        three.push_back(p);
      }
      test::check_pullback("held_state", 1, held, held_pullback, {one});
      test::check_pullback("motor_state_step", 1, step, step_pullback, {three});
      if (law == ActuatorLaw::dc_motor && state == kIntegral) {
        one[0] = 1.5, three[0] = -1.5;
        test::check_pullback("held_state", 1, held, held_pullback, {one});
        test::check_pullback("motor_state_step", 1, step, step_pullback, {three});
      }
    }
  }
}

}  // namespace cycloid::motor_test
