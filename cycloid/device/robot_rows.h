// The Jacobians A and B of a robot's step as a thread of a device finds them: row after row by the
// step's own pullback, which places bodies and factors matrices for the first of a thread's rows.
//
// Rows of v⁺ and of the next activations are pullbacks of unit cotangents. Those of q⁺ follow:
//   dq⁺ = E dq + h J dv⁺                                                                       (1)
// with E = J = 1 for a dof of its own, E = Exp(-h ω⁺) and J = J_r(h ω⁺) for a quaternion
// (step_jacobian.h (3)). A joint's rows are one thread's.
#pragma once

#include "cycloid/device/environment_run.h"
#include "cycloid/rigid/constrained_instant.h"
#include "cycloid/rigid/step.h"

namespace cycloid::inline device {

// Row k of q⁺: E of (1) as `own`, and of J the row `moved`, both at dofs `first` to first + n.
template <class T>
CYCLOID_HD void position_row(int k, int first, int n, const T* own, const T* moved, const T& h,
                             int nv, JacobianRows<T>& rows) {
  const auto combine = [&](const T* v_rows, int numbers, T* out) {
    for (int c = 0; c < numbers; ++c) {
      T sum(0);
      for (int i = 0; i < n; ++i) sum += moved[i] * v_rows[i * numbers + c];
      out[c] = h * sum;
    }
  };
  combine(rows.A(nv + first), rows.size(), rows.A(k));
  if (rows.inputs() > 0) combine(rows.B(nv + first), rows.inputs(), rows.B(k));
  for (int i = 0; i < n; ++i) rows.A(k)[first + i] += own[i];
  rows.check(k);
}

// (1) for a joint whose rows of v⁺ are there.
template <class T>
CYCLOID_HD void position_rows(const TreeView& tree, const Joint& joint, const T& h, const T* qvel,
                              const T* qacc, JacobianRows<T>& rows) {
  const int nv = tree.model.nv;
  visit_joint(
      joint,
      [&](int, int dof, int n) {
        const T one(1);
        for (int k = dof; k < dof + n; ++k) position_row(k, k, 1, &one, &one, h, nv, rows);
      },
      [&](int, int dof) {
        const Vec3<T> turn = (load_vec3(qvel + dof) + load_vec3(qacc + dof) * h) * h;
        for (int c = 0; c < 3; ++c) {
          Vec3<T> unit{}, own{}, moved{};
          unit[c] = T(1);
          retract_tangent_pullback(Quat<T>{}, turn, unit, own, moved);
          const T E[3] = {own.x, own.y, own.z}, J[3] = {moved.x, moved.y, moved.z};
          position_row(dof + c, dof, 3, E, J, h, nv, rows);
        }
      });
}

template <class T, class Dynamics>
CYCLOID_HD void robot_rows(const Robot<T, T>& r, const T* x, const T* u, const T* record,
                           const Workspace<T>& w, Dynamics dynamics, JacobianRows<T>& rows) {
  const TreeView& tree = r.tree;
  const StepShape n(tree);
  const auto find = [&](int k) {
    rows.find(k, [&] {
      T h_bar(0);
      euler_step_pullback(r, x, u, record, w, static_cast<const T*>(rows.x_next_bar), rows.x_bar,
                          rows.u_bar, static_cast<T*>(nullptr), h_bar, dynamics);
    });
    dynamics.again = may_pull_again(tree);
  };
  const T* const qacc = record + dynamics.moved(tree);
  int own = 0;
  for (const Joint& j : tree.model.joints) {
    if (!rows.owns(own++)) continue;
    for (int k = j.dof; k < j.dof + dof_numbers(j.kind); ++k) find(n.nv + k);
    position_rows(tree, j, r.timestep(), x + n.nq, qacc, rows);
  }
  for (int i = 0; i < n.na; ++i) {
    if (rows.owns(own++)) find(2 * n.nv + i);
  }
}

}  // namespace cycloid::inline device
