#include "cycloid/geometry/convex/mesh_manifold.h"

#include <algorithm>

#include "cycloid/geometry/pair/polygon.h"

namespace cycloid::inline geometry {

namespace {

using V = Vec3<double>;

constexpr double kFacing = 0.996;   // cosine of 5.1°
constexpr double kAlong = 0.0888;   // its sine
constexpr double kTowards = 1e-15;  // cosine above which a face looks towards the other geom
constexpr double kInside = 1e-13;   // relative to the faces
constexpr double kTie = 1e-9;       // areas that differ by less, relatively, are equal
constexpr int kMostLines = 1024;    // corners of a polygon that is clipped
constexpr std::int64_t kFeatureRoom = std::int64_t(1) << 18;  // codes of a shape's features
constexpr int kFaceRoom = 16;                                 // sides of a box's or cylinder's face

using Clipped = Polygon<kMostLines>;

// A side of a face as one number, and back.
std::int64_t side_code(GeomKind kind, const Hull* hull, int face, int side) {
  if (kind == GeomKind::mesh) {
    return hull->table->polygons.first[static_cast<std::size_t>(face)] + side;
  }
  return (face - (kind == GeomKind::box ? kBoxFaces : kUpperCap)) * kFaceRoom + side;
}
void decode_side(GeomKind kind, const Hull* hull, int code, int& face, int& side) {
  if (kind == GeomKind::mesh) {
    const std::vector<int>& first = hull->table->polygons.first;
    face = static_cast<int>(std::upper_bound(first.begin(), first.end(), code) - first.begin()) - 1;
    side = code - first[static_cast<std::size_t>(face)];
    return;
  }
  face = code / kFaceRoom + (kind == GeomKind::box ? kBoxFaces : kUpperCap);
  side = code % kFaceRoom;
}

bool has_side_line(GeomKind kind) {
  return kind == GeomKind::capsule || kind == GeomKind::cylinder;
}

// What ends in a closest feature: faces, and edges by their codes.
struct MeshEnds {
  static constexpr int kMost = 64;
  int dimension = 1;  // as corners that EPA would meet it in: 1, 2 or 3
  int face[kMost], faces = 0;
  int edge[kMost], edges = 0;
  void add_face(int f) {
    if (faces < kMost) face[faces++] = f;
  }
  void add_edge(int e) {
    if (e >= 0 && edges < kMost) edge[edges++] = e;
  }
};

bool polygon_has(const HullTable& t, int polygon, int corner) {
  const auto at = t.polygons.of(polygon);
  return std::find(at.begin(), at.end(), corner) != at.end();
}

MeshEnds hull_ends(const HullTable& t, int code) {
  MeshEnds e;
  const HullPiece piece = hull_piece(t, code);
  e.dimension = piece.kind == HullFeature::corner ? 1 : piece.kind == HullFeature::edge ? 2 : 3;
  for (const int polygon : t.corner_polygons.of(piece.at[0])) {
    bool all = true;
    for (int k = 1; k < e.dimension; ++k) all = all && polygon_has(t, polygon, piece.at[k]);
    if (!all) continue;
    e.add_face(polygon);
    if (e.dimension > 1) continue;
    // The edge to the corner before.
    const auto at = t.polygons.of(polygon);
    for (std::size_t j = 0; j < at.size(); ++j) {
      if (at[j] != piece.at[0]) continue;
      e.add_edge(find_edge(t, piece.at[0], at[(j + at.size() - 1) % at.size()]));
      break;
    }
  }
  if (e.dimension == 2) e.add_edge(code);
  return e;
}

MeshEnds ends_of(GeomKind kind, const Hull* hull, int code) {
  if (kind == GeomKind::mesh) return hull_ends(*hull->table, code);
  MeshEnds e;
  if (kind == GeomKind::box) {
    int sign[3];
    box_signs(code, sign);
    for (int k = 0; k < 3; ++k) {
      if (sign[k] == 0) ++e.dimension;
      if (sign[k] != 0) e.add_face(kBoxFaces + 2 * k + (sign[k] > 0));
    }
    for (int k = 0; k < 3; ++k) {
      if (e.dimension == 3 || (e.dimension == 2 && sign[k] != 0)) continue;
      e.add_edge(kBoxEdges + 4 * k + (sign[(k + 1) % 3] > 0) + 2 * (sign[(k + 2) % 3] > 0));
    }
  } else if (kind == GeomKind::cylinder) {
    e.dimension = code == kSide ? 2 : 1;
    if (code != kSide) e.add_face(cap_sign(code) > 0 ? kUpperCap : kLowerCap);
    e.add_edge(kSide);
  } else {
    e.dimension = code == kSegment ? 2 : 1;
    e.add_edge(kSegment);
  }
  return e;
}

double extent(const GeomPair<double>& g) {
  double sum = (g.hull1 ? g.hull1->radius : 0) + (g.hull2 ? g.hull2->radius : 0);
  for (int k = 0; k < 3; ++k) sum += g.size1[k] + g.size2[k];
  return sum;
}

// A polygon, and one to write the next into.
struct Clipping {
  Clipped one, two;
  Clipped *now = &one, *next = &two;
};

// Clips by the planes across the sides of a face, whose lines are base + j.
bool clip_by_face(const FlatSide<double>& s, int face, int base, double rounding, Clipping& c) {
  const V e = flat_normal(s, face);
  const int n = flat_corners(s, face);
  for (int j = 0; j < n; ++j) {
    const V p = flat_corner(s, face, j);
    // Corners run clockwise: outwards is to the left.
    const V m = direction(cross(e, flat_corner(s, face, (j + 1) % n) - p), V{}).u;
    clip(*c.now, m, dot(m, p), base + j, rounding, *c.next);
    std::swap(c.now, c.next);
    if (c.now->size == 0) return false;
  }
  c.next->size = 0;
  return true;
}

int face_manifold(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin, int face1,
                  int face2, FoundContact* found) {
  const FlatSide<double> one = flat_side(g, k1, k2, false), two = flat_side(g, k1, k2, true);
  const int corners1 = flat_corners(one, face1), corners2 = flat_corners(two, face2);
  if (corners1 + corners2 > kMostLines / 2) return 0;
  Clipping s;
  const V e1 = flat_normal(one, face1), c1 = flat_corner(one, face1, 0);
  for (int k = 0; k < corners2; ++k) {
    const V v = flat_corner(two, face2, k);
    const V w = v - e1 * dot(e1, v - c1);
    s.now->add({w, {(k + corners2 - 1) % corners2, k}, k});
  }
  if (!clip_by_face(one, face1, corners2, kInside * extent(g), s)) return 0;
  MeshContact c{};
  c.kind = MeshContactKind::faces;
  c.faces.face1 = face1, c.faces.face2 = face2;
  // The corner where lines i and j meet.
  const auto name = [&](int i, int j) {
    FacePairFeature& f = c.faces;
    f.side1 = f.side2 = 0;
    const bool own_i = i >= corners2, own_j = j >= corners2;
    const auto shared = [](int a, int b, int n) { return (a + 1) % n == b ? b : a; };
    if (own_i != own_j) {
      f.corner = FlatCorner::crossing;
      f.side1 = (own_i ? i : j) - corners2, f.side2 = own_i ? j : i;
    } else if (own_i) {
      f.corner = FlatCorner::of_first;
      f.side1 = shared(i - corners2, j - corners2, corners1);
    } else {
      f.corner = FlatCorner::of_second;
      f.side2 = shared(i, j, corners2);
    }
  };
  for (int k = 0; k < s.now->size; ++k) {
    const PolygonCorner& corner = s.now->corner[k];
    name(corner.line[0], corner.line[1]);
    if (face_pair_contact(k1, k2, g, c.faces).dist <= margin) s.next->add(corner);
  }
  int chosen[kMeshTouches] = {0, 1, 2, 3};
  if (s.next->size > kMeshTouches) {
    const auto at = [&](int k) -> const V& { return s.next->corner[k].at; };
    large_quad(s.next->size, at, kTie, true, chosen);
  }
  const int count = std::min(s.next->size, kMeshTouches);
  for (int k = 0; k < count; ++k) {
    const PolygonCorner& corner = s.next->corner[chosen[k]];
    name(corner.line[0], corner.line[1]);
    found[k] = {encode(c, k1, k2, g.hull1, g.hull2), {}};
  }
  return count;
}

int edge_manifold(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin,
                  const EdgeFaceFeature& feature, const V& n, FoundContact* found) {
  const FlatSide<double> own = flat_side(g, k1, k2, feature.on_second),
                         other = flat_side(g, k1, k2, !feature.on_second);
  const int sides = flat_corners(other, feature.face);
  if (sides > kMostLines / 2) return 0;
  const FlatEdge<double> edge = flat_edge(own, feature.edge, feature.on_second ? -n : n);
  Clipping s;
  // Lines: 0 and 1 the ends, 2 + j side j.
  s.now->add({edge.a, {0, 0}, 0});
  s.now->add({edge.b, {1, 1}, 1});
  if (!clip_by_face(other, feature.face, 2, kInside * extent(g), s)) return 0;
  MeshContact c{};
  c.kind = MeshContactKind::edge;
  c.edge = feature;
  const auto name = [&](int line) {
    c.edge.end = line == 0 ? FlatEnd::a : line == 1 ? FlatEnd::b : FlatEnd::crossing;
    c.edge.side = line < 2 ? 0 : line - 2;
  };
  for (int k = 0; k < s.now->size; ++k) {
    name(s.now->corner[k].line[1]);
    if (edge_face_contact(k1, k2, g, c.edge, n).dist <= margin) s.next->add(s.now->corner[k]);
  }
  int chosen[2] = {0, 1};
  double longest = -1;
  for (int i = 0; i < s.next->size; ++i) {
    for (int j = i + 1; j < s.next->size; ++j) {
      const V apart = s.next->corner[i].at - s.next->corner[j].at;
      if (dot(apart, apart) > longest) longest = dot(apart, apart), chosen[0] = i, chosen[1] = j;
    }
  }
  const int count = std::min(s.next->size, 2);
  for (int k = 0; k < count; ++k) {
    name(s.next->corner[chosen[k]].line[1]);
    found[k] = {encode(c, k1, k2, g.hull1, g.hull2), n};
  }
  return count;
}

// The first face of `ends` along which an edge of the other geom lies.
bool edge_along_face(const FlatSide<double>& s, const MeshEnds& ends, const FlatSide<double>& other,
                     const MeshEnds& edges, const V& towards, EdgeFaceFeature& f) {
  for (int i = 0; i < ends.faces; ++i) {
    const V e = flat_normal(s, ends.face[i]);
    if (!(dot(e, towards) > kTowards)) continue;
    for (int j = 0; j < edges.edges; ++j) {
      const V along = shape_feature(other.kind, other.x, other.size, edges.edge[j], other.hull).e;
      if (!(abs(dot(e, along)) < kAlong)) continue;
      f.face = ends.face[i], f.edge = edges.edge[j];
      return true;
    }
  }
  return false;
}

int find_manifold(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin,
                  const ConvexMeeting& closest, FoundContact* found) {
  const MeshEnds ends1 = ends_of(k1, g.hull1, closest.span1);
  const MeshEnds ends2 = ends_of(k2, g.hull2, closest.span2);
  const FlatSide<double> one = flat_side(g, k1, k2, false), two = flat_side(g, k1, k2, true);
  int face1 = -1, face2 = -1;
  double facing = -kFacing;
  for (int i = 0; i < ends1.faces; ++i) {
    const V e1 = flat_normal(one, ends1.face[i]);
    for (int j = 0; j < ends2.faces; ++j) {
      const double cosine = dot(e1, flat_normal(two, ends2.face[j]));
      if (cosine < facing) facing = cosine, face1 = ends1.face[i], face2 = ends2.face[j];
    }
  }
  if (face1 >= 0) return face_manifold(k1, k2, g, margin, face1, face2, found);
  EdgeFaceFeature f{};
  f.closest = closest.at;
  if (ends1.dimension < 3 && edge_along_face(two, ends2, one, ends1, -closest.n, f)) {
    if (k1 == GeomKind::cylinder && closest.at.code1 >= kUpperCap) return 0;
    return edge_manifold(k1, k2, g, margin, f, closest.n, found);
  }
  f.on_second = true;
  if (ends2.dimension < 3 && edge_along_face(one, ends1, two, ends2, closest.n, f)) {
    return edge_manifold(k1, k2, g, margin, f, closest.n, found);
  }
  return 0;
}

}  // namespace

std::int64_t encode(const MeshContact& c, GeomKind k1, GeomKind k2, const Hull* hull1,
                    const Hull* hull2) {
  const auto meeting = [](const MeetingFeatures& m) {
    return (m.code1 * kFeatureRoom + m.code2) * kLinePairs + line_pair_code(m.lines);
  };
  std::int64_t code = 0;
  if (c.kind == MeshContactKind::closest) {
    code = meeting(c.closest);
  } else if (c.kind == MeshContactKind::faces) {
    const FacePairFeature& f = c.faces;
    code = (static_cast<int>(f.corner) * kFeatureRoom + side_code(k1, hull1, f.face1, f.side1)) *
               kFeatureRoom +
           side_code(k2, hull2, f.face2, f.side2);
  } else {
    // The edge of a capsule or cylinder, of which there is one, is known by the closest features.
    const EdgeFaceFeature& f = c.edge;
    const GeomKind owner = f.on_second ? k2 : k1, other = f.on_second ? k1 : k2;
    const bool line = has_side_line(owner);
    code = side_code(other, f.on_second ? hull1 : hull2, f.face, f.side);
    if (line) {
      const int own = f.on_second ? f.closest.code2 : f.closest.code1,
                its = f.on_second ? f.closest.code1 : f.closest.code2;
      code = ((code * kFeatureRoom + its) * 8 + own) * kLinePairs + line_pair_code(f.closest.lines);
    } else {
      code = code * kFeatureRoom + f.edge;
    }
    code = (code * 3 + static_cast<int>(f.end)) * 2 + f.on_second;
  }
  return code * 3 + static_cast<int>(c.kind);
}

MeshContact decode_mesh(std::int64_t code, GeomKind k1, GeomKind k2, const Hull* hull1,
                        const Hull* hull2) {
  MeshContact c{};
  c.kind = static_cast<MeshContactKind>(code % 3);
  code /= 3;
  const auto take = [&](std::int64_t room) {
    const int x = static_cast<int>(code % room);
    code /= room;
    return x;
  };
  if (c.kind == MeshContactKind::closest) {
    c.closest.lines = line_pair_of(take(kLinePairs));
    c.closest.code2 = take(kFeatureRoom);
    c.closest.code1 = static_cast<int>(code);
  } else if (c.kind == MeshContactKind::faces) {
    decode_side(k2, hull2, take(kFeatureRoom), c.faces.face2, c.faces.side2);
    decode_side(k1, hull1, take(kFeatureRoom), c.faces.face1, c.faces.side1);
    c.faces.corner = static_cast<FlatCorner>(code);
  } else {
    EdgeFaceFeature& f = c.edge;
    f.on_second = take(2) == 1;
    f.end = static_cast<FlatEnd>(take(3));
    const GeomKind owner = f.on_second ? k2 : k1, other = f.on_second ? k1 : k2;
    if (has_side_line(owner)) {
      f.closest.lines = line_pair_of(take(kLinePairs));
      (f.on_second ? f.closest.code2 : f.closest.code1) = take(8);
      (f.on_second ? f.closest.code1 : f.closest.code2) = take(kFeatureRoom);
      f.edge = 0;
    } else {
      f.edge = take(kFeatureRoom);
    }
    decode_side(other, f.on_second ? hull1 : hull2, static_cast<int>(code), f.face, f.side);
  }
  return c;
}

int find_closest(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin,
                 FoundContact* found) {
  const ConvexMeeting closest = find_meeting(k1, k2, g, margin);
  if (!closest.found) return 0;
  MeshContact c{};
  c.kind = MeshContactKind::closest;
  c.closest = closest.at;
  found[0] = {encode(c, k1, k2, g.hull1, g.hull2), closest.n};
  return 1;
}

int find_mesh(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin,
              FoundContact* found, ApartHint* hint) {
  const ConvexMeeting closest = find_meeting(k1, k2, g, margin, hint);
  if (!closest.found) return 0;
  if (mesh_touches(k1, k2) > 1) {
    const int several = find_manifold(k1, k2, g, margin, closest, found);
    if (several > 0) return several;
  }
  MeshContact c{};
  c.kind = MeshContactKind::closest;
  c.closest = closest.at;
  found[0] = {encode(c, k1, k2, g.hull1, g.hull2), closest.n};
  return 1;
}

}  // namespace cycloid::inline geometry
