// Sphere and cylinder: one touch with the side, a cap or a rim, and its pullback.
//
// Sphere of radius r₁ at c₁; cylinder at c₂ with axis z, radius r, half-length h:
//   v = c₁ - c₂,  x = z·v,  q = v - x z,  ϱ = |q|,  u = q / ϱ,  a = z where x > 0, else -z  (1)
//   inside in height: |x| < h;   inside in breadth: ϱ < r                                    (2)
//   side   inside in height:          E = -q,              gap = |E| - r
//   rim    inside in neither:         E = -v + h a + r u,  gap = |E|
//   cap    inside in breadth:         n = -a,              gap = a·v - h                     (3)
//   n = E / |E| where there is an E; the touch is the ball's along n (sphere_sphere.h)       (4)
// A centre inside in both takes the nearer of cap and side, the side at a tie.
//
// Kinks where the feature changes. A centre on the axis (side) or on the rim: E vanishes, and n is
// held as for coincident spheres. feature: 0 side, 1, 2 cap at a = z, -z; 3, 4 rim at a = z, -z.
#pragma once

#include "cycloid/geometry/pair/sphere_sphere.h"

namespace cycloid::inline geometry {

inline constexpr int kSphereCylinderTouches = 1;

// The choice (2), lane by lane.
template <class S>
CYCLOID_INLINE S cylinder_feature(const S& x, const S& rho_square, const S& r, const S& h) {
  const Mask<S> in_height = abs(x) < h, in_breadth = rho_square<r * r, up = x> S(0);
  const Mask<S> cap_nearer = h - abs(x) < r - sqrt(rho_square);
  const Mask<S> side = in_height & !(in_breadth & cap_nearer);
  const S end = select(in_breadth, S(1), S(3)) + select(up, S(0), S(1));
  return select(side, S(0), end);
}

// (1) and (3) for given features.
template <class S>
struct CylinderTouch {
  Mask<S> side, cap, rim;
  Vec3<S> v, z, a, u;
  S x, sign, rho_inverse, gap;
  Direction<S> n;  // inverse is 0 on a cap
};

template <class S>
CYCLOID_INLINE CylinderTouch<S> cylinder_touch(const Pose<S>& sphere, const Pose<S>& cylinder,
                                               const S& r, const S& h, const S& feature) {
  CylinderTouch<S> t;
  t.side = feature <= S(0);
  t.rim = feature >= S(3);
  t.cap = !(t.side | t.rim);
  t.z = axis(cylinder, 2);
  t.v = sphere.p - cylinder.p;
  t.x = dot(t.z, t.v);
  t.sign = select((feature == S(1)) | (feature == S(3)), S(1), S(-1));
  t.a = t.z * t.sign;
  const Vec3<S> q = t.v - t.z * t.x;  // (1)
  const Direction<S> u = direction(q, axis(cylinder, 0));
  t.u = u.u;
  t.rho_inverse = u.inverse;
  const Vec3<S> offset = select(t.rim, t.a * h + t.u * r - t.v, -q);
  t.n = ball_direction(offset, axis(sphere, 2), t.z);                             // (4)
  t.gap = select(t.cap, dot(t.a, t.v) - h, t.n.length - select(t.rim, S(0), r));  // (3)
  t.n.u = select(t.cap, -t.a, t.n.u);
  t.n.inverse = select(t.cap, S(0), t.n.inverse);
  return t;
}

template <class S>
CYCLOID_HD void collide_sphere_cylinder(const S* size1, const Pose<S>& sphere, const S* size2,
                                        const Pose<S>& cylinder,
                                        const std::type_identity_t<S>& margin, Touch<S>* out,
                                        S* feature) {
  const Vec3<S> z = axis(cylinder, 2), v = sphere.p - cylinder.p;
  const S x = dot(z, v);
  const Vec3<S> q = v - z * x;
  const S code = cylinder_feature(x, dot(q, q), size2[0], size2[1]);
  const CylinderTouch<S> t = cylinder_touch(sphere, cylinder, size2[0], size2[1], code);
  const Touch<S> touch = touch_along(sphere.p, size1[0], t.n.u, t.gap);
  write_touch(touch.dist <= margin, touch, code, out[0], feature[0]);
}

template <class S>
CYCLOID_HD void collide_sphere_cylinder_pullback(const S* size1, const Pose<S>& sphere,
                                                 const S* size2, const Pose<S>& cylinder,
                                                 const S* feature, const TouchBar<S>* out_bar,
                                                 PoseBar<S>& sphere_bar, PoseBar<S>& cylinder_bar,
                                                 S* size1_bar, S* size2_bar) {
  const Vec3<S> zero{S(0), S(0), S(0)};
  const S &r = size2[0], &h = size2[1];
  const CylinderTouch<S> t = cylinder_touch(sphere, cylinder, r, h, feature[0]);
  S gap_bar;
  Vec3<S> n_bar;
  touch_along_bar(size1[0], t.n.u, t.gap, used_bar(feature[0], out_bar[0]), sphere_bar.force,
                  size1_bar[0], gap_bar, n_bar);

  const S length_bar = select(t.cap, S(0), gap_bar), cap_bar = gap_bar - length_bar;  // (3)
  const Vec3<S> offset_bar = t.n.u * length_bar + direction_bar(t.n, n_bar);          // (4)
  const Vec3<S> rim_bar = select(t.rim, offset_bar, zero);
  const Vec3<S> u_bar = rim_bar * r;
  const Vec3<S> q_bar = (u_bar - t.u * dot(t.u, u_bar)) * t.rho_inverse - (offset_bar - rim_bar);
  const S x_bar = -dot(t.z, q_bar);  // (1)
  const Vec3<S> v_bar = q_bar + t.z * x_bar - rim_bar + t.a * cap_bar;
  const Vec3<S> a_bar = rim_bar * h + t.v * cap_bar - select(t.cap, n_bar, zero);
  size2_bar[0] += dot(t.u, rim_bar) - select(t.side, gap_bar, S(0));
  size2_bar[1] += dot(t.a, rim_bar) - cap_bar;
  sphere_bar.force += v_bar;
  cylinder_bar.force -= v_bar;
  add_direction(cylinder_bar, t.z, a_bar * t.sign + t.v * x_bar - q_bar * t.x);
}

}  // namespace cycloid::inline geometry
