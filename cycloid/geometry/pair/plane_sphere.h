// Plane and sphere: one touch, and its pullback. Also a ball on a plane, for other pairs.
//
// A ball of radius r at e, a plane through p with normal n:
//   dist = n·(e - p) - r                                                                  (1)
//   pos  = e - n (r + dist/2)                                                             (2)
//   normal = n; a contact where dist ≤ margin
// Pullback, with δ = dist̄ - ½ n·pos̄:
//   ē = pos̄ + n δ,   p̄ = -n δ,   n̄ = normal̄ + (e - p) δ - pos̄ (r + dist/2),
//   r̄ = -dist̄ - ½ n·pos̄                                                                (3)
// Smooth everywhere.
#pragma once

#include "cycloid/geometry/shape.h"

namespace cycloid::inline geometry {

inline constexpr int kPlaneSphereTouches = 1;

template <class S>
CYCLOID_INLINE Touch<S> ball_on_plane(const Vec3<S>& n, const Vec3<S>& p, const Vec3<S>& e,
                                      const S& r) {
  const S dist = dot(n, e - p) - r;                                   // (1)
  return {dist, e - n * (r + S(0.5) * dist), n, {S(0), S(0), S(0)}};  // (2)
}

template <class S>
CYCLOID_INLINE void ball_on_plane_pullback(const Vec3<S>& n, const Vec3<S>& p, const Vec3<S>& e,
                                           const S& r, const TouchBar<S>& bar, Vec3<S>& n_bar,
                                           Vec3<S>& p_bar, Vec3<S>& e_bar, S& r_bar) {
  const Vec3<S> arm = e - p;
  const S half = S(0.5) * dot(n, bar.pos), delta = bar.dist - half;
  const S dist = dot(n, arm) - r;
  e_bar += bar.pos + n * delta;  // (3)
  p_bar -= n * delta;
  n_bar += bar.normal + arm * delta - bar.pos * (r + S(0.5) * dist);
  r_bar -= bar.dist + half;
}

template <class S>
CYCLOID_HD void collide_plane_sphere(const S*, const Pose<S>& plane, const S* size2,
                                     const Pose<S>& sphere, const std::type_identity_t<S>& margin,
                                     Touch<S>* out, S* feature) {
  const Touch<S> touch = ball_on_plane(axis(plane, 2), plane.p, sphere.p, size2[0]);
  write_touch(touch.dist <= margin, touch, S(0), out[0], feature[0]);
}

template <class S>
CYCLOID_HD void collide_plane_sphere_pullback(const S*, const Pose<S>& plane, const S* size2,
                                              const Pose<S>& sphere, const S* feature,
                                              const TouchBar<S>* out_bar, PoseBar<S>& plane_bar,
                                              PoseBar<S>& sphere_bar, S*, S* size2_bar) {
  const Vec3<S> n = axis(plane, 2);
  Vec3<S> n_bar{};
  ball_on_plane_pullback(n, plane.p, sphere.p, size2[0], used_bar(feature[0], out_bar[0]), n_bar,
                         plane_bar.force, sphere_bar.force, size2_bar[0]);
  add_direction(plane_bar, n, n_bar);
}

}  // namespace cycloid::inline geometry
