// The distance of a point from a shape that does not bend, in the shape's own frame.
//
//   plane      φ = z                                                                (1)   [m]
//   sphere     φ = |x| - r                                                          (2)
//   capsule    φ = |x - clamp(z, -h, h) ẑ| - r, along its z axis                    (3)
//   box        q = |x_i| - size_i:  φ = |q₊| + min(max q, 0)                        (4)
// and its direction n = ∇φ. Outside of a shape φ is the distance itself: no step shorter than φ can
// reach it. At the middle of a sphere or on the axis of a capsule n is 0; inside a box n is that of
// the nearest face, and jumps where two are as near.
#pragma once

#include "cycloid/math/norm.h"

namespace cycloid::inline soft {

enum class ObstacleShape { plane, sphere, capsule, box };

template <class S>
struct Distance {
  S phi;
  Vec3<S> n;
};

// size: radius; radius and half length; half sides.
template <class S>
CYCLOID_HD Distance<S> distance_from(ObstacleShape shape, const Vec3<S>& size, const Vec3<S>& x) {
  const S zero(0);
  switch (shape) {
    case ObstacleShape::plane: return {x.z, {zero, zero, S(1)}};  // (1)
    case ObstacleShape::sphere: {
      const auto u = unit_and_norm(x);
      return {u.norm - size.x, u.unit};  // (2)
    }
    case ObstacleShape::capsule: {
      const S along = min(max(x.z, -size.y), size.y);
      const auto u = unit_and_norm(Vec3<S>{x.x, x.y, x.z - along});
      return {u.norm - size.x, u.unit};  // (3)
    }
    default: {
      const Vec3<S> q = {abs(x.x) - size.x, abs(x.y) - size.y, abs(x.z) - size.z};
      const Vec3<S> side = {copysign(S(1), x.x), copysign(S(1), x.y), copysign(S(1), x.z)};
      const auto u =
          unit_and_norm(Vec3<S>{positive_part(q.x), positive_part(q.y), positive_part(q.z)});
      const S most = max(q.x, max(q.y, q.z));
      const auto outside = most > zero;
      const auto by_x = q.x == most;
      const auto by_y = q.y == most;
      const Vec3<S> face = {select(by_x, S(1), zero), select(by_x, zero, select(by_y, S(1), zero)),
                            select(by_x, zero, select(by_y, zero, S(1)))};
      return {
          select(outside, u.norm, most),  // (4)
          {select(outside, u.unit.x, face.x) * side.x, select(outside, u.unit.y, face.y) * side.y,
           select(outside, u.unit.z, face.z) * side.z}};
    }
  }
}

}  // namespace cycloid::inline soft
