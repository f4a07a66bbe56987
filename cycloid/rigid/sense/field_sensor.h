// Fields of mjData that no sensor shows, of one element each.
//
//   qpos, qvel, qacc       of a joint                                                       (1)
//   qfrc_actuator          of a joint: Jᵀp of the actuators, after its limit (actuation.h)     (2)
//   qfrc_constraint        of a joint: Jᵀf of the constraints' rows                           (3)
//   act, ctrl              of an actuator; 0 where the inputs have no ctrl                  (4)
//   cinert, cvel, cfrc_ext of a body: root_field.h                                          (5)
//
// Pullback of (3), given its cotangent c: the rows balance the rest, Jᵀf = M q̈ - b (dynamics.h),
// so that q̈̄ += M c and what remains is the gradient of Φ = μᵀ(b - M q̈) at μ = -c             (6)
// b has the forces of adhesion in it (contact/adhesion.h), Σ φ_c J_c.
#pragma once

#include "cycloid/rigid/sense/instant_dynamics.h"
#include "cycloid/rigid/sense/placed_sense.h"
#include "cycloid/rigid/sense/sense_space.h"

namespace cycloid::inline rigid {

// (3) into space.constraint_force, after the solve.
template <class S>
void constraint_forces(const SenseSpace<S>& space) {
  if (!space.plan) return;
  const ConstraintProblem<S>& problem = space.constraints.solver.problem;
  const NewtonSpace<S>& newton = space.constraints.solver.newton;
  set_zero(newton.g, problem.size());
  subtract_row_forces(problem, static_cast<const S*>(newton.at.f), newton.g);
  unpad(*problem.dofs, static_cast<const S*>(newton.g), space.constraint_force);
  for (int k = 0; k < problem.dofs->dofs(); ++k) {
    space.constraint_force[k] = -space.constraint_force[k];
  }
}

// One field of one element. `measure` has run.
template <class S, class P>
void sense_field(const Robot<S, P>& r, const Sensor& s, const Instant<S>& x,
                 const SenseSpace<S>& space, S* out) {
  const TreeView& tree = r.tree;
  const Workspace<S>& w = space.work;
  const std::size_t i = static_cast<std::size_t>(s.object);
  if (is_placed_field(kind_of(s))) return placed_field(r, s, x, w, out);
  if (kind_of(s) == SensorKind::joint_qacc) {  // (1)
    return copy_items(w.qacc + tree.model.joints[i].dof, s.dimension, out);
  }
  if (kind_of(s) == SensorKind::joint_constraint) {  // (3)
    if (!space.plan) return set_zero(out, s.dimension);
    return copy_items(space.constraint_force + tree.model.joints[i].dof, s.dimension, out);
  }
  if (s.object == 0) return set_zero(out, s.dimension);  // (5)
  if (kind_of(s) == SensorKind::root_inertia) {
    root_inertia(whole_inertia(tree, r.p, i, w.frames, w.inertia), space.roots.s[i], out);
  } else if (kind_of(s) == SensorKind::root_velocity) {
    root_velocity(w.v[tree.last_link[i]], space.roots.s[i], out);
  } else {
    root_force(space.interaction.external[i], space.roots.s[i], out);
  }
}

// Adds to space, its work.bars and bar.
template <class S, class P>
void gather_field(const Robot<S, P>& r, const Sensor& s, const Instant<S>& x,
                  const SenseSpace<S>& space, const S* y_bar, const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const Workspace<S>& w = space.work;
  const std::size_t i = static_cast<std::size_t>(s.object);
  const auto add = [&](S* to) {
    for (int k = 0; k < s.dimension; ++k) to[k] += y_bar[k];
  };
  switch (kind_of(s)) {
    case SensorKind::joint_qpos: {  // (1)
      const Joint& j = tree.model.joints[i];
      visit_joint(
          j,
          [&](int, int dof, int n) {
            for (int k = 0; k < n; ++k) bar.q[dof + k] += y_bar[k];
          },
          [&](int qpos, int dof) {
            add_to(bar.q + dof, tangent_from_ambient_cotangent(load_quat(x.qpos + qpos),
                                                               load_quat(y_bar + qpos - j.qpos)));
          });
      return;
    }
    case SensorKind::joint_qvel: return add(bar.v + tree.model.joints[i].dof);
    case SensorKind::joint_qacc: return add(space.qacc_bar + tree.model.joints[i].dof);
    case SensorKind::joint_actuation: {  // (2)
      const Joint& j = tree.model.joints[i];
      for (int k = 0; k < s.dimension; ++k) {
        space.joint_force_bar[j.dof + k] += y_bar[k] * limit_open(tree, j, j.dof + k, w);
      }
      return;
    }
    case SensorKind::joint_constraint: return add(space.constraint_bar + tree.model.joints[i].dof);
    case SensorKind::actuator_activation: return add(bar.act + tree.model.actuators[i].act);  // (4)
    case SensorKind::actuator_control:
      if (r.inputs.ctrl >= 0) add(bar.u + r.inputs.ctrl + tree.model.actuators[i].control);
      return;
    default: break;
  }
  if (s.object == 0) return;  // (5)
  const Vec3<S>& about = space.roots.s[i];
  Vec3<S>& about_bar = space.roots.s_bar[i];
  if (kind_of(s) == SensorKind::root_inertia) {
    root_inertia_pullback(tree.bodies[i], w.frames.R[i],
                          whole_inertia(tree, r.p, i, w.frames, w.inertia), about, y_bar, about_bar,
                          w.bars.pose[i], bar.p);
  } else if (kind_of(s) == SensorKind::root_velocity) {
    root_velocity_pullback(w.v[tree.last_link[i]], about, y_bar, about_bar, w.bars.v[i]);
  } else {
    root_force_pullback(space.interaction.external[i], about, y_bar, about_bar,
                        space.interaction.external_bar[i]);
  }
}

// (6), given c in space.constraint_bar. Uses w up. Adds to space.qacc_bar and bar.
template <class S, class P>
void gather_constraint_forces(const Robot<S, P>& r, const Instant<S>& x, const SenseSpace<S>& space,
                              const InstantBars<S>& bar) {
  if (!space.plan) return;
  const Workspace<S>& w = space.work;
  const int nv = r.tree.model.nv;
  const S *const c = space.constraint_bar, *const qacc = w.qacc, *const none = nullptr;
  multiply_inertia(r.tree, static_cast<const S*>(space.constraints.solver.M), c, w.mu);
  for (int k = 0; k < nv; ++k) space.qacc_bar[k] += w.mu[k];
  place_and_factor(r, x, w, qacc);
  for (int k = 0; k < nv; ++k) w.mu[k] = -c[k];
  if (!r.tree.has_adhesion) return gather_motion(r, x, w, qacc, none, none, bar);
  const ConstraintProblem<S>& problem = space.constraints.solver.problem;
  const RobotRows<S> rows =
      InstantDynamics<S>{space.plan, const_cast<SenseSpace<S>&>(space).constraints}.rows();
  S* const mu = space.constraints.solver.newton.g;
  pad(*problem.dofs, static_cast<const S*>(w.mu), mu);
  rows.adhere_back(r, x, w, problem, static_cast<const S*>(mu));
  gather_motion(r, x, w, qacc, none, none, bar);
  set_zero(w.row_mocap_bar, 6 * r.tree.model.nmocap);
  rows.pull_form(r, x, w, problem, static_cast<const S*>(w.mu), space.constraints.contacts.adhesion,
                 false, space.no_rows, bar);
  rows.pull_pressed(r, x, w, problem, space.no_rows, bar);
  set_zero(w.mocap_bar, 6 * r.tree.model.nmocap);
  gather_mocap(r, w, bar.u);
}

}  // namespace cycloid::inline rigid
