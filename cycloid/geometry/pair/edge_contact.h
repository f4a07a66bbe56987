// One contact of a straight edge that lies along a flat face, and its pullback.
//
// The edge of one geom, a box's edge or the straight line of a cylinder's or capsule's side that
// faces the other geom, lies along a face of the other, with centre c and outward normal e:
//   v = b + τ z,   dist = e·(v - c),   pos = v - ½ dist e                                    (1)
// b is the edge's middle. On a cylinder or capsule of radius ρ at p it is found along the normal n
// of the closest features (convex_contact.h), pointing outwards:
//   a = n - z (z·n);   cylinder b = p + ρ a / |a|;   capsule b = p + ρ a                      (2)
// τ is an end of the edge, ±l, or where the edge leaves the face: the plane across side j, which
// has the outward normal m and the distance o from the origin y of the face's geom,
//   m·(v - y) = o,   τ = (o - m·(b - y)) / m·z                                              (3)
// A cap has 16 sides (cap_contact.h), m at their middles and o = ρ cos π/16. The normal of the
// contact is ∓ e, from geom 1 to geom 2. An edge along side j (below a sine of kFrozenCrossing)
// keeps its τ.
#pragma once

#include "cycloid/geometry/convex/convex_touch.h"
#include "cycloid/geometry/pair/cap_contact.h"

namespace cycloid::inline geometry {

// Side of a face, or end of an edge.
inline constexpr int kUpperPlace = 0, kLowerPlace = 1, kFirstSide = 2, kEdgePlaces = 18;

struct EdgeFeature {
  int on_second;  // 1: the edge belongs to geom 2, the face to geom 1
  int closest;    // code of the closest features
  int face;       // feature of the other geom
  int edge;       // of a box: 8..19; else 0
  int place;      // an end, or kFirstSide + j
};

inline constexpr int kEdgeCodes = 2 * kConvexCodes * 6 * 12 * kEdgePlaces;

inline int encode(const EdgeFeature& f, GeomKind face_kind) {
  const int face = face_kind == GeomKind::box ? f.face - kBoxFaces : f.face - kUpperCap;
  const int edge = f.edge < kBoxEdges ? 0 : f.edge - kBoxEdges;
  return (((f.on_second * kConvexCodes + f.closest) * 6 + face) * 12 + edge) * kEdgePlaces +
         f.place;
}
inline EdgeFeature decode_edge(int code, GeomKind k1, GeomKind k2) {
  EdgeFeature f;
  f.place = code % kEdgePlaces, code /= kEdgePlaces;
  f.edge = code % 12, code /= 12;
  f.face = code % 6, code /= 6;
  f.closest = code % kConvexCodes;
  f.on_second = code / kConvexCodes;
  const GeomKind owner = f.on_second ? k2 : k1, other = f.on_second ? k1 : k2;
  f.edge = owner == GeomKind::box ? f.edge + kBoxEdges : 0;
  f.face += other == GeomKind::box ? kBoxFaces : kUpperCap;
  return f;
}

template <class T>
struct FaceSide {
  Vec3<T> m;
  T o;
  double factor;  // o over the size that it belongs to
  int size;       // which one
};

template <class T>
FaceSide<T> face_side(GeomKind kind, int face, int side, const Pose<T>& x, const Vec3<T>& size) {
  if (kind == GeomKind::box) {
    const int k = ((face - kBoxFaces) / 2 + 1 + side / 2) % 3;
    return {axis(x, k) * T(side % 2 ? -1 : 1), size[k], 1, k};
  }
  // cos and sin of (2 side + 1) π/16, from the corners on both sides.
  constexpr double kHalf = 0.98078528040323044913;  // cos π/16
  const double c = (cap_cosine(side) + cap_cosine(side + 1)) / (2 * kHalf);
  const double s = (cap_sine(side) + cap_sine(side + 1)) / (2 * kHalf);
  return {axis(x, 0) * T(c) + axis(x, 1) * T(s), size.x * T(kHalf), kHalf, 0};
}

template <class T>
struct EdgeContact {
  GeomKind edge_kind, face_kind;
  ShapeFeature<T> line, face;
  Direction<T> a;     // (2)
  Vec3<T> b;          // from the origin of the edge's geom
  Vec3<T> v, offset;  // from the origin of the edge's geom; from the face's centre
  FaceSide<T> side;
  T tau, dist, inverse;  // 1 / m·z, zero where frozen or at an end
};

template <class T>
EdgeContact<T> edge_contact(GeomKind k1, GeomKind k2, const GeomPair<T>& g, const EdgeFeature& f,
                            const Vec3<T>& n) {
  const bool second = f.on_second == 1;
  const Pose<T>&x = second ? g.x2 : g.x1, &y = second ? g.x1 : g.x2;
  const Vec3<T>&size = second ? g.size2 : g.size1, &face_size = second ? g.size1 : g.size2;
  EdgeContact<T> c;
  c.edge_kind = second ? k2 : k1, c.face_kind = second ? k1 : k2;
  c.line = shape_feature(c.edge_kind, x, size, f.edge);
  c.face = shape_feature(c.face_kind, y, face_size, f.face);
  c.b = c.line.c;
  if (c.edge_kind != GeomKind::box) {
    const Vec3<T> out = second ? -n : n, i = axis(x, 0), j = axis(x, 1);
    const Vec3<T> m = i * dot(i, out) + j * dot(j, out);
    c.a = c.edge_kind == GeomKind::cylinder ? direction(m, i) : Direction<T>{m, T(1), T(1)};
    c.b = c.a.u * size.x;  // (2)
  }
  const Vec3<T>& z = c.line.e;
  c.inverse = T(0);
  if (f.place < kFirstSide) {
    c.tau = c.line.half * T(f.place == kUpperPlace ? 1 : -1);
  } else {
    c.side = face_side(c.face_kind, f.face, f.place - kFirstSide, y, face_size);
    const T along = dot(c.side.m, z), height = c.side.o - dot(c.side.m, x.p + c.b - y.p);
    const double size_along = abs(primal(along));
    c.tau = size_along > kMinLength ? height / along : T(0);  // (3)
    if (size_along > kFrozenCrossing) c.inverse = T(1) / along;
    if (!(size_along > kFrozenCrossing)) c.tau = T(primal(c.tau));
  }
  c.v = c.b + z * c.tau;
  c.offset = x.p + c.v - y.p - c.face.c;
  c.dist = dot(c.face.e, c.offset);  // (1)
  return c;
}

template <class T>
Touch<T> edge_touch(GeomKind k1, GeomKind k2, const GeomPair<T>& g, const EdgeFeature& f,
                    const Vec3<T>& n) {
  const EdgeContact<T> c = edge_contact(k1, k2, g, f, n);
  const Vec3<T> v = (f.on_second ? g.x2.p : g.x1.p) + c.v;
  return {c.dist, v - c.face.e * (T(0.5) * c.dist), c.face.e * T(f.on_second ? 1 : -1), {}};
}

// Adds to n_bar what (2) means for n.
template <class T>
void edge_touch_bar(GeomKind k1, GeomKind k2, const GeomPair<T>& g, const EdgeFeature& f,
                    const Vec3<T>& n, const TouchBar<T>& bar, GeomPairBar<T>& g_bar,
                    Vec3<T>& n_bar) {
  const bool second = f.on_second == 1;
  const EdgeContact<T> c = edge_contact(k1, k2, g, f, n);
  const Pose<T>&x = second ? g.x2 : g.x1, &y = second ? g.x1 : g.x2;
  const Vec3<T>&size = second ? g.size2 : g.size1, &face_size = second ? g.size1 : g.size2;
  PoseBar<T>&x_bar = second ? g_bar.x2 : g_bar.x1, &y_bar = second ? g_bar.x1 : g_bar.x2;
  Vec3<T>& size_bar = second ? g_bar.size2 : g_bar.size1;
  Vec3<T>& face_size_bar = second ? g_bar.size1 : g_bar.size2;
  const Vec3<T>&e = c.face.e, &z = c.line.e;

  const T dist_bar = bar.dist - T(0.5) * dot(e, bar.pos);  // (1)
  Vec3<T> v_bar = bar.pos + e * dist_bar;
  const Vec3<T> e_bar =
      c.offset * dist_bar - bar.pos * (T(0.5) * c.dist) + bar.normal * T(second ? 1 : -1);
  add_direction(y_bar, e, e_bar);
  feature_point_bar(c.face_kind, f.face, c.face, y, face_size, e, {c.face.c, {}, T(0)},
                    -(e * dist_bar), y_bar, face_size_bar);

  const T tau_bar = dot(z, v_bar);
  Vec3<T> z_bar = v_bar * c.tau;
  if (f.place < kFirstSide) {
    const T half_bar = tau_bar * T(f.place == kUpperPlace ? 1 : -1);
    if (c.edge_kind == GeomKind::box) size_bar[(f.edge - kBoxEdges) / 4] += half_bar;
    if (c.edge_kind != GeomKind::box) size_bar.y += half_bar;
  } else {
    const T lambda = tau_bar * c.inverse;  // (3): m·(v - y.p) - o = 0 at fixed τ
    const Vec3<T> pull = c.side.m * lambda;
    v_bar -= pull;
    z_bar -= pull * c.tau;
    y_bar.force += pull;
    add_direction(y_bar, c.side.m, -((x.p + c.v - y.p) * lambda));
    face_size_bar[c.side.size] += lambda * T(c.side.factor);
  }
  add_direction(x_bar, z, z_bar);
  if (c.edge_kind == GeomKind::box) {
    feature_point_bar(c.edge_kind, f.edge, c.line, x, size, z, {c.b, {}, T(0)}, v_bar, x_bar,
                      size_bar);
    return;
  }
  x_bar.force += v_bar;  // (2)
  size_bar.x += dot(c.a.u, v_bar);
  const Vec3<T> a_bar = v_bar * size.x, out = second ? -n : n;
  const Vec3<T> m_bar = c.edge_kind == GeomKind::cylinder ? direction_bar(c.a, a_bar) : a_bar;
  n_bar += (m_bar - z * dot(z, m_bar)) * T(second ? -1 : 1);
  add_direction(x_bar, z, -(m_bar * dot(z, out)) - out * dot(z, m_bar));
}

}  // namespace cycloid::inline geometry
