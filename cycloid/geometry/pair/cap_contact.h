// One contact of a cylinder's cap with a flat face, and its pullback.
//
// Two faces that look at each other touch in a polygon. A cap stands there as the regular polygon
// of 16 corners on its rim, the first on the geom's x axis. The polygon is taken in the plane of
// cylinder 1's cap, into which the other face is projected along the cylinder's axis: in the axes
// of geom 1,
//   q_j = r (cos jπ/8, sin jπ/8),  p_k = (x₁·(P_k - p₁), y₁·(P_k - p₁)),  P_k corners of face 2 (1)
// A corner (u, v) of the common polygon is a q_j, a p_k, or where an edge of the one crosses an
// edge of the other. With the cap at σ h along the axis, face 2 at c₂ with outward normal n₂,
//   w = p₁ + u x₁ + v y₁ + σ h z₁,  dist = n₂·(w - c₂),  pos = w - ½ dist n₂,  normal = -n₂     (2)
// Edges that cross at a sine below kFrozenCrossing hold (u, v) fixed to geom 1.
#pragma once

#include "cycloid/geometry/convex/convex_feature.h"
#include "cycloid/geometry/pair/box_contact.h"

namespace cycloid::inline geometry {

inline constexpr int kCapCorners = 16;

// cos jπ/8.
inline double cap_cosine(int j) {
  constexpr double kQuarter[5] = {1, 0.92387953251128675613, 0.70710678118654752440,
                                  0.38268343236508977173, 0};
  j = (j % 16 + 16) % 16;
  if (j > 8) j = 16 - j;
  return j <= 4 ? kQuarter[j] : -kQuarter[8 - j];
}
inline double cap_sine(int j) { return cap_cosine(j - 4); }

// Corners of a flat feature, in order around it; each fixed to the geom.
inline int face_corners(GeomKind kind) { return kind == GeomKind::box ? 4 : kCapCorners; }

// Corner k in units of the geom's sizes, clockwise as seen from outside. Which one comes first is
// MuJoCo's choice: the order decides among polygons' corners that serve equally well.
inline Vec3<double> unit_corner(GeomKind kind, int face, int k) {
  if (kind == GeomKind::cylinder) {
    const int j = -cap_sign(face) * k;
    return {cap_cosine(j), cap_sine(j), double(cap_sign(face))};
  }
  constexpr int kFirst[6] = {3, 0, 3, 2, 0, 3};
  const int side = face - kBoxFaces, a = side / 2, b = (a + 1) % 3, c = (a + 2) % 3;
  const bool positive = side % 2 == 1;
  k = (k + kFirst[side]) % 4;
  const bool first = k == 0 || k == (positive ? 1 : 3), second = k == 0 || k == (positive ? 3 : 1);
  Vec3<double> s{};
  s[a] = positive ? 1 : -1;
  s[b] = first ? 1 : -1;
  s[c] = second ? 1 : -1;
  return s;
}

template <class T>
Vec3<T> corner_sizes(GeomKind kind, const Vec3<T>& size) {
  return kind == GeomKind::box ? size : Vec3<T>{size.x, size.x, size.y};
}

// The corner in the world, from the geom's origin.
template <class T>
Vec3<T> face_corner(GeomKind kind, int face, int k, const Pose<T>& x, const Vec3<T>& size) {
  const Vec3<double> unit = unit_corner(kind, face, k);
  const Vec3<T> s = corner_sizes(kind, size);
  return x.R * Vec3<T>{s.x * T(unit.x), s.y * T(unit.y), s.z * T(unit.z)};
}

template <class T>
void face_corner_bar(GeomKind kind, int face, int k, const Pose<T>& x, const Vec3<T>& size,
                     const Vec3<T>& bar, PoseBar<T>& x_bar, Vec3<T>& size_bar) {
  const Vec3<double> unit = unit_corner(kind, face, k);
  add_point(x_bar, face_corner(kind, face, k, x, size), bar);
  const Vec3<T> b = transpose_vector_product(x.R, bar);
  if (kind == GeomKind::box) {
    for (int i = 0; i < 3; ++i) size_bar[i] += b[i] * T(unit[i]);
  } else {
    size_bar.x += b.x * T(unit.x) + b.y * T(unit.y);
    size_bar.y += b.z * T(unit.z);
  }
}

// A corner of the common polygon: where lines a and b meet. Lines 0..15: edge k of face 2, from its
// corner k to the next; 16..31: edge j of the cap.
struct CapFeature {
  int cap, face;  // features of geom 1 and 2
  int line[2];
};

inline constexpr int kCapCodes = 2 * 6 * 32 * 32;

inline int encode(const CapFeature& f, GeomKind k2) {
  const int face = k2 == GeomKind::box ? f.face - kBoxFaces : f.face - kUpperCap;
  return (((f.cap - kUpperCap) * 6 + face) * 32 + f.line[0]) * 32 + f.line[1];
}
inline CapFeature decode_cap(int code, GeomKind k2) {
  const int faces = code / 1024, face = faces % 6;
  return {kUpperCap + faces / 6,
          k2 == GeomKind::box ? kBoxFaces + face : kUpperCap + face,
          {code / 32 % 32, code % 32}};
}

// The corner that edges a and b of the same polygon share.
inline int shared_corner(int a, int b, int corners) { return (a + 1) % corners == b ? b : a; }

// An edge in the cap's plane: m·((u, v) - from) = 0, with m across its direction.
template <class T>
struct PlaneEdge {
  Vec<T, 2> from, m;
};

template <class T>
struct CapContact {
  ShapeFeature<T> face;
  T u, v, dist;
  Vec3<T> w;             // from the origin of geom 1
  PlaneEdge<T> edge[2];  // where two polygons' edges cross
  T inverse[2][2];       // of their m; zero where frozen
};

template <class T>
Vec<T, 2> in_cap_plane(const GeomPair<T>& g, const Vec3<T>& point) {
  return {{dot(axis(g.x1, 0), point), dot(axis(g.x1, 1), point)}};  // (1)
}

// Corner k of face 2, or of the cap, in the cap's plane.
template <class T>
Vec<T, 2> plane_corner(const GeomPair<T>& g, GeomKind k2, const CapFeature& f, bool cap, int k) {
  if (cap) return {{g.size1.x * T(cap_cosine(k)), g.size1.x * T(cap_sine(k))}};
  return in_cap_plane(g, g.x2.p - g.x1.p + face_corner(k2, f.face, k, g.x2, g.size2));
}

template <class T>
CapContact<T> cap_contact(const GeomPair<T>& g, GeomKind k2, const CapFeature& f) {
  CapContact<T> c;
  c.face = shape_feature(k2, g.x2, g.size2, f.face);
  const bool cap0 = f.line[0] >= 16, cap1 = f.line[1] >= 16;
  if (cap0 == cap1) {
    const int corners = cap0 ? kCapCorners : face_corners(k2);
    const Vec<T, 2> at =
        plane_corner(g, k2, f, cap0, shared_corner(f.line[0] % 16, f.line[1] % 16, corners));
    c.u = at[0], c.v = at[1];
  } else {
    for (int i = 0; i < 2; ++i) {
      const bool cap = f.line[i] >= 16;
      const int k = f.line[i] % 16, corners = cap ? kCapCorners : face_corners(k2);
      const Vec<T, 2> from = plane_corner(g, k2, f, cap, k);
      const Vec<T, 2> along = plane_corner(g, k2, f, cap, (k + 1) % corners) - from;
      c.edge[i] = {from, {{-along[1], along[0]}}};
    }
    const Vec<T, 2>&m0 = c.edge[0].m, &m1 = c.edge[1].m;
    const T det = m0[0] * m1[1] - m0[1] * m1[0];
    const double squares = primal(dot(m0, m0) * dot(m1, m1)), d = primal(det);
    const T over = d * d > 1e-28 * squares ? T(1) / det : T(0);
    const T b0 = dot(m0, c.edge[0].from), b1 = dot(m1, c.edge[1].from);
    c.u = (b0 * m1[1] - b1 * m0[1]) * over;
    c.v = (m0[0] * b1 - m1[0] * b0) * over;
    const bool frozen = !(d * d > kFrozenCrossing * kFrozenCrossing * squares);
    if (frozen) c.u = T(primal(c.u)), c.v = T(primal(c.v));
    const T scale = frozen ? T(0) : over;
    c.inverse[0][0] = m1[1] * scale, c.inverse[0][1] = -m0[1] * scale;
    c.inverse[1][0] = -m1[0] * scale, c.inverse[1][1] = m0[0] * scale;
  }
  c.w =
      axis(g.x1, 0) * c.u + axis(g.x1, 1) * c.v + axis(g.x1, 2) * (g.size1.y * T(cap_sign(f.cap)));
  c.dist = dot(c.face.e, g.x1.p + c.w - g.x2.p - c.face.c);  // (2)
  return c;
}

template <class T>
Touch<T> cap_touch(const GeomPair<T>& g, GeomKind k2, const CapFeature& f) {
  const CapContact<T> c = cap_contact(g, k2, f);
  return {c.dist, g.x1.p + c.w - c.face.e * (T(0.5) * c.dist), -c.face.e, {}};  // (2)
}

// Cotangent of one corner in the cap's plane.
template <class T>
void plane_corner_bar(const GeomPair<T>& g, GeomKind k2, const CapFeature& f, bool cap, int k,
                      const Vec<T, 2>& bar, GeomPairBar<T>& g_bar) {
  if (cap) {
    g_bar.size1.x += bar[0] * T(cap_cosine(k)) + bar[1] * T(cap_sine(k));
    return;
  }
  const Vec3<T> point_bar = axis(g.x1, 0) * bar[0] + axis(g.x1, 1) * bar[1];
  const Vec3<T> point = g.x2.p - g.x1.p + face_corner(k2, f.face, k, g.x2, g.size2);
  face_corner_bar(k2, f.face, k, g.x2, g.size2, point_bar, g_bar.x2, g_bar.size2);
  g_bar.x1.force -= point_bar;
  g_bar.x1.torque += cross(point_bar, point);  // (1)
}

template <class T>
void cap_touch_bar(const GeomPair<T>& g, GeomKind k2, const CapFeature& f, const TouchBar<T>& bar,
                   GeomPairBar<T>& g_bar) {
  const CapContact<T> c = cap_contact(g, k2, f);
  const Vec3<T>& n2 = c.face.e;
  const Vec3<T> offset = g.x1.p + c.w - g.x2.p - c.face.c;
  const T dist_bar = bar.dist - T(0.5) * dot(n2, bar.pos);  // (2)
  const Vec3<T> w_bar = bar.pos + n2 * dist_bar;
  add_direction(g_bar.x2, n2, offset * dist_bar - bar.pos * (T(0.5) * c.dist) - bar.normal);
  feature_point_bar(k2, f.face, c.face, g.x2, g.size2, n2, {c.face.c, {}, T(0)}, -(n2 * dist_bar),
                    g_bar.x2, g_bar.size2);
  add_point(g_bar.x1, c.w, w_bar);
  g_bar.size1.y += dot(axis(g.x1, 2), w_bar) * T(cap_sign(f.cap));
  const Vec<T, 2> uv_bar = in_cap_plane(g, w_bar);

  const bool cap0 = f.line[0] >= 16, cap1 = f.line[1] >= 16;
  if (cap0 == cap1) {
    const int corners = cap0 ? kCapCorners : face_corners(k2);
    plane_corner_bar(g, k2, f, cap0, shared_corner(f.line[0] % 16, f.line[1] % 16, corners), uv_bar,
                     g_bar);
    return;
  }
  for (int i = 0; i < 2; ++i) {
    // m·((u, v) - from) = 0 at fixed (u, v); m is `along` turned by a quarter.
    const T lambda = c.inverse[0][i] * uv_bar[0] + c.inverse[1][i] * uv_bar[1];
    const T du = (c.u - c.edge[i].from[0]) * lambda, dv = (c.v - c.edge[i].from[1]) * lambda;
    const Vec<T, 2> along_bar{{-dv, du}}, from_bar = c.edge[i].m * lambda - along_bar;
    const bool cap = f.line[i] >= 16;
    const int k = f.line[i] % 16, corners = cap ? kCapCorners : face_corners(k2);
    plane_corner_bar(g, k2, f, cap, k, from_bar, g_bar);
    plane_corner_bar(g, k2, f, cap, (k + 1) % corners, along_bar, g_bar);
  }
}

}  // namespace cycloid::inline geometry
