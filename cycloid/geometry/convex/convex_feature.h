// Features of convex shapes: the piece of a shape that a contact lies on, and its support point.
//
// Every piece of a sphere, capsule, ellipsoid, cylinder or box has one of five forms, swept by a
// ball of radius r (0 unless named):
//   point      c: a sphere's centre, a capsule's end (r), a box's corner
//   ellipsoid  semi-axes a along the axes of R, centre c
//   circle     centre c, axis e, radius ρ: a cylinder's rim
//   line       through c along e, half-length l: a capsule's segment (r), a cylinder's axis (r: its
//              side), a box's edge
//   face       through c, outward normal e: a cylinder's cap, a box's face
// The hull of a mesh has points, lines and faces (hull.h): a corner v; an edge from a to b, c its
// middle, e along b - a, l = ½|b - a|; a triangle a, b, d, c its centroid, e along (b-a) × (d-a).
// The point of the form furthest along a unit vector m and its derivative, symmetric and ⪰ 0:
//   point, line, face   x = c (a line or face has many; its middle stands for them)          (1)
//   ellipsoid           q = D Rᵀ m, h = |q|, x = c + R D q/h,  K = R D (1 - q qᵀ/h²) D Rᵀ / h (2)
//   circle              u = (m - e (e·m)) / |·|, x = c + ρ u,  K = ρ (1 - e eᵀ - u uᵀ) / |·|  (3)
// At fixed m, x is fixed to the geom but for (2) and (3), whose u and q turn with it.
#pragma once

#include "cycloid/geometry/pair/by_lane.h"

namespace cycloid::inline geometry {

// Codes of features, by kind:
//   sphere, ellipsoid 0;  capsule 0 segment, 1 and 2 its cap_sign and lower end
//   cylinder 0 side, 1 and 2 cap_sign and lower rim, 3 and 4 cap_sign and lower cap
//   box 0..7 corners (bit k: positive along axis k), 8..19 edges (8 + 4 axis + two bits for the
//   sides along the next axes), 20..25 faces (20 + 2 axis + positive)
inline constexpr int kSegment = 0, kUpperEnd = 1, kLowerEnd = 2;
inline constexpr int kSide = 0, kUpperRim = 1, kLowerRim = 2, kUpperCap = 3, kLowerCap = 4;
inline constexpr int kBoxEdges = 8, kBoxFaces = 20, kFeatureCodes = 26;

enum class Form { point, ellipsoid, circle, line, face };

template <class T>
struct ShapeFeature {
  Form form;
  Vec3<T> c, e;  // c from the geom's own origin
  T r, radius;   // swept radius; ρ of a circle
  T half;        // half-length of a line
};

inline int cap_sign(int code) { return code == 1 || code == 3 ? 1 : -1; }

// Signs of a box feature along its three axes; 0 along those that it extends in.
inline void box_signs(int code, int* sign) {
  for (int k = 0; k < 3; ++k) sign[k] = 0;
  if (code < kBoxEdges) {
    for (int k = 0; k < 3; ++k) sign[k] = code >> k & 1 ? 1 : -1;
  } else if (code < kBoxFaces) {
    const int axis = (code - kBoxEdges) / 4;
    for (int k = 0; k < 2; ++k) sign[(axis + 1 + k) % 3] = (code - kBoxEdges) >> k & 1 ? 1 : -1;
  } else {
    sign[(code - kBoxFaces) / 2] = (code - kBoxFaces) % 2 ? 1 : -1;
  }
}

inline Form feature_form(GeomKind kind, int code, const Hull* hull = nullptr) {
  if (kind == GeomKind::mesh) {
    const HullFeature piece = hull_piece(*hull->table, code).kind;
    return piece == HullFeature::corner ? Form::point
           : piece == HullFeature::edge ? Form::line
                                        : Form::face;
  }
  if (kind == GeomKind::ellipsoid) return Form::ellipsoid;
  if (kind == GeomKind::capsule) return code == kSegment ? Form::line : Form::point;
  if (kind == GeomKind::cylinder) {
    return code == kSide ? Form::line : code < kUpperCap ? Form::circle : Form::face;
  }
  if (kind == GeomKind::box && code >= kBoxEdges) {
    return code < kBoxFaces ? Form::line : Form::face;
  }
  return Form::point;
}

template <class T>
ShapeFeature<T> hull_feature(const Hull& h, const Pose<T>& x, int code) {
  const HullPiece piece = hull_piece(*h.table, code);
  const Vec3<T> a = h.corner<T>(piece.at[0]);
  if (piece.kind == HullFeature::corner) {
    return {Form::point, x.R * a, axis(x, 2), T(0), T(0), T(0)};
  }
  const Vec3<T> b = h.corner<T>(piece.at[1]);
  if (piece.kind == HullFeature::edge) {
    const Direction<T> e = direction(b - a, Vec3<T>{T(0), T(0), T(1)});
    return {Form::line, x.R * ((a + b) * T(0.5)), x.R * e.u, T(0), T(0), T(0.5) * e.length};
  }
  const Vec3<T> d = h.corner<T>(piece.at[2]);
  const Direction<T> e = direction(cross(b - a, d - a), Vec3<T>{T(0), T(0), T(1)});
  return {Form::face, x.R * ((a + b + d) * T(1.0 / 3)), x.R * e.u, T(0), T(0), T(0)};
}

template <class T>
ShapeFeature<T> shape_feature(GeomKind kind, const Pose<T>& x, const Vec3<T>& size, int code,
                              const Hull* hull = nullptr) {
  if (kind == GeomKind::mesh) return hull_feature(*hull, x, code);
  const Vec3<T> z = axis(x, 2), zero{T(0), T(0), T(0)};
  ShapeFeature<T> f{feature_form(kind, code), zero, z, T(0), T(0), T(0)};
  if (kind == GeomKind::sphere || kind == GeomKind::capsule) f.r = size.x;
  if (kind == GeomKind::capsule) {
    f.half = size.y;
    if (code != kSegment) f.c = z * (size.y * T(cap_sign(code)));
  } else if (kind == GeomKind::cylinder) {
    f.half = size.y;
    (code == kSide ? f.r : f.radius) = size.x;
    if (code == kSide) return f;
    f.e = z * T(cap_sign(code));
    f.c = f.e * size.y;
  } else if (kind == GeomKind::box) {
    int sign[3];
    box_signs(code, sign);
    for (int k = 0; k < 3; ++k) {
      f.c += axis(x, k) * (size[k] * T(sign[k]));
      if (f.form == Form::line && sign[k] == 0) f.e = axis(x, k), f.half = size[k];
      if (f.form == Form::face && sign[k] != 0) f.e = axis(x, k) * T(sign[k]);
    }
  }
  return f;
}

// A support point of a feature along m, from the geom's origin, with what K needs.
template <class T>
struct SupportPoint {
  Vec3<T> x;
  Vec3<T> u;  // (3); (2): q/h in the geom's axes
  T inverse;  // (3): 1/|·|; (2): 1/h; 0 where undefined
};

template <class T>
SupportPoint<T> feature_point(const ShapeFeature<T>& f, const Pose<T>& pose, const Vec3<T>& size,
                              const Vec3<T>& m) {
  if (f.form == Form::ellipsoid) {
    const Vec3<T> q = componentwise(size, transpose_vector_product(pose.R, m));
    const Direction<T> d = direction(q, Vec3<T>{T(1), T(0), T(0)});
    return {pose.R * componentwise(size, d.u), d.u, d.inverse};  // (2)
  }
  if (f.form == Form::circle) {
    // Built from the axes across e, so that u lies across it even where m is nearly along it.
    const Vec3<T> i = axis(pose, 0), j = axis(pose, 1);
    const Direction<T> d = direction(i * dot(i, m) + j * dot(j, m), i);
    return {f.c + d.u * f.radius, d.u, d.inverse};  // (3)
  }
  return {f.c, {}, T(0)};  // (1)
}

// K y.
template <class T>
Vec3<T> apply_curvature(const ShapeFeature<T>& f, const Pose<T>& pose, const Vec3<T>& size,
                        const SupportPoint<T>& p, const Vec3<T>& y) {
  if (f.form == Form::ellipsoid) {
    const Vec3<T> d = componentwise(size, transpose_vector_product(pose.R, y));
    return pose.R * componentwise(size, d - p.u * dot(p.u, d)) * p.inverse;  // (2)
  }
  if (f.form == Form::circle) {
    const Vec3<T> across = y - f.e * dot(f.e, y);
    return (across - p.u * dot(p.u, across)) * (f.radius * p.inverse);  // (3)
  }
  return {T(0), T(0), T(0)};
}

// Cotangents of pose and size, given that of x at fixed m. The place on a line or face is fixed.
template <class T>
void feature_point_bar(GeomKind kind, int code, const ShapeFeature<T>& f, const Pose<T>& pose,
                       const Vec3<T>& size, const Vec3<T>& m, const SupportPoint<T>& p,
                       const Vec3<T>& x_bar, PoseBar<T>& pose_bar, Vec3<T>& size_bar) {
  add_point(pose_bar, p.x, x_bar);
  // m stands still: seen from the geom it turns the other way, and K carries x with it.
  pose_bar.torque -= cross(m, apply_curvature(f, pose, size, p, x_bar));
  if (f.form == Form::ellipsoid) {
    const Vec3<T> b = transpose_vector_product(pose.R, x_bar);
    const Vec3<T> q_bar = componentwise(size, b), l = transpose_vector_product(pose.R, m);
    size_bar += componentwise(b, p.u);
    size_bar += componentwise(l, q_bar - p.u * dot(p.u, q_bar)) * p.inverse;  // (2)
  } else if (f.form == Form::circle) {
    size_bar.x += dot(p.u, x_bar);
    size_bar.y += dot(f.e, x_bar);  // (3)
  } else if (kind == GeomKind::capsule && f.form == Form::point) {
    size_bar.y += dot(f.e, x_bar) * T(cap_sign(code));
  } else if (kind == GeomKind::cylinder && f.form == Form::face) {
    size_bar.y += dot(f.e, x_bar);
  } else if (kind == GeomKind::box) {
    int sign[3];
    box_signs(code, sign);
    for (int k = 0; k < 3; ++k) size_bar[k] += dot(axis(pose, k), x_bar) * T(sign[k]);
  }
}

// Cotangents of a hull's points, given those of c, e and l.
template <class T>
void hull_feature_bar(const Hull& h, const Pose<T>& x, int code, const Vec3<T>& c_bar,
                      const Vec3<T>& e_bar, const T& half_bar, const HullBar& bar) {
  if (!bar.value) return;
  const HullPiece piece = hull_piece(*h.table, code);
  const Vec3<T> middle = transpose_vector_product(x.R, c_bar);
  if (piece.kind == HullFeature::corner) return bar.add(h, piece.at[0], middle);
  const Vec3<T> along = transpose_vector_product(x.R, e_bar), up{T(0), T(0), T(1)};
  const Vec3<T> u = h.corner<T>(piece.at[1]) - h.corner<T>(piece.at[0]);
  if (piece.kind == HullFeature::edge) {
    const Direction<T> e = direction(u, up);
    const Vec3<T> u_bar = direction_bar(e, along) + e.u * (T(0.5) * half_bar);
    bar.add(h, piece.at[0], middle * T(0.5) - u_bar);
    bar.add(h, piece.at[1], middle * T(0.5) + u_bar);
    return;
  }
  const Vec3<T> v = h.corner<T>(piece.at[2]) - h.corner<T>(piece.at[0]);
  Vec3<T> u_bar{}, v_bar{};
  cross_pullback(u, v, direction_bar(direction(cross(u, v), up), along), u_bar, v_bar);
  const Vec3<T> third = middle * T(1.0 / 3);
  bar.add(h, piece.at[0], third - u_bar - v_bar);
  bar.add(h, piece.at[1], third + u_bar);
  bar.add(h, piece.at[2], third + v_bar);
}

}  // namespace cycloid::inline geometry
