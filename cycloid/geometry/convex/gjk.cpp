#include "cycloid/geometry/convex/gjk.h"

namespace cycloid::inline geometry {

namespace {

using V = Vec3<double>;

constexpr int kMaxRounds = 100;
constexpr double kGap = 1e-7;         // relative: squared distance that a round must still gain
constexpr double kCornerGap = 1e-14;  // likewise, of polytopes
constexpr double kTouch = 1e-11;      // distance, relative to the shapes, below which they overlap

// Points of b - a.
struct Simplex {
  V w[4];
  int a[4], b[4];  // corners
  int size = 0;

  bool has(int i, int j) const {
    for (int k = 0; k < size; ++k) {
      if (a[k] == i && b[k] == j) return true;
    }
    return false;
  }
};

// The point nearest to the origin in the affine hull of the chosen points, if it lies among them.
bool nearest_in(const V* const* w, int n, V& nearest) {
  const V& o = *w[0];
  if (n == 1) {
    nearest = o;
    return true;
  }
  // Gram matrix of the edges from w[0]; its solution by Cramer's rule, with weights left undivided.
  V e[3];
  for (int i = 1; i < n; ++i) e[i - 1] = *w[i] - o;
  double weight[4], total;
  if (n == 2) {
    total = dot(e[0], e[0]);
    weight[1] = -dot(o, e[0]);
  } else if (n == 3) {
    const double a = dot(e[0], e[0]), b = dot(e[0], e[1]), c = dot(e[1], e[1]);
    const double p = -dot(o, e[0]), q = -dot(o, e[1]);
    total = a * c - b * b;
    weight[1] = p * c - q * b;
    weight[2] = a * q - b * p;
  } else {
    total = dot(e[0], cross(e[1], e[2]));
    weight[1] = -dot(o, cross(e[1], e[2]));
    weight[2] = -dot(e[0], cross(o, e[2]));
    weight[3] = -dot(e[0], cross(e[1], o));
    if (total < 0) {
      total = -total;
      for (int i = 1; i < 4; ++i) weight[i] = -weight[i];
    }
  }
  if (!(total > 0)) return false;
  weight[0] = total;
  for (int i = 1; i < n; ++i) weight[0] -= weight[i];
  for (int i = 0; i < n; ++i) {
    if (!(weight[i] > 0)) return false;
  }
  nearest = {};
  for (int i = 0; i < n; ++i) nearest += *w[i] * (weight[i] / total);
  return true;
}

// Reduces the simplex to the points that carry its nearest point to the origin. The newest is one
// of them, unless rounding hides it: the others had their nearest point, and it lies beyond.
V reduce(Simplex& s) {
  V nearest = s.w[s.size - 1];
  double least = 1e300;
  int best = (1 << s.size) - 1;
  const auto try_subsets = [&](int from) {
    for (int subset = from; subset < 1 << s.size; ++subset) {
      const V* chosen[4];
      int n = 0;
      for (int i = 0; i < s.size; ++i) {
        if (subset >> i & 1) chosen[n++] = s.w + i;
      }
      V at;
      if (!nearest_in(chosen, n, at)) continue;
      const double square = dot(at, at);
      if (square < least) least = square, nearest = at, best = subset;
    }
  };
  try_subsets(1 << (s.size - 1));
  if (!(least < 1e300)) try_subsets(1);
  int n = 0;
  for (int i = 0; i < s.size; ++i) {
    if (!(best >> i & 1)) continue;
    s.w[n] = s.w[i], s.a[n] = s.a[i], s.b[n] = s.b[i];
    ++n;
  }
  s.size = n;
  return nearest;
}

}  // namespace

ClosestDirection closest_direction(const ConvexShape& a, const ConvexShape& b, double limit) {
  const double touch = kTouch * (extent(a) + extent(b));
  const bool corners = is_polytope(a) && is_polytope(b);
  const double gap = corners ? kCornerGap : kGap;
  const auto overlap = [&] {
    ClosestDirection found{Closeness::overlapping, {}, {}};
    found.n = least_overlap(a, b, &found.at);
    return found;
  };
  Simplex s;
  V v = b.x.p - a.x.p;
  if (!(dot(v, v) > touch * touch)) v = {1, 0, 0};
  for (int round = 0; round < kMaxRounds; ++round) {
    const SupportCorner from = support_corner(a, v), to = support_corner(b, -v);
    const V w = to.x - from.x;
    const double square = dot(v, v), along = dot(v, w);
    if (along > 0 && along * along > limit * limit * square && limit >= 0) {
      return {Closeness::far, v * (1 / sqrt(square)), {}};
    }
    if (round > 0 && square - along <= gap * square) break;
    if (corners && s.has(from.number, to.number)) break;
    s.w[s.size] = w, s.a[s.size] = from.number, s.b[s.size] = to.number;
    ++s.size;
    v = reduce(s);
    if (s.size == 4 || !(dot(v, v) > touch * touch)) return overlap();
  }
  const double length = sqrt(dot(v, v));
  const V n = v * (1 / length);
  if (!(separation(a, b, n) > 0)) return overlap();
  ClosestDirection found{Closeness::apart, n, {}};
  if (!corners) return found;
  found.at.size = s.size;
  for (int k = 0; k < s.size; ++k) found.at.a[k] = s.a[k], found.at.b[k] = s.b[k];
  return found;
}

}  // namespace cycloid::inline geometry
