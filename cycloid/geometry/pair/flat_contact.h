// One corner of what a flat face has in common with another face or an edge, and its pullback; for
// pairs with a mesh (cap_contact.h and edge_contact.h are those of cylinders and boxes).
//
// Faces: a polygon of a hull, a box's side, a cylinder's cap as a polygon of 16. A face has corners
// P_j, clockwise as seen from outside, the outward normal e and a corner c that it goes through.
// Across its side j stands the plane with the normal
//   m = e × (P_{j+1} - P_j)                                                                 (1)
// Two faces that look at each other: the corners of face 2 that lie within face 1, along e₁,
//   v = Q_k,   or   v = Q_k + t (Q_{k+1} - Q_k),  m·(v - P_j) = 0                             (2)
//   or the corners of face 1 that lie within face 2,  v = P_j
//   w = v - e₁ e₁·(v - c₁)                                                                  (3)
//   dist = e₂·(w - o),   pos = w - ½ dist e₂,   normal = -e₂                                 (4)
// where o is v if v lies on face 2, and c₂ if it is a corner of face 1. In a flat face both are the
// same; polygons of a hull may be bent by half a degree.
// An edge from A to B along a face of the other geom:
//   v = A,  v = B,  or  v = A + t (B - A),  m·(v - P_j) = 0                                   (5)
//   dist = e·(v - c),   pos = v - ½ dist e,   normal = ∓ e                                   (6)
// The line of a capsule's or cylinder's side that faces the other geom is an edge whose place
// depends on the normal n of the closest features (edge_contact.h (2)).
// Segments that cross a plane at a sine below kFrozenCrossing hold their t.
#pragma once

#include "cycloid/geometry/convex/convex_touch.h"
#include "cycloid/geometry/pair/cap_contact.h"

namespace cycloid::inline geometry {

// One geom of a pair, with where its cotangents go.
template <class T>
struct FlatSide {
  GeomKind kind;
  const Pose<T>& x;
  const Vec3<T>& size;
  const Hull* hull;
};
template <class T>
FlatSide<T> flat_side(const GeomPair<T>& g, GeomKind k1, GeomKind k2, bool second) {
  if (second) return {k2, g.x2, g.size2, g.hull2};
  return {k1, g.x1, g.size1, g.hull1};
}
template <class T>
struct FlatSideBar {
  PoseBar<T>& x;
  Vec3<T>& size;
  const HullBar& hull;
};
template <class T>
FlatSideBar<T> flat_side_bar(GeomPairBar<T>& g, bool second) {
  if (second) return {g.x2, g.size2, g.hull2};
  return {g.x1, g.size1, g.hull1};
}

// Corners of a face. Faces of a hull are its polygons.
template <class T>
int flat_corners(const FlatSide<T>& s, int face) {
  if (s.kind != GeomKind::mesh) return face_corners(s.kind);
  return static_cast<int>(s.hull->table->polygons.of(face).size());
}
inline int polygon_corner(const Hull& h, int face, int k) {
  const std::span<const int> at = h.table->polygons.of(face);
  return at[at.size() - 1 - static_cast<std::size_t>(k)];
}

// In the world.
template <class T>
Vec3<T> flat_corner(const FlatSide<T>& s, int face, int k) {
  if (s.kind != GeomKind::mesh) return s.x.p + face_corner(s.kind, face, k, s.x, s.size);
  return s.x.p + s.x.R * s.hull->template corner<T>(polygon_corner(*s.hull, face, k));
}
template <class T>
void flat_corner_bar(const FlatSide<T>& s, int face, int k, const Vec3<T>& p_bar,
                     const FlatSideBar<T>& bar) {
  if (s.kind != GeomKind::mesh) {
    return face_corner_bar(s.kind, face, k, s.x, s.size, p_bar, bar.x, bar.size);
  }
  const int corner = polygon_corner(*s.hull, face, k);
  add_point(bar.x, s.x.R * s.hull->template corner<T>(corner), p_bar);
  bar.hull.add(*s.hull, corner, transpose_vector_product(s.x.R, p_bar));
}

template <class T>
Vec3<T> flat_normal(const FlatSide<T>& s, int face) {
  if (s.kind != GeomKind::mesh) return shape_feature(s.kind, s.x, s.size, face).e;
  return s.x.R * polygon_normal<T>(*s.hull, face).u;
}
template <class T>
void flat_normal_bar(const FlatSide<T>& s, int face, const Vec3<T>& e, const Vec3<T>& e_bar,
                     const FlatSideBar<T>& bar) {
  add_direction(bar.x, e, e_bar);
  if (s.kind != GeomKind::mesh) return;
  polygon_normal_bar(*s.hull, face, transpose_vector_product(s.x.R, e_bar), bar.hull);
}

// A face's numbers, and their cotangents.
template <class T>
struct FlatFace {
  Vec3<T> e, c, p, q;  // q - p: side j
};
template <class T>
FlatFace<T> flat_face(const FlatSide<T>& s, int face, int j) {
  const int next = (j + 1) % flat_corners(s, face);
  return {flat_normal(s, face), flat_corner(s, face, 0), flat_corner(s, face, j),
          flat_corner(s, face, next)};
}
template <class T>
void flat_face_bar(const FlatSide<T>& s, int face, int j, const FlatFace<T>& f,
                   const FlatFace<T>& f_bar, const FlatSideBar<T>& bar) {
  flat_normal_bar(s, face, f.e, f_bar.e, bar);
  flat_corner_bar(s, face, 0, f_bar.c, bar);
  flat_corner_bar(s, face, j, f_bar.p, bar);
  flat_corner_bar(s, face, (j + 1) % flat_corners(s, face), f_bar.q, bar);
}

// A segment from a to b. Edges of a hull are its own (hull.h), of a box kBoxEdges and more; a
// capsule or cylinder has one, at its side.
template <class T>
struct FlatEdge {
  Vec3<T> a, b;
};
template <class T>
FlatEdge<T> flat_edge(const FlatSide<T>& s, int edge, const Vec3<T>& outwards) {
  const ShapeFeature<T> f = shape_feature(s.kind, s.x, s.size, edge, s.hull);
  if (s.kind == GeomKind::mesh) {
    const HullPiece piece = hull_piece(*s.hull->table, edge);
    return {s.x.p + s.x.R * s.hull->template corner<T>(piece.at[0]),
            s.x.p + s.x.R * s.hull->template corner<T>(piece.at[1])};
  }
  Vec3<T> middle = f.c;
  if (s.kind != GeomKind::box) {
    const Vec3<T> m = outwards - f.e * dot(f.e, outwards);
    middle = (s.kind == GeomKind::cylinder ? direction(m, axis(s.x, 0)).u : m) * s.size.x;
  }
  return {s.x.p + middle + f.e * f.half, s.x.p + middle - f.e * f.half};
}

// Adds what a side's line means for `outwards` to its cotangent.
template <class T>
void flat_edge_bar(const FlatSide<T>& s, int edge, const Vec3<T>& outwards,
                   const FlatEdge<T>& e_bar, const FlatSideBar<T>& bar, Vec3<T>& outwards_bar) {
  if (s.kind == GeomKind::mesh) {
    const HullPiece piece = hull_piece(*s.hull->table, edge);
    for (int k = 0; k < 2; ++k) {
      const Vec3<T>& end_bar = k == 0 ? e_bar.a : e_bar.b;
      add_point(bar.x, s.x.R * s.hull->template corner<T>(piece.at[k]), end_bar);
      bar.hull.add(*s.hull, piece.at[k], transpose_vector_product(s.x.R, end_bar));
    }
    return;
  }
  const ShapeFeature<T> f = shape_feature(s.kind, s.x, s.size, edge);
  const Vec3<T> middle_bar = e_bar.a + e_bar.b, along_bar = e_bar.a - e_bar.b;
  const T half_bar = dot(f.e, along_bar);
  add_direction(bar.x, f.e, along_bar * f.half);
  if (s.kind == GeomKind::box) {
    bar.size[(edge - kBoxEdges) / 4] += half_bar;
    return feature_point_bar(s.kind, edge, f, s.x, s.size, f.e, {f.c, {}, T(0)}, middle_bar, bar.x,
                             bar.size);
  }
  const Vec3<T> m = outwards - f.e * dot(f.e, outwards);
  const bool round = s.kind == GeomKind::cylinder;
  const Direction<T> u = round ? direction(m, axis(s.x, 0)) : Direction<T>{m, T(1), T(1)};
  bar.size.y += half_bar;
  bar.size.x += dot(u.u, middle_bar);
  bar.x.force += middle_bar;
  const Vec3<T> u_bar = middle_bar * s.size.x;
  const Vec3<T> m_bar = round ? direction_bar(u, u_bar) : u_bar;
  outwards_bar += m_bar - f.e * dot(f.e, m_bar);
  add_direction(bar.x, f.e, -(m_bar * dot(f.e, outwards)) - outwards * dot(f.e, m_bar));
}

// Where a segment crosses the plane across side j of a face: (1), (2), (5).
template <class T>
struct FlatCrossing {
  Vec3<T> m, u;
  T t, inverse;  // 1 / m·u, zero where frozen
};
template <class T>
FlatCrossing<T> flat_crossing(const FlatFace<T>& f, const FlatEdge<T>& s) {
  FlatCrossing<T> c;
  c.m = cross(f.e, f.q - f.p);
  c.u = s.b - s.a;
  const T along = dot(c.m, c.u);
  const double size = primal(along) * primal(along),
               squares = primal(dot(c.m, c.m)) * primal(dot(c.u, c.u));
  c.t = size > 1e-28 * squares ? dot(c.m, f.p - s.a) / along : T(0);
  const bool frozen = !(size > kFrozenCrossing * kFrozenCrossing * squares);
  c.inverse = frozen ? T(0) : T(1) / along;
  if (frozen) c.t = T(primal(c.t));
  return c;
}
template <class T>
void flat_crossing_bar(const FlatFace<T>& f, const FlatEdge<T>& s, const FlatCrossing<T>& c,
                       const Vec3<T>& v_bar, FlatFace<T>& f_bar, FlatEdge<T>& s_bar) {
  // m·(a + t u - p) = 0 at fixed t.
  const T lambda = dot(c.u, v_bar) * c.inverse;
  const Vec3<T> pull = v_bar - c.m * lambda, m_bar = -((s.a + c.u * c.t - f.p) * lambda);
  s_bar.a += pull * (T(1) - c.t);
  s_bar.b += pull * c.t;
  f_bar.p += c.m * lambda;
  Vec3<T> side_bar{};
  cross_pullback(f.e, f.q - f.p, m_bar, f_bar.e, side_bar);
  f_bar.q += side_bar;
  f_bar.p -= side_bar;
}

// Corner of the common polygon of two faces.
enum class FlatCorner { of_second, of_first, crossing };
struct FacePairFeature {
  FlatCorner corner;
  int face1, side1;  // side or corner j
  int face2, side2;  // k
};

template <class T>
struct FacePairContact {
  FlatFace<T> f1;
  Vec3<T> e2, o, v, w;
  FlatEdge<T> side;  // Q_k to Q_{k+1}
  FlatCrossing<T> at;
  T height, dist;  // e₁·(v - c₁)
};

template <class T>
FacePairContact<T> face_pair_contact(GeomKind k1, GeomKind k2, const GeomPair<T>& g,
                                     const FacePairFeature& f) {
  const FlatSide<T> one = flat_side(g, k1, k2, false), two = flat_side(g, k1, k2, true);
  FacePairContact<T> c;
  c.f1 = flat_face(one, f.face1, f.side1);
  c.e2 = flat_normal(two, f.face2);
  if (f.corner == FlatCorner::of_first) {
    c.v = c.f1.p;
    c.o = flat_corner(two, f.face2, 0);
  } else {
    c.side.a = flat_corner(two, f.face2, f.side2);
    c.v = c.side.a;
    if (f.corner == FlatCorner::crossing) {
      c.side.b = flat_corner(two, f.face2, (f.side2 + 1) % flat_corners(two, f.face2));
      c.at = flat_crossing(c.f1, c.side);
      c.v = c.side.a + c.at.u * c.at.t;  // (2)
    }
    c.o = c.v;
  }
  c.height = dot(c.f1.e, c.v - c.f1.c);
  c.w = c.v - c.f1.e * c.height;  // (3)
  c.dist = dot(c.e2, c.w - c.o);  // (4)
  return c;
}

template <class T>
Touch<T> face_pair_touch(GeomKind k1, GeomKind k2, const GeomPair<T>& g, const FacePairFeature& f) {
  const FacePairContact<T> c = face_pair_contact(k1, k2, g, f);
  return {c.dist, c.w - c.e2 * (T(0.5) * c.dist), -c.e2, {}};  // (4)
}

template <class T>
void face_pair_touch_bar(GeomKind k1, GeomKind k2, const GeomPair<T>& g, const FacePairFeature& f,
                         const TouchBar<T>& bar, GeomPairBar<T>& g_bar) {
  const FacePairContact<T> c = face_pair_contact(k1, k2, g, f);
  const FlatSide<T> one = flat_side(g, k1, k2, false), two = flat_side(g, k1, k2, true);
  const FlatSideBar<T> one_bar = flat_side_bar(g_bar, false), two_bar = flat_side_bar(g_bar, true);
  const T dist_bar = bar.dist - T(0.5) * dot(c.e2, bar.pos);  // (4)
  const Vec3<T> w_bar = bar.pos + c.e2 * dist_bar;
  const Vec3<T> e2_bar = (c.w - c.o) * dist_bar - bar.pos * (T(0.5) * c.dist) - bar.normal;
  const Vec3<T> o_bar = -(c.e2 * dist_bar);
  flat_normal_bar(two, f.face2, c.e2, e2_bar, two_bar);
  FlatFace<T> f1_bar{};
  const T height_bar = -dot(c.f1.e, w_bar);  // (3)
  Vec3<T> v_bar = w_bar + c.f1.e * height_bar;
  f1_bar.e += (c.v - c.f1.c) * height_bar - w_bar * c.height;
  f1_bar.c -= c.f1.e * height_bar;
  if (f.corner != FlatCorner::of_first) v_bar += o_bar;
  if (f.corner == FlatCorner::of_first) {
    f1_bar.p += v_bar;
    flat_corner_bar(two, f.face2, 0, o_bar, two_bar);
  } else if (f.corner == FlatCorner::of_second) {
    flat_corner_bar(two, f.face2, f.side2, v_bar, two_bar);
  } else {
    FlatEdge<T> side_bar{};
    flat_crossing_bar(c.f1, c.side, c.at, v_bar, f1_bar, side_bar);  // (2)
    const int next = (f.side2 + 1) % flat_corners(two, f.face2);
    flat_corner_bar(two, f.face2, f.side2, side_bar.a, two_bar);
    flat_corner_bar(two, f.face2, next, side_bar.b, two_bar);
  }
  flat_face_bar(one, f.face1, f.side1, c.f1, f1_bar, one_bar);
}

// End of what an edge and a face have in common.
enum class FlatEnd { a, b, crossing };
struct EdgeFaceFeature {
  bool on_second;  // the edge belongs to geom 2, the face to geom 1
  int edge;
  int face, side;
  FlatEnd end;
  MeetingFeatures closest;  // of a capsule's or cylinder's edge
};

template <class T>
struct EdgeFaceContact {
  FlatFace<T> face;
  FlatEdge<T> edge;
  FlatCrossing<T> at;
  Vec3<T> v;
  T dist;
};

// n: of the closest features.
template <class T>
EdgeFaceContact<T> edge_face_contact(GeomKind k1, GeomKind k2, const GeomPair<T>& g,
                                     const EdgeFaceFeature& f, const Vec3<T>& n) {
  const FlatSide<T> own = flat_side(g, k1, k2, f.on_second),
                    other = flat_side(g, k1, k2, !f.on_second);
  EdgeFaceContact<T> c;
  c.face = flat_face(other, f.face, f.side);
  c.edge = flat_edge(own, f.edge, f.on_second ? -n : n);
  c.v = f.end == FlatEnd::b ? c.edge.b : c.edge.a;
  if (f.end == FlatEnd::crossing) {
    c.at = flat_crossing(c.face, c.edge);
    c.v = c.edge.a + c.at.u * c.at.t;  // (5)
  }
  c.dist = dot(c.face.e, c.v - c.face.c);  // (6)
  return c;
}

template <class T>
Touch<T> edge_face_touch(GeomKind k1, GeomKind k2, const GeomPair<T>& g, const EdgeFaceFeature& f,
                         const Vec3<T>& n) {
  const EdgeFaceContact<T> c = edge_face_contact(k1, k2, g, f, n);
  return {c.dist, c.v - c.face.e * (T(0.5) * c.dist), c.face.e * T(f.on_second ? 1 : -1), {}};
}

// Adds to n_bar what the edge's place means for n.
template <class T>
void edge_face_touch_bar(GeomKind k1, GeomKind k2, const GeomPair<T>& g, const EdgeFaceFeature& f,
                         const Vec3<T>& n, const TouchBar<T>& bar, GeomPairBar<T>& g_bar,
                         Vec3<T>& n_bar) {
  const EdgeFaceContact<T> c = edge_face_contact(k1, k2, g, f, n);
  const T dist_bar = bar.dist - T(0.5) * dot(c.face.e, bar.pos);  // (6)
  const Vec3<T> v_bar = bar.pos + c.face.e * dist_bar;
  FlatFace<T> face_bar{};
  face_bar.e = (c.v - c.face.c) * dist_bar - bar.pos * (T(0.5) * c.dist) +
               bar.normal * T(f.on_second ? 1 : -1);
  face_bar.c = -(c.face.e * dist_bar);
  FlatEdge<T> edge_bar{};
  if (f.end == FlatEnd::crossing) {
    flat_crossing_bar(c.face, c.edge, c.at, v_bar, face_bar, edge_bar);  // (5)
  } else {
    (f.end == FlatEnd::a ? edge_bar.a : edge_bar.b) += v_bar;
  }
  Vec3<T> outwards_bar{};
  flat_edge_bar(flat_side(g, k1, k2, f.on_second), f.edge, f.on_second ? -n : n, edge_bar,
                flat_side_bar(g_bar, f.on_second), outwards_bar);
  n_bar += outwards_bar * T(f.on_second ? -1 : 1);
  flat_face_bar(flat_side(g, k1, k2, !f.on_second), f.face, f.side, c.face, face_bar,
                flat_side_bar(g_bar, !f.on_second));
}

}  // namespace cycloid::inline geometry
