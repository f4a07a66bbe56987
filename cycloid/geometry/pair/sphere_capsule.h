// Sphere and capsule: one touch, and its pullback.
//
// Sphere at c₁; capsule at c₂ with axis z and half-length h:
//   x = z·(c₁ - c₂), clamped to ±h                                                         (1)
//   e = c₂ + x z                                nearest point of the segment                (2)
//   touch of the balls at c₁ and e (sphere_sphere.h)                                        (3)
// feature: 0 x is free (also exactly at ±h), 1 x = h, 2 x = -h. Position and normal have a kink
// where x reaches ±h. A sphere whose centre lies on the segment: coincident balls.
#pragma once

#include "cycloid/geometry/pair/sphere_sphere.h"

namespace cycloid::inline geometry {

inline constexpr int kSphereCapsuleTouches = 1;

template <class S>
CYCLOID_HD void collide_sphere_capsule(const S* size1, const Pose<S>& sphere, const S* size2,
                                       const Pose<S>& capsule,
                                       const std::type_identity_t<S>& margin, Touch<S>* out,
                                       S* feature) {
  const Vec3<S> z = axis(capsule, 2);
  const S &r1 = size1[0], &r2 = size2[0], &h = size2[1];
  const S free = dot(z, sphere.p - capsule.p);
  const Mask<S> above = free > h, below = free < -h;
  const S x = select(above, h, select(below, -h, free));  // (1)
  const S code = select(above, S(1), select(below, S(2), S(0)));
  const Vec3<S> e = capsule.p + z * x;                                         // (2)
  const Touch<S> touch = ball_touch(sphere.p, r1, axis(sphere, 2), e, r2, z);  // (3)
  write_touch(balls_touch(sphere.p, r1, e, r2, margin), touch, code, out[0], feature[0]);
}

template <class S>
CYCLOID_HD void collide_sphere_capsule_pullback(const S* size1, const Pose<S>& sphere,
                                                const S* size2, const Pose<S>& capsule,
                                                const S* feature, const TouchBar<S>* out_bar,
                                                PoseBar<S>& sphere_bar, PoseBar<S>& capsule_bar,
                                                S* size1_bar, S* size2_bar) {
  const Vec3<S> z = axis(capsule, 2), v = sphere.p - capsule.p;
  const S &h = size2[1], &code = feature[0];
  const Mask<S> free = code == S(0);
  const S sign = select(code == S(1), S(1), select(code == S(2), S(-1), S(0)));
  const S x = select(free, dot(z, v), sign * h);
  Vec3<S> e_bar{};
  ball_touch_pullback(sphere.p, size1[0], axis(sphere, 2), capsule.p + z * x, size2[0], z,
                      used_bar(code, out_bar[0]), sphere_bar.force, size1_bar[0], e_bar,
                      size2_bar[0]);     // (3)
  add_point(capsule_bar, z * x, e_bar);  // (2)
  const S x_bar = dot(z, e_bar);
  const S free_bar = select(free, x_bar, S(0));  // (1)
  sphere_bar.force += z * free_bar;
  capsule_bar.force -= z * free_bar;
  add_direction(capsule_bar, z, v * free_bar);
  size2_bar[1] += x_bar * sign;
}

}  // namespace cycloid::inline geometry
