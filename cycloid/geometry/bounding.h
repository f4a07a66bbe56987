// Bounding spheres of geoms, and whether a pair can be within its margin.
//
//   sphere r;   capsule r + h;   cylinder √(r² + h²);   ellipsoid max a_i;   box |a|           (1)
//   mesh, height field: size[0], a ball about its origin
//   plane: 0, by MuJoCo's convention (geom_rbound); it has no bounding sphere
// A pair with centres p₁, p₂, radii ρ₁, ρ₂ is near where
//   |p₂ - p₁|² ≤ (ρ₁ + ρ₂ + margin)²,   or n·(p₂ - p₁) ≤ ρ₂ + margin for a plane with normal n  (2)
// Geoms lie within their spheres, so a pair that is not near has no touch. The right-hand sides are
// widened by a few units in the last place, for what rounding does in the narrow phase.
#pragma once

#include "cycloid/geometry/shape.h"
#include "cycloid/math/norm.h"
#include "cycloid/math/pack.h"

namespace cycloid::inline geometry {

template <class S>
CYCLOID_HD S bounding_radius(GeomKind kind, const S* size) {
  switch (kind) {  // (1)
    case GeomKind::plane: return S(0);
    case GeomKind::hfield:
    case GeomKind::mesh:
    case GeomKind::sphere: return size[0];
    case GeomKind::capsule: return size[0] + size[1];
    case GeomKind::ellipsoid: return max(size[0], max(size[1], size[2]));
    case GeomKind::cylinder: return norm(size[0], size[1]);
    case GeomKind::box: return norm(size[0], size[1], size[2]);
  }
  return S(0);
}

// (2) for geoms in the order of their kinds.
template <class S>
CYCLOID_INLINE Mask<S> spheres_near(bool plane, const Pose<S>& pose1, const S& radius1,
                                    const Pose<S>& pose2, const S& radius2, const S& margin) {
  constexpr double wide = 1 + 16 * double(std::numeric_limits<Scalar<S>>::epsilon());
  const Vec3<S> offset = pose2.p - pose1.p;
  const S reach = (radius1 + radius2 + margin) * S(wide);
  if (plane) return dot(axis(pose1, 2), offset) <= reach;
  return dot(offset, offset) <= reach * reach;
}

}  // namespace cycloid::inline geometry
