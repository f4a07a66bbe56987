// Rows along tendons: limits and friction loss.
//
//   limit      gap and sign as in limit_rows.h (1) with the length l for the value, J = ±J_t    (1)
//   friction   x = 0, J = J_t, η = frictionloss [N]                                             (2)
// l and J_t are those of tendon.h. In each piece of a spatial tendon the dofs that move both ends
// alike have no part in J_t and are left out.
//
// Pullback: c_m = f on the field of μ, c_α = r̄ on that of q̈, c_v on the velocity, each times the
// sign with which J_t enters, and l̄ on the length: tendon_pullback, once for μ and q̇ and
// once for q̈.
#pragma once

#include "cycloid/rigid/constraint/limit_rows.h"
#include "cycloid/rigid/force/tendon.h"

namespace cycloid::inline rigid {

// J += scale J_t, padded.
template <class S, class P>
CYCLOID_HD void add_tendon_row(const TreeView& tree, const P* p, int t, const Frames<S>& f,
                               const S& scale, const DofBlocks& dofs, const int* last_dof, S* J) {
  if (is_fixed_tendon(tree, t)) {
    for_each_tendon_joint(tree, t, [&](const Joint& j, int place) {
      J[dofs.place[static_cast<std::size_t>(j.dof)]] += S(p[place]) * scale;
    });
    return;
  }
  const auto add = [&](int first, int second, const Force<S>& on_first, const Force<S>& on_second) {
    const Force<S> W[2] = {on_first, on_second};
    int k[2] = {last_dof[first], last_dof[second]};
    while (k[0] != k[1]) {
      const int end = k[1] > k[0];
      const std::size_t dof = static_cast<std::size_t>(k[end]);
      J[dofs.place[dof]] += power(W[end], f.column[dof]);
      k[end] = dofs.parent[dof];
    }
  };
  for_each_piece(tree, p, t, f, [&](const TendonPiece<S>& piece) {
    const Vec3<S> pull = piece.along.unit * (piece.share * scale);
    add(piece.body[0], piece.body[1], wrench(-pull, piece.x[0], Vec3<S>{}),
        wrench(pull, piece.x[1], Vec3<S>{}));
  });
  for_each_wrapped(tree, p, t, f, [&](const WrappedPiece<S>& piece) {
    for (int end = 0; end < 2; ++end) {
      const Vec3<S> pull = piece.d[end] * (piece.share * scale);
      add(piece.geom_body, piece.body[end], wrench(-pull, piece.from_g[end], Vec3<S>{}),
          wrench(pull, piece.x[end], Vec3<S>{}));
    }
  });
}

// The blocks that the tendon's row moves, added to `set`.
inline void add_tendon_blocks(const TreeView& tree, int t, const DofBlocks& dofs,
                              const int* last_dof, BlockSet set) {
  if (is_fixed_tendon(tree, t)) {
    for_each_tendon_joint(tree, t, [&](const Joint& j, int) {
      set.insert(dofs.place[static_cast<std::size_t>(j.dof)] / kBlock);
    });
    return;
  }
  const Tendon& tendon = tree.model.tendons[static_cast<std::size_t>(t)];
  const Wrap* const wraps = tree.model.wraps.data() + tendon.first_wrap;
  for (int w = 0; w + 1 < tendon.wraps; ++w) {
    if (wraps[w].kind == WrapKind::pulley || wraps[w + 1].kind == WrapKind::pulley) continue;
    const auto last = [&](int i) {
      const std::size_t object = static_cast<std::size_t>(wraps[i].object);
      return last_dof[is_geom(wraps[i].kind) ? tree.model.geoms[object].body
                                             : tree.model.sites[object].body];
    };
    dofs.add_chain_difference(last(w), last(w + 1), set);
  }
}

// What tendon rows share: the tree, and the last dof that moves each body.
struct TendonRowPlan {
  const TreeView& tree;
  const int* last_dof;
};

// Adds the cotangents of l̄ l + c_m (J_t μ) + c_α (J_t q̈) + c_v (J_t q̇).
template <class S, class P>
CYCLOID_HD void tendon_row_pullback(const TreeView& tree, const P* p, int t,
                                    const RowInstant<S>& at, const RowBars<S>& bar,
                                    const S& c_alpha, const RowGradient<S>& to) {
  const RowFields<S>& y = at.fields;
  const RowFieldBars<S>& bars = to.bodies;
  tendon_pullback(tree, p, t, RowPoint<S>{at.frames, y.m, y.v, at.qpos, at.mu, at.qvel}, bar,
                  RowSinks<S>{{bars.m, bars.a, bars.v, bars.pose}, to.q_bar, to.v_bar, to.p_bar});
  tendon_pullback(
      tree, p, t, RowPoint<S>{at.frames, y.alpha, y.v, at.qpos, at.qacc, at.qvel},
      RowBars<S>{S(0), c_alpha, S(0)},
      RowSinks<S>{{bars.alpha, bars.a, bars.v, bars.pose}, to.q_bar, to.v_bar, to.p_bar});
}

// One end of a tendon's limit.
struct TendonLimit {
  LimitEnd end;
  int tendon, range, support;
  double margin, weight;
  Compliance soft;
};

template <class S, class P>
CYCLOID_HD RowBlock<S> tendon_limit_block(const TendonRowPlan& plan, const TendonLimit& limit,
                                          const P* p, const RowInstant<S>& at, S& length,
                                          LimitGap<S>& gap) {
  length = tendon_length(plan.tree, p, limit.tendon, at.qpos, at.frames);
  gap = limit_gap(limit.end, p + limit.range, length);  // (1)
  RowBlock<S> block;
  take_softness(limit.soft, block);
  block.weight[0] = number<S>(limit.weight);
  block.x[0] = gap.gap - number<S>(limit.margin);
  return block;
}

// Adds the row where it counts in some lane. Returns its place in the problem, or -1.
template <class S, class P>
CYCLOID_HD int add_tendon_limit(const TendonRowPlan& plan, const TendonLimit& limit, const P* p,
                                const RowInstant<S>& at, BlockSet moved,
                                ConstraintProblem<S>& problem) {
  S length;
  LimitGap<S> gap;
  RowBlock<S> block = tendon_limit_block(plan, limit, p, at, length, gap);
  const Mask<S> counts = block.x[0] < S(0);
  if (!any(counts)) return -1;
  int row;
  S* const J = add_dense_rows(problem, RowLaw::one_sided, 1, moved, row);
  add_tendon_row(plan.tree, p, limit.tendon, at.frames, select(counts, gap.sign, S(0)),
                 *problem.dofs, plan.last_dof, J);
  block.v[0] = gap.sign * tendon_rate(plan.tree, p, limit.tendon, at.frames, at.fields.v, at.qvel);
  put_row_block(at.options, block, counts, row, problem);
  return row;
}

template <class S, class P>
CYCLOID_HD void tendon_limit_pullback(const TendonRowPlan& plan, const TendonLimit& limit,
                                      const P* p, const RowInstant<S>& at, int row,
                                      const RowResults<S>& results, const RowGradient<S>& to) {
  S length;
  LimitGap<S> gap;
  RowBlock<S> block = tendon_limit_block(plan, limit, p, at, length, gap);
  block.v[0] = gap.sign * tendon_rate(plan.tree, p, limit.tendon, at.frames, at.fields.v, at.qvel);
  const RowBlockBars<S> bar = row_block_pullback(at.options, block, row, results, to.options_bar);
  const S length_bar = limit_gap_pullback(limit.end, p + limit.range, length, bar.x[0],
                                          to.p_bar ? to.p_bar + limit.range : nullptr);
  tendon_row_pullback(plan.tree, p, limit.tendon, at,
                      RowBars<S>{length_bar, gap.sign * bar.f[0], gap.sign * bar.v[0]},
                      gap.sign * bar.r[0], to);
}

// loss: the place of η in the parameters.
struct TendonFriction {
  int tendon, loss, support;
  double weight;
  Compliance soft;
};

template <class S, class P>
CYCLOID_HD RowBlock<S> tendon_friction_block(const TendonRowPlan& plan,
                                             const TendonFriction& friction, const P* p,
                                             const RowInstant<S>& at) {
  RowBlock<S> block;
  block.stiff = false;
  take_softness(friction.soft, block);
  block.weight[0] = number<S>(friction.weight);
  block.v[0] = tendon_rate(plan.tree, p, friction.tendon, at.frames, at.fields.v, at.qvel);  // (2)
  return block;
}

// Returns the row's place in the problem.
template <class S, class P>
CYCLOID_HD int add_tendon_friction(const TendonRowPlan& plan, const TendonFriction& friction,
                                   const P* p, const RowInstant<S>& at, BlockSet moved,
                                   ConstraintProblem<S>& problem) {
  int row;
  S* const J = add_dense_rows(problem, RowLaw::friction_loss, 1, moved, row);
  add_tendon_row(plan.tree, p, friction.tendon, at.frames, S(1), *problem.dofs, plan.last_dof, J);
  put_row_block(at.options, tendon_friction_block(plan, friction, p, at), Mask<S>(true), row,
                problem);
  problem.friction[row] = S(p[friction.loss]);
  return row;
}

template <class S, class P>
CYCLOID_HD void tendon_friction_pullback(const TendonRowPlan& plan, const TendonFriction& friction,
                                         const P* p, const RowInstant<S>& at, int row,
                                         const RowResults<S>& results, const RowGradient<S>& to) {
  const RowBlock<S> block = tendon_friction_block(plan, friction, p, at);
  const RowBlockBars<S> bar = row_block_pullback(at.options, block, row, results, to.options_bar);
  tendon_row_pullback(plan.tree, p, friction.tendon, at, RowBars<S>{S(0), bar.f[0], bar.v[0]},
                      bar.r[0], to);
  if (to.p_bar) to.p_bar[friction.loss] += results.friction_bar[row];
}

}  // namespace cycloid::inline rigid
