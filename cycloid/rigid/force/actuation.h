// Actuators and tendons together: their forces along rows, and how these reach the bodies.
//
// An actuator pulls along the row of its transmission, on a joint, a tendon or a site; a tendon
// adds its own spring and damper. With L_t, V_t a tendon's length and velocity, J its row, G the
// actuator's gear, and p_i its force (actuator.h) at the length and rate of its transmission:
//   F_t = passive(L_t, V_t) + Σ_i G_i s_t p_i                          (1)
//   s_t = clamp(Σ p_i)/Σ p_i  where the tendon limits its actuators    (2)
//   τ   = Σ_t J_tᵀ F_t + Σ_i J_iᵀ p_i                                  (3)
//   τ_k of actuators is clamped where joint k limits its actuators, gravity compensation included
//   where the joint counts it among them                               (4)
// Slopes in the velocity that an integrator may treat implicitly, on the mass matrix's sparsity:
//   B = -Σ_i (dp_i/dl̇) J_iᵀ J_i + Σ_t b_t J_tᵀ J_t                     (5)
// An actuator's own damping and armature count on its joint or tendon, times G².
#pragma once

#include "cycloid/rigid/force/actuator.h"
#include "cycloid/rigid/force/direct_actuator.h"
#include "cycloid/rigid/force/joint_transmission.h"
#include "cycloid/rigid/force/passive.h"
#include "cycloid/rigid/force/site_transmission.h"
#include "cycloid/rigid/force/tendon.h"
#include "cycloid/rigid/force/tendon_force.h"
#include "cycloid/rigid/tree/workspace.h"
#include "cycloid/system/law.h"

namespace cycloid::inline rigid {

// Where the inputs stand in a row of u; -1: not an input.
struct InputPlaces {
  int ctrl = -1, qfrc_applied = -1, xfrc_applied = -1, mocap_pos = -1, mocap_quat = -1;
};

enum class Implicit { nothing, dampers, all_slopes };

template <class S>
struct Instant {
  const S *qpos, *qvel, *act, *u;
};

template <class S, class P>
struct Robot {
  const Tree& tree;
  const InputPlaces& inputs;
  const P* p;
  Implicit implicit;
  bool shortcut = false;       // direct actuators by their short form (direct_actuator.h)
  bool absent_medium = false;  // counts as there, for its cotangents

  // Whether the medium's forces act.
  bool medium() const {
    const auto there = [&](int place) {
      if constexpr (BuiltinScalar<P>) {
        return p[place] != P(0);
      } else if constexpr (sizeof(P) == sizeof(Scalar<P>) * kLanes<P>) {
        return !all(p[place] == P(0));
      } else {
        return true;  // a tangent may be there where the value is not
      }
    };
    return tree.feels_medium &&
           (absent_medium || there(tree.options.density) || there(tree.options.viscosity));
  }

  bool leaves_out(std::size_t actuator) const { return shortcut && tree.acts_directly[actuator]; }
  S timestep() const { return S(p[tree.options.timestep]); }
  Vec3<S> gravity() const {
    return tree.model.options.acting.gravity ? vec3_of<S>(p + tree.options.gravity) : Vec3<S>{};
  }
};

// What the implicit slopes B are multiplied with in Φ: -h λᵀ B q̂. field: of λ, per link, and its
// cotangent per body. Without constraints λ is μ, and q̂ is q̈.
template <class S>
struct SlopePoint {
  const S* lambda;
  const Motion<S>* field;
  const S* qacc;
  Force<S>* field_bar;
};

// What a pullback at one instant adds to. p may be null.
template <class S>
struct InstantBars {
  S *q, *v, *act, *u;  // (nv), (nv), (na), (inputs)
  S* p;
  S& h;
};

inline bool on_one_dof(const Tree& tree, const Actuator& a) {
  return (a.transmission == TransmissionKind::joint ||
          a.transmission == TransmissionKind::joint_in_parent) &&
         dof_numbers(tree.model.joints[static_cast<std::size_t>(a.target)].kind) == 1;
}

// The place of the three gears that turn.
inline int turning_gear(const Tree& tree, std::size_t i) {
  const bool site = tree.model.actuators[i].transmission == TransmissionKind::site;
  return tree.actuators[i].gear + (site ? 3 : 0);
}

// The actuator's place in its own law: control, activation, length and rate of its transmission.
template <class S, class P>
CYCLOID_INLINE ActuatorPoint<S> actuator_point(const Robot<S, P>& r, std::size_t i,
                                               const Instant<S>& x, const Workspace<S>& w) {
  const Tree& tree = r.tree;
  const Actuator& a = tree.model.actuators[i];
  const int id = static_cast<int>(i);
  ActuatorPoint<S> point{r.inputs.ctrl < 0 ? S(0) : x.u[r.inputs.ctrl + a.control],
                         a.act < 0 ? S(0) : x.act[a.act], S(0), S(0), S(0)};
  if (!a.affine_gain && !a.affine_bias) return point;  // (5) of actuator.h does not look at them
  switch (a.transmission) {
    case TransmissionKind::joint:
    case TransmissionKind::joint_in_parent:
      point.length = joint_transmission_length(tree, r.p, id, x.qpos);
      point.rate = joint_transmission_rate(tree, r.p, id, x.qpos, x.qvel);
      break;
    case TransmissionKind::tendon: {
      const S gear = S(r.p[tree.actuators[i].gear]);
      point.length = gear * w.tendon_length[a.target];
      point.rate = gear * w.tendon_rate[a.target];
      break;
    }
    case TransmissionKind::site:
      point.length = site_transmission_length(tree, r.p, id, w.frames);
      point.rate =
          site_transmission_rate(tree, r.p, id, w.frames, static_cast<const Motion<S>*>(w.v));
      break;
  }
  if (setpoint_turns(tree, a)) {
    point.period = number<S>(2 * kPi) * norm(vec3_of<S>(r.p + turning_gear(tree, i)));
  }
  return point;
}

// The pullback of one actuator's law: hands on the cotangents of control, activation, period and
// parameters, and returns those of length and rate.
template <class S, class P>
CYCLOID_INLINE ActuatorPoint<S> gather_actuator(const Robot<S, P>& r, std::size_t i,
                                                const ActuatorPoint<S>& point,
                                                const ActuatorForce<S>& out,
                                                const ActuatorBars<S>& out_bar,
                                                const InstantBars<S>& bar) {
  const Actuator& a = r.tree.model.actuators[i];
  ActuatorPoint<S> point_bar{};
  actuator_force_pullback(r.tree, r.p, i, r.timestep(), point, out, out_bar, point_bar, bar.h,
                          bar.p);
  if (bar.p && setpoint_turns(r.tree, a)) {
    const int turning = turning_gear(r.tree, i);
    add_to(bar.p + turning,
           unit_and_norm(vec3_of<S>(r.p + turning)).unit * (number<S>(2 * kPi) * point_bar.period));
  }
  if (a.act >= 0) bar.act[a.act] += point_bar.act;
  if (r.inputs.ctrl >= 0) bar.u[r.inputs.ctrl + a.control] += point_bar.ctrl;
  return point_bar;
}

// (2): s_t from the total, and -ds/d(total).
template <class S>
CYCLOID_INLINE S tendon_scale(const Range& range, const S& total) {
  const S clamped = clamp(range, total);
  return select(clamped == total, S(1), clamped / total);
}

// Lengths and rates of the tendons, forces and activations of the actuators, s_t.
template <class S, class P>
void measure_actuators(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  const Tree& tree = r.tree;
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    const int id = static_cast<int>(t);
    w.tendon_length[t] = tendon_length(tree, r.p, id, x.qpos, w.frames);
    w.tendon_rate[t] =
        tendon_rate(tree, r.p, id, w.frames, static_cast<const Motion<S>*>(w.v), x.qvel);
    w.tendon_total[t] = S(0);
  }
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    if (r.leaves_out(i)) continue;
    const Actuator& a = tree.model.actuators[i];
    const ActuatorForce<S> out =
        actuator_force(tree, r.p, i, r.timestep(), actuator_point(r, i, x, w));
    if (a.act >= 0) w.act_dot[a.act] = out.act_dot, w.act_next[a.act] = out.act_next;
    w.actuator_force[i] = acts(tree, a) ? out.force : S(0);
    if (a.transmission == TransmissionKind::tendon) {
      w.tendon_total[a.target] += w.actuator_force[i];
    }
  }
}

// The factor by which a tendon's limit scales actuator i.
template <class S>
CYCLOID_INLINE S force_scale(const Tree& tree, const Actuator& a, const Workspace<S>& w) {
  if (a.transmission != TransmissionKind::tendon) return S(1);
  const Range& range = tree.model.tendons[static_cast<std::size_t>(a.target)].actuator_force;
  return range.on ? tendon_scale(range, w.tendon_total[a.target]) : S(1);
}

// (3) of the actuators on joints and sites, into tau (nv) and w.wrench; those on tendons go to
// tendon_force.
template <class S, class P>
void apply_actuators(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w, S* tau,
                     S* tendon_force) {
  const Tree& tree = r.tree;
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (r.leaves_out(i) || !acts(tree, a)) continue;
    const int id = static_cast<int>(i);
    const S force = w.actuator_force[i];
    switch (a.transmission) {
      case TransmissionKind::joint:
      case TransmissionKind::joint_in_parent:
        apply_joint_transmission(tree, r.p, id, x.qpos, force, tau);
        break;
      case TransmissionKind::tendon:
        tendon_force[a.target] += S(r.p[tree.actuators[i].gear]) * force * force_scale(tree, a, w);
        break;
      case TransmissionKind::site:
        apply_site_transmission(tree, r.p, id, w.frames, force, w.wrench);
        break;
    }
  }
}

template <class S, class P>
void apply_tendons(const Robot<S, P>& r, const Workspace<S>& w, const S* force, S* tau) {
  for (std::size_t t = 0; t < r.tree.model.tendons.size(); ++t) {
    apply_tendon_force(r.tree, r.p, static_cast<int>(t), w.frames, force[t], w.wrench, tau);
  }
}

// The actuator's row, as row_form.h takes it: (nv), with memory.
template <class S, class P>
void actuator_row(const Robot<S, P>& r, int i, const Instant<S>& x, const Workspace<S>& w, S* J) {
  const Tree& tree = r.tree;
  set_zero(J, tree.model.nv);
  if (tree.model.actuators[static_cast<std::size_t>(i)].transmission != TransmissionKind::site) {
    apply_joint_transmission(tree, r.p, i, x.qpos, S(1), J);
    return;
  }
  for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) w.rows.wrenches[b] = Force<S>{};
  apply_site_transmission(tree, r.p, i, w.frames, S(1), w.rows.wrenches);
  complete_row(tree, w.frames.column, static_cast<const Force<S>*>(w.rows.wrenches), w.rows.links,
               J);
}

template <class S>
CYCLOID_INLINE S row_times(const Tree& tree, const S* J, const S* x) {
  S sum(0);
  for (int k = 0; k < tree.model.nv; ++k) sum += J[k] * x[k];
  return sum;
}

// The actuators' own share of τ before (4), in w.tau_act, where a joint limits it: what acts on
// bodies is brought to the dofs row by row.
template <class S, class P>
void limited_actuator_forces(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  const Tree& tree = r.tree;
  S* J = w.rows.row;
  const auto add_row = [&](const S& force) {
    for (int k = 0; k < tree.model.nv; ++k) w.tau_act[k] += J[k] * force;
  };
  set_zero(w.tau_act, tree.model.nv);
  set_zero(w.tendon_force, static_cast<int>(tree.model.tendons.size()));
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (!acts(tree, a)) continue;
    if (a.transmission == TransmissionKind::tendon) {
      w.tendon_force[a.target] +=
          S(r.p[tree.actuators[i].gear]) * w.actuator_force[i] * force_scale(tree, a, w);
    } else {
      actuator_row(r, static_cast<int>(i), x, w, J);
      add_row(w.actuator_force[i]);
    }
  }
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    tendon_row(tree, r.p, static_cast<int>(t), w.frames, w.rows.wrenches, w.rows.links, J);
    add_row(w.tendon_force[t]);
  }
}

// The actuators' total at dof k as a limit sees it, and what the limit leaves of it.
template <class S>
CYCLOID_INLINE S limited_total(const Joint& j, int k, const Workspace<S>& w) {
  return j.compensation_by_actuator ? w.tau_act[k] + w.compensation[k] : w.tau_act[k];
}
// 1 where the actuators' total at dof k acts and is not held by a limit, else 0.
template <class S>
CYCLOID_INLINE S limit_open(const Tree& tree, const Joint& j, int k, const Workspace<S>& w) {
  if (!tree.model.options.acting.actuation) return S(0);
  return inside(j.actuator_force, limited_total(j, k, w));
}

// All of (3) and (4): adds to w.tau and w.wrench.
template <class S, class P>
void add_actuation(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  const Tree& tree = r.tree;
  if (r.shortcut) {
    add_direct_actuators(tree, r.p, r.inputs.ctrl < 0 ? nullptr : x.u + r.inputs.ctrl, x.qpos,
                         x.qvel, w.tau);
  }
  measure_actuators(r, x, w);
  S* tendon_force = w.tendon_force;
  if (tree.limits_actuators) {
    limited_actuator_forces(r, x, w);
    for (const Joint& j : tree.model.joints) {
      for (int k = j.dof; k < j.dof + dof_numbers(j.kind); ++k) {
        // What the bodies' compensation does to other joints has been applied as it is.
        const S own = j.compensation_by_actuator ? w.compensation[k] : S(0);
        const bool acting = tree.model.options.acting.actuation;
        w.tau[k] += (acting ? clamp(j.actuator_force, limited_total(j, k, w)) : S(0)) - own;  // (4)
      }
    }
    set_zero(tendon_force, static_cast<int>(tree.model.tendons.size()));
  } else {
    set_zero(tendon_force, static_cast<int>(tree.model.tendons.size()));
    apply_actuators(r, x, w, w.tau, tendon_force);
  }
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    tendon_force[t] += tendon_passive_force(tree, r.p, static_cast<int>(t), w.tendon_length[t],
                                            w.tendon_rate[t]);  // (1)
  }
  apply_tendons(r, w, static_cast<const S*>(tendon_force), w.tau);
}

inline bool has_slope(const Tree& tree, const Actuator& a) {
  return acts(tree, a) && (a.affine_gain || a.affine_bias);
}
// Whether an actuator's slope has a row of its own: not one dof, not its tendon's.
inline bool has_own_row(const Tree& tree, const Actuator& a) {
  return a.transmission != TransmissionKind::tendon && !on_one_dof(tree, a);
}

// What is left of an actuator's slope: nothing where its joint or tendon holds the total.
template <class S>
CYCLOID_INLINE S slope_open(const Tree& tree, const Actuator& a, const Workspace<S>& w) {
  if (a.transmission == TransmissionKind::tendon) {
    return inside(tree.model.tendons[static_cast<std::size_t>(a.target)].actuator_force,
                  w.tendon_total[a.target]);
  }
  if (!tree.limits_actuators || !on_one_dof(tree, a)) return S(1);
  const Joint& j = tree.model.joints[static_cast<std::size_t>(a.target)];
  return limit_open(tree, j, j.dof, w);
}

// (5): rows of one degree of freedom go to w.slope (nv), those of tendons to w.tendon_slope, the
// others stay in w.actuator_slope.
template <class S, class P>
void actuation_slopes(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  const Tree& tree = r.tree;
  if (tree.model.tendons.empty() && tree.model.actuators.empty()) return;
  measure_actuators(r, x, w);
  if (tree.limits_actuators) limited_actuator_forces(r, x, w);
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    w.tendon_slope[t] = tendon_damping_slope(tree, r.p, static_cast<int>(t), w.tendon_rate[t]);
  }
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (!has_slope(tree, a)) continue;
    const ActuatorForce<S> out =
        actuator_force(tree, r.p, i, r.timestep(), actuator_point(r, i, x, w));
    const S slope = actuator_force_slope(tree, r.p, i, out) * slope_open(tree, a, w);
    const S gear = S(r.p[tree.actuators[i].gear]);
    if (a.transmission == TransmissionKind::tendon) {
      w.tendon_slope[a.target] -= gear * gear * slope;
    } else if (on_one_dof(tree, a)) {
      w.slope[tree.model.joints[static_cast<std::size_t>(a.target)].dof] -= gear * gear * slope;
    } else {
      w.actuator_slope[i] = -slope;
    }
  }
}

// Adds the slopes of tendons and of actuators with rows of their own to the mass matrix, times h.
template <class S, class P>
void add_row_slopes(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w, S* M) {
  const Tree& tree = r.tree;
  const S h = r.timestep();
  S* J = w.rows.row;
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    tendon_row(tree, r.p, static_cast<int>(t), w.frames, w.rows.wrenches, w.rows.links, J);
    add_row_form(tree, static_cast<const S*>(J), h * w.tendon_slope[t], M);
  }
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (!has_slope(tree, a) || !has_own_row(tree, a)) continue;
    actuator_row(r, static_cast<int>(i), x, w, J);
    add_row_form(tree, static_cast<const S*>(J), h * w.actuator_slope[i], M);
  }
}

// The pullback of -h b Q(λ, q̂) of one row (row_form.h), J in w.rows.row: returns b̄.
template <class S, class P, class PullRow>
S gather_row_slope(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                   const SlopePoint<S>& slopes, const S& slope, const InstantBars<S>& bar,
                   PullRow pull_row) {
  const Tree& tree = r.tree;
  const S h = r.timestep();
  S* weights = w.rows.form.w;
  const S Q = row_form_weights(tree, static_cast<const S*>(w.rows.row), slopes.lambda, slopes.qacc,
                               weights);
  for (int k = 0; k < tree.model.nv; ++k) weights[k] *= -h * slope;
  row_form_pullback(tree, r.p, w.frames, x.qpos, w.rows.form, pull_row, bar.q, bar.p,
                    w.row_mocap_bar);
  bar.h -= slope * Q;
  return -h * Q;
}

// The pullback of force (J μ_act), where μ_act is not the μ whose field there is.
template <class S, class P, class PullRow>
void gather_limited_row(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                        const S& force, const S* mu_act, const InstantBars<S>& bar,
                        PullRow pull_row) {
  for (int k = 0; k < r.tree.model.nv; ++k) w.rows.form.w[k] = force * mu_act[k];
  row_form_pullback(r.tree, r.p, w.frames, x.qpos, w.rows.form, pull_row, bar.q, bar.p,
                    w.row_mocap_bar);
}

// The pullback of all of this, given μ (w.mu), q̈, the fields v and m, and slope_bar of w.slope.
template <class S, class P>
void gather_actuation(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                      const SlopePoint<S>& slopes, const S* act_dot_bar, const S* act_next_bar,
                      const InstantBars<S>& bar) {
  const Tree& tree = r.tree;
  const S h = r.timestep();
  const bool implicit = r.implicit == Implicit::all_slopes;
  if (r.shortcut) {
    const int ctrl = r.inputs.ctrl;
    add_direct_actuators_pullback(tree, r.p, ctrl < 0 ? nullptr : x.u + ctrl, x.qpos, x.qvel,
                                  static_cast<const S*>(w.mu), ctrl < 0 ? nullptr : bar.u + ctrl,
                                  bar.q, bar.v, bar.p);
    if (tree.direct_actuators.size() == tree.model.actuators.size() && tree.model.tendons.empty()) {
      return;
    }
  }
  if (tree.model.tendons.empty() && tree.model.actuators.empty()) return;
  measure_actuators(r, x, w);
  // μ as the actuators feel it: nothing where a joint's limit holds them.
  const S* mu_act = w.mu;
  if (tree.limits_actuators) {
    limited_actuator_forces(r, x, w);
    for (const Joint& j : tree.model.joints) {
      for (int k = j.dof; k < j.dof + dof_numbers(j.kind); ++k) {
        w.mu_act[k] = w.mu[k] * limit_open(tree, j, k, w);  // (4)
        w.mu_limited[k] = j.compensation_by_actuator ? w.mu_act[k] - w.mu[k] : S(0);
      }
    }
    mu_act = w.mu_act;
  }
  const RowPoint<S> at{w.frames, w.m, w.v, x.qpos, w.mu, x.qvel};
  const RowPoint<S> at_act{w.frames, w.m, w.v, x.qpos, mu_act, x.qvel};
  const RowSinks<S> to{w.bars, bar.q, bar.v, bar.p};

  // (5) of tendons: b̄_t.
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    w.tendon_slope_bar[t] = S(0);
    if (!implicit) continue;
    const int id = static_cast<int>(t);
    tendon_row(tree, r.p, id, w.frames, w.rows.wrenches, w.rows.links, w.rows.row);
    w.tendon_slope_bar[t] = gather_row_slope(
        r, x, w, slopes, w.tendon_slope[t], bar,
        [&](const RowPoint<S>& point, const RowBars<S>& row_bar, const RowSinks<S>& sinks) {
          tendon_pullback(tree, r.p, id, point, row_bar, sinks);
        });
  }
  // p̄ of the actuators on tendons through (2): the sum Σ_i p̄'_i p_i of each tendon.
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    const int id = static_cast<int>(t);
    if (tree.limits_actuators) {
      tendon_row(tree, r.p, id, w.frames, w.rows.wrenches, w.rows.links, w.rows.row);
      w.tendon_mu[t] = row_times(tree, static_cast<const S*>(w.rows.row), mu_act);
    } else {
      w.tendon_mu[t] =
          tendon_rate(tree, r.p, id, w.frames, static_cast<const Motion<S>*>(w.m), mu_act);
    }
    w.tendon_force[t] = w.tendon_length_bar[t] = w.tendon_rate_bar[t] = w.tendon_spread[t] = S(0);
  }
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (a.transmission != TransmissionKind::tendon || !acts(tree, a)) continue;
    w.tendon_spread[a.target] +=
        S(r.p[tree.actuators[i].gear]) * w.tendon_mu[a.target] * w.actuator_force[i];
  }
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    if (r.leaves_out(i)) continue;
    const Actuator& a = tree.model.actuators[i];
    const int id = static_cast<int>(i), place = tree.actuators[i].gear;
    const bool on_tendon = a.transmission == TransmissionKind::tendon;
    const ActuatorPoint<S> point = actuator_point(r, i, x, w);
    const ActuatorForce<S> out = actuator_force(tree, r.p, i, h, point);
    ActuatorBars<S> out_bar;
    const S gear = S(r.p[place]), scale = force_scale(tree, a, w);
    S gear_bar(0);
    if (acts(tree, a)) {
      switch (a.transmission) {
        case TransmissionKind::joint:
        case TransmissionKind::joint_in_parent:
          out_bar.force = joint_transmission_rate(tree, r.p, id, x.qpos, mu_act);
          break;
        case TransmissionKind::tendon: {
          out_bar.force = gear * w.tendon_mu[a.target] * scale;
          const S total = w.tendon_total[a.target];
          out_bar.force -= select(scale == S(1), S(0), scale / total * w.tendon_spread[a.target]);
          gear_bar += w.tendon_mu[a.target] * out.force * scale;
          w.tendon_force[a.target] += gear * out.force * scale;
          break;
        }
        case TransmissionKind::site:
          if (tree.limits_actuators) {
            actuator_row(r, id, x, w, w.rows.row);
            out_bar.force = row_times(tree, static_cast<const S*>(w.rows.row), mu_act);
          } else {
            out_bar.force =
                site_transmission_rate(tree, r.p, id, w.frames, static_cast<const Motion<S>*>(w.m));
          }
          break;
      }
      if (implicit && has_slope(tree, a)) {
        if (has_own_row(tree, a)) {
          actuator_row(r, id, x, w, w.rows.row);
          out_bar.slope = -gather_row_slope(
              r, x, w, slopes, w.actuator_slope[i], bar,
              [&](const RowPoint<S>& p, const RowBars<S>& row_bar, const RowSinks<S>& sinks) {
                if (a.transmission == TransmissionKind::site) {
                  site_transmission_pullback(tree, r.p, id, p, row_bar, sinks);
                } else {
                  joint_transmission_pullback(tree, r.p, id, p, row_bar, sinks);
                }
              });
        } else {
          const int dof =
              on_tendon ? -1 : tree.model.joints[static_cast<std::size_t>(a.target)].dof;
          const S b_bar = (on_tendon ? w.tendon_slope_bar[a.target] : w.slope_bar[dof]) *
                          slope_open(tree, a, w);
          out_bar.slope = -gear * gear * b_bar;
          gear_bar -= S(2) * gear * actuator_force_slope(tree, r.p, i, out) * b_bar;
        }
      }
    }
    if (a.act >= 0) {
      if (act_dot_bar) out_bar.act_dot = act_dot_bar[a.act];
      if (act_next_bar) out_bar.act_next = act_next_bar[a.act];
    }
    const ActuatorPoint<S> point_bar = gather_actuator(r, i, point, out, out_bar, bar);
    const S force = acts(tree, a) ? out.force : S(0);
    const RowBars<S> row{point_bar.length, force, point_bar.rate};
    switch (a.transmission) {
      case TransmissionKind::joint:
      case TransmissionKind::joint_in_parent:
        joint_transmission_pullback(tree, r.p, id, at_act, row, to);
        break;
      case TransmissionKind::tendon:
        w.tendon_length_bar[a.target] += gear * point_bar.length;
        w.tendon_rate_bar[a.target] += gear * point_bar.rate;
        gear_bar +=
            point_bar.length * w.tendon_length[a.target] + point_bar.rate * w.tendon_rate[a.target];
        break;
      case TransmissionKind::site:
        if (tree.limits_actuators) {
          gather_limited_row(r, x, w, force, mu_act, bar,
                             [&](const RowPoint<S>& point_at, const RowBars<S>& row_bar,
                                 const RowSinks<S>& sinks) {
                               site_transmission_pullback(tree, r.p, id, point_at, row_bar, sinks);
                             });
        }
        site_transmission_pullback(
            tree, r.p, id, at, RowBars<S>{row.length, tree.limits_actuators ? S(0) : row.m, row.v},
            to);
        break;
    }
    if (bar.p) bar.p[place] += gear_bar;
  }
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    const int id = static_cast<int>(t);
    S length_bar = w.tendon_length_bar[t], rate_bar = w.tendon_rate_bar[t];
    S passive = tendon_passive_force(tree, r.p, id, w.tendon_length[t], w.tendon_rate[t]);
    if (tree.limits_actuators) {
      gather_limited_row(
          r, x, w, w.tendon_force[t], mu_act, bar,
          [&](const RowPoint<S>& point_at, const RowBars<S>& row_bar, const RowSinks<S>& sinks) {
            tendon_pullback(tree, r.p, id, point_at, row_bar, sinks);
          });
    } else {
      passive += w.tendon_force[t];
    }
    const S force_bar = tendon_rate(tree, r.p, id, w.frames, static_cast<const Motion<S>*>(w.m),
                                    static_cast<const S*>(w.mu));
    tendon_passive_force_pullback(tree, r.p, id, w.tendon_length[t], w.tendon_rate[t], force_bar,
                                  length_bar, rate_bar, bar.p);
    tendon_damping_slope_pullback(tree, r.p, id, w.tendon_rate[t], w.tendon_slope_bar[t], rate_bar,
                                  bar.p);
    tendon_pullback(tree, r.p, id, at, RowBars<S>{length_bar, passive, rate_bar}, to);
  }
}

}  // namespace cycloid::inline rigid
