// The mass matrix M by the composite rigid body algorithm, its factor, and solves.
//
//   I^c_b = I_b + Σ_children I^c                      (1)  composite inertia
//   F_k   = I^c_b S_k                                 (2)  dof k of body b
//   M_kj  = S_j · F_k + δ_kj armature_k               (3)  j = k and its ancestors
//   M = Lᵀ D L                                        (4)  L unit lower triangular, M's sparsity
// Storage: Tree::row; after `factor` the diagonal holds 1/D and the rest of a row holds L. The
// factor has no fill-in (Featherstone2008, ch. 6). M is positive definite for bodies with mass;
// where it is not, the numbers go non-finite, and the step says so.
//
// Neither M nor its factor is differentiated: the pullback of a solve is the implicit rule, a sweep
// over the bodies (sweep.h).
#pragma once

#include "cycloid/rigid/inertia.h"

namespace cycloid::inline rigid {

// (1) in place: `composite` (bodies) holds I_b on entry. The world's entry stays as it is.
template <class S>
void composite_inertias(const Tree& tree, MomentInertia<S>* composite) {
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    const Body& body = tree.model.bodies[b];
    if (body.tree >= 0 && !tree.root[b]) {
      composite[static_cast<std::size_t>(body.parent)] += composite[b];  // (1)
    }
  }
}

// M from the composite inertias. armature: (nv).
template <class S>
void mass_matrix(const Tree& tree, const MomentInertia<S>* composite, const Motion<S>* column,
                 const S* armature, S* M) {
  for (int k = 0; k < tree.model.nv; ++k) {
    const Dof& dof = tree.model.dofs[static_cast<std::size_t>(k)];
    const Force<S> F = composite[static_cast<std::size_t>(dof.body)] * column[k];  // (2)
    S* row = M + tree.row[static_cast<std::size_t>(k)];
    *row++ = power(F, column[k]) + armature[k];  // (3)
    for (int j = dof.parent; j >= 0; j = tree.model.dofs[static_cast<std::size_t>(j)].parent) {
      *row++ = power(F, column[j]);
    }
  }
}

// (4) in place, from the tips to the root. The row of ancestor i is a tail of row k.
template <class S>
void factor(const Tree& tree, S* M) {
  for (int k = tree.model.nv - 1; k >= 0; --k) {
    S* const row = M + tree.row[static_cast<std::size_t>(k)];
    const int length =
        tree.row[static_cast<std::size_t>(k) + 1] - tree.row[static_cast<std::size_t>(k)];
    const S inverse = S(1) / row[0];
    int i = tree.model.dofs[static_cast<std::size_t>(k)].parent;
    for (int n = 1; n < length; ++n) {
      S* const target = M + tree.row[static_cast<std::size_t>(i)];
      const S ratio = row[n] * inverse;
      for (int j = n; j < length; ++j) target[j - n] -= ratio * row[j];
      i = tree.model.dofs[static_cast<std::size_t>(i)].parent;
    }
    row[0] = inverse;
    for (int n = 1; n < length; ++n) row[n] *= inverse;
  }
}

// x ← M⁻¹ x.
template <class S>
void solve(const Tree& tree, const S* LD, S* x) {
  const auto& dofs = tree.model.dofs;
  for (int k = tree.model.nv - 1; k >= 0; --k) {  // Lᵀ
    const S* row = LD + tree.row[static_cast<std::size_t>(k)] + 1;
    const S x_k = x[k];
    for (int i = dofs[static_cast<std::size_t>(k)].parent; i >= 0;
         i = dofs[static_cast<std::size_t>(i)].parent) {
      x[i] -= *row++ * x_k;
    }
  }
  for (int k = 0; k < tree.model.nv; ++k) {  // D, then L
    const S* row = LD + tree.row[static_cast<std::size_t>(k)];
    S x_k = x[k] * *row++;
    for (int i = dofs[static_cast<std::size_t>(k)].parent; i >= 0;
         i = dofs[static_cast<std::size_t>(i)].parent) {
      x_k -= *row++ * x[i];
    }
    x[k] = x_k;
  }
}

}  // namespace cycloid::inline rigid
