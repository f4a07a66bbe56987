#include "cycloid/geometry/convex/convex_manifold.h"

#include "cycloid/geometry/pair/polygon.h"

namespace cycloid::inline geometry {

namespace {

using V = Vec3<double>;

constexpr double kFacing = 0.996;   // cosine of 5.1°
constexpr double kAlong = 0.0888;   // its sine
constexpr double kTowards = 1e-15;  // cosine above which a face looks towards the other geom
constexpr double kInside = 1e-13;   // relative to the faces
constexpr double kTie = 1e-6;       // areas that differ by less, relatively, are equal
constexpr int kMaxCorners = 2 * kCapCorners + 2;

// What ends in the feature that is closest: faces, and edges by their codes.
struct Ends {
  int dimension;  // of the feature, as corners that EPA would meet it in: 1, 2 or 3
  int face[3], faces = 0;
  int edge[3], edges = 0;
};

Ends ends_of(GeomKind kind, int code) {
  Ends e;
  if (kind == GeomKind::box) {
    int sign[3];
    box_signs(code, sign);
    e.dimension = 1;
    for (int k = 0; k < 3; ++k) {
      if (sign[k] == 0) ++e.dimension;
      if (sign[k] != 0) e.face[e.faces++] = kBoxFaces + 2 * k + (sign[k] > 0);
    }
    for (int k = 0; k < 3; ++k) {
      if (e.dimension == 3 || (e.dimension == 2 && sign[k] != 0)) continue;
      const int bits = (sign[(k + 1) % 3] > 0) + 2 * (sign[(k + 2) % 3] > 0);
      e.edge[e.edges++] = kBoxEdges + 4 * k + bits;
    }
  } else if (kind == GeomKind::cylinder) {
    e.dimension = code == kSide ? 2 : 1;
    if (code != kSide) e.face[e.faces++] = cap_sign(code) > 0 ? kUpperCap : kLowerCap;
    e.edge[e.edges++] = 0;
  } else {
    e.dimension = code == kSegment ? 2 : 1;
    e.edge[e.edges++] = 0;
  }
  return e;
}

using Corners = Polygon<kMaxCorners>;

double extent(const GeomPair<double>& g) {
  double sum = 0;
  for (int k = 0; k < 3; ++k) sum += g.size1[k] + g.size2[k];
  return sum;
}

// The cap of geom 1 and a face of geom 2, in the axes of geom 1.
int cap_manifold(GeomKind k2, const GeomPair<double>& g, double margin, int cap, int face,
                 FoundContact* found) {
  CapFeature f{cap, face, {0, 0}};
  Corners polygon, clipped;
  const int corners = face_corners(k2);
  for (int k = 0; k < corners; ++k) {
    const Vec<double, 2> at = plane_corner(g, k2, f, false, k);
    polygon.add({{at[0], at[1], 0}, {(k + corners - 1) % corners, k}, k});
  }
  for (int j = 0; j < kCapCorners; ++j) {
    const int i = cap_sign(cap) > 0 ? kCapCorners - 1 - j : j;  // around the outward normal
    const FaceSide<double> side =
        face_side(GeomKind::cylinder, cap, i, {identity_matrix<double, 3>(), {}}, g.size1);
    clip(polygon, side.m, side.o, 16 + i, kInside * extent(g), clipped);
    polygon = clipped;
    if (polygon.size == 0) return 0;
  }
  Corners kept;
  for (int k = 0; k < polygon.size; ++k) {
    f.line[0] = polygon.corner[k].line[0], f.line[1] = polygon.corner[k].line[1];
    if (cap_contact(g, k2, f).dist <= margin) kept.add(polygon.corner[k]);
  }
  int chosen[kManifoldTouches] = {0, 1, 2, 3};
  if (kept.size > kManifoldTouches) {
    // Those of a disc span equal areas in many ways, and rounding must not decide which are taken.
    const auto at = [&](int k) -> const V& { return kept.corner[k].at; };
    large_quad(kept.size, at, kTie, true, chosen);
  }
  const int n = kept.size < kManifoldTouches ? kept.size : kManifoldTouches;
  for (int k = 0; k < n; ++k) {
    f.line[0] = kept.corner[chosen[k]].line[0], f.line[1] = kept.corner[chosen[k]].line[1];
    found[k] = {kConvexCodes + encode(f, k2), {}};
  }
  return n;
}

// An edge along a face. `n` is the normal of the closest features.
int edge_manifold(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin, EdgeFeature f,
                  const V& n, FoundContact* found) {
  const bool second = f.on_second == 1;
  const GeomKind face_kind = second ? k1 : k2;
  const Pose<double>&x = second ? g.x2 : g.x1, &y = second ? g.x1 : g.x2;
  const V& face_size = second ? g.size1 : g.size2;
  Corners polygon, clipped;
  for (int place = kUpperPlace; place <= kLowerPlace; ++place) {
    f.place = place;
    const EdgeContact<double> c = edge_contact(k1, k2, g, f, n);
    polygon.add({x.p + c.v - y.p, {place, place}, place});
  }
  const int sides = face_corners(face_kind);
  for (int j = 0; j < sides; ++j) {
    const FaceSide<double> side = face_side(face_kind, f.face, j, y, face_size);
    clip(polygon, side.m, side.o, kFirstSide + j, kInside * extent(g), clipped);
    polygon = clipped;
    if (polygon.size == 0) return 0;
  }
  Corners kept;
  for (int k = 0; k < polygon.size; ++k) {
    f.place = polygon.corner[k].line[1];
    if (edge_contact(k1, k2, g, f, n).dist <= margin) kept.add(polygon.corner[k]);
  }
  int chosen[2] = {0, 1};
  double longest = -1;
  for (int i = 0; i < kept.size; ++i) {
    for (int j = i + 1; j < kept.size; ++j) {
      const V apart = kept.corner[i].at - kept.corner[j].at;
      if (dot(apart, apart) > longest) longest = dot(apart, apart), chosen[0] = i, chosen[1] = j;
    }
  }
  const int count = kept.size < 2 ? kept.size : 2;
  for (int k = 0; k < count; ++k) {
    f.place = kept.corner[chosen[k]].line[1];
    found[k] = {kEdgeBase + encode(f, face_kind), n};
  }
  return count;
}

// The first face of `ends` along which an edge of `other` lies.
bool edge_along_face(GeomKind face_kind, const Pose<double>& y, const V& face_size,
                     const Ends& ends, GeomKind edge_kind, const Pose<double>& x, const V& size,
                     const Ends& other, const V& towards, EdgeFeature& f) {
  for (int i = 0; i < ends.faces; ++i) {
    const V e = shape_feature(face_kind, y, face_size, ends.face[i]).e;
    if (!(dot(e, towards) > kTowards)) continue;
    for (int j = 0; j < other.edges; ++j) {
      if (!(abs(dot(e, shape_feature(edge_kind, x, size, other.edge[j]).e)) < kAlong)) continue;
      f.face = ends.face[i], f.edge = other.edge[j];
      return true;
    }
  }
  return false;
}

}  // namespace

int find_manifold(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin,
                  const ConvexMeeting& closest, FoundContact* found) {
  const int code1 = closest.code / kLinePairs / kFeatureCodes;
  const int code2 = closest.code / kLinePairs % kFeatureCodes;
  const Ends ends1 = ends_of(k1, code1), ends2 = ends_of(k2, code2);
  for (int i = 0; i < ends1.faces; ++i) {
    for (int j = 0; j < ends2.faces; ++j) {
      const V e1 = shape_feature(k1, g.x1, g.size1, ends1.face[i]).e;
      const V e2 = shape_feature(k2, g.x2, g.size2, ends2.face[j]).e;
      if (dot(e1, e2) < -kFacing) {
        return cap_manifold(k2, g, margin, ends1.face[i], ends2.face[j], found);
      }
    }
  }
  EdgeFeature f{0, closest.code, 0, 0, 0};
  if (ends1.dimension < 3 &&
      edge_along_face(k2, g.x2, g.size2, ends2, k1, g.x1, g.size1, ends1, -closest.n, f)) {
    if (k1 == GeomKind::cylinder && code1 >= kUpperCap) return 0;  // no line of the side is nearest
    return edge_manifold(k1, k2, g, margin, f, closest.n, found);
  }
  f.on_second = 1;
  if (ends2.dimension < 3 &&
      edge_along_face(k1, g.x1, g.size1, ends1, k2, g.x2, g.size2, ends2, closest.n, f)) {
    return edge_manifold(k1, k2, g, margin, f, closest.n, found);
  }
  return 0;
}

}  // namespace cycloid::inline geometry
