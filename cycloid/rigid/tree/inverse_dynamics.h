// Inverse dynamics: the forces on the joints that give the robot an acceleration; and the pullback
// of the mass matrix.
//
//   τ = M q̈ + c                                                                             (1)
// by the recursion of rnea.h. M and c are those of dynamics.h: bodies, armature of joints,
// actuators and tendons; Coriolis, centrifugal and gravity forces. Passive, applied and actuator
// forces have no part in τ, nor has gravity compensation.
//
// Pullback, given τ̄: μ = -τ̄, and
//   q̈̄ += M τ̄,   the rest is the gradient of Φ = -μᵀ(M q̈ + c) (motion_pullback.h)  (2)
// M by itself is (1) at rest and without gravity. With y_k = row k of its cotangent, as stored,
//   ⟨M̄, M⟩ = Σ_k e_kᵀ M y_k                                                                (3)
// and each term is a sweep of its own.
#pragma once

#include "cycloid/rigid/tree/energy.h"

namespace cycloid::inline rigid {

// M q̈ of the armature alone, added to tau. Uses w.LD and w.mu up.
template <class S, class P>
void add_armature_forces(const Robot<S, P>& r, const Workspace<S>& w, const S* qacc, S* tau) {
  const TreeView& tree = r.tree;
  const int nv = tree.model.nv;
  for (int k = 0; k < nv; ++k) {
    tau[k] += S(r.p[tree.armature[static_cast<std::size_t>(k)]]) * qacc[k];
  }
  for (const DofActuator& d : tree.dof_actuators) {
    const std::size_t i = static_cast<std::size_t>(d.actuator);
    const S gear = S(r.p[tree.actuators[i].gear]);
    tau[d.dof] += gear * gear * number<S>(tree.model.actuators[i].armature) * qacc[d.dof];
  }
  if (!tree.has_tendon_armature) return;
  set_zero(w.LD, tree.entries());
  add_tendon_armature(tree, r.p, w.frames, w.rows.wrenches, w.rows.links, w.rows.row, w.LD);
  multiply_matrix(tree, static_cast<const S*>(w.LD), qacc, w.mu);
  for (int k = 0; k < nv; ++k) tau[k] += w.mu[k];
}

// (1) with the bodies placed. qacc may be null, which counts as zero: tau is then c.
template <class S, class P>
void inverse_dynamics(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                      const S* qacc, S* tau) {
  const TreeView& tree = r.tree;
  const S* const no_qacc = nullptr;
  for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) w.wrench[b] = Force<S>{};
  if (tree.has_tendon_armature) {
    acceleration_field(tree, w.frames.column, x.qvel, no_qacc, w.v, r.gravity(), w.a);
    add_tendon_armature_bias(tree, r.p, w.frames, static_cast<const Motion<S>*>(w.v),
                             static_cast<const Motion<S>*>(w.a), w.wrench);
  }
  acceleration_field(tree, w.frames.column, x.qvel, qacc, w.v, r.gravity(), w.a);
  for (std::size_t l = 0; l < tree.links.size(); ++l) w.force[l] = Force<S>{};
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    const int l = tree.last_link[b];
    w.force[l] = body_force(w.inertia[b], w.v[l], w.a[l]) + w.wrench[b];
  }
  set_zero(tau, tree.model.nv);
  subtract_joint_forces(tree, w.frames.column, w.force, tau);
  for (int k = 0; k < tree.model.nv; ++k) tau[k] = -tau[k];
  if (qacc) add_armature_forces(r, w, qacc, tau);
}

// A motion of the tree: generalised numbers and their fields.
template <class S>
struct TreeMotion {
  const S *qvel, *qacc;   // (nv)
  const Motion<S>*v, *a;  // (links)
};

// The gradient of Φ in (2), with μ and its field in w.mu and w.m. Returns gravity's share, which a
// field without gravity leaves unused. Uses w.bars up; w.rows.form.sweep may lend `at` its zeros.
template <class S, class P>
Vec3<S> gather_forces_of_motion(const Robot<S, P>& r, const S* qpos, const Workspace<S>& w,
                                const TreeMotion<S>& at, S* v_bar, const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  w.bars.clear(tree.model.bodies.size());
  set_zero(w.row_mocap_bar, 6 * tree.model.nmocap);
  if (tree.has_tendon_armature) {
    tendon_armature_pullback(tree, r.p, RowPoint<S>{w.frames, w.m, at.v, qpos, w.mu, at.qvel}, at.a,
                             at.qacc, RowSinks<S>{w.bars, bar.q, v_bar, bar.p}, w.rows,
                             w.row_mocap_bar);
  }
  for (const DofActuator& d : tree.dof_actuators) {
    const std::size_t i = static_cast<std::size_t>(d.actuator);
    const int place = tree.actuators[i].gear;
    if (!bar.p) break;
    bar.p[place] -= S(2) * S(r.p[place]) * number<S>(tree.model.actuators[i].armature) *
                    w.mu[d.dof] * at.qacc[d.dof];
  }
  const SweepPoint<S> point{tree, w.frames, w.inertia, at.v,    at.a,
                            w.m,  qpos,     at.qvel,   at.qacc, w.mu};
  sweep_pullback(point, r.p, w.bars, bar.q, v_bar, bar.p, w.mocap_bar);
  gather_mocap(r, w, bar.u);
  return -w.bars.a[0].force;
}

// With the bodies placed. tau_bar, qacc, qacc_bar: (nv).
template <class S, class P>
void inverse_dynamics_pullback(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                               const S* qacc, const S* tau_bar, S* qacc_bar,
                               const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  inertia_matrix(r, w, w.LD);
  multiply_matrix(tree, static_cast<const S*>(w.LD), tau_bar, w.mu);
  for (int k = 0; k < tree.model.nv; ++k) {
    qacc_bar[k] += w.mu[k];  // (2)
    w.mu[k] = -tau_bar[k];
  }
  acceleration_field(tree, w.frames.column, x.qvel, qacc, w.v, r.gravity(), w.a);
  velocity_field(tree, w.frames.column, static_cast<const S*>(w.mu), w.m);
  const Vec3<S> gravity_bar =
      gather_forces_of_motion(r, x.qpos, w, TreeMotion<S>{x.qvel, qacc, w.v, w.a}, bar.v, bar);
  if (bar.p && tree.model.options.acting.gravity) {
    add_to(bar.p + tree.options.gravity, gravity_bar);
  }
}

// The pullback of inertia_matrix, with the bodies placed. M_bar: in the storage of Tree::row; an
// entry off the diagonal is the cotangent of the number that stands at both places of M.
template <class S, class P>
void inertia_matrix_pullback(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                             const S* M_bar, const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const FieldSweepSpace<S>& still = w.rows.form.sweep;
  S* const y = w.tau;
  for (int k = 0; k < tree.model.nv; ++k) {
    set_zero(y, tree.model.nv);
    set_zero(w.mu, tree.model.nv);
    w.mu[k] = S(-1);
    for (int j = k; j >= 0; j = tree.model.dofs[static_cast<std::size_t>(j)].parent) {
      y[j] = *M_bar++;  // (3)
    }
    velocity_field(tree, w.frames.column, static_cast<const S*>(w.mu), w.m);
    velocity_field(tree, w.frames.column, static_cast<const S*>(y), w.a);
    still.clear(tree);
    gather_forces_of_motion(r, x.qpos, w, TreeMotion<S>{still.zeros, y, still.rest, w.a},
                            still.zeros, bar);
  }
}

}  // namespace cycloid::inline rigid
