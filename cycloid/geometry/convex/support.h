// Convex shapes by their support points: what GJK and EPA know about a geom.
//
// A shape is a core swept by a ball: a sphere is a point, a capsule a segment; ellipsoid, cylinder,
// box and the hull of a mesh are their own cores, with radius zero. The support point of direction
// d is the point of the core furthest along d; where a face or an edge is, a corner of it is given,
// with its number: of a box as in convex_feature.h, of a capsule 1 and 2, of a hull as in hull.h.
//
// For two shapes and a unit vector n from the first towards the second,
//   s(n) = min n·x₂ - max n·x₁ = -h₁(n) - h₂(-n),   h_i(d) = max d·x_i over core i          (1)
// is how far the cores lie apart along n. Their signed distance is the largest s(n): positive when
// they are apart, minus the least displacement that separates them when they overlap.
#pragma once

#include "cycloid/geometry/convex/hull.h"

namespace cycloid::inline geometry {

struct ConvexShape {
  GeomKind kind;
  Pose<double> x;
  Vec3<double> size;
  const Hull* hull = nullptr;  // of a mesh
  mutable int last = -1;       // corner of the hull that was found last
};

// Whether the core has corners and nothing round.
inline bool is_polytope(const ConvexShape& a) {
  return a.kind != GeomKind::ellipsoid && a.kind != GeomKind::cylinder;
}

// A length that the core does not exceed by much.
inline double extent(const ConvexShape& a) {
  return a.kind == GeomKind::mesh ? a.hull->radius : a.size.x + a.size.y + a.size.z;
}

// Radius of the ball that sweeps the core.
inline double swept_radius(const ConvexShape& a) {
  return a.kind == GeomKind::sphere || a.kind == GeomKind::capsule ? a.size.x : 0;
}

struct SupportCorner {
  Vec3<double> x;
  int number;  // of a corner, -1 on a round core
};

inline SupportCorner support_corner(const ConvexShape& a, const Vec3<double>& d) {
  const Vec3<double> m = transpose_vector_product(a.x.R, d);
  Vec3<double> y{};
  int number = -1;
  if (a.kind == GeomKind::mesh) {
    number = a.last = a.hull->furthest(m, a.last);
    y = a.hull->corner<double>(number);
  } else if (a.kind == GeomKind::sphere) {
    number = 0;
  } else if (a.kind == GeomKind::capsule) {
    y.z = copysign(a.size.y, m.z);
    number = y.z > 0 ? 1 : 2;
  } else if (a.kind == GeomKind::ellipsoid) {
    const Vec3<double> q{a.size.x * m.x, a.size.y * m.y, a.size.z * m.z};
    const double length = sqrt(dot(q, q));
    if (length > 0) {
      y = {a.size.x * q.x / length, a.size.y * q.y / length, a.size.z * q.z / length};
    }
  } else if (a.kind == GeomKind::cylinder) {
    const double across = sqrt(m.x * m.x + m.y * m.y);
    const double scale = across > kMinLength ? a.size.x / across : 0;
    y = {scale * m.x, scale * m.y, copysign(a.size.y, m.z)};
  } else if (a.kind == GeomKind::box) {
    number = 0;
    for (int k = 0; k < 3; ++k) {
      y[k] = copysign(a.size[k], m[k]);
      number += (y[k] > 0) << k;
    }
  }
  return {a.x.p + a.x.R * y, number};
}
inline Vec3<double> support_point(const ConvexShape& a, const Vec3<double>& d) {
  return support_corner(a, d).x;
}

// (1)
inline double separation(const ConvexShape& a, const ConvexShape& b, const Vec3<double>& n) {
  return dot(n, support_point(b, -n) - support_point(a, n));
}

}  // namespace cycloid::inline geometry
