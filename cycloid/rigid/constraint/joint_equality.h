// Coupling of two numbers, and the equality of joints: the first follows a polynomial of the
// second.
//
//   x = y₁ - P(y₂),   P(y) = d₀ + d₁ y + d₂ y² + d₃ y³ + d₄ y⁴                                  (1)
//   J = J₁ - P'(y₂) J₂                                                                          (2)
// y is a joint's coordinate or a tendon's length less that at qpos0. Without a second object,
// y₂ = 0 and J₂ = 0: the first is held at d₀. d stands in the equality's data.
//
// Pullback of row_fields.h (1), with s = f (J₂ μ) + r̄ (J₂ q̈) + v̄ (J₂ q̇) of the second object:
//   ȳ₁ = x̄,   ȳ₂ = -P' x̄ - P'' s,   d̄_k -= y₂ᵏ x̄ + k y₂ᵏ⁻¹ s                                (3)
// and f, r̄, v̄ on J₁, -P' times as much on J₂.
#pragma once

#include "cycloid/rigid/constraint/row_block.h"

namespace cycloid::inline rigid {

inline constexpr int kCouplingNumbers = 5;

// P and its derivatives.
template <class S>
struct Coupling {
  S value, slope, bend;
};

template <class S, class P>
CYCLOID_INLINE Coupling<S> coupling(const P* d, const S& y) {
  const S d1 = S(d[1]), d2 = S(d[2]), d3 = S(d[3]), d4 = S(d[4]);
  return {S(d[0]) + y * (d1 + y * (d2 + y * (d3 + y * d4))),
          d1 + y * (S(2) * d2 + y * (S(3) * d3 + y * S(4) * d4)),
          S(2) * d2 + y * (S(6) * d3 + y * S(12) * d4)};
}

// (3), with x̄ and s; returns ȳ₂. d_bar may be null.
template <class S, class P>
CYCLOID_INLINE S coupling_pullback(const P* d, const S& y, const S& x_bar, const S& s, S* d_bar) {
  const Coupling<S> at = coupling(d, y);
  if (d_bar) {
    S power = S(1), below = S(0);  // yᵏ and k yᵏ⁻¹
    for (int k = 0; k < kCouplingNumbers; ++k) {
      d_bar[k] -= power * x_bar + below * s;
      below = S(k + 1) * power;
      power *= y;
    }
  }
  return -at.slope * x_bar - at.bend * s;
}

// joint: places of the two coordinates, -1 without a second. support: the set of their blocks.
struct JointEquality {
  int qpos[2], dof[2], support;
  double zero[2], weight;
  EqualityPlaces at;
};

template <class S, class P>
CYCLOID_HD RowBlock<S> joint_equality_block(const JointEquality& e, const P* p,
                                            const RowInstant<S>& at, S& y2, Coupling<S>& bond) {
  const bool second = e.dof[1] >= 0;
  y2 = second ? at.qpos[e.qpos[1]] - number<S>(e.zero[1]) : S(0);
  bond = coupling(p + e.at.data, y2);
  RowBlock<S> block;
  block.soft = softness_at<S>(e.at, p);
  block.weight[0] = number<S>(e.weight);
  block.x[0] = at.qpos[e.qpos[0]] - number<S>(e.zero[0]) - bond.value;  // (1)
  block.v[0] = at.qvel[e.dof[0]];
  if (second) block.v[0] -= bond.slope * at.qvel[e.dof[1]];  // (2)
  return block;
}

// Returns the row's place in the problem.
template <class S, class P>
CYCLOID_HD int add_joint_equality(const JointEquality& e, const P* p, const RowInstant<S>& at,
                                  BlockSet moved, ConstraintProblem<S>& problem) {
  S y2;
  Coupling<S> bond;
  const RowBlock<S> block = joint_equality_block(e, p, at, y2, bond);
  int row;
  S* const J = add_dense_rows(problem, RowLaw::equality, 1, moved, row);
  const auto entry = [&](int i) -> S& {
    return J[problem.dofs->place[static_cast<std::size_t>(e.dof[i])]];
  };
  entry(0) += S(1);
  if (e.dof[1] >= 0) entry(1) -= bond.slope;
  put_row_block(at.options, block, Mask<S>(true), row, problem);
  return row;
}

template <class S, class P>
CYCLOID_HD void joint_equality_pullback(const JointEquality& e, const P* p, const RowInstant<S>& at,
                                        int row, const RowResults<S>& results,
                                        const RowGradient<S>& to) {
  S y2;
  Coupling<S> bond;
  const RowBlock<S> block = joint_equality_block(e, p, at, y2, bond);
  const RowBlockBars<S> bar = row_block_pullback(at.options, block, row, results, to.options_bar);
  const int k = e.dof[1];
  S s = S(0);
  if (k >= 0) s = bar.f[0] * at.mu[k] + bar.r[0] * at.qacc[k] + bar.v[0] * at.qvel[k];
  const S y2_bar =
      coupling_pullback(p + e.at.data, y2, bar.x[0], s, to.p_bar ? to.p_bar + e.at.data : nullptr);
  to.q_bar[e.dof[0]] += bar.x[0];  // (3)
  to.v_bar[e.dof[0]] += bar.v[0];
  if (k >= 0) {
    to.q_bar[k] += y2_bar;
    to.v_bar[k] -= bond.slope * bar.v[0];
  }
  add_softness(e.at, bar.soft, to.p_bar);
}

}  // namespace cycloid::inline rigid
