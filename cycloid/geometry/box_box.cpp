#include "cycloid/geometry/box_box.h"

namespace cycloid::inline geometry {

namespace {

using V = Vec3<double>;
using M = Mat3<double>;

constexpr double kRounding = 1e-13;  // of a separation, relative to the boxes' extent
constexpr double kParallel = 1e-16;  // squared sine below which two edges have no cross product
constexpr double kEdgeBias = 1e-6;   // see box_box.h
constexpr double kEdgeGain = 0.05;
constexpr double kEdgeIsFace = 0.99;  // cosine of the direction to the face's normal
constexpr double kEitherSide = 1e-9;  // component of a direction that does not choose a side
constexpr double kSameCorner = 1e-7;  // relative to the face's diagonal
constexpr double kOnLine = 1e-13;     // relative to the boxes' extent
constexpr int kMaxCorners = 12;
constexpr int kNext[3] = {1, 2, 0};

// Both boxes in the axes of each other.
struct Relative {
  M rot;       // columns: axes of box 2 in those of box 1
  V p21, p12;  // centre of box 2 from box 1 in box 1's axes, and the reverse in box 2's
  double extent;
};

Relative relative(const GeomPair<double>& g) {
  Relative r;
  r.rot = transpose(g.x1.R) * g.x2.R;
  r.p21 = transpose_vector_product(g.x1.R, g.x2.p - g.x1.p);
  r.p12 = transpose_vector_product(g.x2.R, g.x1.p - g.x2.p);
  r.extent = 0;
  for (int k = 0; k < 3; ++k) r.extent += g.size1[k] + g.size2[k];
  return r;
}

// A direction of contact. Faces 0..2 of box 1, 3..5 of box 2, edge pairs 6 + 3 i + j.
struct Separation {
  double value;
  int which;
};

double half_width(const V& direction, const V& size) {
  double sum = 0;
  for (int k = 0; k < 3; ++k) sum += abs(direction[k]) * size[k];
  return sum;
}

// Axis of a face of box 1 in box 2's axes: a row of rot; of box 2 in box 1's: a column.
V row(const M& m, int i) { return {m(i, 0), m(i, 1), m(i, 2)}; }
V column(const M& m, int j) { return {m(0, j), m(1, j), m(2, j)}; }

Separation best_face(const GeomPair<double>& g, const Relative& r) {
  Separation best{-1e300, -1};
  for (int k = 0; k < 6; ++k) {
    const int i = k % 3;
    const double value = k < 3 ? abs(r.p21[i]) - g.size1[i] - half_width(row(r.rot, i), g.size2)
                               : abs(r.p12[i]) - g.size2[i] - half_width(column(r.rot, i), g.size1);
    if (value > best.value) best = {value, k};
  }
  return best;
}

// Unit cross product of edge i of box 1 and edge j of box 2, in box 1's axes; false when parallel.
bool edge_direction(const Relative& r, int i, int j, V& n) {
  const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
  n = {0, 0, 0};
  n[i1] = -r.rot(i2, j);
  n[i2] = r.rot(i1, j);
  const double square = dot(n, n);
  if (!(square >= kParallel)) return false;
  n = n * (1 / sqrt(square));
  return true;
}

// How far the cross product n of edge i of box 1 and edge j of box 2 separates the boxes, times
// |n|, which is at most 1. n has two components in the axes of either box.
double scaled_edge_separation(const GeomPair<double>& g, const Relative& r, int i, int j) {
  const int i1 = kNext[i], i2 = kNext[i1], j1 = kNext[j], j2 = kNext[j1];
  const double a = r.rot(i1, j), b = r.rot(i2, j);
  return abs(a * r.p21[i2] - b * r.p21[i1]) - abs(b) * g.size1[i1] - abs(a) * g.size1[i2] -
         abs(r.rot(i, j2)) * g.size2[j1] - abs(r.rot(i, j1)) * g.size2[j2];
}

// The winner of all fifteen; which = -1 when a direction separates the boxes.
Separation best_separation(const GeomPair<double>& g, const Relative& r, double limit) {
  const Separation face = best_face(g, r);
  if (!(face.value <= limit)) return {0, -1};
  Separation best = face;
  V best_direction{};
  // A separation is negative and |n| ≤ 1: one that is less than the face's before it is divided by
  // |n| is less after it. Most are, and need no root.
  const double hopeless = min(face.value, 0.0) - kRounding * r.extent;
  for (int k = 0; k < 9; ++k) {
    V n;
    if (scaled_edge_separation(g, r, k / 3, k % 3) < hopeless) continue;
    if (!edge_direction(r, k / 3, k % 3, n)) continue;
    const double value = abs(dot(n, r.p21)) - half_width(n, g.size1) -
                         half_width(transpose_vector_product(r.rot, n), g.size2);
    if (value > limit) return {0, -1};
    if (value - kEdgeBias * abs(value) > best.value && value > face.value) {
      best = {value, 6 + k};
      best_direction = n;
    }
  }
  if (best.which < 6) return best;
  const V normal =
      face.which < 3 ? V{double(face.which == 0), double(face.which == 1), double(face.which == 2)}
                     : column(r.rot, face.which - 3);
  const bool alike = abs(dot(normal, best_direction)) > kEdgeIsFace;
  const bool little = best.value < face.value + kEdgeGain * abs(face.value) + kMinLength;
  return alike && little ? face : best;
}

// A corner of the polygon that is clipped, in the reference face's axes x, y and its normal z.
struct Corner {
  V at;
  int line[2];  // lines of the incident face that cross here (box_contact.h)
  int next;     // the line that leads to the next corner
};

struct Polygon {
  Corner corner[kMaxCorners];
  int size = 0;
  void add(const Corner& c) {
    if (size < kMaxCorners) corner[size++] = c;
  }
};

// What lies within sign · at[xy] ≤ limit; the bounding plane is `line`.
Polygon clip(const Polygon& in, int xy, double sign, double limit, int line, double rounding) {
  Polygon out;
  double beyond[kMaxCorners];
  for (int k = 0; k < in.size; ++k) {
    beyond[k] = sign * in.corner[k].at[xy] - limit;
    if (abs(beyond[k]) <= rounding) beyond[k] = 0;
  }
  for (int k = 0; k < in.size; ++k) {
    const int next = k + 1 < in.size ? k + 1 : 0;
    const Corner& c = in.corner[k];
    if (beyond[k] <= 0) {
      out.add(c);
      if (beyond[k] == 0 && beyond[next] > 0 && out.size > 0) out.corner[out.size - 1].next = line;
    }
    if (beyond[k] * beyond[next] < 0) {
      const double t = beyond[k] / (beyond[k] - beyond[next]);
      const V at = c.at + (in.corner[next].at - c.at) * t;
      const bool leaving = beyond[k] < 0;
      out.add({at, {c.next, line}, leaving ? line : c.next});
    }
  }
  return out;
}

// The incident face, whose corners follow each other around it.
Polygon incident_face(const BoxFaceFeature& f, const M& axes, const V& p, const V& size,
                      double ref_half) {
  const int to[3] = {(f.a + 1) % 3, (f.a + 2) % 3, f.a};
  const int b_u = (f.b + 1) % 3, b_v = (f.b + 2) % 3;
  constexpr int u[4] = {1, -1, -1, 1}, v[4] = {1, 1, -1, -1};
  constexpr int before[4] = {0, 2, 1, 3}, after[4] = {2, 1, 3, 0};
  Polygon out;
  for (int k = 0; k < 4; ++k) {
    V at;
    for (int c = 0; c < 3; ++c) {
      at[c] = p[to[c]] + f.b_sign * size[f.b] * axes(to[c], f.b) +
              u[k] * size[b_u] * axes(to[c], b_u) + v[k] * size[b_v] * axes(to[c], b_v);
    }
    at.z = f.a_sign * at.z - ref_half;
    out.add({at, {before[k], after[k]}, after[k]});
  }
  return out;
}

int face_contacts(const GeomPair<double>& g, const Relative& r, int which, double margin,
                  FoundContact* found) {
  const bool swap = which >= 3;
  const M axes = swap ? transpose(r.rot) : r.rot;  // of the incident box, in the reference's
  const V &p = swap ? r.p12 : r.p21, &ref = swap ? g.size2 : g.size1;
  BoxFaceFeature f{};
  f.reference = swap;
  f.a = which % 3;
  f.a_sign = p[f.a] >= 0 ? 1 : -1;
  for (int k = 1; k < 3; ++k) {
    if (abs(axes(f.a, k)) > abs(axes(f.a, f.b))) f.b = k;
  }
  f.b_sign = f.a_sign * axes(f.a, f.b) > 0 ? -1 : 1;
  Polygon polygon = incident_face(f, axes, p, swap ? g.size1 : g.size2, ref[f.a]);
  const double half[2] = {ref[(f.a + 1) % 3], ref[(f.a + 2) % 3]};
  for (int line = 4; line < 8; ++line) {
    const int xy = (line - 4) / 2;
    polygon = clip(polygon, xy, line % 2 ? -1 : 1, half[xy], line, kOnLine * r.extent);
  }
  const double same = kSameCorner * kSameCorner * (half[0] * half[0] + half[1] * half[1]);
  int n = 0;
  V kept[kMaxCorners];
  for (int k = 0; k < polygon.size && n < kBoxBoxTouches; ++k) {
    const V& at = polygon.corner[k].at;
    bool distinct = at.z <= margin;
    for (int q = 0; q < n && distinct; ++q) {
      const double dx = at.x - kept[q].x, dy = at.y - kept[q].y;
      distinct = dx * dx + dy * dy >= same;
    }
    if (!distinct) continue;
    kept[n] = at;
    f.line[0] = polygon.corner[k].line[0];
    f.line[1] = polygon.corner[k].line[1];
    found[n++] = {encode(f), {}};
  }
  return n;
}

// Where the closest points of two edges lie.
void place_on_edges(const GeomPair<double>& g, BoxEdgeFeature& f, double& gap) {
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
void supporting_edge(const V& n, int i, int* sign, int& either) {
  either = -1;
  for (int k = 1; k >= 0; --k) {
    const double component = n[(i + 1 + k) % 3];
    sign[k] = component >= 0 ? 1 : -1;
    if (abs(component) < kEitherSide) either = k;
  }
}

int edge_contact(const GeomPair<double>& g, const Relative& r, int which, double limit,
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

int find_box_box(const GeomPair<double>& g, double margin, FoundContact* found) {
  const Relative r = relative(g);
  const double limit = margin + kRounding * r.extent;
  const Separation best = best_separation(g, r, limit);
  if (best.which < 0) return 0;
  return best.which < 6 ? face_contacts(g, r, best.which, margin, found)
                        : edge_contact(g, r, best.which, limit, found);
}

}  // namespace cycloid::inline geometry
