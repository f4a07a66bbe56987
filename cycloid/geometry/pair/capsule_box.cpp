#include "cycloid/geometry/pair/capsule_box.h"

namespace cycloid::inline geometry {

namespace {

using V = Vec3<double>;

constexpr double kBetter = 1e-15;    // by which a later edge must beat an earlier one [m²]
constexpr double kParallel = 1e-15;  // determinant below which axis and edge count as parallel

// Where the axis comes closest to the box.
struct Closest {
  double square;  // of the distance
  double x, y;    // place on the axis, and on the edge along `edge`, in units of its half-length
  AxisPoint point;
  int edge;       // -1: a face or the inside
  int corner[3];  // sides on which the edge lies; along it, the end that is met (-1 for its middle)
  bool at_corner;
  int face;  // axis of the face that an end lies before, -1 inside
};

CYCLOID_HD bool beyond(double value, double limit) { return value > limit || value < -limit; }
CYCLOID_HD int sign_of(double x) { return x > 0 ? 1 : -1; }

// Ends of the axis that lie inside the box or before one of its faces.
CYCLOID_HD void try_ends(const V& P, const V& h, const V& s, Closest& best) {
  for (int end = -1; end <= 1; end += 2) {
    const V e = P + h * double(end);
    int outside = 0, face = -1;
    double square = 0;
    for (int k = 0; k < 3; ++k) {
      if (!beyond(e[k], s[k])) continue;
      ++outside;
      face = k;
      const double d = abs(e[k]) - s[k];
      square += d * d;
    }
    if (outside > 1 || !(square < best.square)) continue;
    best = {square, double(end), 0, {end, {0, 0, 0}, -1, 1}, -1, {0, 0, 0}, false, face};
  }
}

// Closest points of the axis and one edge, along axis j at the sides `corner`. An edge whose end
// was nearest to the axis' line counts as met there, even where the axis stops short of it.
CYCLOID_HD void try_edge(const V& P, const V& h, const V& s, int j, const int* corner,
                         Closest& best) {
  V middle;
  for (int k = 0; k < 3; ++k) middle[k] = k == j ? 0 : corner[k] * s[k];
  const V to = middle - P;
  double across = 0, x = 0;  // of (2): the part of the axis across the edge
  for (int k = 0; k < 3; ++k) {
    if (k == j) continue;
    across += h[k] * h[k];
    x += h[k] * to[k];
  }
  if (!(s[j] * s[j] * across >= kParallel)) return;
  x /= across;
  const double along = h[j];
  double y = (x * along - to[j]) / s[j];
  int x_end = 0, y_end = 0;
  if (beyond(y, 1)) {
    y_end = sign_of(y), y = y_end;
    x = (dot(h, to) + y * s[j] * along) / dot(h, h);
  }
  if (beyond(x, 1)) {
    x_end = sign_of(x), x = x_end;
    y = (x * along - to[j]) / s[j];
    if (beyond(y, 1)) y_end = sign_of(y), y = y_end;
  }
  V gap = to - h * x;
  gap[j] += s[j] * y;
  const double square = dot(gap, gap);
  if (!(square < best.square - kBetter)) return;
  best = {square,     x, y, {x_end, {0, 0, 0}, -1, 1}, j, {corner[0], corner[1], corner[2]},
          y_end != 0, -1};
  best.corner[j] = y_end > 0 ? 1 : -1;
  if (x_end != 0) return;
  for (int k = 0; k < 3; ++k) best.point.sign[k] = k == j ? y_end : corner[k];
}

// A second ball is sought in direction `way` (±1) along the axis; the nearest limit holds.
struct Second {
  double reach;  // in x
  AxisPoint point;
  CYCLOID_HD Second(const Closest& c, int way) : reach(way > 0 ? 1 - c.x : 1 + c.x), way_(way) {
    point = {way, {0, 0, 0}, -1, 1};
  }
  // One width of the box along axis k.
  CYCLOID_HD void limit_width(const Closest& c, const V& s, const V& h, int k) {
    const double width = 2 * s[k] / abs(h[k]);
    if (!(width < reach)) return;
    reach = width;
    point = c.point;
    point.width = k, point.width_sign = way_;
  }
  // The plane of the face at coordinate σ s_k.
  CYCLOID_HD void limit_plane(double distance, int k, int sigma) {
    if (!(distance < reach)) return;
    reach = distance;
    point = {0, {0, 0, 0}, -1, 1};
    point.sign[k] = sigma;
  }

 private:
  int way_;
};

// Axes k along which the axis runs away from the side on which the corner or edge lies.
CYCLOID_HD int opposed(const Closest& c, const V& h, int k) {
  return (h[k] > 0) != (c.corner[k] > 0);
}

CYCLOID_HD bool second_at_corner(const Closest& c, const V& h, const V& s, AxisPoint& out) {
  const int count = opposed(c, h, 0) + opposed(c, h, 1) + opposed(c, h, 2);
  if (count == 0 || count == 3) return false;
  int k = 0;  // the one axis that differs from the other two
  while (opposed(c, h, k) != (count == 1)) ++k;
  const int way = count == 1 ? 1 : -1;
  const bool along_edge = h[k] * h[k] > 0.5 * dot(h, h);
  Second second(c, along_edge ? way : -way);
  if (along_edge) {
    second.limit_width(c, s, h, k);
  } else {
    second.limit_width(c, s, h, (k + 1) % 3);
    second.limit_width(c, s, h, (k + 2) % 3);
  }
  out = second.point;
  return true;
}

CYCLOID_HD bool second_at_edge(const Closest& c, const V& h, const V& s, AxisPoint& out) {
  const int j = c.edge, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
  if (opposed(c, h, j1) + opposed(c, h, j2) != 1) return false;
  const int k = abs(h[j1]) > abs(h[j2]) ? j1 : j2;  // the face that the axis runs along is that of
  const int way = opposed(c, h, k) ? 1 : -1;        // the other one
  Second second(c, way);
  second.limit_width(c, s, h, k);
  const int side = (h[j] > 0) == (way > 0) ? 1 : -1;
  second.limit_plane(s[j] * (1 - side * c.y) / abs(h[j]), j, side);
  out = second.point;
  return true;
}

CYCLOID_HD bool second_at_face(const Closest& c, const V& P, const V& h, const V& s,
                               AxisPoint& out) {
  if (c.face < 0) return false;
  const int way = c.x < 0 ? 1 : -1;
  const V e = P + h * c.x;
  Second second(c, way);
  for (int k = 0; k < 3; ++k) {
    if (k == c.face) continue;
    for (int sigma = 1; sigma >= -1; sigma -= 2) {
      const double distance = (sigma * s[k] - e[k]) / h[k] * way;
      if (distance > 0) second.limit_plane(distance, k, sigma);
    }
  }
  out = second.point;
  return true;
}

// The ball at a place on the axis, if it is within the margin.
CYCLOID_HD int ball(const GeomPair<double>& g, const BoxedAxis<double>& b, const AxisPoint& a,
                    double margin, FoundContact& found) {
  const double x = axis_position(b, g.size2, a);
  if (!is_finite(x)) return 0;
  const int code = encode(a, static_cast<int>(box_feature(b.P + b.h * x, g.size2)));
  if (!(capsule_box_touch(g, code).dist <= margin)) return 0;
  found = {code, {}};
  return 1;
}

}  // namespace

CYCLOID_HD int find_capsule_box(const GeomPair<double>& g, double margin, FoundContact* found) {
  const BoxedAxis<double> b = boxed_axis(g);
  const V& s = g.size2;
  Closest best{};
  best.square = margin + 2 * (g.size1.x + g.size1.y + s.x + s.y + s.z);
  best.edge = -2;
  try_ends(b.P, b.h, s, best);
  for (int j = 0; j < 3; ++j) {
    for (int side = 0; side < 8; ++side) {
      if (side >> j & 1) continue;
      const int corner[3] = {side & 1 ? 1 : -1, side & 2 ? 1 : -1, side & 4 ? 1 : -1};
      try_edge(b.P, b.h, s, j, corner, best);
    }
  }
  if (best.edge == -2) return 0;
  int n = ball(g, b, best.point, margin, found[0]);
  AxisPoint second;
  const bool more = best.edge < 0    ? second_at_face(best, b.P, b.h, s, second)
                    : best.at_corner ? second_at_corner(best, b.h, s, second)
                                     : second_at_edge(best, b.h, s, second);
  if (more) n += ball(g, b, second, margin, found[n]);
  return n;
}

}  // namespace cycloid::inline geometry
