// The path from one state to another, for steps whose inside nobody knows.
//
//   d = x⁺ ⊖ x,   y = x ⊕ θ d      0 <= θ <= 1                                             (1)
// over the blocks of a Space (space.h): a straight line in vectors, and in quaternions the turn
// about one axis by the shorter way. As a motion in time it is of second order in the length of the
// step. The positions of a semi-implicit step, q⁺ = q ⊕ h v⁺, move just so.
//
// Cotangents are in tangents. With ē = J_rᵀ(θd) ȳ on quaternions and ē = ȳ on vectors,
//   x̄ += R(θd) ȳ,   d̄ = θ ē,   θ̄ += ⟨d, ē⟩ = ⟨d, ȳ⟩, since J_r(θd) d = d                    (2)
// and d̄ goes through ⊖ to both ends.
//
// W environments lie side by side, as in stepper.h; they share θ.
#pragma once

#include "cycloid/math/rotation.h"
#include "cycloid/system/space.h"

namespace cycloid::inline system {

// The numbers of a vector or a quaternion in lane l.
template <class S>
CYCLOID_INLINE Vec3<S> lane_vec3(const S* v, int W, int l) {
  return {v[l], v[W + l], v[2 * W + l]};
}
template <class S>
CYCLOID_INLINE Quat<S> lane_quat(const S* q, int W, int l) {
  return {q[l], q[W + l], q[2 * W + l], q[3 * W + l]};
}
template <class S>
CYCLOID_INLINE void add_to_lane(S* v, int W, int l, const Vec3<S>& a) {
  v[l] += a.x;
  v[W + l] += a.y;
  v[2 * W + l] += a.z;
}

// Writes y (states, W).
template <class S>
void interpolate(const Space& space, int W, const S* x, const S* x_next, const S& theta, S* y) {
  for (const Block& b : space.pieces()) {
    const int at = b.offset * W;
    if (b.kind != BlockKind::quaternion) {
      for (int i = at; i < at + b.size * W; ++i) y[i] = x[i] + theta * (x_next[i] - x[i]);  // (1)
      continue;
    }
    for (int l = 0; l < W; ++l) {
      const Quat<S> q = lane_quat(x + at, W, l);
      const Quat<S> r = retract(q, difference(q, lane_quat(x_next + at, W, l)) * theta);  // (1)
      y[at + l] = r.w;
      y[at + W + l] = r.x;
      y[at + 2 * W + l] = r.y;
      y[at + 3 * W + l] = r.z;
    }
  }
}

// Adds to x_bar and x_next_bar (tangents, W) and to theta_bar (W).
template <class S>
void interpolate_pullback(const Space& space, int W, const S* x, const S* x_next, const S& theta,
                          const S* y_bar, S* x_bar, S* x_next_bar, S* theta_bar) {
  for (const Block& b : space.pieces()) {
    const S *a = x + b.offset * W, *c = x_next + b.offset * W, *bar = y_bar + b.tangent_offset * W;
    S *a_bar = x_bar + b.tangent_offset * W, *c_bar = x_next_bar + b.tangent_offset * W;
    for (int i = 0; i < b.size && b.kind != BlockKind::quaternion; ++i) {
      for (int l = 0; l < W; ++l) {
        const int n = i * W + l;
        a_bar[n] += bar[n] - theta * bar[n];  // (2)
        c_bar[n] += theta * bar[n];
        theta_bar[l] += (c[n] - a[n]) * bar[n];
      }
    }
    for (int l = 0; l < W && b.kind == BlockKind::quaternion; ++l) {
      const Quat<S> q = lane_quat(a, W, l);
      const Vec3<S> d = difference(q, lane_quat(c, W, l)), own_bar = lane_vec3(bar, W, l);
      Vec3<S> q_bar{}, e_bar{}, q_next_bar{};
      retract_tangent_pullback(q, d * theta, own_bar, q_bar, e_bar);  // (2)
      difference_tangent_pullback(d, e_bar * theta, q_bar, q_next_bar);
      theta_bar[l] += dot(d, own_bar);
      add_to_lane(a_bar, W, l, q_bar);
      add_to_lane(c_bar, W, l, q_next_bar);
    }
  }
}

}  // namespace cycloid::inline system
