// Connect: a point of one body stays at a point of another.
//
// Anchors x₁, x₂ are points fixed to bodies, given in body axes by the equality's data or as sites.
//   res = x₁ - x₂ [m],   J y = y₁(x₁) - y₂(x₂),   y(x) the field y at x                         (1)
//   J q̈ + J̇ q̇ = A₁ - A₂,   A = a(x) + v_ω × v(x)                                             (2)
// Gravity, which is in the field a of all bodies alike, cancels in (2). While the two points are
// apart, dofs that move both bodies count too.
//
// Pullback of f·(J μ) + r̄·(J q̈ + J̇ q̇) + v̄·(J q̇) + res¯·res, at body 1, with
// the other sign at body 2:
//   z = v̄ + r̄ × v_ω;   wrenches at x: f on m, r̄ on a, z with the couple v(x) × r̄ on v       (3)
//   x̄ = res¯ + f × m_ω + r̄ × a_ω + z × v_ω                                                    (4)
#pragma once

#include "cycloid/rigid/constraint/row_block.h"

namespace cycloid::inline rigid {

// A point fixed to a body. dof: the last that moves the body, or -1; point: the place of its
// numbers in body axes, in the parameters; site: -1 where these are an equality's.
struct Anchor {
  int body, link, dof, point, site;
};

template <class S, class P>
CYCLOID_INLINE Vec3<S> anchor_point(const Anchor& anchor, const P* p, const Frames<S>& f) {
  return f.pos[anchor.body] + f.R[anchor.body] * vec3_of<S>(p + anchor.point);
}

template <class S>
CYCLOID_INLINE void anchor_point_pullback(const Anchor& anchor, const Frames<S>& f,
                                          const Vec3<S>& x, const Vec3<S>& x_bar, Force<S>* pose,
                                          S* p_bar) {
  pose[anchor.body] += Force<S>{cross(x, x_bar), x_bar};
  if (p_bar) add_to(p_bar + anchor.point, transpose_vector_product(f.R[anchor.body], x_bar));
}

// Two anchors at an instant: places, velocities v(x), and (1), (2).
template <class S>
struct AnchorPair {
  Vec3<S> x[2], velocity[2];
  Vec3<S> residual, rate, acceleration;

  template <class P>
  CYCLOID_HD AnchorPair(const Anchor* end, const P* p, const RowInstant<S>& at) {
    Vec3<S> A[2];
    for (int i = 0; i < 2; ++i) {
      const Motion<S>&v = at.fields.v[end[i].link], &a = at.fields.a[end[i].link];
      x[i] = anchor_point(end[i], p, at.frames);
      velocity[i] = field_at(v, x[i]);
      A[i] = field_at(a, x[i]) + cross(v.angular, velocity[i]);  // (2)
    }
    const Vec3<S>* origin = at.frames.origin;
    residual = x[0] - x[1] + (origin[end[0].body] - origin[end[1].body]);  // (1)
    rate = velocity[0] - velocity[1];
    acceleration = A[0] - A[1];
  }
};

// Cotangents of J μ, J q̈ + J̇ q̇, J q̇ and of the residual.
template <class S>
struct AnchorBars {
  Vec3<S> f, r, v, residual;
};

template <class S>
CYCLOID_HD void anchor_pair_pullback(const Anchor* end, const RowInstant<S>& at,
                                     const AnchorPair<S>& pair, const AnchorBars<S>& bar,
                                     const RowGradient<S>& to) {
  const RowFieldBars<S>& bars = to.bodies;
  for (int i = 0; i < 2; ++i) {
    const S sign = S(i == 0 ? 1 : -1);
    const int b = end[i].body, l = end[i].link;
    const Motion<S>&m = at.fields.m[l], &a = at.fields.a[l], &v = at.fields.v[l];
    const Vec3<S> f = bar.f * sign, r = bar.r * sign;
    const Vec3<S> z = bar.v * sign + cross(r, v.angular);
    bars.m[b] += wrench(f, pair.x[i], Vec3<S>{});  // (3)
    bars.a[b] += wrench(r, pair.x[i], Vec3<S>{});
    bars.v[b] += wrench(z, pair.x[i], cross(pair.velocity[i], r));
    const Vec3<S> x_bar = bar.residual * sign + cross(f, m.angular) + cross(r, a.angular) +
                          cross(z, v.angular);  // (4)
    anchor_point_pullback(end[i], at.frames, pair.x[i], x_bar, bars.pose, to.p_bar);
  }
}

// support: the set of blocks that move one of the bodies.
struct Connect {
  Anchor end[2];
  int support;
  double weight;
  EqualityPlaces at;
};

template <class S, class P>
CYCLOID_HD RowBlock<S> connect_block(const Connect& c, const P* p, const AnchorPair<S>& pair) {
  RowBlock<S> block;
  block.rows = 3;
  block.soft = softness_at<S>(c.at, p);
  for (int i = 0; i < 3; ++i) {
    block.weight[i] = number<S>(c.weight);
    block.x[i] = pair.residual[i];
    block.v[i] = pair.rate[i];
  }
  return block;
}

// Returns the place of the first row in the problem. at.fields.a is that of q̈ = 0.
template <class S, class P>
CYCLOID_HD int add_connect(const Connect& c, const P* p, const RowInstant<S>& at, BlockSet moved,
                           ConstraintProblem<S>& problem) {
  const AnchorPair<S> pair(c.end, p, at);
  int row;
  S* const J = add_dense_rows(problem, RowLaw::equality, 3, moved, row);
  const int size = problem.size();
  for (int i = 0; i < 2; ++i) {
    const S sign = S(i == 0 ? 1 : -1);
    for_each_column(*problem.dofs, c.end[i].dof, at.frames.column,
                    [&](int place, const Motion<S>& column) {
                      const Vec3<S> moves = field_at(column, pair.x[i]) * sign;
                      for (int k = 0; k < 3; ++k) J[k * size + place] += moves[k];
                    });
  }
  put_row_block(at.options, connect_block(c, p, pair), Mask<S>(true), row, problem);
  for (int k = 0; k < 3; ++k) problem.a_ref[row + k] -= pair.acceleration[k];
  return row;
}

// at.fields.a is that of q̈.
template <class S, class P>
CYCLOID_HD void connect_pullback(const Connect& c, const P* p, const RowInstant<S>& at, int row,
                                 const RowResults<S>& results, const RowGradient<S>& to) {
  const AnchorPair<S> pair(c.end, p, at);
  const RowBlock<S> block = connect_block(c, p, pair);
  const RowBlockBars<S> bar = row_block_pullback(at.options, block, row, results, to.options_bar);
  anchor_pair_pullback(
      c.end, at, pair,
      AnchorBars<S>{load_vec3(bar.f), load_vec3(bar.r), load_vec3(bar.v), load_vec3(bar.x)}, to);
  add_softness(c.at, bar.soft, to.p_bar);
}

}  // namespace cycloid::inline rigid
