// Plane and cylinder: up to four touches on the cylinder's rims, and their pullback.
//
// Radius r, half-length h, pose (R, c) with axis z; plane through p with normal n:
//   σ = -1 where n·z > 0, else 1;   a = σ z          the axis, pointing towards the plane     (1)
//   e = w / |w|,  w = z (n·z) - n                    downhill across the axis                 (2)
//   f = e × a                                                                                 (3)
//   y_0 = c + r e + h a                              lowest point of the lower disc
//   y_1 = c + r e - h a                              lowest point of the upper disc
//   y_2,3 = c - ½ r e ± ½√3 r f + h a                with y_0 an equilateral triangle        (4)
//   dist, pos of y_k: a ball of radius 0 (plane_sphere.h)                                     (5)
// y_0 is the lowest of all: without it (dist ≤ margin) there is no touch. y_2 and y_3 are equally
// high and count together.
//
// Upright (|w| < kLostSine) e is the cylinder's x axis. The lowest point runs round the rim there:
// its derivative grows as 1/|w|. Below kFrozenSine e is held fixed to the cylinder, so that the
// touches are points of its body. σ switches where the cylinder lies flat. A small w is mostly
// rounding; it is made orthogonal to z once more, so that e stays in the disc's plane. (MuJoCo's
// does not within a few 1e-15 of upright, and its touches leave the cylinder there.)
// feature: bit 0: σ = -1, bit 1: e is held; the same in each place that is used.
#pragma once

#include "cycloid/geometry/pair/plane_sphere.h"

namespace cycloid::inline geometry {

inline constexpr int kPlaneCylinderTouches = 4;
inline constexpr double kHalfRootThree = 0.86602540378443864676;

// What (4) is made of.
template <class S>
struct CylinderRim {
  Vec3<S> z, a, e, f;
  S slope, sigma;  // n·z, σ
  S inverse;       // 1/|w|, 0 where e is held
  Mask<S> held;
};

template <class S>
CYCLOID_INLINE CylinderRim<S> cylinder_rim(const Vec3<S>& n, const Pose<S>& cylinder,
                                           const S& sigma) {
  CylinderRim<S> rim;
  rim.z = axis(cylinder, 2);
  rim.slope = dot(n, rim.z);
  rim.sigma = sigma;
  rim.a = rim.z * rim.sigma;
  Vec3<S> w = rim.z * rim.slope - n;
  w -= rim.z * dot(rim.z, w);
  const S square = dot(w, w);
  rim.held = square < S(kFrozenSine<S> * kFrozenSine<S>);
  const Mask<S> lost = square < S(kLostSine<S> * kLostSine<S>);
  const S inverse = S(1) / sqrt(select(lost, S(1), square));
  rim.e = w * inverse;  // (2)
  rim.inverse = select(rim.held, S(0), inverse);
  if (any(rim.held)) {
    const Vec3<S> local = hold(transpose_vector_product(cylinder.R, rim.e));
    rim.e = select(rim.held, cylinder.R * local, rim.e);
    rim.e = select(lost, axis(cylinder, 0), rim.e);
  }
  rim.f = cross(rim.e, rim.a);  // (3)
  return rim;
}

// y_k - c, (4).
template <class S>
CYCLOID_INLINE Vec3<S> rim_arm(const CylinderRim<S>& rim, const S& r, const S& h, int k) {
  if (k < 2) return rim.e * r + rim.a * (k == 0 ? h : -h);
  const S side = r * S(k == 2 ? kHalfRootThree : -kHalfRootThree);
  return rim.f * side - rim.e * (S(0.5) * r) + rim.a * h;
}

template <class S>
CYCLOID_HD void collide_plane_cylinder(const S*, const Pose<S>& plane, const S* size2,
                                       const Pose<S>& cylinder,
                                       const std::type_identity_t<S>& margin, Touch<S>* out,
                                       S* feature) {
  const Vec3<S> n = axis(plane, 2);
  const Mask<S> turned = dot(n, axis(cylinder, 2)) > S(0);
  const CylinderRim<S> rim = cylinder_rim(n, cylinder, select(turned, S(-1), S(1)));  // (1)
  const S code = select(turned, S(1), S(0)) + select(rim.held, S(2), S(0));
  Mask<S> lowest(true), third(true);
  for (int k = 0; k < kPlaneCylinderTouches; ++k) {
    const Vec3<S> y = cylinder.p + rim_arm(rim, size2[0], size2[1], k);
    const Touch<S> touch = ball_on_plane(n, plane.p, y, S(0));  // (5)
    Mask<S> counts = lowest & (touch.dist <= margin);
    if (k == 0) lowest = counts;
    if (k == 2) third = counts;
    if (k == 3) counts = third;
    write_touch(counts, touch, code, out[k], feature[k]);
  }
}

// Cotangents of (1) to (3) into those of n and the cylinder's pose.
template <class S>
CYCLOID_INLINE void cylinder_rim_bar(const Vec3<S>& n, const CylinderRim<S>& rim,
                                     const Mask<S>& held, const Vec3<S>& a_bar_in,
                                     const Vec3<S>& e_bar_in, const Vec3<S>& f_bar, Vec3<S>& n_bar,
                                     PoseBar<S>& cylinder_bar) {
  const Vec3<S> zero{S(0), S(0), S(0)};
  const Vec3<S> e_bar = e_bar_in + cross(rim.a, f_bar);          // (3)
  Vec3<S> z_bar = (a_bar_in + cross(f_bar, rim.e)) * rim.sigma;  // (3), (1)
  const S inverse = select(held, S(0), rim.inverse);
  const Vec3<S> w_bar = (e_bar - rim.e * dot(rim.e, e_bar)) * inverse;  // (2)
  const S along = dot(rim.z, w_bar);
  n_bar += rim.z * along - w_bar;
  z_bar += w_bar * rim.slope + n * along;
  add_direction(cylinder_bar, rim.z, z_bar);
  add_direction(cylinder_bar, rim.e, select(held, e_bar, zero));
}

template <class S>
CYCLOID_HD void collide_plane_cylinder_pullback(const S*, const Pose<S>& plane, const S* size2,
                                                const Pose<S>& cylinder, const S* feature,
                                                const TouchBar<S>* out_bar, PoseBar<S>& plane_bar,
                                                PoseBar<S>& cylinder_bar, S*, S* size2_bar) {
  const Vec3<S> n = axis(plane, 2);
  const S code = max(max(feature[0], feature[1]), feature[2]), &r = size2[0], &h = size2[1];
  const Mask<S> turned = (code == S(1)) | (code == S(3)), held = code >= S(2);
  const CylinderRim<S> rim = cylinder_rim(n, cylinder, select(turned, S(-1), S(1)));
  Vec3<S> n_bar{}, y_bar[kPlaneCylinderTouches] = {};
  S unused = S(0);
  for (int k = 0; k < kPlaneCylinderTouches; ++k) {
    const Vec3<S> y = cylinder.p + rim_arm(rim, r, h, k);
    ball_on_plane_pullback(n, plane.p, y, S(0), used_bar(feature[k], out_bar[k]), n_bar,
                           plane_bar.force, y_bar[k], unused);  // (5)
  }
  const Vec3<S> lower = y_bar[2] + y_bar[3], side = (y_bar[2] - y_bar[3]) * S(kHalfRootThree);
  const Vec3<S> e_bar = y_bar[0] + y_bar[1] - lower * S(0.5);  // over r, (4)
  const Vec3<S> a_bar = y_bar[0] - y_bar[1] + lower;           // over h
  cylinder_bar.force += y_bar[0] + y_bar[1] + lower;
  size2_bar[0] += dot(rim.e, e_bar) + dot(rim.f, side);
  size2_bar[1] += dot(rim.a, a_bar);
  cylinder_rim_bar(n, rim, held, a_bar * h, e_bar * r, side * r, n_bar, cylinder_bar);
  add_direction(plane_bar, n, n_bar);
}

}  // namespace cycloid::inline geometry
