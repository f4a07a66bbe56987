#include "cycloid/geometry/pair/box_box.h"

namespace cycloid::inline geometry {

namespace {

using V = Vec3<double>;
using M = Mat3<double>;

constexpr double kEitherSide = 1e-9;  // component of a direction that does not choose a side
constexpr double kSameCorner = 1e-7;  // relative to the face's diagonal
constexpr double kOnLine = 1e-13;     // relative to the boxes' extent
constexpr int kMaxCorners = 12;

using Relative = BoxRelative<double>;

// A corner of the polygon that is clipped, in the reference face's axes x, y and its normal z.
struct Corner {
  V at;
  int line[2];  // lines of the incident face that cross here (box_contact.h)
  int next;     // the line that leads to the next corner
};

struct FacePolygon {
  int size = 0;
  Corner corner[kMaxCorners];
  CYCLOID_HD void add(const Corner& c) {
    if (size < kMaxCorners) corner[size++] = c;
  }
};

// Leaves what lies within sign · at[xy] ≤ limit; the bounding plane is `line`. Returns the polygon,
// `in` itself or `out`.
CYCLOID_HD const FacePolygon* clip(const FacePolygon* in, int xy, double sign, double limit,
                                   int line, double rounding, FacePolygon* out) {
  double beyond[kMaxCorners];
  bool cuts = false;
  for (int k = 0; k < in->size; ++k) {
    beyond[k] = sign * in->corner[k].at[xy] - limit;
    if (abs(beyond[k]) <= rounding) beyond[k] = 0;
    cuts = cuts || !(beyond[k] <= 0);
  }
  if (!cuts) return in;
  out->size = 0;
  for (int k = 0; k < in->size; ++k) {
    const int next = k + 1 < in->size ? k + 1 : 0;
    const Corner& c = in->corner[k];
    if (beyond[k] <= 0) {
      out->add(c);
      if (beyond[k] == 0 && beyond[next] > 0) out->corner[out->size - 1].next = line;
    }
    if (beyond[k] * beyond[next] < 0) {
      const double t = beyond[k] / (beyond[k] - beyond[next]);
      const V at = c.at + (in->corner[next].at - c.at) * t;
      const bool leaving = beyond[k] < 0;
      out->add({at, {c.next, line}, leaving ? line : c.next});
    }
  }
  return out;
}

// The incident face, whose corners follow each other around it.
CYCLOID_HD void incident_face(const BoxFaceFeature& f, const M& axes, const V& p, const V& size,
                              double ref_half, FacePolygon& out) {
  const int to[3] = {(f.a + 1) % 3, (f.a + 2) % 3, f.a};
  const int b_u = (f.b + 1) % 3, b_v = (f.b + 2) % 3;
  constexpr int u[4] = {1, -1, -1, 1}, v[4] = {1, 1, -1, -1};
  constexpr int before[4] = {0, 2, 1, 3}, after[4] = {2, 1, 3, 0};
  for (int k = 0; k < 4; ++k) {
    V at;
    for (int c = 0; c < 3; ++c) {
      at[c] = p[to[c]] + f.b_sign * size[f.b] * axes(to[c], f.b) +
              u[k] * size[b_u] * axes(to[c], b_u) + v[k] * size[b_v] * axes(to[c], b_v);
    }
    at.z = f.a_sign * at.z - ref_half;
    out.add({at, {before[k], after[k]}, after[k]});
  }
}

CYCLOID_HD int face_contacts(const V& size1, const V& size2, const Relative& r, int which,
                             double margin, FoundContact* found) {
  const bool swap = which >= 3;
  const M axes = swap ? transpose(r.rot) : r.rot;  // of the incident box, in the reference's
  const V &p = swap ? r.p12 : r.p21, &ref = swap ? size2 : size1;
  BoxFaceFeature f{};
  f.reference = swap;
  f.a = which % 3;
  f.a_sign = p[f.a] >= 0 ? 1 : -1;
  for (int k = 1; k < 3; ++k) {
    if (abs(axes(f.a, k)) > abs(axes(f.a, f.b))) f.b = k;
  }
  f.b_sign = f.a_sign * axes(f.a, f.b) > 0 ? -1 : 1;
  FacePolygon memory[2];
  incident_face(f, axes, p, swap ? size1 : size2, ref[f.a], memory[0]);
  const FacePolygon* polygon = memory;
  const double half[2] = {ref[(f.a + 1) % 3], ref[(f.a + 2) % 3]};
  for (int line = 4; line < 8; ++line) {
    const int xy = (line - 4) / 2;
    polygon = clip(polygon, xy, line % 2 ? -1 : 1, half[xy], line, kOnLine * r.extent,
                   polygon == memory ? memory + 1 : memory);
  }
  const double same = kSameCorner * kSameCorner * (half[0] * half[0] + half[1] * half[1]);
  int n = 0;
  V kept[kMaxCorners];
  for (int k = 0; k < polygon->size && n < kBoxBoxTouches; ++k) {
    const V& at = polygon->corner[k].at;
    bool distinct = at.z <= margin;
    for (int q = 0; q < n && distinct; ++q) {
      const double dx = at.x - kept[q].x, dy = at.y - kept[q].y;
      distinct = dx * dx + dy * dy >= same;
    }
    if (!distinct) continue;
    kept[n] = at;
    f.line[0] = polygon->corner[k].line[0];
    f.line[1] = polygon->corner[k].line[1];
    found[n++] = {encode(f), {}};
  }
  return n;
}

// Where the closest points of two edges lie.
CYCLOID_HD void place_on_edges(const GeomPair<double>& g, BoxEdgeFeature& f, double& gap) {
  f.s_end = f.t_end = 0;
  BoxEdgeContact<double> c = box_edge_contact(g, f);
  const double l1 = g.size1[f.i], l2 = g.size2[f.j];
  if (abs(c.s) > l1) {
    f.s_end = c.s > 0 ? 1 : -1;
    c = box_edge_contact(g, f);
  }
  if (abs(c.t) > l2) {
    f.t_end = c.t > 0 ? 1 : -1;
    f.s_end = 0;
    c = box_edge_contact(g, f);
    if (abs(c.s) > l1) f.s_end = c.s > 0 ? 1 : -1;
    c = box_edge_contact(g, f);
  }
  gap = dot(c.w2 - c.w1, c.w2 - c.w1);
}

// Sides of a box on which the edge along axis i lies, furthest along n. A component of n near zero
// does not choose: `either` is its place, or -1.
CYCLOID_HD void supporting_edge(const V& n, int i, int* sign, int& either) {
  either = -1;
  for (int k = 1; k >= 0; --k) {
    const double component = n[(i + 1 + k) % 3];
    sign[k] = component >= 0 ? 1 : -1;
    if (abs(component) < kEitherSide) either = k;
  }
}

CYCLOID_HD int edge_contact(const GeomPair<double>& g, const Relative& r, int which, double limit,
                            FoundContact* found) {
  BoxEdgeFeature f{};
  f.i = (which - 6) / 3, f.j = (which - 6) % 3;
  V n;
  if (!edge_direction(r, f.i, f.j, n)) return 0;
  f.n_sign = dot(n, r.p21) < 0 ? -1 : 1;
  n = n * double(f.n_sign);
  int either1, either2;
  supporting_edge(n, f.i, f.sign1, either1);
  supporting_edge(-transpose_vector_product(r.rot, n), f.j, f.sign2, either2);
  BoxEdgeFeature best = f;
  double best_gap = 1e300;
  for (int flip1 = 0; flip1 < (either1 < 0 ? 1 : 2); ++flip1) {
    for (int flip2 = 0; flip2 < (either2 < 0 ? 1 : 2); ++flip2) {
      BoxEdgeFeature candidate = f;
      if (flip1) candidate.sign1[either1] *= -1;
      if (flip2) candidate.sign2[either2] *= -1;
      double gap;
      place_on_edges(g, candidate, gap);
      if (gap < best_gap) best = candidate, best_gap = gap;
    }
  }
  if (!(box_edge_touch(g, best).dist <= limit)) return 0;
  found[0] = {encode(best), {}};
  return 1;
}

}  // namespace

CYCLOID_HD int clip_boxes(const GeomPair<double>& g, const BoxRelative<double>& r, int which,
                          double margin, FoundContact* found) {
  return which < 6 ? face_contacts(g.size1, g.size2, r, which, margin, found)
                   : edge_contact(g, r, which, separation_limit(r, margin), found);
}

CYCLOID_HD int find_box_box(const GeomPair<double>& g, double margin, FoundContact* found) {
  const Relative r = relative_boxes(g);
  const int which = static_cast<int>(box_separation(g, r, separation_limit(r, margin)));
  return which < 0 ? 0 : clip_boxes(g, r, which, margin, found);
}

}  // namespace cycloid::inline geometry
