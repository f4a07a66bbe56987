// The slope of the bias force in the velocity, which the integrator `implicit` takes into its
// matrix, and the solves with that matrix, which is not symmetric.
//
//   C = ∂c/∂q̇   by (7) and (9) of rnea_jacobian.h, on the sparsity of the mass matrix       (1)
//   A = M + h B + h C = (1 + U) L,   U above and L below the diagonal                         (2)
// A dof is eliminated after all dofs behind it, so that nothing fills in. Rows of L stand as those
// of the mass matrix do (Tree::row), with the inverse of the diagonal; columns of U alike.
//
// c is of second degree in q̇ but for gravity. Without gravity, c₀(v), and for any vector x
//   h C x = c₀(v + h x) - c₀(v) - c₀(h x)                                                    (3)
// so that the pullback of -h λᵀ C x is that of three sweeps of motion_pullback.h without q̈, λ,
// -λ and -λ for μ; x is held fixed.
#pragma once

#include "cycloid/rigid/tree/motion_pullback.h"
#include "cycloid/rigid/tree/rnea_jacobian.h"

namespace cycloid::inline rigid {

template <class S>
struct BiasSlopeSpace {
  S* upper;                     // (entries) U
  RneaJacobianSpace<S> rnea;    // form and phi_dot
  Motion<S>*m, *v, *a;          // (links)
  S *lambda, *rate, *rate_bar;  // (nv)
  S* zeros;                     // (nv)
};

// Adds h C: what is below the diagonal, and on it, to L, what is above to U.
template <class S>
CYCLOID_HD void add_bias_slope(const TreeView& tree, const Motion<S>* column,
                               const SpatialInertia<S>* inertia, const SpatialInertia<S>* composite,
                               const Motion<S>* v, const S& h, const RneaJacobianSpace<S>& space,
                               S* L, S* U) {
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    space.form[b] = velocity_form(inertia[b], v[tree.last_link[b]]);
  }
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    if (tree.model.bodies[b].tree < 0 || tree.root[b]) continue;
    space.form[tree.model.bodies[b].parent] += space.form[b];
  }
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    const int first = link.dof, end = first + dof_numbers(link.kind);
    const SpatialInertia<S>& I = composite[link.body];
    const VelocityForm<S>& D = space.form[link.body];
    for (int i = first; i < end; ++i) {
      space.phi_dot[i] = cross_motion(v[l] + v[link.parent], column[i]);
    }
    for (int i = first; i < end; ++i) {
      const Force<S> own = I * column[i];
      const Vec3<S> W = apply(D, column[i]);
      Force<S> by_v = I * space.phi_dot[i];
      by_v += apply_transposed(D, column[i]);
      int at = tree.row[static_cast<std::size_t>(i)];
      for (int j = i; j >= 0; j = tree.parent_dof[static_cast<std::size_t>(j)], ++at) {
        L[at] += h * (power(own, space.phi_dot[j]) + dot(W, column[j].angular));  // (7) there
        if (j != i) U[at] += h * power(by_v, column[j]);                          // (9) there
      }
    }
  }
}

// (2), in place.
template <class S>
CYCLOID_HD void factor_unsymmetric(const TreeView& tree, S* L, S* U) {
  for (int k = tree.model.nv - 1; k >= 0; --k) {
    S *const row = L + tree.row[static_cast<std::size_t>(k)],
             *const above = U + tree.row[static_cast<std::size_t>(k)];
    const int length =
        tree.row[static_cast<std::size_t>(k) + 1] - tree.row[static_cast<std::size_t>(k)];
    row[0] = S(1) / row[0];
    int i = k;
    for (int n = 1; n < length; ++n) {
      i = tree.parent_dof[static_cast<std::size_t>(i)];
      above[n] *= row[0];
      S* const lower = L + tree.row[static_cast<std::size_t>(i)];
      for (int m = n; m < length; ++m) lower[m - n] -= above[n] * row[m];  // A_ij, j ≤ i
      int j = k;
      for (int m = 1; m < n; ++m) {  // A_ij, j behind i
        j = tree.parent_dof[static_cast<std::size_t>(j)];
        U[tree.row[static_cast<std::size_t>(j)] + n - m] -= above[n] * row[m];
      }
    }
  }
}

// x ← A⁻¹ x.
template <class S>
CYCLOID_HD void solve_unsymmetric(const TreeView& tree, const S* L, const S* U, S* x) {
  for (int k = tree.model.nv - 1; k >= 0; --k) {
    const S* above = U + tree.row[static_cast<std::size_t>(k)];
    for (int i = tree.parent_dof[static_cast<std::size_t>(k)]; i >= 0;
         i = tree.parent_dof[static_cast<std::size_t>(i)]) {
      x[i] -= *++above * x[k];
    }
  }
  for (int k = 0; k < tree.model.nv; ++k) {
    const S* row = L + tree.row[static_cast<std::size_t>(k)];
    const S inverse = *row;
    for (int j = tree.parent_dof[static_cast<std::size_t>(k)]; j >= 0;
         j = tree.parent_dof[static_cast<std::size_t>(j)]) {
      x[k] -= *++row * x[j];
    }
    x[k] *= inverse;
  }
}

// x ← A⁻ᵀ x.
template <class S>
CYCLOID_HD void solve_unsymmetric_transposed(const TreeView& tree, const S* L, const S* U, S* x) {
  for (int k = tree.model.nv - 1; k >= 0; --k) {
    const S* row = L + tree.row[static_cast<std::size_t>(k)];
    x[k] *= *row;
    for (int j = tree.parent_dof[static_cast<std::size_t>(k)]; j >= 0;
         j = tree.parent_dof[static_cast<std::size_t>(j)]) {
      x[j] -= *++row * x[k];
    }
  }
  for (int k = 0; k < tree.model.nv; ++k) {
    const S* above = U + tree.row[static_cast<std::size_t>(k)];
    for (int i = tree.parent_dof[static_cast<std::size_t>(k)]; i >= 0;
         i = tree.parent_dof[static_cast<std::size_t>(i)]) {
      x[k] -= *++above * x[i];
    }
  }
}

// Where a robot is, as sweeps look at it.
template <class S>
struct BiasSlopePoint {
  const TreeView& tree;
  const Frames<S>& frames;
  const SpatialInertia<S>* inertia;
  const S *qpos, *qvel;
};

// The pullback of -h λᵀ C x by (3). bars: (bodies), sweep_mocap: (nmocap, 6), used up. Adds to
// q_bar, v_bar (nv), h_bar, mocap_bar, and to p_bar unless it is null.
template <class S, class P>
CYCLOID_HD void bias_slope_pullback(const BiasSlopePoint<S>& at, const P* p, const S& h,
                                    const S* lambda, const S* x, const BiasSlopeSpace<S>& space,
                                    const BodyBars<S>& bars, S* sweep_mocap, S* q_bar, S* v_bar,
                                    S& h_bar, S* p_bar, S* mocap_bar) {
  const TreeView& tree = at.tree;
  const int nv = tree.model.nv;
  const Motion<S>* const column = at.frames.column;
  for (int k = 0; k < nv; ++k) space.zeros[k] = S(0);
  // a v + b h x for the velocity, and the sign of μ.
  const struct {
    int v, x, sign;
  } terms[] = {{1, 1, 1}, {1, 0, -1}, {0, 1, -1}};
  for (const auto& term : terms) {
    for (int k = 0; k < nv; ++k) {
      space.lambda[k] = lambda[k] * S(term.sign);
      space.rate[k] = (term.v ? at.qvel[k] : S(0)) + (term.x ? h * x[k] : S(0));
      space.rate_bar[k] = S(0);
    }
    velocity_field(tree, column, static_cast<const S*>(space.lambda), space.m);
    motion_fields(tree, column, static_cast<const S*>(space.rate), static_cast<const S*>(nullptr),
                  Vec3<S>{}, space.v, space.a);
    const SweepPoint<S> point{tree,    at.frames, at.inertia, space.v,     space.a,
                              space.m, at.qpos,   space.rate, space.zeros, space.lambda};
    sweep_pullback(point, p, bars, q_bar, space.rate_bar, p_bar, sweep_mocap, false);
    for (int k = 0; k < nv; ++k) {
      if (term.v) v_bar[k] += space.rate_bar[k];
      if (term.x) h_bar += space.rate_bar[k] * x[k];
    }
    for (int i = 0; i < 6 * tree.model.nmocap; ++i) mocap_bar[i] += sweep_mocap[i];
  }
}

}  // namespace cycloid::inline rigid
