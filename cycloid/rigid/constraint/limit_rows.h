// Limits of joints: hinge and slide between two ends, ball within a cone about its reference.
//
// A row counts in a lane while its gap is below the joint's margin; x = gap - margin.
//   hinge, slide   low end: gap = q - low, J = +e_k;   high end: gap = high - q, J = -e_k     (1)
//   ball           φ = log(quat),  u = φ/|φ|,  gap = max(range) - |φ|,  J = -uᵀ on its dofs     (2)
// With a margin of zero or less the two ends cannot count at once: then there is one row, that of
// the nearer end. A ball at its reference turns about x for want of a direction; the derivative of
// u is zero there. Where both numbers of a ball's range are the same, the first has the cotangent.
//
// Pullback: J of (1) is constant, so that only gap and velocity carry anything. Of (2), with
// Jr = rotation.h (5), and (μ, q̈, q̇) those of the joint:
//   ū = -(f μ + r̄ q̈ + v̄ q̇),   φ̄ = -gap¯ u + (ū - u(u·ū))/|φ|,   q̄ += Jr⁻ᵀ(φ) φ̄           (3)
#pragma once

#include "cycloid/rigid/constraint/row_block.h"

namespace cycloid::inline rigid {

enum class LimitEnd : std::uint8_t { low, high, nearer };

// A limit of one number: a joint's coordinate, a tendon's length.
template <class S>
struct LimitGap {
  S sign, gap;
  Mask<S> low;
};

// range: low and high.
template <class S, class P>
CYCLOID_INLINE LimitGap<S> limit_gap(LimitEnd end, const P* range, const S& value) {
  const S above = value - S(range[0]), below = S(range[1]) - value;
  const Mask<S> low = end == LimitEnd::nearer ? above <= below : Mask<S>(end == LimitEnd::low);
  return {select(low, S(1), S(-1)), select(low, above, below), low};  // (1)
}

// Returns the cotangent of the value; range_bar may be null.
template <class S, class P>
CYCLOID_INLINE S limit_gap_pullback(LimitEnd end, const P* range, const S& value, const S& gap_bar,
                                    S* range_bar) {
  const LimitGap<S> at = limit_gap(end, range, value);
  if (range_bar) {
    range_bar[0] -= select(at.low, gap_bar, S(0));
    range_bar[1] += select(at.low, S(0), gap_bar);
  }
  return at.sign * gap_bar;
}

// How many rows a limit has: visit(end) for each.
template <class Visit>
void for_each_limit_end(double margin, Visit visit) {
  if (margin <= 0) return visit(LimitEnd::nearer);
  visit(LimitEnd::low);
  visit(LimitEnd::high);
}

// One end of a hinge or slide. qpos, dof: places in the state; range: in the parameters.
struct JointLimit {
  LimitEnd end;
  int qpos, dof, range;
  double margin, weight;
  Compliance soft;
};

template <class S, class P>
CYCLOID_HD LimitGap<S> joint_limit_block(const JointLimit& limit, const P* p,
                                         const RowInstant<S>& at, RowBlock<S>& block) {
  const LimitGap<S> gap = limit_gap(limit.end, p + limit.range, at.qpos[limit.qpos]);
  take_softness(limit.soft, block);
  block.weight[0] = number<S>(limit.weight);
  block.x[0] = gap.gap - number<S>(limit.margin);
  block.v[0] = gap.sign * at.qvel[limit.dof];
  return gap;
}

// Adds the row where it counts in some lane. Returns its place in the problem, or -1.
template <class S, class P>
CYCLOID_HD int add_joint_limit(const JointLimit& limit, const P* p, const RowInstant<S>& at,
                               ConstraintProblem<S>& problem) {
  const LimitGap<S> gap = limit_gap(limit.end, p + limit.range, at.qpos[limit.qpos]);
  const Mask<S> counts = gap.gap < number<S>(limit.margin);
  if (!any(counts)) return -1;
  RowBlock<S> block;
  joint_limit_block(limit, p, at, block);
  const int row = problem.add_diagonal(RowLaw::one_sided,
                                       problem.dofs->place[static_cast<std::size_t>(limit.dof)]);
  problem.sign[row] = select(counts, gap.sign, S(0));
  put_row_block(at.options, block, counts, row, problem);
  return row;
}

template <class S, class P>
CYCLOID_HD void joint_limit_pullback(const JointLimit& limit, const P* p, const RowInstant<S>& at,
                                     int row, const RowResults<S>& results,
                                     const RowGradient<S>& to) {
  RowBlock<S> block;
  const LimitGap<S> gap = joint_limit_block(limit, p, at, block);
  const RowBlockBars<S> bar = row_block_pullback(at.options, block, row, results, to.options_bar);
  to.v_bar[limit.dof] += gap.sign * bar.v[0];
  to.q_bar[limit.dof] += limit_gap_pullback(limit.end, p + limit.range, at.qpos[limit.qpos],
                                            bar.x[0], to.p_bar ? to.p_bar + limit.range : nullptr);
}

// The limit of a ball joint. support: the set of blocks of its dofs.
struct BallLimit {
  int qpos, dof, range, support;
  double margin, weight;
  Compliance soft;
};

// φ, |φ| and u of (2).
template <class S>
struct BallTurn {
  Vec3<S> phi, u;
  S angle, inverse;

  CYCLOID_HD explicit BallTurn(const S* quat) : phi(quaternion_log(load_quat(quat))) {
    const UnitAndNorm<S, 3> along = unit_and_norm(phi);
    u = along.unit;
    u.x = select(along.norm == S(0), S(1), u.x);
    angle = along.norm;
    inverse = along.inverse;
  }
};

template <class S, class P>
CYCLOID_HD RowBlock<S> ball_limit_block(const BallLimit& limit, const P* p, const RowInstant<S>& at,
                                        const BallTurn<S>& turn) {
  RowBlock<S> block;
  const S reach = max(S(p[limit.range + 1]), S(p[limit.range]));
  take_softness(limit.soft, block);
  block.weight[0] = number<S>(limit.weight);
  block.x[0] = reach - turn.angle - number<S>(limit.margin);  // (2)
  block.v[0] = -dot(turn.u, load_vec3(at.qvel + limit.dof));
  return block;
}

// Adds the row where it counts in some lane. Returns its place in the problem, or -1.
template <class S, class P>
CYCLOID_HD int add_ball_limit(const BallLimit& limit, const P* p, const RowInstant<S>& at,
                              BlockSet moved, ConstraintProblem<S>& problem) {
  const BallTurn<S> turn(at.qpos + limit.qpos);
  const RowBlock<S> block = ball_limit_block(limit, p, at, turn);
  const Mask<S> counts = block.x[0] < S(0);
  if (!any(counts)) return -1;
  int row;
  S* const J = add_dense_rows(problem, RowLaw::one_sided, 1, moved, row);
  for (int k = 0; k < 3; ++k) {
    J[problem.dofs->place[static_cast<std::size_t>(limit.dof + k)]] =
        select(counts, -turn.u[k], S(0));
  }
  put_row_block(at.options, block, counts, row, problem);
  return row;
}

template <class S, class P>
CYCLOID_HD void ball_limit_pullback(const BallLimit& limit, const P* p, const RowInstant<S>& at,
                                    int row, const RowResults<S>& results,
                                    const RowGradient<S>& to) {
  const BallTurn<S> turn(at.qpos + limit.qpos);
  const RowBlock<S> block = ball_limit_block(limit, p, at, turn);
  const RowBlockBars<S> bar = row_block_pullback(at.options, block, row, results, to.options_bar);
  const Vec3<S> u_bar =
      -(load_vec3(at.mu + limit.dof) * bar.f[0] + load_vec3(at.qacc + limit.dof) * bar.r[0] +
        load_vec3(at.qvel + limit.dof) * bar.v[0]);
  const Vec3<S> phi_bar = (u_bar - turn.u * dot(turn.u, u_bar)) * turn.inverse - turn.u * bar.x[0];
  add_to(to.q_bar + limit.dof, right_jacobian_inverse_apply(-turn.phi, phi_bar));  // (3)
  add_to(to.v_bar + limit.dof, -turn.u * bar.v[0]);
  if (!to.p_bar) return;
  const Mask<S> second = S(p[limit.range + 1]) > S(p[limit.range]);
  to.p_bar[limit.range] += select(second, S(0), bar.x[0]);
  to.p_bar[limit.range + 1] += select(second, bar.x[0], S(0));
}

}  // namespace cycloid::inline rigid
