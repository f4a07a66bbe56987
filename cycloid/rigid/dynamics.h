// The smooth dynamics of a robot at one instant: M q̈ + c = τ.
//
//   τ = springs + dampers + gravity compensation + actuators + applied forces      (1)
//   b = τ - c                                                                      (2)
//   (M + h B) q̈ = b                                                               (3)
// B is the slope of the forces in the velocity that the integrator treats implicitly: none (rk4,
// and the acceleration itself), the joints' dampers (euler), dampers and actuators (implicitfast),
// these and the bias c (implicit: bias_slope.h).
// Gravity compensation of a body is the force -κ m g at its centre of mass; an applied force
// (xfrc_applied) is a force and a couple at the centre of mass, in world axes.
//
// Pullback, given the cotangent g of q̈: one solve, and then the gradient of Φ at fixed μ, q̈
// (motion_pullback.h and the forces' own pullbacks); the factor is not differentiated.
//   (M + h B) μ = g,      Φ = μᵀ(b - M q̈) - h μᵀ B q̈                               (4)
#pragma once

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/force/actuation_slopes.h"
#include "cycloid/rigid/force/ellipsoid_force.h"
#include "cycloid/rigid/force/passive.h"
#include "cycloid/rigid/tree/crba.h"
#include "cycloid/rigid/tree/free_body.h"
#include "cycloid/rigid/tree/workspace.h"

namespace cycloid::inline rigid {

// Rows of position and quaternion for the mocap bodies, from the inputs or as the model has them.
template <class S, class P>
CYCLOID_HD void place_mocap(const Robot<S, P>& r, const S* u, S* mocap) {
  for (const Body& b : r.tree.model.bodies) {
    if (b.mocap < 0) continue;
    S* row = mocap + 7 * b.mocap;
    for (int i = 0; i < 3; ++i) {
      row[i] = r.inputs.mocap_pos < 0 ? number<S>(b.pos[static_cast<std::size_t>(i)])
                                      : u[r.inputs.mocap_pos + 3 * b.mocap + i];
    }
    for (int i = 0; i < 4; ++i) {
      row[3 + i] = r.inputs.mocap_quat < 0 ? number<S>(b.quat[static_cast<std::size_t>(i)])
                                           : u[r.inputs.mocap_quat + 4 * b.mocap + i];
    }
  }
}

// Poses, inertias, velocities and accelerations: what forward and pullback both start with. qacc
// may be null, which counts as zero.
template <class S, class P>
CYCLOID_STAGE void place_bodies(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                                const S* qacc = nullptr) {
  const TreeView& tree = r.tree;
  place_mocap(r, x.u, w.mocap);
  kinematics(tree, r.p, x.qpos, static_cast<const S*>(w.mocap), w.frames);
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    w.inertia[b] = body_inertia(tree.bodies[b], r.p, w.frames.R[b], w.frames.pos[b]);
  }
  motion_fields(tree, static_cast<const Motion<S>*>(w.frames.column), x.qvel, qacc, r.gravity(),
                w.v, w.a);
}

// Gravity compensation and applied forces on body b.
template <class S, class P>
CYCLOID_INLINE bool is_compensated(const Robot<S, P>& r, std::size_t b) {
  return r.tree.model.bodies[b].tree >= 0 && r.tree.model.bodies[b].gravity_compensation != 0;
}
template <class S, class P>
CYCLOID_INLINE Vec3<S> compensation_force(const Robot<S, P>& r, std::size_t b) {
  const S kappa = number<S>(r.tree.model.bodies[b].gravity_compensation);
  return r.gravity() * (S(r.p[r.tree.bodies[b].mass]) * -kappa);
}
template <class S, class P>
CYCLOID_INLINE Vec3<S> com_of(const Robot<S, P>& r, std::size_t b, const Frames<S>& f) {
  return f.pos[b] + f.R[b] * vec3_of<S>(r.p + r.tree.bodies[b].com);
}

// B of (3): into w.slope, and w.tendon_slope for fixed tendons.
template <class S, class P>
CYCLOID_HD void implicit_slopes(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  set_zero(w.slope, r.tree.model.nv);
  if (r.implicit == Implicit::nothing) return;
  add_damper_slopes(r.tree, r.p, x.qvel, w.slope);
  if (r.all_slopes()) actuation_slopes(r, x, w);
}

// Gravity compensation of the bodies, into w.rows.wrenches.
template <class S, class P>
CYCLOID_HD void compensation_wrenches(const Robot<S, P>& r, const Workspace<S>& w) {
  for (std::size_t b = 0; b < r.tree.model.bodies.size(); ++b) {
    w.rows.wrenches[b] = Force<S>{};
    if (!is_compensated(r, b)) continue;
    w.rows.wrenches[b] = wrench(compensation_force(r, b), com_of(r, b, w.frames), Vec3<S>{});
  }
}

// The same on the dofs, into w.compensation.
template <class S, class P>
CYCLOID_HD void compensation_on_dofs(const Robot<S, P>& r, const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  compensation_wrenches(r, w);
  set_zero(w.compensation, tree.model.nv);
  complete_row(tree, w.frames.column, static_cast<const Force<S>*>(w.rows.wrenches), w.rows.links,
               w.compensation);
}

// Gravity compensation into w.wrench, and on the dofs where a joint's limit has to know it.
template <class S, class P>
CYCLOID_HD void compensate_gravity(const Robot<S, P>& r, const Workspace<S>& w) {
  compensation_wrenches(r, w);
  for (std::size_t b = 0; b < r.tree.model.bodies.size(); ++b) {
    if (is_compensated(r, b)) w.wrench[b] += w.rows.wrenches[b];
  }
  if (r.tree.limits_compensation) compensation_on_dofs(r, w);
}

// Forces on bodies: gravity compensation, applied forces and the medium, into w.wrench.
template <class S, class P>
CYCLOID_HD void add_applied_wrenches(const Robot<S, P>& r, const Instant<S>& x,
                                     const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  compensate_gravity(r, w);
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    if (r.inputs.xfrc_applied >= 0) {
      const S* applied = x.u + r.inputs.xfrc_applied + 6 * static_cast<int>(b);
      w.wrench[b] += wrench(load_vec3(applied), com_of(r, b, w.frames), load_vec3(applied + 3));
    }
    if (r.medium() && !tree.fluid_by_geoms[b]) {
      w.wrench[b] += fluid_wrench(tree, r.p, static_cast<int>(b), w.frames,
                                  static_cast<const Motion<S>*>(w.v));
    }
  }
  for (const int g : tree.fluid_geoms) {
    if (!r.medium()) break;
    w.wrench[tree.model.geoms[static_cast<std::size_t>(g)].body] +=
        ellipsoid_wrench(tree, r.p, g, w.frames, static_cast<const Motion<S>*>(w.v));
  }
}

// (1), (2) into w.tau.
template <class S, class P>
CYCLOID_STAGE void smooth_forces(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  const int nv = tree.model.nv;
  const bool applied = tree.has_wrenches || r.medium() || r.inputs.xfrc_applied >= 0;
  const bool wrenches = applied || tree.has_tendon_armature;
  place_bodies(r, x, w);
  for (std::size_t b = 0; wrenches && b < tree.model.bodies.size(); ++b) w.wrench[b] = Force<S>{};
  set_zero(w.tau, nv);
  if (applied) add_applied_wrenches(r, x, w);
  add_springs(tree, r.p, x.qpos, w.tau);
  add_dampers(tree, r.p, x.qvel, w.tau);
  add_actuation(r, x, w);
  for (int k = 0; k < nv && r.inputs.qfrc_applied >= 0; ++k) {
    w.tau[k] += x.u[r.inputs.qfrc_applied + k];
  }
  if (tree.has_tendon_armature) {
    for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) w.rows.wrenches[b] = Force<S>{};
    add_tendon_armature_bias(tree, r.p, w.frames, static_cast<const Motion<S>*>(w.v),
                             static_cast<const Motion<S>*>(w.a), w.rows.wrenches);
    for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) w.wrench[b] -= w.rows.wrenches[b];
  }
  subtract_body_forces(tree, w.frames.column, w.inertia, static_cast<const Motion<S>*>(w.v), w.a,
                       wrenches ? w.wrench : nullptr, w.force, w.tau);
}

// The medium's slope in M + h B.
template <class S, class P>
CYCLOID_HD void add_fluid_slopes(const Robot<S, P>& r, const Workspace<S>& w, S* M) {
  const TreeView& tree = r.tree;
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    if (tree.fluid_by_geoms[b]) {
      w.damping[b] = SpatialDamping<S>{};
    } else {
      w.damping[b] = fluid_damping(tree, r.p, static_cast<int>(b), w.frames,
                                   static_cast<const Motion<S>*>(w.v));
    }
  }
  if (!tree.fluid_geoms.empty()) {
    for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) w.spin[b] = SpatialSpin<S>{};
    for (const int g : tree.fluid_geoms) {
      const int b = tree.model.geoms[static_cast<std::size_t>(g)].body;
      add_ellipsoid_damping(tree, r.p, g, w.frames, static_cast<const Motion<S>*>(w.v),
                            w.damping[b], w.spin[b]);
    }
    composite_spins(tree, w.spin);
  }
  add_damping_matrix(tree, r.timestep(), static_cast<const Motion<S>*>(w.frames.column), w.damping,
                     M);
}

// Whether the antisymmetric part of the medium's slope counts at a body, too.
template <class S, class P>
CYCLOID_HD bool whole_fluid_slope(const Robot<S, P>& r, int body) {
  if (r.bias_slope()) return true;
  const int tree = r.tree.model.bodies[static_cast<std::size_t>(body)].tree;
  for (const int b : r.tree.free_bodies) {
    if (r.tree.model.bodies[static_cast<std::size_t>(b)].tree == tree) return true;
  }
  return false;
}

// Its pullback, with a sweep of its own for the field of q̂.
template <class S, class P>
CYCLOID_HD void gather_fluid_slopes(const Robot<S, P>& r, const Instant<S>& x,
                                    const Workspace<S>& w, const SlopePoint<S>& slopes,
                                    const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const RowFormSpace<S>& space = w.rows.form;
  space.sweep.clear(tree);
  velocity_field(tree, w.frames.column, slopes.qacc, space.field);
  const BodyBars<S> bars{slopes.field_bar, w.bars.a, w.bars.v, w.bars.pose};
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0 || tree.fluid_by_geoms[b]) continue;
    bar.h += fluid_damping_pullback(tree, r.p, static_cast<int>(b), w.frames,
                                    static_cast<const Motion<S>*>(w.v), slopes.field,
                                    static_cast<const Motion<S>*>(space.field), r.timestep(), bars,
                                    space.sweep.bars.m[b], bar.p);
  }
  for (const int g : tree.fluid_geoms) {
    const int b = tree.model.geoms[static_cast<std::size_t>(g)].body;
    bar.h += ellipsoid_damping_pullback(tree, r.p, g, whole_fluid_slope(r, b), w.frames,
                                        static_cast<const Motion<S>*>(w.v), slopes.field,
                                        static_cast<const Motion<S>*>(space.field), r.timestep(),
                                        bars, space.sweep.bars.m, bar.p);
  }
  field_sweep_pullback(tree, r.p, w.frames, x.qpos, slopes.qacc,
                       static_cast<const Motion<S>*>(space.field), space.sweep, bar.q, bar.p,
                       w.row_mocap_bar);
}

// Whether free bodies have blocks of their own (free_body.h).
template <class S, class P>
CYCLOID_HD bool implicit_free_bodies(const Robot<S, P>& r) {
  return r.implicit == Implicit::all_slopes && !r.tree.free_bodies.empty();
}

// M at the bodies' places, in the storage of Tree::row.
template <class S, class P>
CYCLOID_STAGE void inertia_matrix(const Robot<S, P>& r, const Workspace<S>& w, S* M) {
  const TreeView& tree = r.tree;
  composite_inertias(tree, static_cast<const SpatialInertia<S>*>(w.inertia), w.composite);
  for (int k = 0; k < tree.model.nv; ++k) {
    w.armature[k] = S(r.p[tree.armature[static_cast<std::size_t>(k)]]);
  }
  for (const DofActuator& d : tree.dof_actuators) {
    const std::size_t i = static_cast<std::size_t>(d.actuator);
    const S gear = S(r.p[tree.actuators[i].gear]);
    w.armature[d.dof] += gear * gear * number<S>(tree.model.actuators[i].armature);
  }
  mass_matrix(tree, w.composite, w.frames.column, w.armature, M);
  if (tree.has_tendon_armature) {
    add_tendon_armature(tree, r.p, w.frames, w.rows.wrenches, w.rows.links, w.rows.row, M);
  }
}

// M in w.LD becomes the factor of M + h B, and B is left in w.slope. The bodies have been placed.
template <class S, class P>
CYCLOID_STAGE void factor_with_slopes(const Robot<S, P>& r, const Instant<S>& x,
                                      const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  const S h = r.timestep();
  implicit_slopes(r, x, w);
  for (int k = 0; k < tree.model.nv; ++k) {
    w.LD[tree.row[static_cast<std::size_t>(k)]] += h * w.slope[k];
  }
  if (r.all_slopes()) {
    add_row_slopes(r, x, w, w.LD);
    if (r.medium()) add_fluid_slopes(r, w, w.LD);
  }
  for (std::size_t i = 0; implicit_free_bodies(r) && i < tree.free_bodies.size(); ++i) {
    const std::size_t b = static_cast<std::size_t>(tree.free_bodies[i]);
    S* const block = w.free_blocks + 36 * i;
    free_body_matrix(tree, b, w.frames, w.composite[b], x.qvel, h, static_cast<const S*>(w.LD),
                     block);
    if (r.medium() && !tree.fluid_geoms.empty()) {
      add_spin_block(h, static_cast<const Motion<S>*>(w.frames.column),
                     tree.model.bodies[b].first_dof, w.spin[b], block);
    }
    lu_factor(block);
  }
  if (!r.bias_slope()) return factor(tree, w.LD);
  for (int i = 0; i < tree.entries(); ++i) w.bias.upper[i] = w.LD[i];
  add_bias_slope(tree, static_cast<const Motion<S>*>(w.frames.column),
                 static_cast<const SpatialInertia<S>*>(w.inertia),
                 static_cast<const SpatialInertia<S>*>(w.composite),
                 static_cast<const Motion<S>*>(w.v), h, w.bias.rnea, w.LD, w.bias.upper);
  if (r.medium() && !tree.fluid_geoms.empty()) {
    add_spin_matrix(tree, h, static_cast<const Motion<S>*>(w.frames.column),
                    static_cast<const SpatialSpin<S>*>(w.spin), w.LD, w.bias.upper);
  }
  factor_unsymmetric(tree, w.LD, w.bias.upper);
}

// The factor of M + h B into w.LD, and B into w.slope, where the bodies have been placed.
template <class S, class P>
CYCLOID_HD void factor_inertia(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  inertia_matrix(r, w, w.LD);
  factor_with_slopes(r, x, w);
}

// x ← (M + h B)⁻¹ x; free bodies by their own blocks, transposed on the way back.
template <class S, class P>
CYCLOID_HD void solve_inertia(const Robot<S, P>& r, const Workspace<S>& w, bool transposed, S* x) {
  const TreeView& tree = r.tree;
  if (r.bias_slope()) {
    const S *const L = w.LD, *const U = w.bias.upper;
    return transposed ? solve_unsymmetric_transposed(tree, L, U, x)
                      : solve_unsymmetric(tree, L, U, x);
  }
  const bool blocks = implicit_free_bodies(r);
  S* kept = w.armature;  // right-hand sides of the blocks
  for (std::size_t i = 0; blocks && i < tree.free_bodies.size(); ++i) {
    const int first = tree.model.bodies[static_cast<std::size_t>(tree.free_bodies[i])].first_dof;
    for (int k = first; k < first + 6; ++k) kept[k] = x[k];
  }
  solve(tree, w.LD, x);
  for (std::size_t i = 0; blocks && i < tree.free_bodies.size(); ++i) {
    const int first = tree.model.bodies[static_cast<std::size_t>(tree.free_bodies[i])].first_dof;
    const S* LU = w.free_blocks + 36 * i;
    for (int k = first; k < first + 6; ++k) x[k] = kept[k];
    if (transposed) {
      lu_solve_transposed(LU, x + first);
    } else {
      lu_solve(LU, x + first);
    }
  }
}

// q̈ of (3).
template <class S, class P>
CYCLOID_HD void smooth_acceleration(const Robot<S, P>& r, const Instant<S>& x,
                                    const Workspace<S>& w, S* qacc) {
  smooth_forces(r, x, w);
  factor_inertia(r, x, w);
  for (int k = 0; k < r.tree.model.nv; ++k) qacc[k] = w.tau[k];
  solve_inertia(r, w, false, qacc);
}

// A force at a body's centre of mass and a couple: Φ += y(c)·f + y_ω·n, y the body's field. Returns
// the cotangent of f.
template <class S, class P>
CYCLOID_HD Vec3<S> gather_force_at_com(const Robot<S, P>& r, std::size_t b, const Workspace<S>& w,
                                       const Motion<S>& y, const Vec3<S>& f, const Vec3<S>& n,
                                       const BodyBars<S>& bars, S* p_bar) {
  const Vec3<S> c = com_of(r, b, w.frames), c_bar = cross(f, y.angular);
  bars.m[b] += wrench(f, c, n);
  bars.pose[b] += Force<S>{cross(c, c_bar), c_bar};
  if (p_bar) {
    add_to(p_bar + r.tree.bodies[b].com, transpose_vector_product(w.frames.R[b], c_bar));
  }
  return field_at(y, c);
}

// Gravity compensation, with the field y of a generalised vector.
template <class S, class P>
CYCLOID_HD void gather_compensation(const Robot<S, P>& r, const Workspace<S>& w, const Motion<S>* y,
                                    const BodyBars<S>& bars, Vec3<S>& gravity_bar, S* p_bar) {
  const TreeView& tree = r.tree;
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (!is_compensated(r, b)) continue;
    const Vec3<S> f_bar = gather_force_at_com(r, b, w, y[tree.last_link[b]],
                                              compensation_force(r, b), Vec3<S>{}, bars, p_bar);
    const S kappa = number<S>(tree.model.bodies[b].gravity_compensation);
    gravity_bar -= f_bar * (S(r.p[tree.bodies[b].mass]) * kappa);
    if (p_bar) p_bar[tree.bodies[b].mass] -= kappa * dot(r.gravity(), f_bar);
  }
}

// All forces on bodies but those of actuators and tendons.
template <class S, class P>
CYCLOID_HD void gather_applied_wrenches(const Robot<S, P>& r, const Instant<S>& x,
                                        const Workspace<S>& w, Vec3<S>& gravity_bar,
                                        const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  gather_compensation(r, w, static_cast<const Motion<S>*>(w.m), w.bars, gravity_bar, bar.p);
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    if (r.medium() && !tree.fluid_by_geoms[b]) {
      fluid_wrench_pullback(tree, r.p, static_cast<int>(b), w.frames,
                            static_cast<const Motion<S>*>(w.v), static_cast<const Motion<S>*>(w.m),
                            w.bars, bar.p);
    }
    if (r.inputs.xfrc_applied < 0) continue;
    const int place = r.inputs.xfrc_applied + 6 * static_cast<int>(b);
    const Motion<S>& m = w.m[tree.last_link[b]];
    add_to(bar.u + place, gather_force_at_com(r, b, w, m, load_vec3(x.u + place),
                                              load_vec3(x.u + place + 3), w.bars, bar.p));
    add_to(bar.u + place + 3, m.angular);
  }
  for (const int g : tree.fluid_geoms) {
    if (!r.medium()) break;
    ellipsoid_wrench_pullback(tree, r.p, g, w.frames, static_cast<const Motion<S>*>(w.v),
                              static_cast<const Motion<S>*>(w.m), w.bars, bar.p);
  }
}

template <class S, class P>
CYCLOID_HD void gather_mocap(const Robot<S, P>& r, const Workspace<S>& w, S* u_bar) {
  for (const Body& b : r.tree.model.bodies) {
    if (b.mocap < 0) continue;
    S* bar = w.mocap_bar + 6 * b.mocap;
    for (int i = 0; i < 6; ++i) bar[i] += w.row_mocap_bar[6 * b.mocap + i];
    if (r.inputs.mocap_pos >= 0) add_to(u_bar + r.inputs.mocap_pos + 3 * b.mocap, load_vec3(bar));
    if (r.inputs.mocap_quat >= 0) {
      add_to(
          u_bar + r.inputs.mocap_quat + 4 * b.mocap,
          ambient_from_tangent_cotangent(load_quat(w.mocap + 7 * b.mocap + 3), load_vec3(bar + 3)));
    }
  }
}

// Everything that the pullback of q̈ looks at besides μ: places, motions, and the factor.
template <class S, class P>
CYCLOID_HD void place_and_factor(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                                 const S* qacc) {
  place_bodies(r, x, w, qacc);
  set_zero(w.adhesion_rate, static_cast<int>(r.tree.model.actuators.size()));
  set_zero(w.adhesion_tau, r.tree.model.nv);
  if (r.tree.limits_compensation) {
    for (std::size_t b = 0; b < r.tree.model.bodies.size(); ++b) w.wrench[b] = Force<S>{};
    compensate_gravity(r, w);
  }
  factor_inertia(r, x, w);
}

// Φ's gradient through springs, dampers, actuators and applied generalised forces.
template <class S, class P>
CYCLOID_HD void gather_dof_forces(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                                  const SlopePoint<S>& slopes, const S* act_dot_bar,
                                  const S* act_next_bar, const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const int nv = tree.model.nv;
  const S h = r.timestep();
  const bool implicit = r.implicit != Implicit::nothing;
  for (int k = 0; k < nv; ++k) {
    const S form = slopes.lambda[k] * slopes.qacc[k];
    w.slope_bar[k] = implicit ? -h * form : S(0);  // (3): -h λᵀ B q̂
    bar.h -= w.slope[k] * form;
  }
  gather_actuation(r, x, w, slopes, act_dot_bar, act_next_bar, bar);
  add_springs_pullback(tree, r.p, x.qpos, static_cast<const S*>(w.mu), bar.q, bar.p);
  add_dampers_pullback(tree, r.p, x.qvel, static_cast<const S*>(w.mu),
                       static_cast<const S*>(w.slope_bar), bar.v, bar.p);
  if (r.inputs.qfrc_applied >= 0) {
    for (int k = 0; k < nv; ++k) bar.u[r.inputs.qfrc_applied + k] += w.mu[k];
  }
}

// The cotangent of gravity compensation that a joint's limit holds: the field of μ's change has a
// sweep of its own.
template <class S, class P>
CYCLOID_HD void gather_limited_compensation(const Robot<S, P>& r, const Instant<S>& x,
                                            const Workspace<S>& w, Vec3<S>& gravity_bar,
                                            const InstantBars<S>& bar) {
  const RowFormSpace<S>& space = w.rows.form;
  const S* change = w.mu_limited;
  space.sweep.clear(r.tree);
  velocity_field(r.tree, w.frames.column, change, space.field);
  gather_compensation(r, w, static_cast<const Motion<S>*>(space.field), space.sweep.bars,
                      gravity_bar, bar.p);
  field_sweep_pullback(r.tree, r.p, w.frames, x.qpos, change,
                       static_cast<const Motion<S>*>(space.field), space.sweep, bar.q, bar.p,
                       w.row_mocap_bar);
}

// Whether forces act on bodies and not on dofs alone: they push at the fields of the sweep.
template <class S, class P>
CYCLOID_HD bool pushes_bodies(const Robot<S, P>& r) {
  const TreeView& tree = r.tree;
  return tree.has_wrenches || r.medium() || tree.has_tendon_armature ||
         r.inputs.xfrc_applied >= 0 || !tree.model.tendons.empty();
}

// The cotangents of a medium whose parameters have been set to zero. Its slopes count where they
// are implicit: then it is treated as any other.
template <class S, class P>
CYCLOID_HD Robot<S, P> with_absent_medium(const Robot<S, P>& given, const Workspace<S>& w,
                                          const InstantBars<S>& bar) {
  Robot<S, P> r = given;
  const TreeView& tree = r.tree;
  if (!bar.p || !tree.feels_medium || r.medium()) return r;
  if (r.all_slopes()) {
    r.absent_medium = true;
    return r;
  }
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0 || tree.fluid_by_geoms[b]) continue;
    absent_medium_pullback(tree, r.p, static_cast<int>(b), w.frames,
                           static_cast<const Motion<S>*>(w.v), static_cast<const Motion<S>*>(w.m),
                           bar.p);
  }
  for (const int g : tree.fluid_geoms) {
    absent_ellipsoid_pullback(tree, r.p, g, w.frames, static_cast<const Motion<S>*>(w.v),
                              static_cast<const Motion<S>*>(w.m), bar.p);
  }
  return r;
}

// Φ's gradient for μ in w.mu and its field in w.m, after place_and_factor. act_dot_bar and
// act_next_bar (na) may be null. Where `pushed` is true, w.bars, w.row_mocap_bar and the bars of
// `more` (motion_pullback.h) hold what others have put there, or zeros.
template <class S, class P, std::size_t n>
CYCLOID_STAGE void gather_fields(const Robot<S, P>& given, const Instant<S>& x,
                                 const Workspace<S>& w, const S* qacc, const SlopePoint<S>& slopes,
                                 const MoreFields<S, n>& more, const S* act_dot_bar,
                                 const S* act_next_bar, bool pushed, const InstantBars<S>& bar) {
  const TreeView& tree = given.tree;
  const Robot<S, P> r = with_absent_medium(given, w, bar);
  if (tree.has_tendon_armature) {
    tendon_armature_pullback(tree, r.p, RowPoint<S>{w.frames, w.m, w.v, x.qpos, w.mu, x.qvel},
                             static_cast<const Motion<S>*>(w.a), qacc,
                             RowSinks<S>{w.bars, bar.q, bar.v, bar.p}, w.rows, w.row_mocap_bar);
  }
  if (r.all_slopes() && r.medium()) {
    gather_fluid_slopes(r, x, w, slopes, bar);
  }
  Vec3<S> gravity_bar{};
  if (pushes_bodies(r)) gather_applied_wrenches(r, x, w, gravity_bar, bar);
  gather_dof_forces(r, x, w, slopes, act_dot_bar, act_next_bar, bar);
  if (tree.limits_compensation) gather_limited_compensation(r, x, w, gravity_bar, bar);
  for (const DofActuator& d : tree.dof_actuators) {
    const std::size_t i = static_cast<std::size_t>(d.actuator);
    const int place = tree.actuators[i].gear;
    if (!bar.p) break;
    bar.p[place] -= S(2) * S(r.p[place]) * number<S>(tree.model.actuators[i].armature) *
                    w.mu[d.dof] * qacc[d.dof];
  }
  const SweepPoint<S> at{tree, w.frames, w.inertia, w.v, w.a, w.m, x.qpos, x.qvel, qacc, w.mu};
  if (implicit_free_bodies(r)) {
    for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) w.rows.wrenches[b] = Force<S>{};
    SweepPoint<S> slope_at = at;
    slope_at.mu = slopes.lambda, slope_at.qacc = slopes.qacc;
    for (const int body : tree.free_bodies) {
      const std::size_t b = static_cast<std::size_t>(body);
      free_body_pullback(slope_at, r.p, b, w.composite[b], r.timestep(), bar.q, bar.v, bar.h, bar.p,
                         w.rows.wrenches);
    }
  }
  if (r.bias_slope()) {
    const FieldSweepSpace<S>& space = w.rows.form.sweep;
    bias_slope_pullback(BiasSlopePoint<S>{tree, w.frames, w.inertia, x.qpos, x.qvel}, r.p,
                        r.timestep(), slopes.lambda, slopes.qacc, w.bias, space.bars,
                        space.mocap_bar, bar.q, bar.v, bar.h, bar.p, w.row_mocap_bar);
  }
  sweep_pullback(at, r.p, w.bars, more, bar.q, bar.v, bar.p, w.mocap_bar, pushed);
  gather_mocap(r, w, bar.u);
  gravity_bar -= w.bars.a[0].force;
  if (bar.p && tree.model.options.acting.gravity) {
    add_to(bar.p + tree.options.gravity, gravity_bar);
  }
}

// The same without constraints, which begins with the field of μ.
template <class S, class P>
CYCLOID_HD void gather_motion(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                              const S* qacc, const S* act_dot_bar, const S* act_next_bar,
                              const InstantBars<S>& bar) {
  velocity_field(r.tree, w.frames.column, static_cast<const S*>(w.mu), w.m);
  const bool implicit_medium = bar.p && r.tree.feels_medium && r.all_slopes();
  const bool pushed = pushes_bodies(r) || implicit_medium;
  if (pushed) w.bars.clear(r.tree.model.bodies.size());
  set_zero(w.row_mocap_bar, 6 * r.tree.model.nmocap);
  gather_fields(r, x, w, qacc, SlopePoint<S>{w.mu, w.m, qacc, w.bars.m}, MoreFields<S, 0>{},
                act_dot_bar, act_next_bar, pushed, bar);
}

// The pullback of q̈, whose cotangent is in w.mu on entry; qacc is q̈. again: of an instant that
// has been pulled back before.
template <class S, class P>
CYCLOID_HD void smooth_acceleration_pullback(const Robot<S, P>& r, const Instant<S>& x,
                                             const Workspace<S>& w, const S* qacc,
                                             const S* act_dot_bar, const S* act_next_bar,
                                             const InstantBars<S>& bar, bool again = false) {
  if (!again) place_and_factor(r, x, w, qacc);
  solve_inertia(r, w, true, w.mu);  // (4)
  gather_motion(r, x, w, qacc, act_dot_bar, act_next_bar, bar);
}

}  // namespace cycloid::inline rigid
