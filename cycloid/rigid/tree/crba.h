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
// over the bodies (motion_pullback.h).
#pragma once

#include <type_traits>

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/tree/inertia.h"

namespace cycloid::inline rigid {

// (1) for the bodies that move, from the inertias of the single bodies.
template <class S>
CYCLOID_HD void composite_inertias(const TreeView& tree, const SpatialInertia<S>* inertia,
                                   SpatialInertia<S>* composite) {
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    const Body& body = tree.model.bodies[b];
    if (body.tree < 0) continue;
    SpatialInertia<S> total = inertia[b];
    if (tree.has_children[b]) total += composite[b];
    composite[b] = total;
    if (tree.root[b]) continue;
    SpatialInertia<S>& above = composite[static_cast<std::size_t>(body.parent)];
    if (tree.last_child[b]) {
      above = total;
    } else {
      above += total;  // (1)
    }
  }
}

// Rows k, k-1, … of a chain of B dofs, and how long the first of them is: the ancestor at distance
// n from k stands at of[b][n - b].
template <int B, class S>
struct ChainRows {
  S* of[B];
  int length, above;  // above: the dof before the chain, or -1

  CYCLOID_HD ChainRows(const TreeView& tree, int k, S* M)
      : length(tree.row[static_cast<std::size_t>(k) + 1] - tree.row[static_cast<std::size_t>(k)]),
        above(tree.parent_dof[static_cast<std::size_t>(k - B + 1)]) {
    for (int b = 0; b < B; ++b) of[b] = M + tree.row[static_cast<std::size_t>(k - b)];
  }
};

// Calls function(std::integral_constant<int, B>, k) for a chain of B dofs, the last of them k.
// Working on the rows of a chain at once loads what they share once.
template <class Function>
CYCLOID_INLINE void for_chain(const DofChain& chain, Function&& function) {
  switch (chain.dofs) {
    case 1: function(std::integral_constant<int, 1>{}, chain.last); break;
    case 2: function(std::integral_constant<int, 2>{}, chain.last); break;
    default: function(std::integral_constant<int, 3>{}, chain.last); break;
  }
}

// M from the composite inertias. armature: (nv).
template <class S>
CYCLOID_HD void mass_matrix(const TreeView& tree, const SpatialInertia<S>* composite,
                            const Motion<S>* column, const S* armature, S* M) {
  const auto fill_rows = [&]<int B>(std::integral_constant<int, B>, int k) {
    const ChainRows<B, S> rows(tree, k, M);
    Force<S> F[B];
    for (int b = 0; b < B; ++b) {
      F[b] = composite[tree.dof_body[static_cast<std::size_t>(k - b)]] * column[k - b];  // (2)
      *rows.of[b] = power(F[b], column[k - b]) + armature[k - b];                        // (3)
      for (int c = b + 1; c < B; ++c) rows.of[b][c - b] = power(F[b], column[k - c]);
    }
    int j = rows.above;
    for (int n = B; n < rows.length; ++n) {
      const Motion<S> S_j = column[j];
      for (int b = 0; b < B; ++b) rows.of[b][n - b] = power(F[b], S_j);
      j = tree.parent_dof[static_cast<std::size_t>(j)];
    }
  };
  for (const DofChain& chain : tree.chains) for_chain(chain, fill_rows);
}

// (4) in place, from the tips to the root. The row of ancestor i is a tail of row k.
template <class S>
CYCLOID_STAGE void factor(const TreeView& tree, S* M) {
  const auto eliminate = [&]<int B>(std::integral_constant<int, B>, int k) {
    const ChainRows<B, S> rows(tree, k, M);
    const int length = rows.length;
    S inverse[B];
    for (int b = 0; b < B; ++b) {
      S* const row = rows.of[b];
      inverse[b] = S(1) / row[0];
      row[0] = inverse[b];
      for (int c = b + 1; c < B; ++c) {
        S* const target = rows.of[c];
        const S ratio = row[c - b] * inverse[b];
        for (int n = c; n < length; ++n) target[n - c] -= ratio * row[n - b];
        row[c - b] = ratio;
      }
    }
    // C ancestors at once, the nearest of them i at distance n. Returns the next.
    const auto update = [&]<int C>(std::integral_constant<int, C>, int n, int i) {
      S* target[C];
      S ratio[C][B];
      for (int c = 0; c < C; ++c) {
        target[c] = M + tree.row[static_cast<std::size_t>(i)] - c;
        for (int b = 0; b < B; ++b) ratio[c][b] = rows.of[b][n + c - b] * inverse[b];
        i = tree.parent_dof[static_cast<std::size_t>(i)];
      }
      const auto subtract = [&](int j, int from_rows) {
        S own[B];
        for (int b = 0; b < B; ++b) own[b] = rows.of[b][j - b];
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) {
          if (c >= from_rows) break;
          S sum = target[c][j - n];
          for (int b = 0; b < B; ++b) sum -= ratio[c][b] * own[b];
          target[c][j - n] = sum;
        }
      };
#pragma GCC unroll 4
      for (int j = 0; j < C; ++j) subtract(n + j, j + 1);
      for (int j = n + C; j < length; ++j) subtract(j, C);
      for (int c = 0; c < C; ++c) {
        for (int b = 0; b < B; ++b) rows.of[b][n + c - b] = ratio[c][b];
      }
      return i;
    };
    int i = rows.above, n = B;
    for (; n + 3 <= length; n += 3) i = update(std::integral_constant<int, 3>{}, n, i);
    for (; n < length; ++n) i = update(std::integral_constant<int, 1>{}, n, i);
  };
  for (const DofChain& chain : tree.chains) for_chain(chain, eliminate);
}

// x ← M⁻¹ x for C vectors side by side: number k of vector c is x[k stride + c]. X: S, or several
// at once.
template <int C, class S, class X>
CYCLOID_HD void solve_columns(const TreeView& tree, const S* LD, int stride, X* x) {
  const auto upwards = [&]<int B>(std::integral_constant<int, B>, int k) {  // Lᵀ
    const ChainRows<B, const S> rows(tree, k, LD);
    X own[B][C];
    for (int b = 0; b < B; ++b) {
      X* const x_k = x + (k - b) * stride;
      for (int c = 0; c < C; ++c) own[b][c] = x_k[c];
      for (int a = 0; a < b; ++a) {
        for (int c = 0; c < C; ++c) own[b][c] -= rows.of[a][b - a] * own[a][c];
      }
      for (int c = 0; c < C; ++c) x_k[c] = own[b][c];
    }
    int i = rows.above;
    for (int n = B; n < rows.length; ++n) {
      X* const x_i = x + i * stride;
      for (int c = 0; c < C; ++c) {
        X sum = x_i[c];
        for (int b = 0; b < B; ++b) sum -= rows.of[b][n - b] * own[b][c];
        x_i[c] = sum;
      }
      i = tree.parent_dof[static_cast<std::size_t>(i)];
    }
  };
  const auto downwards = [&]<int B>(std::integral_constant<int, B>, int k) {  // D, then L
    const ChainRows<B, const S> rows(tree, k, LD);
    X own[B][C];
    for (int b = 0; b < B; ++b) {
      for (int c = 0; c < C; ++c) own[b][c] = x[(k - b) * stride + c] * rows.of[b][0];
    }
    int i = rows.above;
    for (int n = B; n < rows.length; ++n) {
      const X* const x_i = x + i * stride;
      for (int b = 0; b < B; ++b) {
        const S L = rows.of[b][n - b];
        for (int c = 0; c < C; ++c) own[b][c] -= L * x_i[c];
      }
      i = tree.parent_dof[static_cast<std::size_t>(i)];
    }
    for (int b = B; b-- > 0;) {
      for (int a = b + 1; a < B; ++a) {
        for (int c = 0; c < C; ++c) own[b][c] -= rows.of[b][a - b] * own[a][c];
      }
      for (int c = 0; c < C; ++c) x[(k - b) * stride + c] = own[b][c];
    }
  };
  for (const DofChain& chain : tree.chains) for_chain(chain, upwards);
  for (std::size_t c = tree.chains.size(); c-- > 0;) for_chain(tree.chains[c], downwards);
}

template <class S, class X>
CYCLOID_STAGE void solve(const TreeView& tree, const S* LD, X* x) {
  solve_columns<1>(tree, LD, 1, x);
}

}  // namespace cycloid::inline rigid
