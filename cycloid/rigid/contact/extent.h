// A second look at pairs whose bounding spheres meet: how far shapes reach towards each other.
//
// Along the line d = p₂ - p₁ between the centres (for a plane d is its normal n, and |d| = 1):
//   e(d) = r |d|   sphere, ball about a mesh;   h |z·d| + r |d|   capsule, cylinder (at most);
//          √Σ (a_i x_i·d)²   ellipsoid;   Σ a_i |x_i·d|   box                                  (1)
//   apart:  d·d > e₁(d) + e₂(d) + margin |d|,   or n·(p₂ - p₁) > e₂(n) + margin               (2)
// Shapes that are apart do not touch; most limbs whose spheres overlap are. The right-hand side is
// widened by a few units in the last place of the distances, as in geometry/bounding.h.
#pragma once

#include <limits>

#include "cycloid/geometry/shape.h"

namespace cycloid::inline rigid {

// (1); length is |d|.
template <class S>
CYCLOID_INLINE S extent_along(GeomKind kind, const S* size, const Pose<S>& x, const Vec3<S>& d,
                              const S& length) {
  switch (kind) {
    case GeomKind::plane: return S(0);
    case GeomKind::hfield:
    case GeomKind::mesh:
    case GeomKind::sphere: return size[0] * length;
    case GeomKind::capsule:
    case GeomKind::cylinder: return size[1] * abs(dot(axis(x, 2), d)) + size[0] * length;
    case GeomKind::ellipsoid: {
      const Vec3<S> own = componentwise(load_vec3(size), transpose_vector_product(x.R, d));
      return sqrt(dot(own, own));
    }
    case GeomKind::box: {
      const Vec3<S> own = componentwise(load_vec3(size), transpose_vector_product(x.R, d));
      return abs(own.x) + abs(own.y) + abs(own.z);
    }
  }
  return S(0);
}

// (2), for geoms in the order of their kinds.
template <class S>
CYCLOID_INLINE Mask<S> shapes_apart(GeomKind kind1, const S* size1, const Pose<S>& x1,
                                    GeomKind kind2, const S* size2, const Pose<S>& x2,
                                    const S& margin) {
  constexpr double wide = 32 * double(std::numeric_limits<Scalar<S>>::epsilon());
  const Vec3<S> offset = x2.p - x1.p;
  const bool plane = kind1 == GeomKind::plane;
  const Vec3<S> d = plane ? axis(x1, 2) : offset;
  const S square = dot(offset, offset);
  const S length = plane ? S(1) : sqrt(select(square > S(0), square, S(1)));
  const S reach = extent_along(kind1, size1, x1, d, length) +
                  extent_along(kind2, size2, x2, d, length) + margin * length;
  const S far = plane ? dot(d, offset) : square;
  return far > reach + S(wide) * (abs(reach) + abs(far));
}

}  // namespace cycloid::inline rigid
