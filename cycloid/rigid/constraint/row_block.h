// Rows into the constraint problem and back: what all kinds of rows but contacts share.
//
// A block of n rows shares one impedance (reference.h). Each row has a residual x, a velocity
// v = J q̇ and a weight A. Its pullback starts from what the solver left (row_fields.h) and ends at
// the cotangents of x, v and of the softness:
//   (a_ref, D)(x, v, softness, h)   ⇒   x̄, v̄, softness¯, h¯                                  (1)
// In a lane in which a row does not count, D, a_ref and the row of J are zero. Then w = J μ, and
// with it every cotangent of the row, is zero too: the way back need not ask which lanes count.
#pragma once

#include "cycloid/rigid/constraint/row_fields.h"
#include "cycloid/rigid/force/passive.h"

namespace cycloid::inline rigid {

// Numbers of n rows; `stiff`: the residual is pushed back, as it is not by friction loss.
template <class S>
struct RowBlock {
  int rows = 1;
  bool stiff = true;
  bool constant = false;  // the softness is, and has no cotangent
  Softness<S> soft;
  S weight[kMostRows] = {}, x[kMostRows] = {}, v[kMostRows] = {};
};

// f and r̄ of the rows, and the cotangents of (1).
template <class S>
struct RowBlockBars {
  S f[kMostRows], r[kMostRows], x[kMostRows], v[kMostRows];  // (rows)
  Softness<S> soft;
};

// The softness of a limit or of friction loss, a constant of the model.
template <class S>
CYCLOID_INLINE void take_softness(const Compliance& from, RowBlock<S>& block) {
  block.constant = true;
  for (std::size_t i = 0; i < 2; ++i) block.soft.solref[i] = number<S>(from.solref[i]);
  for (std::size_t i = 0; i < 5; ++i) block.soft.solimp[i] = number<S>(from.solimp[i]);
}

// That of an equality, from the parameters.
template <class S, class P>
CYCLOID_INLINE Softness<S> softness_at(const EqualityPlaces& at, const P* p) {
  Softness<S> soft;
  for (int i = 0; i < 2; ++i) soft.solref[i] = S(p[at.solref + i]);
  for (int i = 0; i < 5; ++i) soft.solimp[i] = S(p[at.solimp + i]);
  return soft;
}
template <class S>
CYCLOID_INLINE void add_softness(const EqualityPlaces& at, const Softness<S>& bar, S* p_bar) {
  if (!p_bar) return;
  for (int i = 0; i < 2; ++i) p_bar[at.solref + i] += bar.solref[i];
  for (int i = 0; i < 5; ++i) p_bar[at.solimp + i] += bar.solimp[i];
}

// (1) into rows row, row + 1, … of the problem, in the lanes that count.
template <class S>
CYCLOID_HD void put_row_block(const ReferenceOptions<S>& options, const RowBlock<S>& block,
                              const Mask<S>& counts, int row, const ConstraintProblem<S>& problem) {
  S D[kMostRows], a_ref[kMostRows];
  block_reference(block.rows, block.stiff, options, block.soft, block.weight, block.x, block.v, D,
                  a_ref);
  for (int i = 0; i < block.rows; ++i) {
    problem.D[row + i] = select(counts, D[i], S(0));
    problem.a_ref[row + i] = select(counts, a_ref[i], S(0));
    problem.friction[row + i] = S(0);
  }
}

template <class S>
CYCLOID_HD RowBlockBars<S> row_block_pullback(const ReferenceOptions<S>& options,
                                              const RowBlock<S>& block, int row,
                                              const RowResults<S>& results,
                                              ReferenceOptions<S>& options_bar) {
  RowBlockBars<S> bar;
  S weight_bar[kMostRows];  // weights are constants
  for (int i = 0; i < block.rows; ++i) {
    weight_bar[i] = bar.x[i] = bar.v[i] = S(0);
    bar.f[i] = results.f[row + i];
    bar.r[i] = results.r_bar[row + i];
  }
  block_reference_pullback(block.rows, block.stiff, options, block.soft, block.weight, block.x,
                           block.v, results.D_bar + row, results.a_ref_bar + row, options_bar,
                           block.constant ? nullptr : &bar.soft, weight_bar, bar.x, bar.v);  // (1)
  return bar;
}

// Adds a group of rows that move the blocks `moved`; J is zero there. Returns the first of its J.
template <class S>
CYCLOID_HD S* add_dense_rows(ConstraintProblem<S>& problem, RowLaw law, int rows, BlockSet moved,
                             int& row) {
  row = problem.add_group(law, rows);
  const int g = problem.groups - 1, size = problem.size();
  problem.touch(g, moved);
  S* const J = problem.jacobian(g);
  for_each(moved, [&](int I) {
    for (int i = 0; i < rows; ++i) {
      for (int k = 0; k < kBlock; ++k) J[i * size + I * kBlock + k] = S(0);
    }
  });
  return J;
}

// visit(place, column) for the dofs that move a body, from its last dof (-1: none) to the root.
template <class S, class Visit>
CYCLOID_INLINE void for_each_column(const DofBlocks& dofs, int last, const Motion<S>* column,
                                    Visit visit) {
  for (int k = last; k >= 0; k = dofs.parent[static_cast<std::size_t>(k)]) {
    visit(dofs.place[static_cast<std::size_t>(k)], column[k]);
  }
}

}  // namespace cycloid::inline rigid
