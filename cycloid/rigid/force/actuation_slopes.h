// Slopes of the actuators' and tendons' forces (actuation.h) in the velocity, which an integrator
// may treat implicitly, on the mass matrix's sparsity:
//   B = -Σ_i (dp_i/dl̇) J_iᵀ J_i + Σ_t b_t J_tᵀ J_t                     (1)
// An actuator of one degree of freedom counts on its diagonal, one on a tendon in b_t, times G²;
// the others have rows of their own. Where a limit holds the total, there is no slope but the loose
// one of a motor (dc_motor.h).
//
// Pullback, of Φ = -h λᵀ B q̂: each row's form Q = (J λ)(J q̂) by row_form.h, b̄ = -h Q.
#pragma once

#include "cycloid/rigid/force/actuation.h"

namespace cycloid::inline rigid {

// What the implicit slopes B are multiplied with in Φ: -h λᵀ B q̂. field: of λ, per link, and its
// cotangent per body. Without constraints λ is μ, and q̂ is q̈.
template <class S>
struct SlopePoint {
  const S* lambda;
  const Motion<S>* field;
  const S* qacc;
  Force<S>* field_bar;
};

CYCLOID_HD inline bool has_slope(const TreeView& tree, const Actuator& a) {
  return acts(tree, a) && looks_at_length(a);
}
// Whether an actuator's slope has a row of its own: not one dof, not its tendon's.
CYCLOID_HD inline bool has_own_row(const TreeView& tree, const Actuator& a) {
  return a.transmission != TransmissionKind::tendon && !on_one_dof(tree, a);
}

// 1, or 0 where its joint or tendon holds the total of which the actuator is a part.
template <class S>
CYCLOID_INLINE S slope_open(const TreeView& tree, const Actuator& a, const Workspace<S>& w) {
  if (a.transmission == TransmissionKind::tendon) {
    return inside(tree.model.tendons[static_cast<std::size_t>(a.target)].actuator_force,
                  w.tendon_total[a.target]);
  }
  if (!tree.limits_actuators || !on_one_dof(tree, a)) return S(1);
  const Joint& j = tree.model.joints[static_cast<std::size_t>(a.target)];
  return limit_open(tree, j, j.dof, w);
}

// What that leaves of an actuator's slope. On a tendon the loose part stays.
template <class S>
CYCLOID_INLINE S left_slope(const TreeView& tree, const Actuator& a, const MotorForce<S>& p,
                            const Workspace<S>& w) {
  const S open = slope_open(tree, a, w);
  if (a.transmission != TransmissionKind::tendon) return p.slope * open;
  return (p.slope - p.loose_slope) * open + p.loose_slope;
}

// dp/dl̇ of an actuator's law, what limits leave of it.
template <class S, class P>
CYCLOID_HD S law_slope(const Robot<S, P>& r, std::size_t i, const Instant<S>& x,
                       const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  const Actuator& a = tree.model.actuators[i];
  const S h = r.timestep();
  MotorForce<S> p;
  if (is_motor(a)) {
    p = motor_force(tree, r.p, i, h, motor_point(r, i, x, w)).out;
  } else {
    p.slope = actuator_force_slope(tree, r.p, i,
                                   actuator_force(tree, r.p, i, h, actuator_point(r, i, x, w)));
  }
  return left_slope(tree, a, p, w);
}

// (1): rows of one degree of freedom go to w.slope (nv), those of tendons to w.tendon_slope, the
// others stay in w.actuator_slope.
template <class S, class P>
CYCLOID_HD void actuation_slopes(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  if (tree.model.tendons.empty() && tree.model.actuators.empty()) return;
  measure_actuators(r, x, w);
  if (tree.limits_actuators) limited_actuator_forces(r, x, w);
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    w.tendon_slope[t] = tendon_damping_slope(tree, r.p, static_cast<int>(t), w.tendon_rate[t]);
  }
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (!has_slope(tree, a)) continue;
    if (turns_frame(a)) {
      OrientationValues<S> kept;
      const S slope =
          orientation_force(tree, r.p, i, r.timestep(), orientation_point(r, i, x, w), kept).slope;
      w.actuator_slope[i] = -slope;
      continue;
    }
    const S slope = law_slope(r, i, x, w);
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
CYCLOID_HD void add_row_slopes(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                               S* M) {
  const TreeView& tree = r.tree;
  const S h = r.timestep();
  S* J = w.rows.row;
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    tendon_row(tree, r.p, static_cast<int>(t), w.frames, w.rows.wrenches, w.rows.links, J);
    add_row_form(tree, static_cast<const S*>(J), h * w.tendon_slope[t], M);
  }
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (!has_slope(tree, a) || !has_own_row(tree, a)) continue;
    if (turns_frame(a)) {
      for (int k = 0; k < 3; ++k) {
        orientation_row(r, static_cast<int>(i), w, unit_axis<S>(k), J);
        add_row_form(tree, static_cast<const S*>(J), h * w.actuator_slope[i], M);
      }
      continue;
    }
    actuator_row(r, static_cast<int>(i), x, w, J);
    add_row_form(tree, static_cast<const S*>(J), h * w.actuator_slope[i], M);
  }
}

// The pullback of -h b Q(λ, q̂) of one row (row_form.h), J in w.rows.row: returns b̄.
template <class S, class P, class PullRow>
CYCLOID_HD S gather_row_slope(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                              const SlopePoint<S>& slopes, const S& slope,
                              const InstantBars<S>& bar, PullRow pull_row) {
  const TreeView& tree = r.tree;
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

// What gather_actuator_forces asks for: the cotangents of the slopes, zero where nothing is
// implicit. w.slope_bar: of w.slope.
template <class S, class P>
struct SlopeCotangents {
  const Robot<S, P>& r;
  const Instant<S>& x;
  const Workspace<S>& w;
  const SlopePoint<S>& slopes;
  const InstantBars<S>& bar;
  bool implicit = r.all_slopes();

  CYCLOID_HD void of_tendons() const {
    const TreeView& tree = r.tree;
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
  }

  CYCLOID_HD void of_actuator(std::size_t i, const MotorForce<S>& p, S& gear_bar,
                              MotorForce<S>& p_bar) const {
    const TreeView& tree = r.tree;
    const Actuator& a = tree.model.actuators[i];
    if (!implicit || !has_slope(tree, a)) return;
    if (has_own_row(tree, a)) {
      p_bar.slope += of_own_row(static_cast<int>(i));
      return;
    }
    const bool on_tendon = a.transmission == TransmissionKind::tendon;
    const S gear = S(r.p[tree.actuators[i].gear]), open = slope_open(tree, a, w);
    const S b_bar = on_tendon
                        ? w.tendon_slope_bar[a.target]
                        : w.slope_bar[tree.model.joints[static_cast<std::size_t>(a.target)].dof];
    gear_bar -= S(2) * gear * left_slope(tree, a, p, w) * b_bar;
    p_bar.slope -= gear * gear * b_bar * open;
    if (on_tendon) p_bar.loose_slope -= gear * gear * b_bar * (S(1) - open);
  }

  CYCLOID_HD S of_orientation(std::size_t i) const {
    const TreeView& tree = r.tree;
    if (!implicit || !has_slope(tree, tree.model.actuators[i])) return S(0);
    S b_bar(0);
    const int id = static_cast<int>(i);
    for (int k = 0; k < 3; ++k) {
      const Vec3<S> axis = unit_axis<S>(k), none{};
      orientation_row(r, id, w, axis, w.rows.row);
      b_bar -= gather_row_slope(
          r, x, w, slopes, w.actuator_slope[i], bar,
          [&](const RowPoint<S>& point, const RowBars<S>& row_bar, const RowSinks<S>& sinks) {
            orientation_pullback(tree, r.p, id, point, axis * row_bar.m, none, none, sinks);
          });
    }
    return b_bar;
  }

 private:
  CYCLOID_HD S of_own_row(int i) const {
    const TreeView& tree = r.tree;
    const std::size_t at = static_cast<std::size_t>(i);
    actuator_row(r, i, x, w, w.rows.row);
    return -gather_row_slope(
        r, x, w, slopes, w.actuator_slope[i], bar,
        [&](const RowPoint<S>& point, const RowBars<S>& row_bar, const RowSinks<S>& sinks) {
          if (pulls_at_sites(tree.model.actuators[at])) {
            site_transmission_pullback(tree, r.p, i, point, row_bar, sinks);
          } else {
            joint_transmission_pullback(tree, r.p, i, point, row_bar, sinks);
          }
        });
  }
};

// The pullback of all of this and of add_actuation, given μ (w.mu), q̈, the fields v and m, and
// slope_bar of w.slope.
template <class S, class P>
CYCLOID_HD void gather_actuation(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                                 const SlopePoint<S>& slopes, const S* act_dot_bar,
                                 const S* act_next_bar, const InstantBars<S>& bar) {
  gather_actuator_forces(r, x, w, SlopeCotangents<S, P>{r, x, w, slopes, bar}, act_dot_bar,
                         act_next_bar, bar);
}

}  // namespace cycloid::inline rigid
