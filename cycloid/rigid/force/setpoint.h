// The setpoint of a controller: what PID servos (pid.h) and DC motors (dc_motor.h) have in common.
//
// Controls are a position q_d, a velocity v_d, a feed-forward force and a voltage, each where the
// actuator has it and else zero; each is clamped to its range. With the first of them u, the rate
// limit r and the step h:
//   s   = clamp(u, x_s - h r, x_s + h r),   ẋ_s = (s - x_s)/h,   x_s⁺ = s            (1)
//   e   = q_d - l,   on a rotation of period P  e - P round(e/P)                       (2)
//   ẋ_I = e, but for what would lead further from ±I where |x_I| ≥ I;  x_I⁺ = x_I + h e  (3)
// s takes the place of u. On a rotation u counts by its turn nearest to x_s. At the ends of a clamp
// the derivative is that of its inside; (3) has none where e = 0 at ±I, zero is taken.
// Source: MuJoCo's manual, actuator/pid and actuator/dcmotor.
#pragma once

#include "cycloid/rigid/force/actuator.h"

namespace cycloid::inline rigid {

// Of MuJoCo's mjtCtrlInput.
enum ControlKind { kPositionControl, kVelocityControl, kForceControl, kVoltageControl };
inline constexpr int kControlKinds = 4;

CYCLOID_HD inline bool has_control(const Actuator& a, int kind) {
  return (a.signature >> kind) & 1;
}
CYCLOID_HD inline int first_control(const Actuator& a) {
  for (int k = 0; k < kControlKinds; ++k) {
    if (has_control(a, k)) return k;
  }
  return -1;
}

// The activations that a controller or a motor may have, in their order.
enum MotorState { kSetpoint, kIntegral, kTemperature, kBristle, kCurrent };
inline constexpr int kMotorStates = 5;

// Which of them an actuator has is part of the model, whatever its parameters become.
CYCLOID_HD inline bool has_state(const Actuator& a, int state) {
  const bool pid = a.law == ActuatorLaw::pid;
  switch (state) {
    case kSetpoint: return a.dynamics_numbers[pid ? 1 : 7] > 0;
    case kIntegral: return a.gain[pid ? 0 : 5] > 0;
    case kTemperature: return !pid && a.dynamics_numbers[2] > 0;
    case kBristle: return !pid && a.dynamics_numbers[5] > 0;
    default: return !pid && a.dynamics_numbers[0] > 0;
  }
}
// The place of a state in act, from the actuator's first on.
inline int state_place(const Actuator& a, int state) {
  int place = 0;
  for (int k = 0; k < state; ++k) place += has_state(a, k);
  return place;
}

template <class S>
struct MotorPoint {
  S u[kControlKinds]{};  // as given
  S x[kMotorStates]{};
  S length{}, rate{};
  S period{};  // P of a rotation, else zero
};

// p, its slope in l̇ as the implicit integrators take it, ẋ and x⁺; or their cotangents. loose: the
// part of p that the limit of a tendon does not hold, and its slope.
template <class S>
struct MotorForce {
  S force{}, slope{}, loose{}, loose_slope{};
  S x_dot[kMotorStates]{}, x_next[kMotorStates]{};
};

// Where the numbers of (1)-(3) are among the parameters; bound: I, -1: none.
struct SetpointPlaces {
  int rate, bound;
};
CYCLOID_HD inline SetpointPlaces setpoint_places(const Actuator& a, const ActuatorPlaces& at) {
  if (a.law == ActuatorLaw::pid) return {at.dynamics + 1, at.dynamics};
  return {at.dynamics + 7, at.dynamics + 8};
}

// Values of (1)-(3).
template <class S>
struct Setpoint {
  S u[kControlKinds]{};  // after clamps, the first one after (1)
  S nearest{};           // u of (1), at its nearest turn
  S turns{}, error_turns{};
  S error{};  // e
};

// The range of an activation: that of the actuator, or ±I of a DC motor's integral.
template <class S>
CYCLOID_INLINE S hold_between(const S& low, const S& high, const S& x) {
  return min(max(x, low), high);
}

template <class S, class P>
CYCLOID_HD Setpoint<S> follow_setpoint(const TreeView& tree, const P* p, std::size_t i, const S& h,
                                       const MotorPoint<S>& at, MotorForce<S>& out) {
  const Actuator& a = tree.model.actuators[i];
  const SetpointPlaces places = setpoint_places(a, tree.actuators[i]);
  const bool turns = setpoint_turns(tree, a);
  Setpoint<S> s;
  for (int k = 0, n = 0; k < kControlKinds; ++k) {
    if (!has_control(a, k)) continue;
    const Range& range = control_range(a, n++);
    s.u[k] = tree.model.options.acting.control_limits ? clamp(range, at.u[k]) : at.u[k];
  }
  if (has_state(a, kSetpoint) && first_control(a) >= 0) {
    S& u = s.u[first_control(a)];
    const S& x = at.x[kSetpoint];
    if (turns) s.turns = round_nearest((u - x) / at.period);
    s.nearest = turns ? u - at.period * s.turns : u;
    const S most = h * S(p[places.rate]);
    u = hold_between(x - most, x + most, s.nearest);  // (1)
    out.x_dot[kSetpoint] = (u - x) / h;
    out.x_next[kSetpoint] = clamp(a.activation_range, x + h * out.x_dot[kSetpoint]);
  }
  if (has_state(a, kIntegral)) {
    s.error = s.u[kPositionControl] - at.length;
    if (turns) s.error_turns = round_nearest(s.error / at.period);
    if (turns) s.error -= at.period * s.error_turns;  // (2)
    const S &x = at.x[kIntegral], bound = S(p[places.bound]);
    const auto bounded = bound > S(0);
    S e = select(bounded & (x >= bound), min(s.error, S(0)), s.error);
    e = select(bounded & (x <= -bound), max(e, S(0)), e);
    out.x_dot[kIntegral] = e;  // (3)
    S next = x + h * e;
    if (a.law == ActuatorLaw::pid) {
      next = clamp(a.activation_range, next);
    } else {
      next = select(bounded, hold_between(-bound, bound, next), next);
    }
    out.x_next[kIntegral] = next;
  }
  return s;
}

// u_bar: of the controls after (1). Adds to at_bar, h_bar, and to p_bar unless it is null.
template <class S, class P>
CYCLOID_HD void follow_setpoint_pullback(const TreeView& tree, const P* p, std::size_t i,
                                         const S& h, const MotorPoint<S>& at,
                                         const MotorForce<S>& out, const Setpoint<S>& s,
                                         const MotorForce<S>& bar, S* u_bar, MotorPoint<S>& at_bar,
                                         S& h_bar, S* p_bar) {
  const Actuator& a = tree.model.actuators[i];
  const SetpointPlaces places = setpoint_places(a, tree.actuators[i]);
  const bool turns = setpoint_turns(tree, a);
  if (has_state(a, kIntegral)) {
    const S &x = at.x[kIntegral], &e = out.x_dot[kIntegral], bound = S(p[places.bound]);
    S next_bar = bar.x_next[kIntegral];
    const S next = x + h * e;
    if (a.law == ActuatorLaw::pid) {
      next_bar *= inside(a.activation_range, next);
    } else {
      const S held = select(bound > S(0), next_bar, S(0));
      const S above = select(next > bound, held, S(0)), below = select(next < -bound, held, S(0));
      if (p_bar) p_bar[places.bound] += above - below;
      next_bar -= above + below;
    }
    at_bar.x[kIntegral] += next_bar;
    h_bar += next_bar * e;
    const S e_bar = select(e == s.error, next_bar * h + bar.x_dot[kIntegral], S(0));  // (3)
    u_bar[kPositionControl] += e_bar;                                                 // (2)
    at_bar.length -= e_bar;
    if (turns) at_bar.period -= e_bar * s.error_turns;
  }
  if (has_state(a, kSetpoint) && first_control(a) >= 0) {
    S& bar_u = u_bar[first_control(a)];
    const S &x = at.x[kSetpoint], &u = s.u[first_control(a)], r = S(p[places.rate]);
    bar_u += bar.x_next[kSetpoint] * inside(a.activation_range, u) + bar.x_dot[kSetpoint] / h;
    at_bar.x[kSetpoint] -= bar.x_dot[kSetpoint] / h;
    h_bar -= bar.x_dot[kSetpoint] * (u - x) / (h * h);
    const S above = select(s.nearest > x + h * r, bar_u, S(0));
    const S below = select(s.nearest < x - h * r, bar_u, S(0));
    at_bar.x[kSetpoint] += above + below;
    h_bar += (above - below) * r;
    if (p_bar) p_bar[places.rate] += (above - below) * h;
    bar_u -= above + below;  // (1)
    if (turns) at_bar.period -= bar_u * s.turns;
  }
  for (int k = 0, n = 0; k < kControlKinds; ++k) {
    if (!has_control(a, k)) continue;
    const Range& range = control_range(a, n++);
    const bool limits = tree.model.options.acting.control_limits;
    at_bar.u[k] += limits ? u_bar[k] * inside(range, at.u[k]) : u_bar[k];
  }
}

}  // namespace cycloid::inline rigid
