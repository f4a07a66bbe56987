// A DC motor with its driver: torque of a current, which has a voltage behind it.
//
//   τ_c = k_p (q_d - l) + k_d (v_d - l̇) + k_i x_I + u_f                                      (1)
//   V   = clamp((R₀/K) τ_c + K l̇, ±V_max) + u_V                                              (2)
//   R   = R₀ (1 + α (T + T_a - T₀))       with a temperature T above the ambience T_a         (3)
//   w   = (V - K l̇)/R                                                                        (4)
//   i̇   = clamp((w - i)/t_e, ±i̇_max),     i⁺ = i + t_e (1 - e^{-h/t_e}) i̇                  (5)
//   Ṫ   = (R i² - T/R_T)/C                 Euler's step                                        (6)
//   p   = clamp(K i, force_range) + A sin(N l + φ) - F                                        (7)
// Without inductance i is w; with `early` (7) takes i⁺. (1) and the first part of (2) are the
// driver's, with a control of its own; V_max and i̇_max act where they are positive. F is friction
// (lugre.h); setpoint and integral x_I are those of setpoint.h. Implicit integrators take
//   dp/dl̇ = -b (1 - e^{-h/t_e}) - σ₁,   b = k_d R₀/R with a driver, else K²/R               (8)
// with the second b where V_max holds, and without b where i̇_max or the range of (7) does. At the
// ends of clamps the derivative is that of the inside. A tendon's limit holds the clamped part of
// (7) only: cogging and friction with their slope -σ₁ are loose.
// Source: MuJoCo's manual, actuator/dcmotor.
#pragma once

#include "cycloid/rigid/force/lugre.h"
#include "cycloid/rigid/force/setpoint.h"

namespace cycloid::inline rigid {

// The numbers of the law as gainprm, biasprm and dynprm have them.
template <class S>
struct DcMotor {
  S R, K, alpha, T0, kp, ki, kd, V_max;            // gainprm
  S amplitude, poles, phase;                       // biasprm
  S te, current_rate, thermal, capacity, ambient;  // dynprm
  BristleLaw<S> bristle;
};

template <class S, class P>
CYCLOID_HD DcMotor<S> dc_motor(const ActuatorPlaces& at, const P* p) {
  const P *g = p + at.gain, *b = p + at.bias, *d = p + at.dynamics;
  DcMotor<S> m{};
  m.R = S(g[0]), m.K = S(g[1]), m.alpha = S(g[2]), m.T0 = S(g[3]);
  m.kp = S(g[4]), m.ki = S(g[5]), m.kd = S(g[6]), m.V_max = S(g[7]);
  m.amplitude = S(b[0]), m.poles = S(b[1]), m.phase = S(b[2]);
  m.te = S(d[0]), m.current_rate = S(d[1]), m.thermal = S(d[2]), m.capacity = S(d[3]);
  m.ambient = S(d[4]);
  m.bristle = {S(b[3]), S(b[4]), S(b[5]), S(d[5]), S(d[6])};
  return m;
}
template <class S>
CYCLOID_HD void add_dc_motor_bars(const ActuatorPlaces& at, const DcMotor<S>& m, S* p_bar) {
  S *g = p_bar + at.gain, *b = p_bar + at.bias, *d = p_bar + at.dynamics;
  g[0] += m.R, g[1] += m.K, g[2] += m.alpha, g[3] += m.T0;
  g[4] += m.kp, g[5] += m.ki, g[6] += m.kd, g[7] += m.V_max;
  b[0] += m.amplitude, b[1] += m.poles, b[2] += m.phase;
  b[3] += m.bristle.coulomb, b[4] += m.bristle.stick, b[5] += m.bristle.stribeck;
  d[0] += m.te, d[1] += m.current_rate, d[2] += m.thermal, d[3] += m.capacity;
  d[4] += m.ambient, d[5] += m.bristle.stiffness, d[6] += m.bristle.damping;
}

CYCLOID_HD inline bool has_driver(const Actuator& a) {
  return has_control(a, kPositionControl) || has_control(a, kVelocityControl) ||
         has_control(a, kForceControl);
}

// x between ±most, where that is positive.
template <class S>
CYCLOID_INLINE S hold_within(const S& most, const S& x) {
  return select(most > S(0), hold_between(-most, most, x), x);
}
// Its pullback: returns the cotangent of x, adds to that of `most`.
template <class S>
CYCLOID_INLINE S hold_within_pullback(const S& most, const S& x, const S& bar, S& most_bar) {
  const S above = select((most > S(0)) & (x > most), bar, S(0));
  const S below = select((most > S(0)) & (x < -most), bar, S(0));
  most_bar += above - below;
  return bar - above - below;
}

// What the pullback needs again.
template <class S>
struct DcMotorValues {
  Setpoint<S> setpoint;
  S torque{}, driven{}, V{}, R{}, w{}, rate{}, rest{}, acting{};
  S by_driver{}, by_motor{};  // 1 where b of (8) is the first or the second
  // τ_c, what (2) clamps, V, R, w, what (5) clamps, e^{-h/t_e}, i of (7)
  Bristle<S> bristle;
};

template <class S, class P>
CYCLOID_HD MotorForce<S> dc_motor_force(const TreeView& tree, const P* p, std::size_t i, const S& h,
                                        const MotorPoint<S>& at, DcMotorValues<S>& kept) {
  const Actuator& a = tree.model.actuators[i];
  const DcMotor<S> m = dc_motor<S>(tree.actuators[i], p);
  const S v = at.rate, *x = at.x;
  MotorForce<S> out;
  kept.setpoint = follow_setpoint(tree, p, i, h, at, out);
  const S* const u = kept.setpoint.u;
  kept.V = u[kVoltageControl];
  if (has_driver(a)) {
    kept.torque = m.kp * (u[kPositionControl] - at.length) + m.kd * (u[kVelocityControl] - v) +
                  u[kForceControl];
    if (has_state(a, kIntegral)) kept.torque += m.ki * x[kIntegral];  // (1)
    kept.driven = m.R / m.K * kept.torque + m.K * v;
    kept.V += hold_within(m.V_max, kept.driven);  // (2)
  }
  kept.R = m.R;
  if (has_state(a, kTemperature)) {
    kept.R *= S(1) + m.alpha * (x[kTemperature] + m.ambient - m.T0);  // (3)
  }
  kept.w = (kept.V - m.K * v) / kept.R;  // (4)
  S current = kept.w;
  kept.acting = kept.w;
  if (has_state(a, kCurrent)) {
    current = x[kCurrent];
    kept.rate = (kept.w - current) / m.te;
    out.x_dot[kCurrent] = hold_within(m.current_rate, kept.rate);  // (5)
    kept.rest = exp(-h / m.te);
    out.x_next[kCurrent] = current + out.x_dot[kCurrent] * m.te * (S(1) - kept.rest);
    kept.acting = a.early ? out.x_next[kCurrent] : current;
  }
  if (has_state(a, kTemperature)) {
    out.x_dot[kTemperature] =
        (kept.R * current * current - x[kTemperature] / m.thermal) / m.capacity;  // (6)
    out.x_next[kTemperature] = x[kTemperature] + h * out.x_dot[kTemperature];
  }
  out.loose = m.amplitude * sin(m.poles * at.length + m.phase);
  if (has_state(a, kBristle)) {
    kept.bristle = bristle_friction(m.bristle, v, x[kBristle], h);
    out.x_dot[kBristle] = kept.bristle.z_dot;
    out.x_next[kBristle] = kept.bristle.z_next;
    out.loose -= kept.bristle.friction;
  }
  out.force = clamp(a.force_range, m.K * kept.acting) + out.loose;  // (7)
  const S zero(0), one(1);
  S open = inside(a.force_range, m.K * kept.acting);
  if (has_state(a, kCurrent)) {
    open = select(out.x_dot[kCurrent] == kept.rate, open, zero);
  }
  const Mask<S> free = hold_within(m.V_max, kept.driven) == kept.driven;
  kept.by_driver = has_driver(a) ? select(free, open, zero) : zero;
  kept.by_motor = open - kept.by_driver;
  const S b = kept.by_driver * m.kd * m.R / kept.R + kept.by_motor * m.K * m.K / kept.R;
  out.loose_slope = -m.bristle.damping;
  out.slope = -b * (one - kept.rest) + out.loose_slope;  // (8)
  return out;
}

// Adds to at_bar, h_bar, and to p_bar unless it is null.
template <class S, class P>
CYCLOID_HD void dc_motor_force_pullback(const TreeView& tree, const P* p, std::size_t i, const S& h,
                                        const MotorPoint<S>& at, const MotorForce<S>& out,
                                        const DcMotorValues<S>& kept, MotorForce<S> bar,
                                        MotorPoint<S>& at_bar, S& h_bar, S* p_bar) {
  const Actuator& a = tree.model.actuators[i];
  const DcMotor<S> m = dc_motor<S>(tree.actuators[i], p);
  const S v = at.rate, *x = at.x, *u = kept.setpoint.u;
  DcMotor<S> m_bar{};
  S rest_bar(0), w_bar(0), R_bar(0), u_bar[kControlKinds]{};

  const S b = kept.by_driver * m.kd * m.R / kept.R + kept.by_motor * m.K * m.K / kept.R;
  const S b_bar = -bar.slope * (S(1) - kept.rest);  // (8)
  m_bar.kd += b_bar * kept.by_driver * m.R / kept.R;
  m_bar.R += b_bar * kept.by_driver * m.kd / kept.R;
  m_bar.K += b_bar * kept.by_motor * S(2) * m.K / kept.R;
  R_bar -= b_bar * b / kept.R;
  rest_bar += bar.slope * b;
  m_bar.bristle.damping -= bar.slope + bar.loose_slope;

  const S loose_bar = bar.force + bar.loose;  // (7)
  if (has_state(a, kBristle)) {
    Bristle<S> own;
    own.friction = -loose_bar;
    own.z_dot = bar.x_dot[kBristle], own.z_next = bar.x_next[kBristle];
    bristle_friction_pullback(m.bristle, v, x[kBristle], h, kept.bristle, own, m_bar.bristle,
                              at_bar.rate, at_bar.x[kBristle], h_bar);
  }
  const S angle = m.poles * at.length + m.phase;
  const S angle_bar = loose_bar * m.amplitude * cos(angle);
  m_bar.amplitude += loose_bar * sin(angle);
  m_bar.poles += angle_bar * at.length;
  m_bar.phase += angle_bar;
  at_bar.length += angle_bar * m.poles;
  const S electric_bar = bar.force * inside(a.force_range, m.K * kept.acting);
  m_bar.K += electric_bar * kept.acting;
  S& acting_bar = !has_state(a, kCurrent) ? w_bar : (a.early ? bar.x_next : at_bar.x)[kCurrent];
  acting_bar += electric_bar * m.K;

  S& current_bar = has_state(a, kCurrent) ? at_bar.x[kCurrent] : w_bar;
  if (has_state(a, kTemperature)) {  // (6)
    const S current = has_state(a, kCurrent) ? x[kCurrent] : kept.w, &T = x[kTemperature];
    at_bar.x[kTemperature] += bar.x_next[kTemperature];
    h_bar += bar.x_next[kTemperature] * out.x_dot[kTemperature];
    const S dot_bar = bar.x_dot[kTemperature] + h * bar.x_next[kTemperature];
    const S heat_bar = dot_bar / m.capacity;
    R_bar += heat_bar * current * current;
    current_bar += heat_bar * S(2) * kept.R * current;
    at_bar.x[kTemperature] -= heat_bar / m.thermal;
    m_bar.thermal += heat_bar * T / (m.thermal * m.thermal);
    m_bar.capacity -= heat_bar * out.x_dot[kTemperature];
  }
  if (has_state(a, kCurrent)) {  // (5)
    const S next_bar = bar.x_next[kCurrent], share = m.te * (S(1) - kept.rest);
    const S dot = out.x_dot[kCurrent];
    at_bar.x[kCurrent] += next_bar;
    const S dot_bar = bar.x_dot[kCurrent] + next_bar * share;
    m_bar.te += next_bar * dot * (S(1) - kept.rest);
    rest_bar -= next_bar * dot * m.te;
    const S rate_bar = hold_within_pullback(m.current_rate, kept.rate, dot_bar, m_bar.current_rate);
    w_bar += rate_bar / m.te;
    at_bar.x[kCurrent] -= rate_bar / m.te;
    m_bar.te -= rate_bar * kept.rate / m.te;
    h_bar -= rest_bar * kept.rest / m.te;
    m_bar.te += rest_bar * kept.rest * h / (m.te * m.te);
  }
  const S V_bar = w_bar / kept.R;  // (4)
  m_bar.K -= V_bar * v;
  at_bar.rate -= V_bar * m.K;
  R_bar -= V_bar * kept.w;
  if (has_state(a, kTemperature)) {  // (3)
    const S above = x[kTemperature] + m.ambient - m.T0;
    m_bar.R += R_bar * (S(1) + m.alpha * above);
    m_bar.alpha += R_bar * m.R * above;
    const S above_bar = R_bar * m.R * m.alpha;
    at_bar.x[kTemperature] += above_bar;
    m_bar.ambient += above_bar;
    m_bar.T0 -= above_bar;
  } else {
    m_bar.R += R_bar;
  }
  u_bar[kVoltageControl] = V_bar;  // (2)
  if (has_driver(a)) {
    const S driven_bar = hold_within_pullback(m.V_max, kept.driven, V_bar, m_bar.V_max);
    const S torque_bar = driven_bar * m.R / m.K;
    m_bar.R += driven_bar * kept.torque / m.K;
    m_bar.K += driven_bar * (v - m.R * kept.torque / (m.K * m.K));
    at_bar.rate += driven_bar * m.K - torque_bar * m.kd;
    at_bar.length -= torque_bar * m.kp;
    u_bar[kPositionControl] = torque_bar * m.kp;  // (1)
    u_bar[kVelocityControl] = torque_bar * m.kd;
    u_bar[kForceControl] = torque_bar;
    m_bar.kp += torque_bar * (u[kPositionControl] - at.length);
    m_bar.kd += torque_bar * (u[kVelocityControl] - v);
    if (has_state(a, kIntegral)) {
      m_bar.ki += torque_bar * x[kIntegral];
      at_bar.x[kIntegral] += torque_bar * m.ki;
    }
  }
  if (p_bar) add_dc_motor_bars(tree.actuators[i], m_bar, p_bar);
  follow_setpoint_pullback(tree, p, i, h, at, out, kept.setpoint, bar, u_bar, at_bar, h_bar, p_bar);
}

}  // namespace cycloid::inline rigid
