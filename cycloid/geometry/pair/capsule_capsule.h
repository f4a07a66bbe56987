// Capsule and capsule: one touch, or two where the axes are parallel, and their pullback.
//
// Capsule i = 1, 2: centre c_i, axis z_i, half-length h_i, radius r_i; D = c₁ - c₂:
//   c = z₁·z₂,   C = z₁ × z₂,   |C| the sine of their angle                                (1)
//   e_i = c_i + x_i z_i,   |x_i| ≤ h_i          points of the segments                      (2)
//   both free:  x₁ = C·(z₂ × D) / |C|²,   x₂ = C·(z₁ × D) / |C|²                            (3)
//   one given:  x₁ = c x₂ - z₁·D,         x₂ = c x₁ + z₂·D                                  (4)
//   touch of the balls at e₁ and e₂ (sphere_sphere.h)                                       (5)
// General, |C|² ≥ 1e-8: (3); an x₁ beyond ±h₁ is clamped and x₂ follows by (4); then an x₂ beyond
// ±h₂ is clamped and x₁ follows by (4), clamped too. Parallel: touches at the lower and the upper
// border of the segments' overlap along z₁. A border within segment 1 is an end of segment 2, with
// x₁ by (4); else it is an end of segment 1, with x₂ by (4), clamped. Without overlap the two
// touches are one and the same twice.
//
// Pullback: the free x_i solve [1 -c; -c 1] x = (-z₁·D; z₂·D), whose transpose gives y from
// x̄_i = z_i·ē_i; y_i = 0 where x_i is clamped:
//   z̄₁ = x₁ē₁ + y₁(x₂z₂ - D) + y₂x₁z₂,   z̄₂ = x₂ē₂ + y₂(x₁z₁ + D) + y₁x₂z₁,
//   D̄ = y₂z₂ - y₁z₁,   and at a clamp x_i = ±h_i:  h̄_i = ±(x̄_i + c y_j), j the other one   (6)
// Kinks where a clamp sets in; one touch becomes two at the border of the parallel case.
// feature: s₁ + 3 s₂ with s_i = 0: x_i is free, 1: x_i = h_i, 2: x_i = -h_i.
#pragma once

#include "cycloid/geometry/pair/sphere_sphere.h"

namespace cycloid::inline geometry {

inline constexpr int kCapsuleCapsuleTouches = 2;
inline constexpr double kParallelSineSquare = 1e-8;  // MuJoCo's

// Two segments and their dot products.
template <class S>
struct Segments {
  Vec3<S> z1, z2, p1, p2, D, C;
  S h1, h2, c, z1_D, z2_D, sine_square;
};

template <class S>
CYCLOID_INLINE Segments<S> make_segments(const Pose<S>& capsule1, const S& h1,
                                         const Pose<S>& capsule2, const S& h2) {
  const Vec3<S> z1 = axis(capsule1, 2), z2 = axis(capsule2, 2), D = capsule1.p - capsule2.p;
  const Vec3<S> C = cross(z1, z2);
  return {z1, z2, capsule1.p,  capsule2.p, D,          C,
          h1, h2, dot(z1, z2), dot(z1, D), dot(z2, D), dot(C, C)};
}

// (4)
template <class S>
CYCLOID_INLINE S nearest_x1(const Segments<S>& g, const S& x2) {
  return g.c * x2 - g.z1_D;
}
template <class S>
CYCLOID_INLINE S nearest_x2(const Segments<S>& g, const S& x1) {
  return g.c * x1 + g.z2_D;
}

// s of x, and the sign of a clamp s (0 where x is free).
template <class S>
CYCLOID_INLINE S clamp_code(const S& x, const S& h) {
  return select(x > h, S(1), select(x < -h, S(2), S(0)));
}
template <class S>
CYCLOID_INLINE S clamp_sign(const S& code) {
  return select(code == S(1), S(1), select(code == S(2), S(-1), S(0)));
}

// (3) where `general`.
template <class S>
CYCLOID_INLINE void crossing(const Segments<S>& g, const Mask<S>& general, S& x1, S& x2) {
  const S inverse = S(1) / select(general, g.sine_square, S(1));
  x1 = dot(g.C, cross(g.z2, g.D)) * inverse;
  x2 = dot(g.C, cross(g.z1, g.D)) * inverse;
}

template <class S>
CYCLOID_INLINE S general_feature(const Segments<S>& g, const Mask<S>& general) {
  S x1, x2;
  crossing(g, general, x1, x2);
  const S s1 = clamp_code(x1, g.h1);
  const S follows = nearest_x2(g, clamp_sign(s1) * g.h1);
  const S s2 = clamp_code(select(s1 == S(0), x2, follows), g.h2);
  const S after = clamp_code(nearest_x1(g, clamp_sign(s2) * g.h2), g.h1);
  return select(s2 == S(0), s1, after) + S(3) * s2;
}

// Parallel axes, lower (k = 0) or upper border of the overlap.
template <class S>
CYCLOID_INLINE S parallel_feature(const Segments<S>& g, int k) {
  const Mask<S> opposed = g.c < S(0);
  const S end2 = k == 0 ? select(opposed, S(1), S(2)) : select(opposed, S(2), S(1));
  const S s1 = clamp_code(nearest_x1(g, clamp_sign(end2) * g.h2), g.h1);
  const S follows = clamp_code(nearest_x2(g, clamp_sign(s1) * g.h1), g.h2);
  return s1 + S(3) * select(s1 == S(0), end2, follows);
}

// The points (2) of a feature.
template <class S>
struct SegmentPoints {
  Mask<S> free1, free2, both;
  S x1, x2, sign1, sign2;
  Vec3<S> e1, e2;
};

template <class S>
CYCLOID_INLINE SegmentPoints<S> segment_points(const Segments<S>& g, const S& feature) {
  SegmentPoints<S> q;
  const S s2 = select(feature >= S(6), S(2), select(feature >= S(3), S(1), S(0)));
  const S s1 = feature - S(3) * s2;
  q.free1 = s1 == S(0), q.free2 = s2 == S(0), q.both = q.free1 & q.free2;
  q.sign1 = clamp_sign(s1), q.sign2 = clamp_sign(s2);
  const S clamped1 = q.sign1 * g.h1, clamped2 = q.sign2 * g.h2;
  S x1, x2;
  crossing(g, q.both & (g.sine_square > S(0)), x1, x2);
  q.x1 = select(q.both, x1, select(q.free1, nearest_x1(g, clamped2), clamped1));
  q.x2 = select(q.both, x2, select(q.free2, nearest_x2(g, clamped1), clamped2));
  q.e1 = g.p1 + g.z1 * q.x1;  // (2)
  q.e2 = g.p2 + g.z2 * q.x2;
  return q;
}

template <class S>
CYCLOID_HD void collide_capsule_capsule(const S* size1, const Pose<S>& capsule1, const S* size2,
                                        const Pose<S>& capsule2,
                                        const std::type_identity_t<S>& margin, Touch<S>* out,
                                        S* feature) {
  const S &r1 = size1[0], &r2 = size2[0];
  const Segments<S> g = make_segments(capsule1, size1[1], capsule2, size2[1]);
  const Mask<S> general = g.sine_square >= S(kParallelSineSquare);
  const int places = all(general) ? 1 : 2;
  for (int k = 0; k < places; ++k) {
    S code = places == 1 ? S(0) : parallel_feature(g, k);
    if (k == 0) code = select(general, general_feature(g, general), code);
    const SegmentPoints<S> q = segment_points(g, code);
    const Touch<S> touch = ball_touch(q.e1, r1, g.z1, q.e2, r2, g.z2);  // (5)
    Mask<S> contact = balls_touch(q.e1, r1, q.e2, r2, margin);
    if (k == 1) contact = contact & !general;
    write_touch(contact, touch, code, out[k], feature[k]);
  }
  if (places == 1) clear_touch(out[1], feature[1]);
}

// (2) to (4): cotangents of axes, half-lengths and D from those of the points.
template <class S>
struct SegmentsBar {
  Vec3<S> z1, z2, D;
  S h1, h2;
};

template <class S>
CYCLOID_INLINE void segment_points_bar(const Segments<S>& g, const SegmentPoints<S>& q,
                                       const Vec3<S>& e1_bar, const Vec3<S>& e2_bar,
                                       SegmentsBar<S>& bar) {
  const S zero = S(0), x1_bar = dot(g.z1, e1_bar), x2_bar = dot(g.z2, e2_bar);
  const S inverse = S(1) / select(q.both & (g.sine_square > zero), g.sine_square, S(1));
  const S y1_free = select(q.free1, x1_bar, zero), y2_free = select(q.free2, x2_bar, zero);
  const S y1 = select(q.both, (x1_bar + g.c * x2_bar) * inverse, y1_free);  // (6)
  const S y2 = select(q.both, (x2_bar + g.c * x1_bar) * inverse, y2_free);
  bar.z1 += e1_bar * q.x1 + (g.z2 * q.x2 - g.D) * y1 + g.z2 * (y2 * q.x1);
  bar.z2 += e2_bar * q.x2 + (g.z1 * q.x1 + g.D) * y2 + g.z1 * (y1 * q.x2);
  bar.D += g.z2 * y2 - g.z1 * y1;
  bar.h1 += q.sign1 * (x1_bar + g.c * y2);
  bar.h2 += q.sign2 * (x2_bar + g.c * y1);
}

template <class S>
CYCLOID_HD void collide_capsule_capsule_pullback(const S* size1, const Pose<S>& capsule1,
                                                 const S* size2, const Pose<S>& capsule2,
                                                 const S* feature, const TouchBar<S>* out_bar,
                                                 PoseBar<S>& capsule1_bar, PoseBar<S>& capsule2_bar,
                                                 S* size1_bar, S* size2_bar) {
  const Segments<S> g = make_segments(capsule1, size1[1], capsule2, size2[1]);
  SegmentsBar<S> bar{};
  for (int k = 0; k < kCapsuleCapsuleTouches; ++k) {
    if (!any(feature[k] >= S(0))) continue;
    const SegmentPoints<S> q = segment_points(g, feature[k]);
    Vec3<S> e1_bar{}, e2_bar{};
    ball_touch_pullback(q.e1, size1[0], g.z1, q.e2, size2[0], g.z2,
                        used_bar(feature[k], out_bar[k]), e1_bar, size1_bar[0], e2_bar,
                        size2_bar[0]);  // (5)
    capsule1_bar.force += e1_bar;       // (2)
    capsule2_bar.force += e2_bar;
    segment_points_bar(g, q, e1_bar, e2_bar, bar);
  }
  capsule1_bar.force += bar.D;
  capsule2_bar.force -= bar.D;
  add_direction(capsule1_bar, g.z1, bar.z1);
  add_direction(capsule2_bar, g.z2, bar.z2);
  size1_bar[1] += bar.h1;
  size2_bar[1] += bar.h2;
}

}  // namespace cycloid::inline geometry
