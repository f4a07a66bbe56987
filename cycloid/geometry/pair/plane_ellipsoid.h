// Plane and ellipsoid: the touch at the ellipsoid's lowest point, and its pullback.
//
// Semi-axes a (componentwise ∘), pose (R, c), plane through p with normal n:
//   m = -a ∘ (Rᵀ n)                                                                       (1)
//   u = m / |m|                                                                            (2)
//   y = c + R (a ∘ u)                            lowest point                             (3)
//   dist, pos: a ball of radius 0 at y (plane_sphere.h)                                    (4)
// Where |m| < kMinLength (no extent along n) u is the x axis, with derivative zero.
#pragma once

#include "cycloid/geometry/pair/plane_sphere.h"

namespace cycloid::inline geometry {

inline constexpr int kPlaneEllipsoidTouches = 1;

// (1) and (2); n_local = Rᵀ n.
template <class S>
CYCLOID_INLINE Direction<S> ellipsoid_support(const Vec3<S>& semi_axes, const Vec3<S>& n_local) {
  return direction(-componentwise(semi_axes, n_local), Vec3<S>{S(1), S(0), S(0)});
}

template <class S>
CYCLOID_HD void collide_plane_ellipsoid(const S*, const Pose<S>& plane, const S* size2,
                                        const Pose<S>& ellipsoid,
                                        const std::type_identity_t<S>& margin, Touch<S>* out,
                                        S* feature) {
  const Vec3<S> n = axis(plane, 2), a = load_vec3(size2);
  const Direction<S> u = ellipsoid_support(a, transpose_vector_product(ellipsoid.R, n));
  const Vec3<S> y = ellipsoid.p + ellipsoid.R * componentwise(a, u.u);  // (3)
  const Touch<S> touch = ball_on_plane(n, plane.p, y, S(0));            // (4)
  write_touch(touch.dist <= margin, touch, S(0), out[0], feature[0]);
}

template <class S>
CYCLOID_HD void collide_plane_ellipsoid_pullback(const S*, const Pose<S>& plane, const S* size2,
                                                 const Pose<S>& ellipsoid, const S* feature,
                                                 const TouchBar<S>* out_bar, PoseBar<S>& plane_bar,
                                                 PoseBar<S>& ellipsoid_bar, S*, S* size2_bar) {
  const Vec3<S> n = axis(plane, 2), a = load_vec3(size2);
  const Vec3<S> n_local = transpose_vector_product(ellipsoid.R, n);
  const Direction<S> u = ellipsoid_support(a, n_local);
  const Vec3<S> arm = ellipsoid.R * componentwise(a, u.u);
  Vec3<S> n_bar{}, y_bar{};
  S unused = S(0);
  ball_on_plane_pullback(n, plane.p, ellipsoid.p + arm, S(0), used_bar(feature[0], out_bar[0]),
                         n_bar, plane_bar.force, y_bar, unused);  // (4)

  add_point(ellipsoid_bar, arm, y_bar);  // (3)
  const Vec3<S> y_bar_local = transpose_vector_product(ellipsoid.R, y_bar);
  const Vec3<S> m_bar = direction_bar(u, componentwise(a, y_bar_local));               // (2)
  add_to(size2_bar, componentwise(u.u, y_bar_local) - componentwise(n_local, m_bar));  // (3), (1)
  const Vec3<S> turned_bar = ellipsoid.R * -componentwise(a, m_bar);  // of n, as Rᵀ n sees it
  n_bar += turned_bar;
  ellipsoid_bar.torque += cross(turned_bar, n);
  add_direction(plane_bar, n, n_bar);
}

}  // namespace cycloid::inline geometry
