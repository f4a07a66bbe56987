// capsule_box: up to two contacts of a capsule with a box, and the pullback.
//
// Each contact is that of a ball on the capsule's axis with the box (sphere_box.h):
//   c(x) = p₁ + x A,   A = L z₁,   -1 ≤ x ≤ 1;   in the box's axes  P + x h                  (1)
// The first ball is where the axis comes closest to the box, the second as far from it as the axis
// stays beside the face or edge that the first one found. x is an end, ±1, or the point of the
// axis' line nearest to a corner, an edge or a face plane of the box, given by a sign σ_k per axis:
//   x = Σ h_k (σ_k s_k - P_k) / Σ h_k²,   sums over the k with σ_k ≠ 0                       (2)
// (three signs: a corner; two: an edge; one: the line pierces the plane of a face). The second ball
// may also lie a width of the box away from the first,
//   x + σ 2 s_k / |h_k|                                                                     (3)
// Set and order are MuJoCo's. Where the sum below (2) is less than kFrozenAxis² L², x keeps its
// value and its derivative is zero.
#pragma once

#include "cycloid/geometry/pair/by_lane.h"
#include "cycloid/geometry/pair/sphere_box.h"

namespace cycloid::inline geometry {

inline constexpr int kCapsuleBoxTouches = 2;
inline constexpr double kFrozenAxis = 1e-9;

// Where on the axis a ball lies.
struct AxisPoint {
  int end;         // ±1, or 0 for (2)
  int sign[3];     // σ of (2)
  int width;       // axis k of (3), or -1
  int width_sign;  // σ of (3)
};

inline constexpr int kBallCodes = 33;  // of sphere_box

CYCLOID_HD inline int encode(const AxisPoint& a, int ball) {
  int code = a.end + 1;
  for (const int sign : a.sign) code = 3 * code + sign + 1;
  code = 7 * code + (a.width < 0 ? 0 : 1 + 2 * a.width + (a.width_sign > 0));
  return kBallCodes * code + ball;
}
CYCLOID_HD inline AxisPoint decode_axis_point(int code) {
  code /= kBallCodes;
  const int shift = code % 7 - 1, signs = code / 7;
  return {signs / 27 - 1,
          {signs / 9 % 3 - 1, signs / 3 % 3 - 1, signs % 3 - 1},
          shift < 0 ? -1 : shift / 2,
          shift % 2 ? 1 : -1};
}

// The axis in the box's frame.
template <class T>
struct BoxedAxis {
  Vec3<T> v, A;  // p₁ - p₂ and A, in the world
  Vec3<T> P, h;
};

template <class T>
CYCLOID_HD BoxedAxis<T> boxed_axis(const GeomPair<T>& g) {
  BoxedAxis<T> b;
  b.v = g.x1.p - g.x2.p;
  b.A = axis(g.x1, 2) * g.size1.y;
  b.P = transpose_vector_product(g.x2.R, b.v);
  b.h = transpose_vector_product(g.x2.R, b.A);  // (1)
  return b;
}

template <class T>
struct AxisRatio {
  T x, inverse;  // (2) and 1 / Σ h_k², zero where frozen
};

template <class T>
CYCLOID_HD AxisRatio<T> axis_ratio(const BoxedAxis<T>& b, const Vec3<T>& s, const AxisPoint& a) {
  T above(0), below(0);
  for (int k = 0; k < 3; ++k) {
    if (a.sign[k] == 0) continue;
    above += b.h[k] * (s[k] * T(a.sign[k]) - b.P[k]);
    below += b.h[k] * b.h[k];
  }
  const double square = primal(below), length = primal(dot(b.h, b.h));
  if (!(square > 0)) return {T(0), T(0)};
  if (!(square > kFrozenAxis * kFrozenAxis * length)) {
    return {T(primal(above) / square), T(0)};
  }
  return {above / below, T(1) / below};  // (2)
}

template <class T>
CYCLOID_HD T axis_position(const BoxedAxis<T>& b, const Vec3<T>& s, const AxisPoint& a) {
  T x = a.end != 0 ? T(a.end) : axis_ratio(b, s, a).x;
  if (a.width >= 0) x += s[a.width] * T(2 * a.width_sign) / abs(b.h[a.width]);  // (3)
  return x;
}

// Adds to the cotangents of P, h and s, given that of x.
template <class T>
CYCLOID_HD void axis_position_bar(const BoxedAxis<T>& b, const Vec3<T>& s, const AxisPoint& a,
                                  const T& x_bar, Vec3<T>& P_bar, Vec3<T>& h_bar, Vec3<T>& s_bar) {
  if (a.width >= 0) {
    const T per_size = x_bar * T(2 * a.width_sign) / abs(b.h[a.width]);  // (3)
    s_bar[a.width] += per_size;
    h_bar[a.width] -= per_size * s[a.width] / b.h[a.width];
  }
  if (a.end != 0) return;
  const AxisRatio<T> r = axis_ratio(b, s, a);
  const T above_bar = x_bar * r.inverse;
  for (int k = 0; k < 3; ++k) {
    if (a.sign[k] == 0) continue;
    const T gap = s[k] * T(a.sign[k]) - b.P[k];
    h_bar[k] += above_bar * (gap - T(2) * r.x * b.h[k]);  // (2)
    P_bar[k] -= above_bar * b.h[k];
    s_bar[k] += above_bar * b.h[k] * T(a.sign[k]);
  }
}

template <class T>
CYCLOID_HD Touch<T> capsule_box_touch(const GeomPair<T>& g, int code) {
  const BoxedAxis<T> b = boxed_axis(g);
  const Vec3<T> c = g.x1.p + b.A * axis_position(b, g.size2, decode_axis_point(code));
  const BoxTouch<T> t = box_touch(c - g.x2.p, g.x2, g.size2, T(code % kBallCodes));
  return touch_along(c, g.size1.x, t.n, t.gap);
}

template <class T>
CYCLOID_HD void capsule_box_touch_bar(const GeomPair<T>& g, int code, const TouchBar<T>& bar,
                                      GeomPairBar<T>& g_bar) {
  const BoxedAxis<T> b = boxed_axis(g);
  const AxisPoint a = decode_axis_point(code);
  const T x = axis_position(b, g.size2, a), ball = T(code % kBallCodes);
  const Pose<T> sphere{g.x1.R, g.x1.p + b.A * x};
  PoseBar<T> sphere_bar{};
  T r_bar(0), s_bar[3] = {T(0), T(0), T(0)};
  collide_sphere_box_pullback(&g.size1.x, sphere, &g.size2.x, g.x2, &ball, &bar, sphere_bar,
                              g_bar.x2, &r_bar, s_bar);
  g_bar.size1.x += r_bar;
  g_bar.size2 += load_vec3(s_bar);

  const Vec3<T>& c_bar = sphere_bar.force;
  Vec3<T> P_bar{}, h_bar{}, A_bar = c_bar * x;
  axis_position_bar(b, g.size2, a, dot(b.A, c_bar), P_bar, h_bar, g_bar.size2);
  const Vec3<T> P_world = g.x2.R * P_bar, h_world = g.x2.R * h_bar;  // (1)
  A_bar += h_world;
  g_bar.x1.force += c_bar + P_world;
  g_bar.x2.force -= P_world;
  g_bar.x2.torque += cross(P_world, b.v) + cross(h_world, b.A);
  add_direction(g_bar.x1, b.A, A_bar);
  g_bar.size1.y += dot(axis(g.x1, 2), A_bar);
}

// The contacts of one lane; returns their number.
CYCLOID_HD int find_capsule_box(const GeomPair<double>& g, double margin, FoundContact* found);

template <class S>
CYCLOID_HD void collide_capsule_box(const S* size1, const Pose<S>& x1, const S* size2,
                                    const Pose<S>& x2, const std::type_identity_t<S>& margin,
                                    Touch<S>* out, S* feature) {
  touches_by_lane<GeomKind::capsule, GeomKind::box, kCapsuleBoxTouches>(
      size1, x1, size2, x2, margin, out, feature, find_capsule_box,
      [](const auto& g, int code, const auto&) { return capsule_box_touch(g, code); });
}

template <class S>
CYCLOID_HD void collide_capsule_box_pullback(const S* size1, const Pose<S>& x1, const S* size2,
                                             const Pose<S>& x2, const S* feature,
                                             const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                                             PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar) {
  bars_by_lane<GeomKind::capsule, GeomKind::box, kCapsuleBoxTouches>(
      size1, x1, size2, x2, feature, out_bar, x1_bar, x2_bar, size1_bar, size2_bar,
      [](const auto& g, int code, int, int, const auto& bar, auto& g_bar) {
        capsule_box_touch_bar(g, code, bar, g_bar);
      });
}

}  // namespace cycloid::inline geometry
