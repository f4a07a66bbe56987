// Actuators that act directly: on one degree of freedom, without activation. Most robots have no
// others, so their law has a short form of its own; actuation.h has the general one.
//
//   l = G q,  l̇ = G q̇                                        (1)  G: the first gear
//   s = clamp(u)                                               (2)
//   f = (g₀ + g₁ l + g₂ l̇) s + b₀ + b₁ l + b₂ l̇               (3)  gain and bias where affine
//   p = clamp(f),   τ_k += G p                                 (4)
// Clamps have the derivative 1 on their ends, as everywhere (actuator.h).
#pragma once

#include "cycloid/rigid/force/actuator.h"

namespace cycloid::inline rigid {

// (1)-(3).
template <class S>
struct DirectForce {
  S gear, length, rate, source, gain, unclamped;
};

template <class S, class P>
CYCLOID_INLINE DirectForce<S> direct_force(const TreeView& tree, const P* p,
                                           const DirectActuator& d, const S& ctrl, const S* qpos,
                                           const S* qvel) {
  const Actuator& a = tree.model.actuators[static_cast<std::size_t>(d.actuator)];
  const ActuatorPlaces& at = tree.actuators[static_cast<std::size_t>(d.actuator)];
  DirectForce<S> x;
  x.gear = S(p[at.gear]);
  x.length = x.gear * qpos[d.qpos], x.rate = x.gear * qvel[d.dof];  // (1)
  x.source = actuator_control<S, P>(tree, a, ctrl);                 // (2)
  x.gain = S(p[at.gain]);
  if (d.affine_gain) x.gain += S(p[at.gain + 1]) * x.length + S(p[at.gain + 2]) * x.rate;
  x.unclamped = x.gain * x.source;  // (3)
  if (d.affine_bias) {
    x.unclamped += S(p[at.bias]) + S(p[at.bias + 1]) * x.length + S(p[at.bias + 2]) * x.rate;
  }
  return x;
}

// ctrl: (controls) or null, which counts as zero. Adds to tau.
template <class S, class P>
CYCLOID_HD void add_direct_actuators(const TreeView& tree, const P* p, const S* ctrl, const S* qpos,
                                     const S* qvel, S* tau) {
  for (const DirectActuator& d : tree.direct_actuators) {
    const Actuator& a = tree.model.actuators[static_cast<std::size_t>(d.actuator)];
    const DirectForce<S> x = direct_force(tree, p, d, ctrl ? ctrl[a.control] : S(0), qpos, qvel);
    tau[d.dof] += x.gear * clamp(a.force_range, x.unclamped);  // (4)
  }
}

// mu: the cotangent of tau. Adds; ctrl_bar and p_bar may be null.
template <class S, class P>
CYCLOID_HD void add_direct_actuators_pullback(const TreeView& tree, const P* p, const S* ctrl,
                                              const S* qpos, const S* qvel, const S* mu,
                                              S* ctrl_bar, S* q_bar, S* v_bar, S* p_bar) {
  for (const DirectActuator& d : tree.direct_actuators) {
    const Actuator& a = tree.model.actuators[static_cast<std::size_t>(d.actuator)];
    const ActuatorPlaces& at = tree.actuators[static_cast<std::size_t>(d.actuator)];
    const S u = ctrl ? ctrl[a.control] : S(0);
    const DirectForce<S> x = direct_force(tree, p, d, u, qpos, qvel);
    const S f_bar = mu[d.dof] * x.gear * inside(a.force_range, x.unclamped);  // (4)
    S length_bar(0), rate_bar(0);
    if (d.affine_gain) {  // (3)
      length_bar += f_bar * x.source * S(p[at.gain + 1]);
      rate_bar += f_bar * x.source * S(p[at.gain + 2]);
    }
    if (d.affine_bias) {
      length_bar += f_bar * S(p[at.bias + 1]);
      rate_bar += f_bar * S(p[at.bias + 2]);
    }
    if (ctrl_bar) {
      const bool limits = tree.model.options.acting.control_limits;
      const S open = limits ? inside(a.control_range, u) : S(1);  // (2)
      ctrl_bar[a.control] += f_bar * x.gain * open;
    }
    if (d.affine_gain || d.affine_bias) {  // (1)
      q_bar[d.dof] += length_bar * x.gear;
      v_bar[d.dof] += rate_bar * x.gear;
    }
    if (!p_bar) continue;
    p_bar[at.gear] += mu[d.dof] * clamp(a.force_range, x.unclamped) + length_bar * qpos[d.qpos] +
                      rate_bar * qvel[d.dof];
    p_bar[at.gain] += f_bar * x.source;
    if (d.affine_gain) {
      p_bar[at.gain + 1] += f_bar * x.source * x.length;
      p_bar[at.gain + 2] += f_bar * x.source * x.rate;
    }
    if (d.affine_bias) {
      p_bar[at.bias] += f_bar;
      p_bar[at.bias + 1] += f_bar * x.length;
      p_bar[at.bias + 2] += f_bar * x.rate;
    }
  }
}

}  // namespace cycloid::inline rigid
