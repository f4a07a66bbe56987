// One contact of two convex shapes, given which features meet, and its pullback.
//
// Cores and radii as in support.h, features as in convex_feature.h. The contact lies along the unit
// vector n that makes the separation of the two features largest:
//   g = x₂(-n) - x₁(n),   s = n·g,   dist = s - r₁ - r₂                                      (1)
// n is bound by the features, and stationary in what freedom they leave:
//   a face            n is its normal, outwards from geom 1                                 (2)
//   crossing lines    n = ± e₁ × e₂ / |e₁ × e₂|                                             (3)
//   parallel lines    n along v = q - e₁ (e₁·q),  q = c₂ - c₁                                (4)
//   one line          n ⊥ e,  t·g = 0 for t = n × e;    t·K t + s > 0                        (5)
//   no line           P g = 0,  P = 1 - n nᵀ;           H = P (K₁ + K₂ + s) P > 0            (6)
// (5) and (6) are solved by Newton's method; their derivative is that of the solution,
//   (6)  H δn = P ∂g
//   (5)  δn = α t - e (n·δe),  α (t·K t + s) = t·∂g - (e·g)(t·δe) + (n·δe)(t·K e)
// where ∂g is the change of g at fixed n. Where the left-hand sides are singular (a ball's centre
// where all directions out are equally short) n keeps its value and its derivative is zero. In a
// pair with a mesh, Newton's method starts between points and lines at its solution, one of two:
//   n = ± v/|v|,  v = q,  or q - e (e·q) at one line e,  q = c₂ - c₁                         (8)
//
// The contact point is midway between the surfaces, at the feature that is met in one point only:
//   pos = x₁ + n (r₁ + ½ dist)   or   x₂ - n (r₂ + ½ dist)                                   (7)
// at the nearest points of crossing lines (box_contact.h (5)), and in the middle of the stretch
// along which parallel lines face each other. Lines count as parallel below a sine of
// kParallelSine; then n and pos take their derivative as if line 2 kept the direction of line 1.
#pragma once

#include "cycloid/geometry/convex/convex_feature.h"

namespace cycloid::inline geometry {

inline constexpr double kParallelSine = 1e-9;
inline constexpr double kSingular = 1e-10;  // relative, of H and t·K t + s
inline constexpr double kSettled = 1e-15;   // step of n that is rounding
inline constexpr int kRefinements = 2;

// How two lines meet.
struct LinePair {
  int cross_sign;  // of (3); 0: parallel. Of (8), where there is no second line: minus the sign
  int low, high;   // parallel: the geom (0, 1) whose end bounds the common stretch along ∓ e₁
};

inline constexpr int kLinePairs = 6;
inline constexpr int kConvexCodes = kFeatureCodes * kFeatureCodes * kLinePairs;

inline int line_pair_code(const LinePair& lines) {
  return lines.cross_sign != 0 ? (lines.cross_sign > 0) : 2 + 2 * lines.low + lines.high;
}
inline LinePair line_pair_of(int pair) {
  return {pair == 0 ? -1 : pair == 1 ? 1 : 0, (pair - 2) / 2, pair % 2};
}
inline int encode(int feature1, int feature2, const LinePair& lines) {
  return (feature1 * kFeatureCodes + feature2) * kLinePairs + line_pair_code(lines);
}

// Which features meet, and how.
struct MeetingFeatures {
  int code1 = 0, code2 = 0;
  LinePair lines{-1, 0, 0};
};
inline MeetingFeatures decode_meeting(int code) {
  return {code / kLinePairs / kFeatureCodes, code / kLinePairs % kFeatureCodes,
          line_pair_of(code % kLinePairs)};
}

template <class T>
struct ConvexContact {
  int code1, code2;
  LinePair lines;
  ShapeFeature<T> f1, f2;
  SupportPoint<T> p1, p2;
  Vec3<T> n, g;  // g of (1)
  T s, dist;
  Vec3<T> t1, t2;           // tangents: t of (5) is t1
  T i11, i12, i22;          // inverse of (5) or (6) on them; zero where singular
  bool pointed1, pointed2;  // met in one point
};

inline bool is_pointed(Form form) { return form != Form::line && form != Form::face; }

template <class T>
Vec3<T> any_tangent(const Vec3<T>& n) {
  const bool x = abs(primal(n.x)) < 0.6;
  return direction(cross(n, x ? Vec3<T>{T(1), T(0), T(0)} : Vec3<T>{T(0), T(1), T(0)}), n).u;
}

// Support points, separation and inverse at n.
template <class T>
void set_separation(const GeomPair<T>& g, ConvexContact<T>& c) {
  c.p1 = feature_point(c.f1, g.x1, g.size1, c.n);
  c.p2 = feature_point(c.f2, g.x2, g.size2, -c.n);
  c.g = g.x2.p - g.x1.p + c.p2.x - c.p1.x;
  c.s = dot(c.n, c.g);
  c.i11 = c.i12 = c.i22 = T(0);
  if (!c.pointed1 && !c.pointed2) return;
  const auto curvature = [&](const Vec3<T>& y) {
    return apply_curvature(c.f1, g.x1, g.size1, c.p1, y) +
           apply_curvature(c.f2, g.x2, g.size2, c.p2, y);
  };
  if (c.pointed1 && c.pointed2) {
    c.t1 = any_tangent(c.n);
    c.t2 = cross(c.n, c.t1);
    const Vec3<T> k1 = curvature(c.t1), k2 = curvature(c.t2);
    const T h11 = dot(c.t1, k1) + c.s, h12 = dot(c.t1, k2), h22 = dot(c.t2, k2) + c.s;
    const T det = h11 * h22 - h12 * h12, trace = h11 + h22;
    const double size = primal(trace) + 2 * abs(primal(c.s));
    if (!(primal(trace) > kMinLength && primal(det) > kSingular * size * size)) return;
    c.i11 = h22 / det, c.i12 = -h12 / det, c.i22 = h11 / det;  // (6)
  } else if (c.f1.form == Form::line || c.f2.form == Form::line) {
    c.t2 = c.f1.form == Form::line ? c.f1.e : c.f2.e;
    c.t1 = cross(c.n, c.t2);
    const T bend = dot(c.t1, curvature(c.t1)), h = bend + c.s;
    if (!(primal(h) > kMinLength + kSingular * (primal(bend) + abs(primal(c.s))))) return;
    c.i11 = T(1) / h;  // (5)
  }
}

// n for features that leave it no freedom, or its start, bound to a line.
template <class T>
Vec3<T> bound_normal(const GeomPair<T>& g, const ConvexContact<T>& c, const Vec3<T>& n) {
  if (c.f1.form == Form::face) return c.f1.e;
  if (c.f2.form == Form::face) return -c.f2.e;  // (2)
  const bool line1 = c.f1.form == Form::line, line2 = c.f2.form == Form::line;
  if (line1 && line2) {
    const Vec3<T> q = g.x2.p - g.x1.p + c.f2.c - c.f1.c;
    const T sign = T(c.lines.cross_sign);
    return c.lines.cross_sign != 0 ? direction(cross(c.f1.e, c.f2.e) * sign, n).u  // (3)
                                   : direction(q - c.f1.e * dot(c.f1.e, q), n).u;  // (4)
  }
  if (!line1 && !line2) return n;
  const Vec3<T>& e = line1 ? c.f1.e : c.f2.e;
  return direction(n - e * dot(e, n), any_tangent(e)).u;  // (5)
}

// Whether (8) holds.
inline bool leaves_sign(Form f1, Form f2) {
  return (f1 == Form::point && (f2 == Form::point || f2 == Form::line)) ||
         (f1 == Form::line && f2 == Form::point);
}
template <class T>
Vec3<T> apart_normal(const GeomPair<T>& g, const ShapeFeature<T>& f1, const ShapeFeature<T>& f2,
                     const LinePair& lines, const Vec3<T>& otherwise) {
  Vec3<T> q = g.x2.p - g.x1.p + f2.c - f1.c;
  if (f1.form == Form::line) q -= f1.e * dot(f1.e, q);
  if (f2.form == Form::line) q -= f2.e * dot(f2.e, q);
  return direction(q * T(lines.cross_sign > 0 ? -1 : 1), otherwise).u;  // (8)
}

template <class T>
ConvexContact<T> convex_contact(GeomKind k1, GeomKind k2, const GeomPair<T>& g,
                                const MeetingFeatures& at, const Vec3<T>& start,
                                int rounds = kRefinements) {
  ConvexContact<T> c;
  c.code1 = at.code1, c.code2 = at.code2, c.lines = at.lines;
  c.f1 = shape_feature(k1, g.x1, g.size1, c.code1, g.hull1);
  c.f2 = shape_feature(k2, g.x2, g.size2, c.code2, g.hull2);
  c.pointed1 = is_pointed(c.f1.form), c.pointed2 = is_pointed(c.f2.form);
  Vec3<T> n;
  for (int k = 0; k < 3; ++k) n[k] = T(primal(start[k]));
  n = direction(n, Vec3<T>{T(0), T(0), T(1)}).u;
  if ((g.hull1 || g.hull2) && leaves_sign(c.f1.form, c.f2.form)) {
    n = hold(apart_normal(g, c.f1, c.f2, c.lines, n));
  }
  c.n = bound_normal(g, c, n);
  set_separation(g, c);
  for (int round = 0; round < rounds; ++round) {
    const T a = dot(c.t1, c.g), b = dot(c.t2, c.g);
    if (primal(c.i11) == 0) break;
    Vec3<T> step = c.t1 * (c.i11 * a);
    if (c.pointed1 && c.pointed2)
      step = c.t1 * (c.i11 * a + c.i12 * b) + c.t2 * (c.i12 * a + c.i22 * b);
    c.n = direction(c.n + step, c.n).u;
    set_separation(g, c);
    if constexpr (std::is_same_v<T, double>) {
      if (!(dot(step, step) > kSettled * kSettled)) break;
    }
  }
  c.dist = c.s - c.f1.r - c.f2.r;  // (1)
  return c;
}
template <class T>
ConvexContact<T> convex_contact(GeomKind k1, GeomKind k2, const GeomPair<T>& g, int code,
                                const Vec3<T>& start, int rounds = kRefinements) {
  return convex_contact(k1, k2, g, decode_meeting(code), start, rounds);
}

}  // namespace cycloid::inline geometry
