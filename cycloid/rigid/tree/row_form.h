// The inertia or damping along a row, k JᵀJ, on the sparsity of the mass matrix.
//
// MuJoCo adds k JᵀJ to M (tendon armature) or to its implicit damping (tendons, actuators) only
// where M has entries: i ~ j when one dof is an ancestor of the other, or they are the same.
//   M_ij += k J_i J_j,   i ~ j                                                          (1)
//   Q = Σ_{i~j} μ_i J_i J_j x_j                                                         (2)
//   dQ = Σ_i w_i dJ_i,   w_i = μ_i Σ_{j~i} J_j x_j + x_i Σ_{j~i} J_j μ_j               (3)
// Where the dofs of a row lie on one path to the root, Q = (Jμ)(Jx).
//
// By (3) the pullback of Q is that of the row, row.h (1), with w in the place of μ, and a sweep of
// its own for the field of w.
#pragma once

#include "cycloid/rigid/tree/field_sweep.h"
#include "cycloid/rigid/tree/row.h"

namespace cycloid::inline rigid {

// J (nv) from what a force of one along the row does: wrenches (bodies) and J itself as tau on
// entry. links: (links), used up.
template <class S>
CYCLOID_HD void complete_row(const TreeView& tree, const Motion<S>* column,
                             const Force<S>* wrenches, Force<S>* links, S* J) {
  for (std::size_t l = 0; l < tree.links.size(); ++l) links[l] = Force<S>{};
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree >= 0) links[tree.last_link[b]] -= wrenches[b];
  }
  subtract_joint_forces(tree, column, links, J);
}

// (1). M: Tree::row storage.
template <class S>
CYCLOID_HD void add_row_form(const TreeView& tree, const S* J, const S& k, S* M) {
  const auto& dofs = tree.model.dofs;
  for (int i = 0; i < tree.model.nv; ++i) {
    const S scaled = k * J[i];
    for (int j = i; j >= 0; j = dofs[static_cast<std::size_t>(j)].parent) *M++ += scaled * J[j];
  }
}

// w of (3); returns Q.
template <class S>
CYCLOID_HD S row_form_weights(const TreeView& tree, const S* J, const S* mu, const S* x, S* w) {
  const auto& dofs = tree.model.dofs;
  const int nv = tree.model.nv;
  for (int i = 0; i < nv; ++i) w[i] = S(0);
  S twice(0);
  for (int i = 0; i < nv; ++i) {
    S J_x = J[i] * x[i], J_mu = J[i] * mu[i];  // over i and its ancestors
    for (int j = dofs[static_cast<std::size_t>(i)].parent; j >= 0;
         j = dofs[static_cast<std::size_t>(j)].parent) {
      J_x += J[j] * x[j];
      J_mu += J[j] * mu[j];
      w[j] += (mu[j] * x[i] + x[j] * mu[i]) * J[i];
    }
    w[i] += mu[i] * J_x + x[i] * J_mu;
  }
  for (int i = 0; i < nv; ++i) twice += J[i] * w[i];
  return twice * S(0.5);  // Q is of second degree in J
}

template <class S>
struct RowFormSpace {
  S* w;              // (nv)
  Motion<S>* field;  // (links)
  FieldSweepSpace<S> sweep;
};

// Adds the cotangents of Σ_i w_i J_i, w in space.w. pull_row(at, bar, to) is the row's pullback.
// mocap_bar: (nmocap, 6), added to.
template <class S, class P, class PullRow>
CYCLOID_HD void row_form_pullback(const TreeView& tree, const P* p, const Frames<S>& f,
                                  const S* qpos, const RowFormSpace<S>& space, PullRow pull_row,
                                  S* q_bar, S* p_bar, S* mocap_bar) {
  const FieldSweepSpace<S>& sweep = space.sweep;
  const S* const w = space.w;
  sweep.clear(tree);
  velocity_field(tree, f.column, w, space.field);
  pull_row(RowPoint<S>{f, space.field, sweep.rest, qpos, w, sweep.zeros},
           RowBars<S>{S(0), S(1), S(0)},
           RowSinks<S>{sweep.bars, q_bar, sweep.zeros, p_bar});  // (3)
  field_sweep_pullback(tree, p, f, qpos, w, space.field, sweep, q_bar, p_bar, mocap_bar);
}

}  // namespace cycloid::inline rigid
