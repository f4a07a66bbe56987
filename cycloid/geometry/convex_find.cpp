#include "cycloid/geometry/convex_find.h"

namespace cycloid::inline geometry {

namespace {

using V = Vec3<double>;

constexpr double kNearby = 0.02;  // sine
constexpr double kEqual = 1e-13;  // separations, relative to the shapes
constexpr double kPretence = 1e-8;
constexpr double kSlope = 1e-12;  // of the separation, relative to the shapes, when polished
constexpr int kPolishRounds = 12;
constexpr int kBisections = 60;

struct FeatureList {
  int code[16];
  int size = 0;
  void add(int c) {
    if (size < 16) code[size++] = c;
  }
};

// The features of a box near direction m, in its own axes.
FeatureList box_features(const V& m) {
  FeatureList list;
  bool either[3];
  int larger = 0;
  for (int k = 0; k < 3; ++k) either[k] = abs(m[k]) < kNearby;
  for (int k = 1; k < 3; ++k) larger = abs(m[k]) > abs(m[larger]) ? k : larger;
  const auto may_be = [&](int k, int positive) { return either[k] || (m[k] > 0) == positive; };
  for (int code = 0; code < kBoxEdges; ++code) {
    if (may_be(0, code & 1) && may_be(1, code >> 1 & 1) && may_be(2, code >> 2 & 1)) list.add(code);
  }
  for (int code = kBoxEdges; code < kBoxFaces; ++code) {
    const int k = (code - kBoxEdges) / 4, sides = code - kBoxEdges;
    if (either[k] && may_be((k + 1) % 3, sides & 1) && may_be((k + 2) % 3, sides >> 1 & 1)) {
      list.add(code);
    }
  }
  if (either[(larger + 1) % 3] && either[(larger + 2) % 3]) {
    list.add(kBoxFaces + 2 * larger + (m[larger] > 0));
  }
  return list;
}

FeatureList features(const ConvexShape& a, const V& direction) {
  const V m = transpose_vector_product(a.x.R, direction);
  FeatureList list;
  const bool across = abs(m.z) < kNearby, up = m.z > 0;
  if (a.kind == GeomKind::box) return box_features(m);
  if (a.kind == GeomKind::capsule) {
    if (across) list.add(kSegment);
    if (up || across) list.add(kUpperEnd);
    if (!up || across) list.add(kLowerEnd);
  } else if (a.kind == GeomKind::cylinder) {
    if (across) list.add(kSide);
    if (up || across) list.add(kUpperRim);
    if (!up || across) list.add(kLowerRim);
    if (m.x * m.x + m.y * m.y < kNearby * kNearby) list.add(up ? kUpperCap : kLowerCap);
  } else {
    list.add(0);
  }
  return list;
}

int dimension(Form form) { return form == Form::face ? 2 : form == Form::line ? 1 : 0; }

// How two lines meet, or false when they are parallel and have no common stretch.
bool pair_lines(const GeomPair<double>& g, const ShapeFeature<double>& f1,
                const ShapeFeature<double>& f2, const V& n, LinePair& lines) {
  const V normal = cross(f1.e, f2.e);
  if (dot(normal, normal) > kParallelSine * kParallelSine) {
    lines = {dot(normal, n) > 0 ? 1 : -1, 0, 0};
    return true;
  }
  const double along = dot(f1.e, g.x2.p - g.x1.p + f2.c - f1.c);
  const int low = along - f2.half > -f1.half, high = along + f2.half < f1.half;
  lines = {0, low, high};
  return (low ? along - f2.half : -f1.half) < (high ? along + f2.half : f1.half);
}

// n turned from the start by an angle about the line that binds it, towards t₁.
ConvexContact<double> turned(GeomKind k1, GeomKind k2, const GeomPair<double>& g, int code,
                             const ConvexContact<double>& start, double angle) {
  const V n = start.n * cos(angle) + start.t1 * sin(angle);
  return convex_contact(k1, k2, g, code, n, 0);
}

// Newton's method; where it is lost, as it is at a rim whose axis n nearly follows, and a line
// leaves n one freedom only, bisection of the slope t·g of the separation.
ConvexContact<double> polish(GeomKind k1, GeomKind k2, const GeomPair<double>& g, int code,
                             const V& start, double rounding) {
  const ConvexContact<double> c = convex_contact(k1, k2, g, code, start, kPolishRounds);
  const bool line = c.f1.form == Form::line || c.f2.form == Form::line;
  if (!line || c.pointed1 == c.pointed2 || abs(dot(c.t1, c.g)) <= rounding) return c;
  const ConvexContact<double> first = convex_contact(k1, k2, g, code, start, 0);
  const auto slope = [&](double angle) {
    const ConvexContact<double> at = turned(k1, k2, g, code, first, angle);
    return dot(at.t1, at.g);
  };
  double low = -2 * kNearby, high = 2 * kNearby;
  if (!(slope(low) > 0 && slope(high) < 0)) return c;
  for (int round = 0; round < kBisections; ++round) {
    const double middle = 0.5 * (low + high);
    (slope(middle) > 0 ? low : high) = middle;
  }
  return turned(k1, k2, g, code, first, 0.5 * (low + high));
}

}  // namespace

ConvexMeeting find_meeting(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin) {
  const ConvexShape a{k1, g.x1, g.size1}, b{k2, g.x2, g.size2};
  const double radii = swept_radius(a) + swept_radius(b);
  const ClosestDirection start = closest_direction(a, b, margin + radii);
  ConvexMeeting best{false, 0, start.n, -1e300};
  if (start.closeness == Closeness::far) return best;
  double extent = 0;
  for (int k = 0; k < 3; ++k) extent += g.size1[k] + g.size2[k];

  const FeatureList list1 = features(a, start.n), list2 = features(b, -start.n);
  ConvexMeeting last_resort = best;
  double least = 1e300, best_pretence = 1e300;  // pretences
  int most = -1;
  for (int i = 0; i < list1.size; ++i) {
    const ShapeFeature<double> f1 = shape_feature(k1, g.x1, g.size1, list1.code[i]);
    for (int j = 0; j < list2.size; ++j) {
      const ShapeFeature<double> f2 = shape_feature(k2, g.x2, g.size2, list2.code[j]);
      const int extended = dimension(f1.form) + dimension(f2.form);
      if (extended > 2) continue;
      LinePair lines{-1, 0, 0};
      if (f1.form == Form::line && f2.form == Form::line &&
          !pair_lines(g, f1, f2, start.n, lines)) {
        continue;
      }
      const int code = encode(list1.code[i], list2.code[j], lines);
      const ConvexContact<double> c = polish(k1, k2, g, code, start.n, kSlope * extent);
      const double dist = separation(a, b, c.n) - radii;
      // A feature that is not the furthest along n pretends to more separation than there is.
      const double pretence = c.dist - dist;
      if (!(pretence <= kPretence * extent)) {
        if (pretence < least) least = pretence, last_resort = {true, code, c.n, dist};
        continue;
      }
      const bool better = dist > best.dist + kEqual * extent;
      const bool equal = dist > best.dist - kEqual * extent &&
                         (extended > most || (extended == most && pretence < best_pretence));
      if (!better && !equal) continue;
      best = {true, code, c.n, dist};
      most = extended, best_pretence = pretence;
    }
  }
  if (!best.found) best = last_resort;
  best.found = best.found && best.dist < margin;
  return best;
}

}  // namespace cycloid::inline geometry
