// Weld: two bodies keep their relative place and orientation.
//
// Rows 1 to 3 are those of connect.h. The frames Q₁ = q₁ s₁, Q₂ = q₂ s₂ turn with the bodies: s are
// sites' quaternions, or s₁ = relpose (the equality's data, as it stands: its length matters) and
// s₂ = 1. R₂ = R(Q₂), ts = torquescale, Δω = ω₁ - ω₂:
//   e = Q₂* ⊗ Q₁ = (e_w; e_v),   res = ts e_v                                                  (1)
//   B(u) = ts/2 (e_w u + u × e_v),   J y = B(R₂ᵀ Δy_ω)                                        (2)
//   J q̈ + J̇ q̇ = B(R₂ᵀ X) - ts/4 |Δω|² e_v,   X = Δa_ω - ω₂ × Δω                              (3)
//
// Pullback of f·(J μ) + r̄·(J q̈ + J̇ q̇) + v̄·(J q̇) + res¯·res. For each of (f, Δm_ω), (r̄, X),
// (v̄, Δω), as (c, X):
//   g = ts/2 R₂ (e_w c + e_v × c),   ē += ts/2 (c·u; c × u),   θ̄₂ -= X × g,   u = R₂ᵀ X        (4)
//   ē_v += ts res¯ - ts/4 |Δω|² r̄                                                              (5)
//   couples: g_f on m, g_r on a, Δω¯ = g_v - ts/2 (e_v·r̄) Δω - g_r × ω₂ on v, of body 1 and with
//   the other sign of body 2; there also ω̄₂ = g_r × Δω                                         (6)
//   φ̄ = ½ R₂ (e_w ē_v - ē_w e_v + e_v × ē_v): a turn of body 1;   θ̄₂ - φ̄ one of body 2       (7)
#pragma once

#include "cycloid/rigid/constraint/connect.h"

namespace cycloid::inline rigid {

// support: the set of blocks that move one of the bodies. weight: of translation, of rotation.
struct Weld {
  Anchor end[2];
  int support, relpose, torque_scale;  // the last two: places in the parameters
  int site_quat[2];                    // places, or -1 where the frames are the bodies'
  double weight[2];
  EqualityPlaces at;
};

// The relative turn of two frames, (1) to (3).
template <class S>
struct WeldTurn {
  Mat3<S> R2;
  Quat<S> between, e;  // between: e = between ⊗ relpose, for bodies
  Vec3<S> e_v;
  S scale;                 // ts
  Vec3<S> apart, apart_a;  // Δω, X
  Vec3<S> residual, rate, acceleration;

  template <class P>
  CYCLOID_HD WeldTurn(const Weld& w, const P* p, const RowInstant<S>& at) {
    const int l1 = w.end[0].link, l2 = w.end[1].link;
    Quat<S> first = at.frames.link_quat[l1], second = at.frames.link_quat[l2];
    R2 = at.frames.R[w.end[1].body];
    if (w.site_quat[0] >= 0) {
      const Quat<S> own = quat_of<S>(p + w.site_quat[1]);
      second = second * own;
      R2 = R2 * to_matrix(own);
    }
    between = conjugate(second) * first;
    e = between * quat_of<S>(p + (w.site_quat[0] >= 0 ? w.site_quat[0] : w.relpose));  // (1)
    e_v = vector_part(e);
    scale = S(p[w.torque_scale]);
    const Motion<S>*v = at.fields.v, *a = at.fields.a;
    apart = v[l1].angular - v[l2].angular;
    apart_a = a[l1].angular - a[l2].angular - cross(v[l2].angular, apart);
    residual = e_v * scale;
    rate = apply(apart);
    acceleration = apply(apart_a) - e_v * (S(0.25) * scale * dot(apart, apart));  // (3)
  }

  // (2) for a turn in world axes, without the factor ts/2.
  CYCLOID_HD Vec3<S> bare(const Vec3<S>& turn) const {
    const Vec3<S> u = transpose_vector_product(R2, turn);
    return u * e.w + cross(u, e_v);
  }
  CYCLOID_HD Vec3<S> apply(const Vec3<S>& turn) const { return bare(turn) * (S(0.5) * scale); }
};

// (4) for one field: adds to e_bar, theta_bar and scale_bar, returns g.
template <class S>
CYCLOID_INLINE Vec3<S> turn_field_pullback(const WeldTurn<S>& t, const Vec3<S>& X, const Vec3<S>& c,
                                           Quat<S>& e_bar, Vec3<S>& theta_bar, S& scale_bar) {
  const S half = S(0.5) * t.scale;
  const Vec3<S> u = transpose_vector_product(t.R2, X);
  const Vec3<S> g = t.R2 * ((c * t.e.w + cross(t.e_v, c)) * half);
  e_bar += make_quaternion(dot(c, u), cross(c, u)) * half;
  theta_bar -= cross(X, g);
  scale_bar += S(0.5) * dot(c, t.bare(X));
  return g;
}

// (7), and the cotangents of relpose or of the sites' quaternions.
template <class S>
CYCLOID_HD void weld_frames_pullback(const Weld& w, const WeldTurn<S>& t, const Quat<S>& e_bar,
                                     const Vec3<S>& theta_bar, const RowGradient<S>& to) {
  const Vec3<S> ev_bar = vector_part(e_bar);
  const Vec3<S> inner = ev_bar * t.e.w - t.e_v * e_bar.w + cross(t.e_v, ev_bar);
  const Vec3<S> turn1 = t.R2 * (inner * S(0.5)), turn2 = theta_bar - turn1;
  to.bodies.pose[w.end[0].body].torque += turn1;
  to.bodies.pose[w.end[1].body].torque += turn2;
  if (!to.p_bar) return;
  if (w.site_quat[0] >= 0) {
    add_to(to.p_bar + w.site_quat[0], tangent_from_ambient_cotangent(t.e, e_bar));
    add_to(to.p_bar + w.site_quat[1], transpose_vector_product(t.R2, turn2));
  } else {
    add_to(to.p_bar + w.relpose, conjugate(t.between) * e_bar);
  }
}

template <class S>
CYCLOID_HD void weld_turn_pullback(const Weld& w, const RowInstant<S>& at, const WeldTurn<S>& t,
                                   const AnchorBars<S>& bar, const RowGradient<S>& to) {
  const RowFieldBars<S>& bars = to.bodies;
  const RowFields<S>& y = at.fields;
  const int b1 = w.end[0].body, b2 = w.end[1].body, l1 = w.end[0].link, l2 = w.end[1].link;
  const S square = dot(t.apart, t.apart);
  Quat<S> e_bar{S(0), S(0), S(0), S(0)};
  Vec3<S> theta_bar{};
  S scale_bar = dot(bar.residual, t.e_v) - S(0.25) * square * dot(bar.r, t.e_v);
  const auto pull = [&](const Vec3<S>& X, const Vec3<S>& c) {
    return turn_field_pullback(t, X, c, e_bar, theta_bar, scale_bar);
  };
  const Vec3<S> g_m = pull(y.m[l1].angular - y.m[l2].angular, bar.f);
  const Vec3<S> g_a = pull(t.apart_a, bar.r), g_v = pull(t.apart, bar.v);
  const Vec3<S> direct = (bar.residual - bar.r * (S(0.25) * square)) * t.scale;  // (5)
  e_bar += make_quaternion(S(0), direct);
  const Vec3<S>& omega2 = y.v[l2].angular;
  const Vec3<S> apart_bar =
      g_v - t.apart * (S(0.5) * t.scale * dot(t.e_v, bar.r)) - cross(g_a, omega2);  // (6)
  bars.m[b1].torque += g_m;
  bars.m[b2].torque -= g_m;
  bars.a[b1].torque += g_a;
  bars.a[b2].torque -= g_a;
  bars.v[b1].torque += apart_bar;
  bars.v[b2].torque += cross(g_a, t.apart) - apart_bar;
  weld_frames_pullback(w, t, e_bar, theta_bar, to);
  if (to.p_bar) to.p_bar[w.torque_scale] += scale_bar;
}

template <class S, class P>
CYCLOID_HD RowBlock<S> weld_block(const Weld& w, const P* p, const AnchorPair<S>& pair,
                                  const WeldTurn<S>& turn) {
  RowBlock<S> block;
  block.rows = 6;
  block.soft = softness_at<S>(w.at, p);
  for (int i = 0; i < 3; ++i) {
    block.weight[i] = number<S>(w.weight[0]);
    block.weight[i + 3] = number<S>(w.weight[1]);
    block.x[i] = pair.residual[i];
    block.x[i + 3] = turn.residual[i];
    block.v[i] = pair.rate[i];
    block.v[i + 3] = turn.rate[i];
  }
  return block;
}

// Returns the place of the first row in the problem. at.fields.a is that of q̈ = 0.
template <class S, class P>
CYCLOID_HD int add_weld(const Weld& w, const P* p, const RowInstant<S>& at, BlockSet moved,
                        ConstraintProblem<S>& problem) {
  const AnchorPair<S> pair(w.end, p, at);
  const WeldTurn<S> turn(w, p, at);
  int row;
  S* const J = add_dense_rows(problem, RowLaw::equality, 6, moved, row);
  const int size = problem.size();
  for (int i = 0; i < 2; ++i) {
    const S sign = S(i == 0 ? 1 : -1);
    for_each_column(*problem.dofs, w.end[i].dof, at.frames.column,
                    [&](int place, const Motion<S>& column) {
                      const Vec3<S> moves = field_at(column, pair.x[i]) * sign;
                      const Vec3<S> turns = turn.apply(column.angular) * sign;
                      for (int k = 0; k < 3; ++k) J[k * size + place] += moves[k];
                      for (int k = 0; k < 3; ++k) J[(k + 3) * size + place] += turns[k];
                    });
  }
  put_row_block(at.options, weld_block(w, p, pair, turn), Mask<S>(true), row, problem);
  for (int k = 0; k < 3; ++k) problem.a_ref[row + k] -= pair.acceleration[k];
  for (int k = 0; k < 3; ++k) problem.a_ref[row + k + 3] -= turn.acceleration[k];
  return row;
}

// at.fields.a is that of q̈.
template <class S, class P>
CYCLOID_HD void weld_pullback(const Weld& w, const P* p, const RowInstant<S>& at, int row,
                              const RowResults<S>& results, const RowGradient<S>& to) {
  const AnchorPair<S> pair(w.end, p, at);
  const WeldTurn<S> turn(w, p, at);
  const RowBlock<S> block = weld_block(w, p, pair, turn);
  const RowBlockBars<S> bar = row_block_pullback(at.options, block, row, results, to.options_bar);
  const auto part = [&](int k) {
    return AnchorBars<S>{load_vec3(bar.f + k), load_vec3(bar.r + k), load_vec3(bar.v + k),
                         load_vec3(bar.x + k)};
  };
  anchor_pair_pullback(w.end, at, pair, part(0), to);
  weld_turn_pullback(w, at, turn, part(3), to);
  add_softness(w.at, bar.soft, to.p_bar);
}

}  // namespace cycloid::inline rigid
