// One actuator: its activation and its force, as functions of control, activation, length, rate.
//
//   u   = clamp(ctrl, control_range)                                             (1)
//   ẇ   = u (integrator),  (u - w)/t (filter, filter_exact)                       (2)
//   w⁺  = clamp(w + h ẇ)   or  w + (u - w)(1 - e^{-h/t}) for filter_exact          (3)
//   u  ← u - P round((u - w)/P)  in (2), (3) for a filter of a servo on a rotation (2b)
//   s   = u without dynamics, w with them, w⁺ with `early`                        (4)
//   s  ← s - P round((s - l)/P)  for a position servo on a rotation, of period P   (4b)
//   f   = (gain₀ + gain₁ l + gain₂ l̇) s + bias₀ + bias₁ l + bias₂ l̇                (5)
//         or gain, bias and ẇ of muscle.h
//   p   = clamp(f, force_range)                                                  (6)
// gain₁, gain₂ act with an affine gain, bias with an affine bias. At a clamp's kink the derivative
// of the inside is taken; outside it is zero. (2b), (4b): a setpoint counts by its nearest turn
// (ball joints, and sites with a reference and a gear that only turns), and jumps half-way.
// Source: MuJoCo's manual, Actuation model.
#pragma once

#include "cycloid/rigid/force/muscle.h"

namespace cycloid::inline rigid {

template <class S>
CYCLOID_INLINE S clamp(const Range& r, const S& x) {
  if (!r.on) return x;
  using T = Scalar<S>;
  return min(max(x, S(static_cast<T>(r.low))), S(static_cast<T>(r.high)));
}
// 1 inside the range, its ends included, else 0.
template <class S>
CYCLOID_INLINE S inside(const Range& r, const S& x) {
  if (!r.on) return S(1);
  using T = Scalar<S>;
  return select((x >= S(static_cast<T>(r.low))) & (x <= S(static_cast<T>(r.high))), S(1), S(0));
}

template <class S>
struct ActuatorPoint {
  S ctrl, act, length, rate;  // act: zero without dynamics
  S period = S(0);            // P; not looked at unless setpoint_turns
};

// A disabled actuator exerts nothing, and its activation stays where it is.
CYCLOID_HD inline bool acts(const TreeView& tree, const Actuator& a) {
  return a.enabled && tree.model.options.acting.actuation;
}

// The range that holds an activation, also of an actuator whose group is disabled: none when all
// actuators are.
CYCLOID_HD inline Range held_range(const TreeView& tree, const Actuator& a) {
  return tree.model.options.acting.actuation ? a.activation_range : Range{};
}

// A position servo, gain = -bias₁, or a PID servo, on a transmission that is an angle in space.
CYCLOID_HD inline bool turns_by_its_gains(const Actuator& a) {
  return a.law == ActuatorLaw::gain_and_bias && !a.affine_gain && !a.muscle_gain && a.affine_bias &&
         a.gain[0] != 0 && a.gain[0] == -a.bias[1];
}
CYCLOID_HD inline bool setpoint_turns(const TreeView& tree, const Actuator& a) {
  if (a.law != ActuatorLaw::pid && !turns_by_its_gains(a)) return false;
  if (a.transmission == TransmissionKind::site) {
    return a.reference_site >= 0 && a.gear[0] == 0 && a.gear[1] == 0 && a.gear[2] == 0;
  }
  const bool on_joint = a.transmission == TransmissionKind::joint ||
                        a.transmission == TransmissionKind::joint_in_parent;
  return on_joint && tree.model.joints[static_cast<std::size_t>(a.target)].kind == JointKind::ball;
}

CYCLOID_HD inline bool filters(const Actuator& a) {
  return a.dynamics == ActuatorDynamics::filter || a.dynamics == ActuatorDynamics::filter_exact;
}

template <class S>
struct ActuatorForce {
  S force;             // p
  S act_dot;           // ẇ
  S act_next;          // w⁺
  S source;            // s
  S unclamped;         // f
  S turns;             // round(…) of (4b)
  S setpoint_turns;    // round(…) of (2b)
  S gain, gain_slope;  // its slope in l̇
};

template <class S, class P>
CYCLOID_INLINE S actuator_control(const TreeView& tree, const Actuator& a, const S& ctrl) {
  return tree.model.options.acting.control_limits ? clamp(a.control_range, ctrl) : ctrl;  // (1)
}

template <class S, class P>
CYCLOID_INLINE ActuatorForce<S> actuator_force(const TreeView& tree, const P* p, std::size_t i,
                                               const S& h, const ActuatorPoint<S>& x) {
  const Actuator& a = tree.model.actuators[i];
  const ActuatorPlaces& at = tree.actuators[i];
  ActuatorForce<S> out{};
  if (!acts(tree, a)) {
    if (a.dynamics != ActuatorDynamics::none) out.act_next = clamp(held_range(tree, a), x.act);
    return out;
  }
  S u = actuator_control<S, P>(tree, a, x.ctrl);
  out.source = u;
  if (a.dynamics != ActuatorDynamics::none) {
    if (filters(a) && setpoint_turns(tree, a)) {
      out.setpoint_turns = round_nearest((u - x.act) / x.period);
      u -= x.period * out.setpoint_turns;  // (2b)
    }
    S moved;
    if (a.dynamics == ActuatorDynamics::integrator) {
      out.act_dot = u;  // (2)
      moved = h * u;
    } else if (a.dynamics == ActuatorDynamics::muscle) {
      out.act_dot = muscle_dynamics(p + at.dynamics, u, x.act);
      moved = h * out.act_dot;
    } else {
      const S t = max(S(p[at.dynamics]), S(1e-15));
      out.act_dot = (u - x.act) / t;
      moved = a.dynamics == ActuatorDynamics::filter ? h * out.act_dot
                                                     : (u - x.act) * (S(1) - exp(-h / t));
    }
    out.act_next = clamp(a.activation_range, x.act + moved);  // (3)
    out.source = a.early ? out.act_next : x.act;              // (4)
  }
  if (setpoint_turns(tree, a)) {
    out.turns = round_nearest((out.source - x.length) / x.period);
    out.source -= x.period * out.turns;  // (4b)
  }
  out.gain = S(p[at.gain]);
  if (a.affine_gain) {
    out.gain += S(p[at.gain + 1]) * x.length + S(p[at.gain + 2]) * x.rate;
    out.gain_slope = S(p[at.gain + 2]);
  } else if (a.muscle_gain) {
    const MuscleGain<S> muscle = muscle_gain(a, p + at.gain, x.length, x.rate);
    out.gain = muscle.gain, out.gain_slope = muscle.slope;
  }
  S f = out.gain * out.source;
  if (a.affine_bias) {
    f += S(p[at.bias]) + S(p[at.bias + 1]) * x.length + S(p[at.bias + 2]) * x.rate;  // (5)
  } else if (a.muscle_bias) {
    f += muscle_bias(a, p + at.bias, x.length);
  }
  out.unclamped = f;
  out.force = clamp(a.force_range, f);  // (6)
  return out;
}

// (3) from ẇ, as Runge–Kutta needs it.
template <class S, class P>
CYCLOID_INLINE S activation_share(const Actuator& a, const P& t_raw, const S& h) {
  if (a.dynamics != ActuatorDynamics::filter_exact) return h;
  const S t = max(S(t_raw), S(1e-15));
  return t * (S(1) - exp(-h / t));
}
template <class S, class P>
CYCLOID_INLINE S activation_step(const TreeView& tree, const P* p, std::size_t i, const S& h,
                                 const S& act, const S& act_dot) {
  const Actuator& a = tree.model.actuators[i];
  return clamp(held_range(tree, a),
               act + act_dot * activation_share(a, p[tree.actuators[i].dynamics], h));
}
template <class S, class P>
CYCLOID_HD void activation_step_pullback(const TreeView& tree, const P* p, std::size_t i,
                                         const S& h, const S& act, const S& act_dot,
                                         const S& next_bar, S& act_bar, S& act_dot_bar, S& h_bar,
                                         S* p_bar) {
  const Actuator& a = tree.model.actuators[i];
  const int place = tree.actuators[i].dynamics;
  const S share = activation_share(a, p[place], h);
  const S bar = next_bar * inside(held_range(tree, a), act + act_dot * share);
  act_bar += bar;
  act_dot_bar += bar * share;
  const S share_bar = bar * act_dot;
  if (a.dynamics != ActuatorDynamics::filter_exact) {
    h_bar += share_bar;
    return;
  }
  const S raw = S(p[place]), t = max(raw, S(1e-15)), decay = exp(-h / t);
  h_bar += share_bar * decay;
  if (p_bar) {
    const S slope = S(1) - decay - decay * h / t;
    p_bar[place] += select(raw > S(1e-15), share_bar * slope, S(0));
  }
}

// Whether (5) looks at length and rate, and its slope in l̇ is not zero.
CYCLOID_HD inline bool looks_at_length(const Actuator& a) {
  return a.law != ActuatorLaw::gain_and_bias || a.affine_gain || a.affine_bias || a.muscle_gain ||
         a.muscle_bias;
}

// d p / d l̇.
template <class S, class P>
CYCLOID_INLINE S actuator_force_slope(const TreeView& tree, const P* p, std::size_t i,
                                      const ActuatorForce<S>& out) {
  const Actuator& a = tree.model.actuators[i];
  const ActuatorPlaces& at = tree.actuators[i];
  S slope = out.gain_slope * out.source;
  if (a.affine_bias) slope += S(p[at.bias + 2]);
  return slope * inside(a.force_range, out.unclamped);
}

// Cotangents of p, of its slope in l̇, and of what the activation becomes: ẇ (Runge–Kutta stages)
// or w⁺.
template <class S>
struct ActuatorBars {
  S force = S(0), slope = S(0), act_dot = S(0), act_next = S(0);
};

// Adds to x_bar, h_bar, and to p_bar unless it is null.
template <class S, class P>
CYCLOID_INLINE void actuator_force_pullback(const TreeView& tree, const P* p, std::size_t i,
                                            const S& h, const ActuatorPoint<S>& x,
                                            const ActuatorForce<S>& out, const ActuatorBars<S>& bar,
                                            ActuatorPoint<S>& x_bar, S& h_bar, S* p_bar) {
  const Actuator& a = tree.model.actuators[i];
  const ActuatorPlaces& at = tree.actuators[i];
  if (!acts(tree, a)) {
    if (a.dynamics != ActuatorDynamics::none) {
      x_bar.act += bar.act_next * inside(held_range(tree, a), x.act);
    }
    return;
  }
  const S open = inside(a.force_range, out.unclamped);
  const S f_bar = bar.force * open, slope_bar = bar.slope * open;      // (6)
  const S source_bar = f_bar * out.gain + slope_bar * out.gain_slope;  // (5)
  if (a.muscle_gain) {
    muscle_gain_pullback(a, p + at.gain, x.length, x.rate,
                         MuscleGain<S>{f_bar * out.source, slope_bar * out.source}, x_bar.length,
                         x_bar.rate, p_bar ? p_bar + at.gain : nullptr);
  } else {
    if (p_bar) p_bar[at.gain] += f_bar * out.source;
    if (a.affine_gain) {
      x_bar.length += f_bar * out.source * S(p[at.gain + 1]);
      x_bar.rate += f_bar * out.source * S(p[at.gain + 2]);
      if (p_bar) {
        p_bar[at.gain + 1] += f_bar * out.source * x.length;
        p_bar[at.gain + 2] += out.source * (f_bar * x.rate + slope_bar);
      }
    }
  }
  if (a.affine_bias) {
    x_bar.length += f_bar * S(p[at.bias + 1]);
    x_bar.rate += f_bar * S(p[at.bias + 2]);
    if (p_bar) {
      p_bar[at.bias] += f_bar;
      p_bar[at.bias + 1] += f_bar * x.length;
      p_bar[at.bias + 2] += f_bar * x.rate + slope_bar;
    }
  } else if (a.muscle_bias) {
    muscle_bias_pullback(a, p + at.bias, x.length, f_bar, x_bar.length,
                         p_bar ? p_bar + at.bias : nullptr);
  }
  if (setpoint_turns(tree, a)) x_bar.period -= source_bar * out.turns;  // (4b)
  S u_bar(0);
  if (a.dynamics == ActuatorDynamics::none) {
    u_bar = source_bar;  // (4)
  } else {
    S next_bar = bar.act_next;
    if (a.early) {
      next_bar += source_bar;
    } else {
      x_bar.act += source_bar;
    }
    S u = actuator_control<S, P>(tree, a, x.ctrl);
    const bool turns = filters(a) && setpoint_turns(tree, a);
    if (turns) u -= x.period * out.setpoint_turns;
    if (a.dynamics == ActuatorDynamics::integrator) {
      next_bar *= inside(a.activation_range, x.act + h * u);  // (3)
      h_bar += next_bar * u;
      u_bar += next_bar * h + bar.act_dot;  // (2)
    } else if (a.dynamics == ActuatorDynamics::muscle) {
      next_bar *= inside(a.activation_range, x.act + h * out.act_dot);
      h_bar += next_bar * out.act_dot;
      muscle_dynamics_pullback(p + at.dynamics, u, x.act, next_bar * h + bar.act_dot, u_bar,
                               x_bar.act, p_bar ? p_bar + at.dynamics : nullptr);
    } else {
      const S raw = S(p[at.dynamics]), t = max(raw, S(1e-15));
      const S decay = exp(-h / t), gap = u - x.act, inverse = S(1) / t;
      const bool exact = a.dynamics == ActuatorDynamics::filter_exact;
      const S share = exact ? S(1) - decay : h * inverse;
      next_bar *= inside(a.activation_range, x.act + gap * share);
      const S dot_bar = bar.act_dot * inverse;
      u_bar += next_bar * share + dot_bar;
      x_bar.act -= next_bar * share + dot_bar;
      const S share_bar = next_bar * gap;
      h_bar += share_bar * inverse * (exact ? decay : S(1));
      if (p_bar) {
        const S t_bar =
            -(share_bar * (exact ? decay : S(1)) * h + bar.act_dot * gap) * inverse * inverse;
        p_bar[at.dynamics] += select(raw > S(1e-15), t_bar, S(0));
      }
    }
    x_bar.act += next_bar;
    if (turns) x_bar.period -= u_bar * out.setpoint_turns;  // (2b)
  }
  const bool limits = tree.model.options.acting.control_limits;
  x_bar.ctrl += limits ? u_bar * inside(a.control_range, x.ctrl) : u_bar;  // (1)
}

}  // namespace cycloid::inline rigid
