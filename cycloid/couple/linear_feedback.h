// LinearFeedback: inputs from the state by a matrix of gains, and the pullback.
//
//   d = x ⊖ x*                     (1)  in tangents; quaternions of x* are made unit
//   u = u₀ - K d                   (2)
// Parameters, in this order: K (inputs, tangents) row by row, x* (states), u₀ (inputs).
//
// N is a number: a lane's T, or Dual<double, 1>. W environments lie side by side, as in
// system/stepper.h. Cotangents of x are in tangents, those of x* in its coordinates. A rotation of
// half a turn between x and x* is where (1) jumps: the derivative is that of one side.
#pragma once

#include <algorithm>

#include "cycloid/math/rotation.h"
#include "cycloid/system/integrator/interpolation.h"
#include "cycloid/system/space.h"

namespace cycloid::inline couple {

struct FeedbackShape {
  const Space& space;
  int inputs;

  int gains() const { return inputs * space.tangent_size(); }
  int numbers() const { return gains() + space.size() + inputs; }
};

// The target's orientation in lane l, and the length that its quaternion was given with.
template <class N>
Quat<N> unit_target(const N* target, int W, int l, N& length) {
  const Quat<N> raw = lane_quat(target, W, l);
  length = sqrt(raw.w * raw.w + raw.x * raw.x + raw.y * raw.y + raw.z * raw.z);
  const N scale = N(1) / length;
  return {raw.w * scale, raw.x * scale, raw.y * scale, raw.z * scale};
}

// (1)
template <class N>
void feedback_difference(const FeedbackShape& shape, const N* target, const N* x, int W, N* d) {
  for (const Block& b : shape.space.pieces()) {
    const N *a = target + b.offset * W, *c = x + b.offset * W;
    N* const out = d + b.tangent_offset * W;
    if (b.kind != BlockKind::quaternion) {
      for (int i = 0; i < b.size * W; ++i) out[i] = c[i] - a[i];  // (1)
      continue;
    }
    for (int l = 0; l < W; ++l) {
      N length;
      const Vec3<N> v = difference(unit_target(a, W, l, length), lane_quat(c, W, l));  // (1)
      out[l] = v.x;
      out[W + l] = v.y;
      out[2 * W + l] = v.z;
    }
  }
}

// Writes u (inputs, W). d: memory (tangents, W).
template <class N>
void linear_feedback(const FeedbackShape& shape, const N* p, const N* x, int W, N* d, N* u) {
  const int nt = shape.space.tangent_size();
  const N *target = p + shape.gains() * W, *command = target + shape.space.size() * W;
  feedback_difference(shape, target, x, W, d);
  for (int i = 0; i < shape.inputs; ++i) {
    N* const out = u + i * W;
    std::copy_n(command + i * W, W, out);
    for (int j = 0; j < nt; ++j) {
      const N *k = p + (i * nt + j) * W, *own = d + j * W;
      for (int l = 0; l < W; ++l) out[l] -= k[l] * own[l];  // (2)
    }
  }
}

// Adds to x_bar (tangents, W) and p_bar (numbers, W), whose numbers are A. d, d_bar: memory
// (tangents, W).
template <class N, class A>
void linear_feedback_pullback(const FeedbackShape& shape, const N* p, const N* x, const N* u_bar,
                              int W, N* d, N* d_bar, N* x_bar, A* p_bar) {
  const int nt = shape.space.tangent_size();
  const N* target = p + shape.gains() * W;
  A *target_bar = p_bar + shape.gains() * W, *command_bar = target_bar + shape.space.size() * W;
  feedback_difference(shape, target, x, W, d);
  std::fill_n(d_bar, nt * W, N(0));
  for (int i = 0; i < shape.inputs; ++i) {
    const N* const bar = u_bar + i * W;
    for (int l = 0; l < W; ++l) command_bar[i * W + l] += A(bar[l]);
    for (int j = 0; j < nt; ++j) {
      const int at = (i * nt + j) * W;
      for (int l = 0; l < W; ++l) {
        p_bar[at + l] -= A(bar[l] * d[j * W + l]);  // (2)
        d_bar[j * W + l] -= p[at + l] * bar[l];
      }
    }
  }
  for (const Block& b : shape.space.pieces()) {
    const N* const bar = d_bar + b.tangent_offset * W;
    N* const own = x_bar + b.tangent_offset * W;
    A* const aim = target_bar + b.offset * W;
    for (int i = 0; i < b.size * W && b.kind != BlockKind::quaternion; ++i) {
      own[i] += bar[i];  // (1)
      aim[i] -= A(bar[i]);
    }
    for (int l = 0; l < W && b.kind == BlockKind::quaternion; ++l) {
      N length;
      const Quat<N> q = unit_target(target + b.offset * W, W, l, length);
      Vec3<N> q_bar{}, x_own{};
      difference_tangent_pullback(lane_vec3(d + b.tangent_offset * W, W, l), lane_vec3(bar, W, l),
                                  q_bar, x_own);  // (1)
      add_to_lane(own, W, l, x_own);
      const Quat<N> raw = ambient_from_tangent_cotangent(q, q_bar) * (N(1) / length);
      aim[l] += A(raw.w);
      aim[W + l] += A(raw.x);
      aim[2 * W + l] += A(raw.y);
      aim[3 * W + l] += A(raw.z);
    }
  }
}

}  // namespace cycloid::inline couple
