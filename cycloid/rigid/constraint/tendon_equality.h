// Equality of tendons: the length of one follows a polynomial of the length of another.
//
//   joint_equality.h (1), (2) with y = l - l₀, J = J_t;   l₀ the length at qpos0, constant    (1)
// The pullback is joint_equality.h (3) and then that of both tendons' rows (tendon_rows.h).
#pragma once

#include "cycloid/rigid/constraint/joint_equality.h"
#include "cycloid/rigid/constraint/tendon_rows.h"

namespace cycloid::inline rigid {

// tendon[1]: -1 without a second.
struct TendonEquality {
  int tendon[2], support;
  double length0[2], weight;
  EqualityPlaces at;
};

template <class S, class P>
CYCLOID_HD RowBlock<S> tendon_equality_block(const TendonRowPlan& plan, const TendonEquality& e,
                                             const P* p, const RowInstant<S>& at, S& y2,
                                             Coupling<S>& bond) {
  const auto stretch = [&](int i) {
    return tendon_length(plan.tree, p, e.tendon[i], at.qpos, at.frames) - number<S>(e.length0[i]);
  };
  const auto rate = [&](int i) {
    return tendon_rate(plan.tree, p, e.tendon[i], at.frames, at.fields.v, at.qvel);
  };
  const bool second = e.tendon[1] >= 0;
  y2 = second ? stretch(1) : S(0);
  bond = coupling(p + e.at.data, y2);
  RowBlock<S> block;
  block.soft = softness_at<S>(e.at, p);
  block.weight[0] = number<S>(e.weight);
  block.x[0] = stretch(0) - bond.value;  // (1)
  block.v[0] = rate(0);
  if (second) block.v[0] -= bond.slope * rate(1);
  return block;
}

// Returns the row's place in the problem.
template <class S, class P>
CYCLOID_HD int add_tendon_equality(const TendonRowPlan& plan, const TendonEquality& e, const P* p,
                                   const RowInstant<S>& at, BlockSet moved,
                                   ConstraintProblem<S>& problem) {
  S y2;
  Coupling<S> bond;
  const RowBlock<S> block = tendon_equality_block(plan, e, p, at, y2, bond);
  int row;
  S* const J = add_dense_rows(problem, RowLaw::equality, 1, moved, row);
  for (int i = 0; i < 2 && e.tendon[i] >= 0; ++i) {
    add_tendon_row(plan.tree, p, e.tendon[i], at.frames, i == 0 ? S(1) : -bond.slope, *problem.dofs,
                   plan.last_dof, J);
  }
  put_row_block(at.options, block, Mask<S>(true), row, problem);
  return row;
}

template <class S, class P>
CYCLOID_HD void tendon_equality_pullback(const TendonRowPlan& plan, const TendonEquality& e,
                                         const P* p, const RowInstant<S>& at, int row,
                                         const RowResults<S>& results, const RowGradient<S>& to) {
  S y2;
  Coupling<S> bond;
  const RowBlock<S> block = tendon_equality_block(plan, e, p, at, y2, bond);
  const RowBlockBars<S> bar = row_block_pullback(at.options, block, row, results, to.options_bar);
  const S &f = bar.f[0], &r = bar.r[0], &v = bar.v[0];
  S s = S(0);
  if (e.tendon[1] >= 0) {
    const auto rate = [&](const Motion<S>* field, const S* x) {
      return tendon_rate(plan.tree, p, e.tendon[1], at.frames, field, x);
    };
    s = f * rate(at.fields.m, at.mu) + r * rate(at.fields.alpha, at.qacc) +
        v * rate(at.fields.v, at.qvel);
  }
  const S y2_bar =
      coupling_pullback(p + e.at.data, y2, bar.x[0], s, to.p_bar ? to.p_bar + e.at.data : nullptr);
  tendon_row_pullback(plan.tree, p, e.tendon[0], at, RowBars<S>{bar.x[0], f, v}, r, to);
  if (e.tendon[1] >= 0) {
    tendon_row_pullback(plan.tree, p, e.tendon[1], at,
                        RowBars<S>{y2_bar, -bond.slope * f, -bond.slope * v}, -bond.slope * r, to);
  }
  add_softness(e.at, bar.soft, to.p_bar);
}

}  // namespace cycloid::inline rigid
