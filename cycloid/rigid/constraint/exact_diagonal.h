// The weights of rows as they are now, in place of those at the start (MuJoCo's flag diagexact).
//
// A row's D is that of reference.h with the weight A = 1, divided by
//   A = J M⁻¹ Jᵀ,   y = M⁻¹ Jᵀ                                                                (1)
//   D = D₁/A,   and 0 where A ≤ 1e-15: a row that moves nothing                               (2)
// A contact has one A for all its rows: that of its normal row, in a pyramid that of its first
// edge, J = J₀ + g₁ J₁. Rows of other groups (connect, weld) have each their own.
//
// Pullback, given D̄:
//   Ā = -Σ D̄ D/A,   D̄₁ = D̄/A                                                               (3)
//   Φ = 2 Ā (J y) - Ā yᵀM y, whose gradient with y and Ā fixed is that of Ā A                (4)
//   ḡ₁ += 2 Ā (J₁ y)                                                                          (5)
// J y is what rows pull back with the force 2 Ā and μ = y (row_fields.h), yᵀM y the form (1) of
// motion_pullback.h without velocities: one sweep for each row.
// Source: MuJoCo's manual, Computation: Diagonal approximation.
#pragma once

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/constraint/row_fields.h"
#include "cycloid/rigid/dynamics.h"
#include "cycloid/rigid/solver/constraint_newton_pullback.h"

namespace cycloid::inline rigid {

// Memory: where the model does not ask for it, nothing.
template <class S>
struct ExactDiagonalSpace {
  S* LD;                     // (entries) the factor of M
  S *y, *Ay, *padded;        // (nv), (nv), (size)
  S *A_bar, *force, *zeros;  // (all rows)
  S* no_v_bar;               // (nv)

  void carve(const TreeView& tree, const DofBlocks& dofs, std::size_t rows, Arena& arena) {
    LD = nullptr;
    if (!tree.model.options.acting.exact_diagonal) return;
    const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
    arena.take(LD, static_cast<std::size_t>(tree.entries()));
    for (S** vector : {&y, &Ay, &no_v_bar}) arena.take(*vector, nv);
    arena.take(padded, static_cast<std::size_t>(dofs.size()));
    for (S** of_rows : {&A_bar, &force, &zeros}) arena.take(*of_rows, rows);
  }
};

// One weight: rows first … first + rows - 1, J the row `first` (a diagonal: sign at `place`), with
// g₁ times the next where `edge`.
struct WeighedRows {
  int first, rows;
  int group, in_group;  // -1: a diagonal row
  bool edge;
};

// visit(WeighedRows) for all rows of the problem whose D is a weight.
template <class S, class Visit>
CYCLOID_HD void for_each_weight(const ConstraintProblem<S>& problem, Visit visit) {
  for (int i = 0; i < problem.diagonals; ++i) visit(WeighedRows{i, 1, -1, i, false});
  for (int g = 0; g < problem.groups; ++g) {
    const RowGroup& group = problem.group[g];
    const int row = problem.group_row(g);
    if (group.law == RowLaw::given) continue;
    if (group.law == RowLaw::pyramid || group.law == RowLaw::elliptic) {
      visit(WeighedRows{row, group.rows, g, 0, group.law == RowLaw::pyramid && group.rows > 1});
      continue;
    }
    for (int i = 0; i < group.rows; ++i) visit(WeighedRows{row + i, 1, g, i, false});
  }
}

// y of (1), and J y: A.
template <class S>
CYCLOID_HD S weigh_row(const TreeView& tree, const ConstraintProblem<S>& problem,
                       const WeighedRows& at, const ExactDiagonalSpace<S>& own) {
  const int size = problem.size();
  set_zero(own.padded, size);
  if (at.group < 0) {
    own.padded[problem.diagonal[at.first].place] = problem.sign[at.first];
  } else {
    const S* const J = problem.jacobian(at.group) + at.in_group * size;
    for_each(problem.support(at.group), [&](int I) {
      for (int i = I * kBlock; i < (I + 1) * kBlock; ++i) {
        own.padded[i] = at.edge ? J[i] + problem.friction[at.first + 1] * J[size + i] : J[i];
      }
    });
  }
  unpad(*problem.dofs, static_cast<const S*>(own.padded), own.y);
  for (int k = 0; k < tree.model.nv; ++k) own.Ay[k] = own.y[k];
  solve(tree, static_cast<const S*>(own.LD), own.y);
  S A(0);
  for (int k = 0; k < tree.model.nv; ++k) A += own.Ay[k] * own.y[k];
  return A;
}

// (2), for rows that have been filled with A = 1 (ReferenceOptions::unit_weights). M: Tree::row
// storage.
template <class S>
CYCLOID_STAGE void weigh_rows(const TreeView& tree, const S* M, const ExactDiagonalSpace<S>& own,
                              const ConstraintProblem<S>& problem) {
  for (int i = 0; i < tree.entries(); ++i) own.LD[i] = M[i];
  factor(tree, own.LD);
  for_each_weight(problem, [&](const WeighedRows& at) {
    const S A = weigh_row(tree, problem, at, own);
    const Mask<S> moves = A > S(kLeastNumber);
    const S inverse = select(moves, S(1) / select(moves, A, S(1)), S(0));
    for (int i = at.first; i < at.first + at.rows; ++i) problem.D[i] *= inverse;
  });
}

// (3) and (5): D̄ becomes D̄₁; Ā is kept at the first row of each weight.
template <class S>
CYCLOID_STAGE void weigh_rows_pullback(const TreeView& tree, const ConstraintProblem<S>& problem,
                                       const ExactDiagonalSpace<S>& own,
                                       const RowCotangents<S>& bar) {
  for (int i = 0; i < problem.all_rows(); ++i) own.A_bar[i] = S(0);
  for_each_weight(problem, [&](const WeighedRows& at) {
    const S A = weigh_row(tree, problem, at, own);
    const Mask<S> moves = A > S(kLeastNumber);
    const S inverse = select(moves, S(1) / select(moves, A, S(1)), S(0));
    S A_bar(0);
    for (int i = at.first; i < at.first + at.rows; ++i) {
      A_bar -= bar.D[i] * problem.D[i] * inverse;
      bar.D[i] *= inverse;
    }
    own.A_bar[at.first] = A_bar;
    if (!at.edge) return;
    const S* const J1 = problem.jacobian(at.group) + problem.size();
    pad(*problem.dofs, static_cast<const S*>(own.y), own.padded);
    S along(0);
    for_each(problem.support(at.group), [&](int I) {
      for (int i = I * kBlock; i < (I + 1) * kBlock; ++i) along += J1[i] * own.padded[i];
    });
    bar.friction[at.first + 1] += S(2) * A_bar * along;
  });
}

}  // namespace cycloid::inline rigid
