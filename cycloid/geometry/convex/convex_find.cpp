#include "cycloid/geometry/convex/convex_find.h"

namespace cycloid::inline geometry {

namespace {

using V = Vec3<double>;

constexpr double kNearby = 0.02;  // sine
constexpr double kEqual = 1e-13;  // separations, relative to the shapes
constexpr double kPretence = 1e-8;
constexpr double kSlope = 1e-12;  // of the separation, relative to the shapes, when polished
constexpr double kFlatSine = 1e-6;
constexpr int kPolishRounds = 12;
constexpr int kTurns = 4;       // of a geom whose faces lie so well that EPA fails
constexpr double kTurn = 1e-7;  // each by so much [rad]
constexpr int kBisections = 60;
constexpr int kMostTriangles = 64;  // of a flat face, on the way to the one that is met
constexpr double kSure = 1e-6;      // relative: apart by so much is beyond doubt

struct FeatureList {
  static constexpr int kMost = 96;
  int code[kMost];
  int size = 0;
  void add(int c) {
    if (size < kMost) code[size++] = c;
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

// Whether an edge only divides a flat face: the triangles on its sides have one plane.
bool is_flat(const Hull& h, int edge) {
  const HullPiece piece = hull_piece(*h.table, edge);
  const int other = find_edge(*h.table, piece.at[1], piece.at[0]);
  if (other < 0) return false;
  const V n = triangle_normal<double>(h, piece.triangle),
          m = triangle_normal<double>(h, hull_piece(*h.table, other).triangle), d = cross(n, m);
  return dot(n, m) > 0 && dot(d, d) < kFlatSine * kFlatSine;
}

// The features of a hull near direction m, in its own axes: corners that are nearly as far along it
// as the furthest, edges across it, triangles that look along it.
FeatureList hull_features(const Hull& h, const V& m) {
  const HullTable& t = *h.table;
  FeatureList list;
  constexpr int kMostCornersNear = 24;
  int corner[kMostCornersNear] = {h.furthest(m, -1)}, corners = 1;
  const V top = h.corner<double>(corner[0]);
  const auto known = [&](int c) {
    for (int i = 0; i < corners; ++i) {
      if (corner[i] == c) return true;
    }
    return false;
  };
  for (int i = 0; i < corners; ++i) {
    for (const int c : t.neighbours.of(corner[i])) {
      const V down = top - h.corner<double>(c);
      if (corners == kMostCornersNear || known(c)) continue;
      if (dot(m, down) > kNearby * sqrt(dot(down, down))) continue;
      corner[corners++] = c;
    }
  }
  for (int i = 0; i < corners; ++i) list.add(corner[i]);
  for (int i = 0; i < corners; ++i) {
    for (int j = 0; j < i; ++j) {
      const int edge = find_edge(t, corner[i], corner[j]);
      const V e = h.corner<double>(corner[j]) - h.corner<double>(corner[i]);
      if (edge < 0 || !(abs(dot(e, m)) < kNearby * sqrt(dot(e, e)))) continue;
      if (!is_flat(h, edge)) list.add(edge);
    }
  }
  for (int i = 0; i < corners; ++i) {
    for (const int k : t.corner_triangles.of(corner[i])) {
      const int* at = t.triangle.data() + 3 * k;
      if (at[0] != corner[i] && known(at[0])) continue;  // each once, by its first corner
      if (at[0] != corner[i] && at[1] != corner[i] && known(at[1])) continue;
      if (dot(triangle_normal<double>(h, k), m) > 1 - 0.5 * kNearby * kNearby) {
        list.add(triangle_code(t, k));
      }
    }
  }
  return list;
}

FeatureList features(const ConvexShape& a, const V& direction) {
  const V m = transpose_vector_product(a.x.R, direction);
  if (a.kind == GeomKind::mesh) return hull_features(*a.hull, m);
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
ConvexContact<double> turned(GeomKind k1, GeomKind k2, const GeomPair<double>& g,
                             const MeetingFeatures& at, const ConvexContact<double>& start,
                             double angle) {
  const V n = start.n * cos(angle) + start.t1 * sin(angle);
  return convex_contact(k1, k2, g, at, n, 0);
}

// Newton's method; where it is lost, as it is at a rim whose axis n nearly follows, and a line
// leaves n one freedom only, bisection of the slope t·g of the separation.
ConvexContact<double> polish(GeomKind k1, GeomKind k2, const GeomPair<double>& g,
                             const MeetingFeatures& at, const V& start, double rounding) {
  const ConvexContact<double> c = convex_contact(k1, k2, g, at, start, kPolishRounds);
  const bool line = c.f1.form == Form::line || c.f2.form == Form::line;
  if (!line || c.pointed1 == c.pointed2 || abs(dot(c.t1, c.g)) <= rounding) return c;
  const ConvexContact<double> first = convex_contact(k1, k2, g, at, start, 0);
  const auto slope = [&](double angle) {
    const ConvexContact<double> there = turned(k1, k2, g, at, first, angle);
    return dot(there.t1, there.g);
  };
  double low = -2 * kNearby, high = 2 * kNearby;
  if (!(slope(low) > 0 && slope(high) < 0)) return c;
  for (int round = 0; round < kBisections; ++round) {
    const double middle = 0.5 * (low + high);
    (slope(middle) > 0 ? low : high) = middle;
  }
  return turned(k1, k2, g, at, first, 0.5 * (low + high));
}

// The distinct corners of one core.
struct Corners {
  int at[4], size = 0;
  Corners(const int* all, int n) {
    for (int i = 0; i < n; ++i) {
      bool known = false;
      for (int j = 0; j < size; ++j) known = known || at[j] == all[i];
      if (!known) at[size++] = all[i];
    }
  }
};

// What corners of a core span, from the largest feature to the corners themselves.
FeatureList spanned(const ConvexShape& a, const Corners& corners, const V& direction) {
  FeatureList list;
  if (a.kind == GeomKind::capsule && corners.size > 1) list.add(kSegment);
  if (a.kind == GeomKind::box && corners.size > 1) {
    int same = 7, positive = 0;
    for (int i = 1; i < corners.size; ++i) same &= ~(corners.at[0] ^ corners.at[i]);
    for (int k = 0; k < 3; ++k) {
      if (same >> k & 1) positive = k;
    }
    const auto bit = [&](int k) { return corners.at[0] >> (k % 3) & 1; };
    if (same == 1 || same == 2 || same == 4) list.add(kBoxFaces + 2 * positive + bit(positive));
    for (int i = 0; i < corners.size; ++i) {
      for (int j = 0; j < i; ++j) {
        const int differ = corners.at[i] ^ corners.at[j];
        const int k = differ == 1 ? 0 : differ == 2 ? 1 : differ == 4 ? 2 : -1;
        const auto own = [&](int axis) { return corners.at[i] >> (axis % 3) & 1; };
        if (k >= 0) list.add(kBoxEdges + 4 * k + own(k + 1) + 2 * own(k + 2));
      }
    }
  }
  if (a.kind == GeomKind::mesh && corners.size > 1) {
    const HullTable& t = *a.hull->table;
    const V m = transpose_vector_product(a.x.R, direction);
    // The triangle with the most of these corners, and among them the one that looks along m most.
    int best = -1, shared = 0;
    double most = -2;
    FeatureList edges;
    for (int i = 0; i < corners.size; ++i) {
      for (const int k : t.corner_triangles.of(corners.at[i])) {
        const int* at = t.triangle.data() + 3 * k;
        int common = 0;
        for (int j = 0; j < corners.size; ++j) {
          common += at[0] == corners.at[j] || at[1] == corners.at[j] || at[2] == corners.at[j];
        }
        const double along = dot(triangle_normal<double>(*a.hull, k), m);
        if (common > shared || (common == shared && along > most)) {
          best = k, shared = common, most = along;
        }
      }
      for (int j = 0; j < i; ++j) {
        const int edge = find_edge(t, corners.at[i], corners.at[j]);
        if (edge >= 0 && !is_flat(*a.hull, edge)) edges.add(edge);
      }
    }
    if (best >= 0 && (corners.size > 2 || edges.size == 0)) list.add(triangle_code(t, best));
    for (int i = 0; i < edges.size; ++i) list.add(edges.code[i]);
  }
  for (int i = 0; i < corners.size; ++i) list.add(corners.at[i]);
  return list;
}

// The triangle of a flat face of the hull that lies under p, given one of its triangles: which one
// the search ended in is chance. p in the world.
int under(const Hull& h, const Pose<double>& x, int code, const V& p) {
  const HullTable& t = *h.table;
  const V at = transpose_vector_product(x.R, p - x.p);
  int triangle = hull_piece(t, code).triangle;
  for (int round = 0; round < kMostTriangles; ++round) {
    const int* corner = t.triangle.data() + 3 * triangle;
    const V n = triangle_normal<double>(h, triangle);
    int across = -1;
    double most = 0;
    for (int k = 0; k < 3; ++k) {
      const V from = h.corner<double>(corner[k]),
              side = h.corner<double>(corner[(k + 1) % 3]) - from;
      const double beyond = dot(cross(side, n), at - from);
      if (!(beyond > most) || !is_flat(h, edge_code(t, triangle, k))) continue;
      most = beyond, across = find_edge(t, corner[(k + 1) % 3], corner[k]);
    }
    if (across < 0) break;
    triangle = hull_piece(t, across).triangle;
  }
  return triangle_code(t, triangle);
}

// Names the triangles that lie under the points they meet.
void settle(GeomKind k1, GeomKind k2, const GeomPair<double>& g, MeetingFeatures& at) {
  const auto is_triangle = [](GeomKind kind, int code, const Hull* hull) {
    return kind == GeomKind::mesh && hull_piece(*hull->table, code).kind == HullFeature::triangle;
  };
  const auto point = [](GeomKind kind, const Pose<double>& x, const V& size, int code,
                        const Hull* hull, V& p) {
    const ShapeFeature<double> f = shape_feature(kind, x, size, code, hull);
    p = x.p + f.c;
    return f.form == Form::point;
  };
  V p;
  if (is_triangle(k1, at.code1, g.hull1) && point(k2, g.x2, g.size2, at.code2, g.hull2, p)) {
    at.code1 = under(*g.hull1, g.x1, at.code1, p);
  } else if (is_triangle(k2, at.code2, g.hull2) && point(k1, g.x1, g.size1, at.code1, g.hull1, p)) {
    at.code2 = under(*g.hull2, g.x2, at.code2, p);
  }
}

// GJK and EPA; where EPA fails, as it may where many corners lie in one plane, once more with b
// turned by very little. The features that are found then are those of b as it is.
ClosestDirection find_direction(const ConvexShape& a, const ConvexShape& b, double limit) {
  ClosestDirection found = closest_direction(a, b, limit);
  const bool corners = is_polytope(a) && is_polytope(b);
  constexpr double kAxis[kTurns][3] = {
      {0.61, -0.35, 0.71}, {-0.28, 0.83, 0.47}, {0.44, 0.52, -0.73}, {-0.79, -0.31, -0.53}};
  for (int turn = 0;
       turn < kTurns && corners && found.closeness == Closeness::overlapping && found.at.size == 0;
       ++turn) {
    ConvexShape turned = b;
    const V axis{kTurn * kAxis[turn][0], kTurn * kAxis[turn][1], kTurn * kAxis[turn][2]};
    for (int k = 0; k < 3; ++k) {
      const V column{b.x.R(0, k), b.x.R(1, k), b.x.R(2, k)}, moved = column + cross(axis, column);
      for (int i = 0; i < 3; ++i) turned.x.R(i, k) = moved[i];
    }
    found.n = least_overlap(a, turned, &found.at);
  }
  return found;
}

// Whether the hint's direction still proves the shapes apart. Leaves them as they were.
bool still_apart(const ConvexShape& a, const ConvexShape& b, double limit, double size,
                 ApartHint& hint) {
  const V n{double(hint.n[0]), double(hint.n[1]), double(hint.n[2])};
  if (!(dot(n, n) > 0.5)) return false;
  a.last = hint.last1, b.last = hint.last2;
  const double s = separation(a, b, n);
  hint.last1 = a.last, hint.last2 = b.last;
  a.last = b.last = -1;
  return s > limit + kSure * (size + abs(limit));
}

void remember(const ConvexShape& a, const ConvexShape& b, const V& n, ApartHint* hint) {
  if (!hint) return;
  for (int i = 0; i < 3; ++i) hint->n[i] = static_cast<float>(n[i]);
  hint->last1 = a.last, hint->last2 = b.last;
}

}  // namespace

ConvexMeeting find_meeting(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin,
                           ApartHint* hint) {
  const ConvexShape a{k1, g.x1, g.size1, g.hull1}, b{k2, g.x2, g.size2, g.hull2};
  const double radii = swept_radius(a) + swept_radius(b), size = extent(a) + extent(b);
  if (hint && still_apart(a, b, margin + radii, size, *hint)) return {false, 0, {}, -1e300};
  const ClosestDirection start = find_direction(a, b, margin + radii);
  ConvexMeeting best{false, 0, start.n, -1e300};
  if (start.closeness == Closeness::far) {
    remember(a, b, start.n, hint);
    return best;
  }

  ConvexMeeting last_resort = best;
  double least = 1e300, best_pretence = 1e300;  // pretences
  int most = -1;
  const bool coded = k1 != GeomKind::mesh && k2 != GeomKind::mesh;
  const auto try_features = [&](int code1, int code2) {
    const ShapeFeature<double> f1 = shape_feature(k1, g.x1, g.size1, code1, g.hull1);
    const ShapeFeature<double> f2 = shape_feature(k2, g.x2, g.size2, code2, g.hull2);
    const int extended = dimension(f1.form) + dimension(f2.form);
    if (extended > 2) return;
    MeetingFeatures at{code1, code2, {-1, 0, 0}};
    if (f1.form == Form::line && f2.form == Form::line &&
        !pair_lines(g, f1, f2, start.n, at.lines)) {
      return;
    }
    if (!coded && leaves_sign(f1.form, f2.form) &&
        dot(apart_normal(g, f1, f2, at.lines, start.n), start.n) < 0) {
      at.lines.cross_sign = 1;
    }
    const int code = coded ? encode(code1, code2, at.lines) : 0;
    const ConvexContact<double> c = polish(k1, k2, g, at, start.n, kSlope * size);
    const double dist = separation(a, b, c.n) - radii;
    // A feature that is not the furthest along n pretends to more separation than there is.
    const double pretence = c.dist - dist;
    if (!(pretence <= kPretence * size)) {
      if (pretence < least) least = pretence, last_resort = {true, code, c.n, dist, at};
      return;
    }
    const bool better = dist > best.dist + kEqual * size;
    const bool equal = dist > best.dist - kEqual * size &&
                       (extended > most || (extended == most && pretence < best_pretence));
    if (!better && !equal) return;
    best = {true, code, c.n, dist, at};
    most = extended, best_pretence = pretence;
  };
  const auto try_all = [&](const FeatureList& list1, const FeatureList& list2) {
    for (int i = 0; i < list1.size; ++i) {
      for (int j = 0; j < list2.size; ++j) try_features(list1.code[i], list2.code[j]);
    }
  };
  if (start.at.size > 0) {
    const Corners of_a(start.at.a, start.at.size), of_b(start.at.b, start.at.size);
    const FeatureList list1 = spanned(a, of_a, start.n), list2 = spanned(b, of_b, -start.n);
    try_features(list1.code[0], list2.code[0]);
    if (!best.found) try_all(list1, list2);
    best.span1 = list1.code[0], best.span2 = list2.code[0];
    if (best.found) {
      best.found = best.dist < margin;
      if (best.found) settle(k1, k2, g, best.at);
      return best;
    }
  }
  if (!best.found) try_all(features(a, start.n), features(b, -start.n));
  if (!best.found) best = last_resort;
  best.found = best.found && best.dist < margin;
  best.span1 = best.at.code1, best.span2 = best.at.code2;
  return best;
}

}  // namespace cycloid::inline geometry
