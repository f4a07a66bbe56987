// Actuators and tendons together: their forces along rows, and how these reach the bodies.
//
// An actuator pulls along the row of its transmission, on a joint, a tendon or a site; a tendon
// adds its own spring and damper. With L_t, V_t a tendon's length and velocity, J its row, G the
// actuator's gear, and p_i its force (actuator.h) at the length and rate of its transmission:
//   F_t = passive(L_t, V_t) + Σ_i G_i s_t p_i                          (1)
//   s_t = clamp(Σ p_i)/Σ p_i  where the tendon limits its actuators    (2)
//   loose parts of p_i (dc_motor.h) are in neither sum and keep s_t = 1
//   τ   = Σ_t J_tᵀ F_t + Σ_i J_iᵀ p_i                                  (3)
//   τ_k of actuators is clamped where joint k limits its actuators, gravity compensation included
//   where the joint counts it among them                               (4)
// Actuators on a body act by way of its contacts (contact/adhesion.h): they have no part in (3),
// and one in (4), w.adhesion_tau.
// An actuator's own damping and armature count on its joint or tendon, times G². The slopes of
// these forces in the velocity are those of actuation_slopes.h.
#pragma once

#include "cycloid/rigid/force/actuator_row.h"
#include "cycloid/rigid/force/direct_actuator.h"
#include "cycloid/rigid/force/motor.h"
#include "cycloid/rigid/force/orientation.h"
#include "cycloid/rigid/force/passive.h"
#include "cycloid/rigid/force/tendon.h"
#include "cycloid/rigid/force/tendon_force.h"

namespace cycloid::inline rigid {

// (2): s_t from the total, and -ds/d(total).
template <class S>
CYCLOID_INLINE S tendon_scale(const Range& range, const S& total) {
  const S clamped = clamp(range, total);
  return select(clamped == total, S(1), clamped / total);
}

// One actuator's force, and its activations into w.
template <class S, class P>
CYCLOID_HD S measure_actuator(const Robot<S, P>& r, std::size_t i, const Instant<S>& x,
                              const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  const Actuator& a = tree.model.actuators[i];
  if (turns_frame(a)) {
    OrientationValues<S> kept;
    const OrientationForce<S> out =
        orientation_force(tree, r.p, i, r.timestep(), orientation_point(r, i, x, w), kept);
    store(w.orientation_force + 3 * i, out.force);
    if (integrates(a)) store(w.act_dot + a.act, out.w_dot), store(w.act_next + a.act, out.w_next);
    return S(0);
  }
  if (is_motor(a)) {
    const MotorForce<S> out = motor_force(tree, r.p, i, r.timestep(), motor_point(r, i, x, w)).out;
    for_each_activation(
        a, [&](int j, int k) { w.act_dot[j] = out.x_dot[k], w.act_next[j] = out.x_next[k]; });
    w.loose_force[i] = out.loose;
    return out.force;
  }
  const ActuatorForce<S> out =
      actuator_force(tree, r.p, i, r.timestep(), actuator_point(r, i, x, w));
  if (a.act >= 0) w.act_dot[a.act] = out.act_dot, w.act_next[a.act] = out.act_next;
  return acts(tree, a) ? out.force : S(0);
}

// Lengths and rates of the tendons, forces and activations of the actuators, s_t.
template <class S, class P>
CYCLOID_HD void measure_actuators(const Robot<S, P>& r, const Instant<S>& x,
                                  const Workspace<S>& w) {
  const TreeView& tree = r.tree;
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
    w.loose_force[i] = S(0);
    w.actuator_force[i] = measure_actuator(r, i, x, w);
    if (a.transmission == TransmissionKind::tendon) {
      w.tendon_total[a.target] += w.actuator_force[i] - w.loose_force[i];
    }
  }
}

// The factor by which a tendon's limit scales actuator i.
template <class S>
CYCLOID_INLINE S force_scale(const TreeView& tree, const Actuator& a, const Workspace<S>& w) {
  if (a.transmission != TransmissionKind::tendon) return S(1);
  const Range& range = tree.model.tendons[static_cast<std::size_t>(a.target)].actuator_force;
  return range.on ? tendon_scale(range, w.tendon_total[a.target]) : S(1);
}
// What the limit leaves of its force.
template <class S>
CYCLOID_INLINE S left_force(const TreeView& tree, std::size_t i, const Workspace<S>& w) {
  const Actuator& a = tree.model.actuators[i];
  if (a.transmission != TransmissionKind::tendon) return w.actuator_force[i];
  return (w.actuator_force[i] - w.loose_force[i]) * force_scale(tree, a, w) + w.loose_force[i];
}

// (3) of the actuators on joints and sites, into tau (nv) and w.wrench; those on tendons go to
// tendon_force.
template <class S, class P>
CYCLOID_HD void apply_actuators(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                                S* tau, S* tendon_force) {
  const TreeView& tree = r.tree;
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
        tendon_force[a.target] += S(r.p[tree.actuators[i].gear]) * left_force(tree, i, w);
        break;
      case TransmissionKind::slider_crank:
      case TransmissionKind::site:
        apply_site_transmission(tree, r.p, id, w.frames, force, w.wrench);
        break;
      case TransmissionKind::body: break;  // contact/adhesion.h
      case TransmissionKind::orientation:
        apply_orientation(tree, r.p, id, w.frames, load_vec3(w.orientation_force + 3 * i), w.wrench,
                          tau);
        break;
    }
  }
}

template <class S, class P>
CYCLOID_HD void apply_tendons(const Robot<S, P>& r, const Workspace<S>& w, const S* force, S* tau) {
  for (std::size_t t = 0; t < r.tree.model.tendons.size(); ++t) {
    apply_tendon_force(r.tree, r.p, static_cast<int>(t), w.frames, force[t], w.wrench, tau);
  }
}

// The actuators' own share of τ before (4), in w.tau_act, where a joint limits it: what acts on
// bodies is brought to the dofs row by row.
template <class S, class P>
CYCLOID_HD void limited_actuator_forces(const Robot<S, P>& r, const Instant<S>& x,
                                        const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  S* J = w.rows.row;
  const auto add_row = [&](const S& force) {
    for (int k = 0; k < tree.model.nv; ++k) w.tau_act[k] += J[k] * force;
  };
  for (int k = 0; k < tree.model.nv; ++k) w.tau_act[k] = w.adhesion_tau[k];
  set_zero(w.tendon_force, static_cast<int>(tree.model.tendons.size()));
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (!acts(tree, a) || a.transmission == TransmissionKind::body) continue;
    if (a.transmission == TransmissionKind::tendon) {
      w.tendon_force[a.target] += S(r.p[tree.actuators[i].gear]) * left_force(tree, i, w);
    } else if (turns_frame(a)) {
      orientation_row(r, static_cast<int>(i), w, load_vec3(w.orientation_force + 3 * i), J);
      add_row(S(1));
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
CYCLOID_INLINE S limit_open(const TreeView& tree, const Joint& j, int k, const Workspace<S>& w) {
  if (!tree.model.options.acting.actuation) return S(0);
  return inside(j.actuator_force, limited_total(j, k, w));
}

// What is left of the actuators' total at dof k after (4), as qfrc_actuator shows it.
template <class S>
CYCLOID_INLINE S joint_actuation(const TreeView& tree, const Joint& j, int k,
                                 const Workspace<S>& w) {
  if (!tree.model.options.acting.actuation) return S(0);
  return clamp(j.actuator_force, limited_total(j, k, w));
}
// Whether some joint counts gravity compensation among its actuators' forces.
CYCLOID_HD inline bool counts_compensation(const TreeView& tree) {
  bool some = false;
  for (const Joint& j : tree.model.joints) some = some || j.compensation_by_actuator;
  return some;
}

// All of (3) and (4): adds to w.tau and w.wrench.
template <class S, class P>
CYCLOID_HD void add_actuation(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  if (r.shortcut) {
    add_direct_actuators(tree, r.p, r.inputs.ctrl < 0 ? nullptr : x.u + r.inputs.ctrl, x.qpos,
                         x.qvel, w.tau);
  }
  measure_actuators(r, x, w);
  S* tendon_force = w.tendon_force;
  set_zero(w.adhesion_tau, tree.model.nv);  // until there are contacts
  if (tree.limits_actuators) {
    limited_actuator_forces(r, x, w);
    for (const Joint& j : tree.model.joints) {
      for (int k = j.dof; k < j.dof + dof_numbers(j.kind); ++k) {
        // What the bodies' compensation does to other joints has been applied as it is.
        const S own = j.compensation_by_actuator ? w.compensation[k] : S(0);
        w.tau[k] += joint_actuation(tree, j, k, w) - own;  // (4)
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

// μ as the actuators feel it: nothing where a joint's limit holds them.
template <class S, class P>
CYCLOID_HD const S* limited_mu(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  if (!tree.limits_actuators) return w.mu;
  limited_actuator_forces(r, x, w);
  for (const Joint& j : tree.model.joints) {
    for (int k = j.dof; k < j.dof + dof_numbers(j.kind); ++k) {
      w.mu_act[k] = w.mu[k] * limit_open(tree, j, k, w);  // (4)
      w.mu_limited[k] = j.compensation_by_actuator ? w.mu_act[k] - w.mu[k] : S(0);
    }
  }
  return w.mu_act;
}

// J μ_act of each tendon, and Σ_i p̄'_i p_i of its actuators, which (2) spreads over all of them.
template <class S, class P>
CYCLOID_HD void measure_tendon_cotangents(const Robot<S, P>& r, const Workspace<S>& w,
                                          const S* mu_act) {
  const TreeView& tree = r.tree;
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
    w.tendon_spread[a.target] += S(r.p[tree.actuators[i].gear]) * w.tendon_mu[a.target] *
                                 (w.actuator_force[i] - w.loose_force[i]);
  }
}

// p̄ of an actuator, through (3) and (2); gear_bar and loose_bar, of its loose part, are added to.
template <class S, class P>
CYCLOID_HD S actuator_force_bar(const Robot<S, P>& r, std::size_t i, const Instant<S>& x,
                                const Workspace<S>& w, const S* mu_act, S& gear_bar, S& loose_bar) {
  const TreeView& tree = r.tree;
  const Actuator& a = tree.model.actuators[i];
  const int id = static_cast<int>(i);
  switch (a.transmission) {
    case TransmissionKind::joint:
    case TransmissionKind::joint_in_parent:
      return joint_transmission_rate(tree, r.p, id, x.qpos, mu_act);
    case TransmissionKind::tendon: {
      const S gear = S(r.p[tree.actuators[i].gear]), scale = force_scale(tree, a, w);
      const S left = left_force(tree, i, w), whole_bar = gear * w.tendon_mu[a.target];
      S p_bar = whole_bar * scale;
      const S total = w.tendon_total[a.target];
      p_bar -= select(scale == S(1), S(0), scale / total * w.tendon_spread[a.target]);
      loose_bar += whole_bar - p_bar;
      gear_bar += w.tendon_mu[a.target] * left;
      w.tendon_force[a.target] += gear * left;
      return p_bar;
    }
    case TransmissionKind::body: return w.adhesion_rate[i];
    case TransmissionKind::orientation: return S(0);  // gather_orientation
    case TransmissionKind::slider_crank:
    case TransmissionKind::site: break;
  }
  if (tree.limits_actuators) {
    actuator_row(r, id, x, w, w.rows.row);
    return row_times(tree, static_cast<const S*>(w.rows.row), mu_act);
  }
  return site_transmission_rate(tree, r.p, id, w.frames, static_cast<const Motion<S>*>(w.m));
}

// The pullback of force (J μ_act), where μ_act is not the μ whose field there is.
template <class S, class P, class PullRow>
CYCLOID_HD void gather_limited_row(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                                   const S& force, const S* mu_act, const InstantBars<S>& bar,
                                   PullRow pull_row) {
  for (int k = 0; k < r.tree.model.nv; ++k) w.rows.form.w[k] = force * mu_act[k];
  row_form_pullback(r.tree, r.p, w.frames, x.qpos, w.rows.form, pull_row, bar.q, bar.p,
                    w.row_mocap_bar);
}

// The cotangents of an actuator's length and rate, and its force p along its row, to the row's own
// pullback. gear_bar is added to.
template <class S, class P>
CYCLOID_HD void gather_actuator_row(const Robot<S, P>& r, std::size_t i, const Instant<S>& x,
                                    const Workspace<S>& w, const S* mu_act,
                                    const ActuatorPoint<S>& point_bar, const S& p,
                                    const InstantBars<S>& bar, S& gear_bar) {
  const TreeView& tree = r.tree;
  const Actuator& a = tree.model.actuators[i];
  const int id = static_cast<int>(i);
  const RowSinks<S> to{w.bars, bar.q, bar.v, bar.p};
  const S force = acts(tree, a) ? p : S(0), gear = S(r.p[tree.actuators[i].gear]);
  switch (a.transmission) {
    case TransmissionKind::joint:
    case TransmissionKind::joint_in_parent:
      joint_transmission_pullback(tree, r.p, id,
                                  RowPoint<S>{w.frames, w.m, w.v, x.qpos, mu_act, x.qvel},
                                  RowBars<S>{point_bar.length, force, point_bar.rate}, to);
      break;
    case TransmissionKind::tendon:
      w.tendon_length_bar[a.target] += gear * point_bar.length;
      w.tendon_rate_bar[a.target] += gear * point_bar.rate;
      gear_bar +=
          point_bar.length * w.tendon_length[a.target] + point_bar.rate * w.tendon_rate[a.target];
      break;
    case TransmissionKind::slider_crank:
    case TransmissionKind::site:
      if (tree.limits_actuators) {
        gather_limited_row(
            r, x, w, force, mu_act, bar,
            [&](const RowPoint<S>& at, const RowBars<S>& row_bar, const RowSinks<S>& sinks) {
              site_transmission_pullback(tree, r.p, id, at, row_bar, sinks);
            });
      }
      site_transmission_pullback(
          tree, r.p, id, RowPoint<S>{w.frames, w.m, w.v, x.qpos, w.mu, x.qvel},
          RowBars<S>{point_bar.length, tree.limits_actuators ? S(0) : force, point_bar.rate}, to);
      break;
    case TransmissionKind::body:
    case TransmissionKind::orientation: break;
  }
}

// What the law of an orientation servo looks at, its force, and cotangents of ω and of a turn of
// q_rel.
template <class S>
struct OrientationBars {
  OrientationPoint<S> at;
  OrientationForce<S> out;
  Vec3<S> rate{}, turn{};
};
// Its pullback, given that of its force. Adds to the cotangents of controls, activations, h and p.
template <class S, class P>
CYCLOID_HD OrientationBars<S> gather_orientation_law(const Robot<S, P>& r, std::size_t i,
                                                     const Instant<S>& x, const Workspace<S>& w,
                                                     const OrientationForce<S>& out_bar,
                                                     const InstantBars<S>& bar) {
  const Actuator& a = r.tree.model.actuators[i];
  OrientationBars<S> law{orientation_point(r, i, x, w), {}};
  OrientationValues<S> kept;
  law.out = orientation_force(r.tree, r.p, i, r.timestep(), law.at, kept);
  OrientationPoint<S> at_bar;
  at_bar.q = Quat<S>{S(0), S(0), S(0), S(0)};
  orientation_force_pullback(r.tree, r.p, i, r.timestep(), law.at, law.out, kept, out_bar, at_bar,
                             law.turn, bar.h, bar.p);
  for (int k = 0; k < a.controls && r.inputs.ctrl >= 0; ++k) {
    bar.u[r.inputs.ctrl + a.control + k] += at_bar.u[k];
  }
  if (integrates(a)) add_to(bar.act + a.act, at_bar.w);
  law.rate = at_bar.rate;
  return law;
}

// The same for an orientation servo; slope_bar: the cotangent of dp/dω, of all rows.
template <class S, class P>
CYCLOID_HD void gather_orientation(const Robot<S, P>& r, std::size_t i, const Instant<S>& x,
                                   const Workspace<S>& w, const S* mu_act, const S& slope_bar,
                                   const S* act_dot_bar, const S* act_next_bar,
                                   const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const Actuator& a = tree.model.actuators[i];
  const int id = static_cast<int>(i);
  OrientationForce<S> out_bar;
  if (acts(tree, a)) {
    out_bar.slope = slope_bar;
    out_bar.force =
        orientation_rate(tree, r.p, id, w.frames, static_cast<const Motion<S>*>(w.m), mu_act);
    for (int k = 0; k < 3 && tree.limits_actuators; ++k) {
      orientation_row(r, id, w, unit_axis<S>(k), w.rows.row);
      out_bar.force[k] = row_times(tree, static_cast<const S*>(w.rows.row), mu_act);
    }
  }
  if (integrates(a)) {
    if (act_dot_bar) out_bar.w_dot = load_vec3(act_dot_bar + a.act);
    if (act_next_bar) out_bar.w_next = load_vec3(act_next_bar + a.act);
  }
  const OrientationBars<S> law = gather_orientation_law(r, i, x, w, out_bar, bar);
  const RowSinks<S> to{w.bars, bar.q, bar.v, bar.p};
  const Vec3<S> none{};
  if (tree.limits_actuators) {
    gather_limited_row(
        r, x, w, S(1), mu_act, bar,
        [&](const RowPoint<S>& point, const RowBars<S>& row_bar, const RowSinks<S>& sinks) {
          orientation_pullback(tree, r.p, id, point, law.out.force * row_bar.m, none, none, sinks);
        });
  }
  orientation_pullback(tree, r.p, id, RowPoint<S>{w.frames, w.m, w.v, x.qpos, w.mu, x.qvel},
                       tree.limits_actuators ? none : law.out.force, law.rate, law.turn, to);
}

// (1) and (3) of the tendons, after their actuators. w.tendon_slope_bar: of tendon_damping_slope.
template <class S, class P>
CYCLOID_HD void gather_tendons(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                               const S* mu_act, const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const RowPoint<S> at{w.frames, w.m, w.v, x.qpos, w.mu, x.qvel};
  const RowSinks<S> to{w.bars, bar.q, bar.v, bar.p};
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    const int id = static_cast<int>(t);
    S length_bar = w.tendon_length_bar[t], rate_bar = w.tendon_rate_bar[t];
    S passive = tendon_passive_force(tree, r.p, id, w.tendon_length[t], w.tendon_rate[t]);
    if (tree.limits_actuators) {
      gather_limited_row(
          r, x, w, w.tendon_force[t], mu_act, bar,
          [&](const RowPoint<S>& point, const RowBars<S>& row_bar, const RowSinks<S>& sinks) {
            tendon_pullback(tree, r.p, id, point, row_bar, sinks);
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

// The pullback of one actuator's law: bars_of(slopes, bar) gives the cotangents of its force and
// slope, in all and of their loose parts, where it acts. Returns those of length and rate, and p in
// `force`.
template <class S, class P, class BarsOf>
CYCLOID_HD ActuatorPoint<S> gather_law(const Robot<S, P>& r, std::size_t i, const Instant<S>& x,
                                       const Workspace<S>& w, const S* act_dot_bar,
                                       const S* act_next_bar, const InstantBars<S>& bar, S& force,
                                       BarsOf bars_of) {
  const TreeView& tree = r.tree;
  const Actuator& a = tree.model.actuators[i];
  if (is_motor(a)) {
    const MotorPoint<S> at = motor_point(r, i, x, w);
    const MotorValues<S> v = motor_force(tree, r.p, i, r.timestep(), at);
    MotorForce<S> out_bar;
    if (acts(tree, a)) bars_of(v.out, out_bar);
    for_each_activation(a, [&](int j, int k) {
      if (act_dot_bar) out_bar.x_dot[k] = act_dot_bar[j];
      if (act_next_bar) out_bar.x_next[k] = act_next_bar[j];
    });
    const MotorPoint<S> at_bar = gather_motor(r, i, at, v, out_bar, bar);
    force = v.out.force;
    return {S(0), S(0), at_bar.length, at_bar.rate, S(0)};
  }
  const ActuatorPoint<S> point = actuator_point(r, i, x, w);
  const ActuatorForce<S> out = actuator_force(tree, r.p, i, r.timestep(), point);
  ActuatorBars<S> out_bar;
  if (acts(tree, a)) {
    MotorForce<S> slopes, slopes_bar;
    slopes.slope = actuator_force_slope(tree, r.p, i, out);
    bars_of(slopes, slopes_bar);
    out_bar.force = slopes_bar.force, out_bar.slope = slopes_bar.slope;
  }
  if (a.act >= 0) {
    if (act_dot_bar) out_bar.act_dot = act_dot_bar[a.act];
    if (act_next_bar) out_bar.act_next = act_next_bar[a.act];
  }
  force = out.force;
  return gather_actuator(r, i, point, out, out_bar, bar);
}

// The pullback of add_actuation, given μ (w.mu) and the fields v and m. `slopes` hands over the
// cotangents of the slopes: slopes.of_tendons() writes w.tendon_slope_bar, and
// slopes.of_actuator(i, p, gear_bar, bar) adds that of dp_i/dl̇ to bar, slopes.of_orientation(i)
// returns that of an orientation servo.
template <class S, class P, class Slopes>
CYCLOID_HD void gather_actuator_forces(const Robot<S, P>& r, const Instant<S>& x,
                                       const Workspace<S>& w, const Slopes& slopes,
                                       const S* act_dot_bar, const S* act_next_bar,
                                       const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  if (r.shortcut) {
    const int ctrl = r.inputs.ctrl;
    add_direct_actuators_pullback(tree, r.p, ctrl < 0 ? nullptr : x.u + ctrl, x.qpos, x.qvel,
                                  static_cast<const S*>(w.mu), ctrl < 0 ? nullptr : bar.u + ctrl,
                                  bar.q, bar.v, bar.p);
    if (tree.direct_actuators.size() == tree.model.actuators.size() && tree.model.tendons.empty() &&
        !tree.limits_actuators) {
      return;
    }
  }
  if (tree.model.tendons.empty() && tree.model.actuators.empty() && !tree.limits_actuators) return;
  measure_actuators(r, x, w);
  const S* mu_act = limited_mu(r, x, w);
  slopes.of_tendons();
  measure_tendon_cotangents(r, w, mu_act);
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    if (r.leaves_out(i)) continue;
    if (turns_frame(tree.model.actuators[i])) {
      gather_orientation(r, i, x, w, mu_act, slopes.of_orientation(i), act_dot_bar, act_next_bar,
                         bar);
      continue;
    }
    S gear_bar(0), force(0);
    const ActuatorPoint<S> point_bar =
        gather_law(r, i, x, w, act_dot_bar, act_next_bar, bar, force,
                   [&](const MotorForce<S>& p, MotorForce<S>& p_bar) {
                     p_bar.force = actuator_force_bar(r, i, x, w, mu_act, gear_bar, p_bar.loose);
                     slopes.of_actuator(i, p, gear_bar, p_bar);
                   });
    gather_actuator_row(r, i, x, w, mu_act, point_bar, force, bar, gear_bar);
    if (bar.p) bar.p[tree.actuators[i].gear] += gear_bar;
  }
  gather_tendons(r, x, w, mu_act, bar);
}

}  // namespace cycloid::inline rigid
