// A PID servo or a DC motor on one joint, as a function of one flat row, for tests of their laws.
//
// The row is [ u (4) | x (5) | length rate period | h | p ].
#pragma once

#include "cycloid/rigid/force/motor.h"
#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::test {

inline constexpr int kMotorH = kControlKinds + kMotorStates + 3, kMotorP = kMotorH + 1;
inline constexpr int kMotorOutputs = 2 + 2 * kMotorStates;

inline Model motor_model(ActuatorLaw law, JointKind joint = JointKind::hinge) {
  RobotBuilder builder;
  builder.actuator(builder.joint(builder.body(0, 0), joint), ActuatorDynamics::none);
  Actuator& a = builder.model.actuators[0];
  a.law = law;
  a.affine_gain = false;
  a.affine_bias = law == ActuatorLaw::pid;
  if (law == ActuatorLaw::pid) {
    a.gain = {0.7};
    a.bias = {0.1, -3, -0.4};
    a.dynamics_numbers = {0.8, 5};
    a.signature = 7;
  } else {
    a.gain = {2.1, 0.3, 0.004, 25, 3, 0.6, 0.2, 12};
    a.bias = {0.05, 6, 0.3, 0.1, 0.16, 0.2};
    a.dynamics_numbers = {0.01, 90, 7, 40, 21, 60, 0.8, 5, 0.9};
    a.signature = 15;
  }
  a.controls = law == ActuatorLaw::pid ? 3 : 4;
  a.acts = motor_states(a);
  a.act = 0;
  builder.model.nu = a.controls, builder.model.na = a.acts;
  return builder.model;
}

struct MotorCase {
  explicit MotorCase(const Model& m) : tree(m) {
    point = {0.7, -0.3, 0.2, 1.5, 0.69, 0.2, 14, 0.002, 0.4, 0.66, -0.35, 6.9, 0.01};
    for (const double p : tree.parameters.default_values()) point.push_back(p);
  }
  template <class S>
  static MotorPoint<S> point_of(const S* in) {
    MotorPoint<S> at;
    for (int k = 0; k < kControlKinds; ++k) at.u[k] = in[k];
    for (int k = 0; k < kMotorStates; ++k) at.x[k] = in[kControlKinds + k];
    const S* rest = in + kControlKinds + kMotorStates;
    at.length = rest[0], at.rate = rest[1], at.period = rest[2];
    return at;
  }
  template <class S>
  static void add_point(const MotorPoint<S>& bar, S* in_bar) {
    for (int k = 0; k < kControlKinds; ++k) in_bar[k] += bar.u[k];
    for (int k = 0; k < kMotorStates; ++k) in_bar[kControlKinds + k] += bar.x[k];
    S* rest = in_bar + kControlKinds + kMotorStates;
    rest[0] += bar.length, rest[1] += bar.rate, rest[2] += bar.period;
  }
  template <class S>
  static void put(const MotorForce<S>& out, S* y) {
    y[0] = out.force, y[1] = out.slope;
    for (int k = 0; k < kMotorStates; ++k) {
      y[2 + k] = out.x_dot[k], y[2 + kMotorStates + k] = out.x_next[k];
    }
  }
  template <class S>
  static MotorForce<S> bars_of(const S* y) {
    MotorForce<S> bar;
    bar.force = y[0], bar.slope = y[1];
    for (int k = 0; k < kMotorStates; ++k) {
      bar.x_dot[k] = y[2 + k], bar.x_next[k] = y[2 + kMotorStates + k];
    }
    return bar;
  }
  // With one number of the row changed.
  Numbers with(int place, double value) const {
    Numbers changed = point;
    changed[static_cast<std::size_t>(place)] = value;
    return changed;
  }
  // The number of a list of parameters: gain, bias or dynamics.
  static int parameter(int place, int number) { return kMotorP + place + number; }

  Tree tree;
  Numbers point;
};

// The pullback of a law `forward(tree, p, i, h, at, kept)` with values `Kept`.
template <class Kept, class Forward, class Pullback>
void check_motor(const char* name, const MotorCase& c, const std::vector<Numbers>& points,
                 Forward forward, Pullback backward) {
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    typename Kept::template Of<S> kept;
    MotorCase::put(forward(c.tree, in + kMotorP, in[kMotorH], MotorCase::point_of(in), kept), out);
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    typename Kept::template Of<S> kept;
    const MotorPoint<S> at = MotorCase::point_of(in);
    const MotorForce<S> out = forward(c.tree, in + kMotorP, in[kMotorH], at, kept);
    MotorPoint<S> at_bar;
    backward(c.tree, in + kMotorP, in[kMotorH], at, out, kept, MotorCase::bars_of(out_bar), at_bar,
             in_bar[kMotorH], in_bar + kMotorP);
    MotorCase::add_point(at_bar, in_bar);
  };
  check_pullback(name, kMotorOutputs, value, pullback, points);
}

}  // namespace cycloid::test
