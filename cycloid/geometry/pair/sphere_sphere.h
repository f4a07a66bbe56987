// Sphere and sphere: one touch, and its pullback. Also two balls, for other pairs.
//
// Balls of radii r₁, r₂ at e₁, e₂:
//   E = e₂ - e₁,   ℓ = |E|,   n = E / ℓ                                                    (1)
//   dist = ℓ - r₁ - r₂                                                                     (2)
//   pos  = e₁ + n (r₁ + dist/2)                                                            (3)
//   normal = n; a contact where ℓ ≤ |margin + r₁ + r₂|
// Pullback, with δ = dist̄ + ½ n·pos̄ and N = normal̄ + pos̄ (r₁ + dist/2):
//   Ē = n δ + (N - n (n·N)) / ℓ,   ē₂ = Ē,   ē₁ = pos̄ - Ē,
//   r̄₁ = -dist̄ + ½ n·pos̄,   r̄₂ = -dist̄ - ½ n·pos̄                                      (4)
// Coincident centres (ℓ < kMinLength): n is the unit vector along z₁ × z₂ of the geoms' axes, the x
// axis where these are parallel; it is held, so that ℓ grows along it.
#pragma once

#include "cycloid/geometry/shape.h"

namespace cycloid::inline geometry {

inline constexpr int kSphereSphereTouches = 1;

// (1), with the geoms' z axes.
template <class S>
CYCLOID_INLINE Direction<S> ball_direction(const Vec3<S>& offset, const Vec3<S>& z1,
                                           const Vec3<S>& z2) {
  const Vec3<S> x{S(1), S(0), S(0)};
  const Direction<S> d = direction(offset, x);
  if (!any(d.inverse == S(0))) return d;
  return direction(offset, direction(cross(z1, z2), x).u);
}

// (3) for a ball at e whose centre has the signed distance `gap` from a surface, along n.
template <class S>
CYCLOID_INLINE Touch<S> touch_along(const Vec3<S>& e, const S& r, const Vec3<S>& n, const S& gap) {
  const S dist = gap - r;
  return {dist, e + n * (r + S(0.5) * dist), n, {S(0), S(0), S(0)}};  // (3)
}

// Cotangents of gap and n (δ and N of the pullback); adds those of e and r.
template <class S>
CYCLOID_INLINE void touch_along_bar(const S& r, const Vec3<S>& n, const S& gap,
                                    const TouchBar<S>& bar, Vec3<S>& e_bar, S& r_bar, S& gap_bar,
                                    Vec3<S>& n_bar) {
  const S half = S(0.5) * dot(n, bar.pos);
  e_bar += bar.pos;
  r_bar -= bar.dist - half;
  gap_bar = bar.dist + half;
  n_bar = bar.normal + bar.pos * (S(0.5) * (gap + r));
}

template <class S>
CYCLOID_INLINE Touch<S> ball_touch(const Vec3<S>& e1, const S& r1, const Vec3<S>& z1,
                                   const Vec3<S>& e2, const S& r2, const Vec3<S>& z2) {
  const Direction<S> d = ball_direction(e2 - e1, z1, z2);
  return touch_along(e1, r1, d.u, d.length - r2);  // (2), (3)
}

template <class S>
CYCLOID_INLINE void ball_touch_pullback(const Vec3<S>& e1, const S& r1, const Vec3<S>& z1,
                                        const Vec3<S>& e2, const S& r2, const Vec3<S>& z2,
                                        const TouchBar<S>& bar, Vec3<S>& e1_bar, S& r1_bar,
                                        Vec3<S>& e2_bar, S& r2_bar) {
  const Direction<S> d = ball_direction(e2 - e1, z1, z2);
  S gap_bar;
  Vec3<S> n_bar;
  touch_along_bar(r1, d.u, d.length - r2, bar, e1_bar, r1_bar, gap_bar, n_bar);
  const Vec3<S> offset_bar = d.u * gap_bar + direction_bar(d, n_bar);  // (4)
  e1_bar -= offset_bar;
  e2_bar += offset_bar;
  r2_bar -= gap_bar;
}

// MuJoCo's test of two balls, on squares.
template <class S>
CYCLOID_INLINE Mask<S> balls_touch(const Vec3<S>& e1, const S& r1, const Vec3<S>& e2, const S& r2,
                                   const std::type_identity_t<S>& margin) {
  const Vec3<S> offset = e2 - e1;
  const S reach = margin + r1 + r2;
  return dot(offset, offset) <= reach * reach;
}

template <class S>
CYCLOID_HD void collide_sphere_sphere(const S* size1, const Pose<S>& sphere1, const S* size2,
                                      const Pose<S>& sphere2, const std::type_identity_t<S>& margin,
                                      Touch<S>* out, S* feature) {
  const Touch<S> touch =
      ball_touch(sphere1.p, size1[0], axis(sphere1, 2), sphere2.p, size2[0], axis(sphere2, 2));
  write_touch(balls_touch(sphere1.p, size1[0], sphere2.p, size2[0], margin), touch, S(0), out[0],
              feature[0]);
}

template <class S>
CYCLOID_HD void collide_sphere_sphere_pullback(const S* size1, const Pose<S>& sphere1,
                                               const S* size2, const Pose<S>& sphere2,
                                               const S* feature, const TouchBar<S>* out_bar,
                                               PoseBar<S>& sphere1_bar, PoseBar<S>& sphere2_bar,
                                               S* size1_bar, S* size2_bar) {
  ball_touch_pullback(sphere1.p, size1[0], axis(sphere1, 2), sphere2.p, size2[0], axis(sphere2, 2),
                      used_bar(feature[0], out_bar[0]), sphere1_bar.force, size1_bar[0],
                      sphere2_bar.force, size2_bar[0]);
}

}  // namespace cycloid::inline geometry
