// PID servos and DC motors at their place in a robot: what their laws (pid.h, dc_motor.h) look at,
// where their activations go, and their pullback.
#pragma once

#include "cycloid/rigid/force/actuator_row.h"
#include "cycloid/rigid/force/dc_motor.h"
#include "cycloid/rigid/force/pid.h"

namespace cycloid::inline rigid {

CYCLOID_HD inline bool is_motor(const Actuator& a) {
  return a.law == ActuatorLaw::pid || a.law == ActuatorLaw::dc_motor;
}

// visit(place in act, MotorState of a motor) for every activation of an actuator.
template <class Visit>
CYCLOID_HD void for_each_activation(const Actuator& a, Visit visit) {
  if (!is_motor(a)) {
    for (int k = 0; k < activations(a); ++k) visit(a.act + k, 0);
    return;
  }
  for (int k = 0, n = a.act; k < kMotorStates; ++k) {
    if (has_state(a, k)) visit(n++, k);
  }
}

// The law's values with what its pullback needs again.
template <class S>
struct MotorValues {
  MotorForce<S> out;
  PidValues<S> pid;
  DcMotorValues<S> dc;
};

// x within the range of a state that does not move.
template <class S, class P>
CYCLOID_HD S held_state(const TreeView& tree, const P* p, std::size_t i, int state, const S& x) {
  const Actuator& a = tree.model.actuators[i];
  if (!tree.model.options.acting.actuation) return x;
  if (a.law == ActuatorLaw::pid) return clamp(a.activation_range, x);
  if (state != kIntegral) return x;
  return hold_within(S(p[setpoint_places(a, tree.actuators[i]).bound]), x);
}

// Turns the cotangent of held_state into that of x.
template <class S, class P>
CYCLOID_HD void held_state_pullback(const TreeView& tree, const P* p, std::size_t i, int state,
                                    const S& x, S& bar, S* p_bar) {
  const Actuator& a = tree.model.actuators[i];
  if (!tree.model.options.acting.actuation) return;
  if (a.law == ActuatorLaw::pid) {
    bar *= inside(a.activation_range, x);
  } else if (state == kIntegral) {
    const int place = setpoint_places(a, tree.actuators[i]).bound;
    S bound_bar(0);
    bar = hold_within_pullback(S(p[place]), x, bar, bound_bar);
    if (p_bar) p_bar[place] += bound_bar;
  }
}

template <class S, class P>
CYCLOID_HD MotorValues<S> motor_force(const TreeView& tree, const P* p, std::size_t i, const S& h,
                                      const MotorPoint<S>& at) {
  const Actuator& a = tree.model.actuators[i];
  MotorValues<S> v;
  if (a.law == ActuatorLaw::pid) {
    v.out = pid_force(tree, p, i, h, at, v.pid);
  } else {
    v.out = dc_motor_force(tree, p, i, h, at, v.dc);
  }
  if (acts(tree, a)) return v;
  // A motor that is switched off exerts nothing; its bristles bend on, its other states stay.
  const bool all_off = !tree.model.options.acting.actuation;
  v.out.force = v.out.slope = v.out.loose = v.out.loose_slope = S(0);
  for (int k = 0; k < kMotorStates; ++k) {
    v.out.x_dot[k] = S(0);
    if (k == kBristle && !all_off) continue;
    v.out.x_next[k] = has_state(a, k) ? held_state(tree, p, i, k, at.x[k]) : S(0);
  }
  return v;
}

template <class S, class P>
CYCLOID_HD void motor_force_pullback(const TreeView& tree, const P* p, std::size_t i, const S& h,
                                     const MotorPoint<S>& at, const MotorValues<S>& v,
                                     MotorForce<S> bar, MotorPoint<S>& at_bar, S& h_bar, S* p_bar) {
  const Actuator& a = tree.model.actuators[i];
  if (!acts(tree, a)) {
    const bool all_off = !tree.model.options.acting.actuation;
    bar.force = bar.slope = bar.loose = bar.loose_slope = S(0);
    for (int k = 0; k < kMotorStates; ++k) {
      bar.x_dot[k] = S(0);
      if (!has_state(a, k)) bar.x_next[k] = S(0);
      if (k == kBristle && !all_off) continue;
      held_state_pullback(tree, p, i, k, at.x[k], bar.x_next[k], p_bar);
      at_bar.x[k] += bar.x_next[k];
      bar.x_next[k] = S(0);
    }
  }
  if (a.law == ActuatorLaw::pid) {
    pid_force_pullback(tree, p, i, h, at, v.out, v.pid, bar, at_bar, h_bar, p_bar);
  } else {
    dc_motor_force_pullback(tree, p, i, h, at, v.out, v.dc, bar, at_bar, h_bar, p_bar);
  }
}

// x⁺ of one state from its mean ẋ, as Runge–Kutta needs it.
template <class S, class P>
CYCLOID_HD S motor_state_step(const TreeView& tree, const P* p, std::size_t i, int state,
                              const S& h, const S& x, const S& x_dot) {
  if (state != kCurrent) return held_state(tree, p, i, state, x + h * x_dot);
  const S te = S(p[tree.actuators[i].dynamics]);
  return x + x_dot * te * (S(1) - exp(-h / te));
}
template <class S, class P>
CYCLOID_HD void motor_state_step_pullback(const TreeView& tree, const P* p, std::size_t i,
                                          int state, const S& h, const S& x, const S& x_dot,
                                          S next_bar, S& x_bar, S& x_dot_bar, S& h_bar, S* p_bar) {
  if (state != kCurrent) {
    held_state_pullback(tree, p, i, state, x + h * x_dot, next_bar, p_bar);
    x_bar += next_bar;
    x_dot_bar += next_bar * h;
    h_bar += next_bar * x_dot;
    return;
  }
  const int place = tree.actuators[i].dynamics;
  const S te = S(p[place]), rest = exp(-h / te);
  x_bar += next_bar;
  x_dot_bar += next_bar * te * (S(1) - rest);
  h_bar += next_bar * x_dot * rest;
  if (p_bar) p_bar[place] += next_bar * x_dot * (S(1) - rest - rest * h / te);
}

template <class S, class P>
CYCLOID_HD MotorPoint<S> motor_point(const Robot<S, P>& r, std::size_t i, const Instant<S>& x,
                                     const Workspace<S>& w) {
  const Actuator& a = r.tree.model.actuators[i];
  const TransmissionPoint<S> on = transmission_point(r, i, x, w);
  MotorPoint<S> at;
  at.length = on.length, at.rate = on.rate, at.period = on.period;
  for (int k = 0, n = 0; k < kControlKinds; ++k) {
    if (!has_control(a, k)) continue;
    if (r.inputs.ctrl >= 0) at.u[k] = x.u[r.inputs.ctrl + a.control + n];
    ++n;
  }
  for_each_activation(a, [&](int j, int state) { at.x[state] = x.act[j]; });
  return at;
}

// Hands on the cotangents of controls, activations, period and parameters; returns those of length
// and rate.
template <class S, class P>
CYCLOID_HD MotorPoint<S> gather_motor(const Robot<S, P>& r, std::size_t i, const MotorPoint<S>& at,
                                      const MotorValues<S>& v, const MotorForce<S>& out_bar,
                                      const InstantBars<S>& bar) {
  const Actuator& a = r.tree.model.actuators[i];
  MotorPoint<S> at_bar;
  motor_force_pullback(r.tree, r.p, i, r.timestep(), at, v, out_bar, at_bar, bar.h, bar.p);
  add_period_bar(r, i, at_bar.period, bar.p);
  for (int k = 0, n = 0; k < kControlKinds; ++k) {
    if (!has_control(a, k)) continue;
    if (r.inputs.ctrl >= 0) bar.u[r.inputs.ctrl + a.control + n] += at_bar.u[k];
    ++n;
  }
  for_each_activation(a, [&](int j, int state) { bar.act[j] += at_bar.x[state]; });
  return at_bar;
}

}  // namespace cycloid::inline rigid
