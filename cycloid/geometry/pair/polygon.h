// Polygons that are clipped: where two flat faces, or a face and an edge, lie along each other.
//
// A corner knows the two lines that meet in it and the line that leads on, so that a contact can be
// named by them. Lines are numbered by whoever clips.
#pragma once

#include <vector>

#include "cycloid/geometry/shape.h"

namespace cycloid::inline geometry {

struct PolygonCorner {
  Vec3<double> at;
  int line[2], next;
};

// Of at most kMost corners; more are dropped.
template <int kMost>
struct Polygon {
  PolygonCorner corner[kMost];
  int size = 0;
  void add(const PolygonCorner& c) {
    if (size < kMost) corner[size++] = c;
  }
};

// What lies within m·at ≤ o (Sutherland & Hodgman 1974); starts at the corner after the first.
template <int kMost>
void clip(const Polygon<kMost>& in, const Vec3<double>& m, double o, int line, double rounding,
          Polygon<kMost>& out) {
  out.size = 0;
  for (int k = 0; k < in.size; ++k) {
    const PolygonCorner &p = in.corner[k], &q = in.corner[(k + 1) % in.size];
    const double beyond_p = dot(m, p.at) - o, beyond_q = dot(m, q.at) - o;
    const bool p_in = !(beyond_p > rounding), q_in = !(beyond_q > rounding);
    if (p_in != q_in) {
      const double t = beyond_p / (beyond_p - beyond_q);
      out.add({p.at + (q.at - p.at) * t, {p.next, line}, p_in ? line : p.next});
    }
    if (q_in) out.add(q);
  }
}

// Area of the quadrilateral on four points, times two.
inline double quad_area(const Vec3<double>& a, const Vec3<double>& b, const Vec3<double>& c,
                        const Vec3<double>& d) {
  const Vec3<double> n = cross(a - c, b - d);
  return sqrt(dot(n, n));
}

// Four of n points around a polygon that span a large area: each is moved on while that helps, by
// more than `tie`, relatively. at(i) is point i; `from_all`: each point is tried as the first, else
// the first one stays.
template <class At>
void large_quad(int n, At at, double tie, bool from_all, int* best) {
  int q[4] = {0, 1, 2, 3};
  for (int i = 0; i < 4; ++i) best[i] = i;
  double area = quad_area(at(0), at(1), at(2), at(3));
  const auto advance = [&](int i) {
    int r[4] = {q[0], q[1], q[2], q[3]};
    r[i] = (r[i] + 1) % n;
    const double moved = quad_area(at(r[0]), at(r[1]), at(r[2]), at(r[3]));
    if (!(moved > area * (1 + tie))) return false;
    area = moved, q[i] = r[i];
    for (int k = 0; k < 4; ++k) best[k] = q[k];
    return true;
  };
  for (; q[0] < (from_all ? n : 1); ++q[0]) {
    for (int rounds = 0; rounds < 4 * n && advance(3); ++rounds) {
      while (rounds < 4 * n && advance(2)) ++rounds;
      while (rounds < 4 * n && advance(1)) ++rounds;
    }
    for (int i = 1; i < 4 && q[i] == q[i - 1]; ++i) q[i] = (q[i] + 1) % n;
  }
}

}  // namespace cycloid::inline geometry
