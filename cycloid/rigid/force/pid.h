// A PID servo: force of its setpoints, of its integral, of length and rate.
//
//   f = k_p (q_d - l) + k_v (v_d - l̇) + u_f + k_i z + b₀     z = x_I, with `early` x_I⁺       (1)
//   p = clamp(f, force_range)                                                                (2)
// k_p = -b₁ and k_v = -b₂ are numbers of the bias, k_i of the gain. On a rotation q_d counts by its
// turn nearest to l. Its setpoint and its integral are those of setpoint.h.
// Source: MuJoCo's manual, actuator/pid.
#pragma once

#include "cycloid/rigid/force/setpoint.h"

namespace cycloid::inline rigid {

// What the pullback needs again.
template <class S>
struct PidValues {
  Setpoint<S> setpoint;
  S turns{}, position{}, unclamped{};
};

template <class S, class P>
CYCLOID_HD MotorForce<S> pid_force(const TreeView& tree, const P* p, std::size_t i, const S& h,
                                   const MotorPoint<S>& at, PidValues<S>& kept) {
  const Actuator& a = tree.model.actuators[i];
  const P *gain = p + tree.actuators[i].gain, *bias = p + tree.actuators[i].bias;
  MotorForce<S> out;
  kept.setpoint = follow_setpoint(tree, p, i, h, at, out);
  const S* const u = kept.setpoint.u;
  kept.position = u[kPositionControl];
  if (setpoint_turns(tree, a)) {
    kept.turns = round_nearest((kept.position - at.length) / at.period);
    kept.position -= at.period * kept.turns;
  }
  S f = S(bias[0]) + S(bias[1]) * (at.length - kept.position) +
        S(bias[2]) * (at.rate - u[kVelocityControl]) + u[kForceControl];  // (1)
  if (has_state(a, kIntegral)) {
    f += S(gain[0]) * (a.early ? out.x_next[kIntegral] : at.x[kIntegral]);
  }
  kept.unclamped = f;
  out.force = clamp(a.force_range, f);  // (2)
  out.slope = S(bias[2]) * inside(a.force_range, f);
  return out;
}

// Adds to at_bar, h_bar, and to p_bar unless it is null.
template <class S, class P>
CYCLOID_HD void pid_force_pullback(const TreeView& tree, const P* p, std::size_t i, const S& h,
                                   const MotorPoint<S>& at, const MotorForce<S>& out,
                                   const PidValues<S>& kept, MotorForce<S> bar,
                                   MotorPoint<S>& at_bar, S& h_bar, S* p_bar) {
  const Actuator& a = tree.model.actuators[i];
  const ActuatorPlaces& place = tree.actuators[i];
  const P *gain = p + place.gain, *bias = p + place.bias;
  const S open = inside(a.force_range, kept.unclamped);
  const S f_bar = bar.force * open;  // (2)
  const S* const u = kept.setpoint.u;
  S u_bar[kControlKinds]{};
  u_bar[kPositionControl] = -S(bias[1]) * f_bar;  // (1)
  u_bar[kVelocityControl] = -S(bias[2]) * f_bar;
  u_bar[kForceControl] = f_bar;
  at_bar.length += S(bias[1]) * f_bar;
  at_bar.rate += S(bias[2]) * f_bar;
  if (setpoint_turns(tree, a)) at_bar.period -= u_bar[kPositionControl] * kept.turns;
  if (p_bar) {
    S* const b = p_bar + place.bias;
    b[0] += f_bar;
    b[1] += f_bar * (at.length - kept.position);
    b[2] += f_bar * (at.rate - u[kVelocityControl]) + bar.slope * open;
  }
  if (has_state(a, kIntegral)) {
    (a.early ? bar.x_next : at_bar.x)[kIntegral] += S(gain[0]) * f_bar;
    const S& z = a.early ? out.x_next[kIntegral] : at.x[kIntegral];
    if (p_bar) p_bar[place.gain] += f_bar * z;
  }
  follow_setpoint_pullback(tree, p, i, h, at, out, kept.setpoint, bar, u_bar, at_bar, h_bar, p_bar);
}

}  // namespace cycloid::inline rigid
