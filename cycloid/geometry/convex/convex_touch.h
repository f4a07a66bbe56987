// The touch of a convex contact, and its pullback through the laws of convex_contact.h.
#pragma once

#include "cycloid/geometry/convex/convex_contact.h"

namespace cycloid::inline geometry {

// Where two lines come closest: w₁ = c₁ + a e₁, with what its derivative needs.
template <class T>
struct LinePlace {
  T a, cosine, inverse;  // 1 / |e₁ × e₂|², 0 where parallel
};

template <class T>
LinePlace<T> line_place(const ConvexContact<T>& c) {
  LinePlace<T> p{T(0), dot(c.f1.e, c.f2.e), T(0)};
  const T e1 = dot(c.f1.e, c.g), e2 = dot(c.f2.e, c.g);
  if (c.lines.cross_sign != 0) {
    const Vec3<T> normal = cross(c.f1.e, c.f2.e);
    p.inverse = T(1) / dot(normal, normal);
    p.a = (e1 - p.cosine * e2) * p.inverse;
  } else {
    const T low = c.lines.low == 0 ? -c.f1.half : e1 - c.f2.half;
    const T high = c.lines.high == 0 ? c.f1.half : e1 + c.f2.half;
    p.a = T(0.5) * (low + high);
  }
  return p;
}

// A contact is named by its features, or by their code.
template <class T, class Features>
Touch<T> convex_touch(GeomKind k1, GeomKind k2, const GeomPair<T>& g, const Features& at,
                      const Vec3<T>& start) {
  const ConvexContact<T> c = convex_contact(k1, k2, g, at, start);
  const T half = T(0.5) * c.dist;
  Vec3<T> pos;
  if (c.pointed1) {
    pos = g.x1.p + c.p1.x + c.n * (c.f1.r + half);
  } else if (c.pointed2) {
    pos = g.x2.p + c.p2.x - c.n * (c.f2.r + half);
  } else {
    pos = g.x1.p + c.f1.c + c.f1.e * line_place(c).a + c.n * (c.f1.r + half);  // (7)
  }
  return {c.dist, pos, c.n, {}};
}

// Cotangents on their way back.
template <class T>
struct ConvexBar {
  Vec3<T> n, x1, x2;  // of n; of the support points at fixed n
  T r1, r2;
  Vec3<T> e1, e2;  // of the directions of lines and faces
  T half1, half2;  // of lines' half-lengths
};

// (3) and the place of crossing lines. `pos_bar` is that of w₁.
template <class T>
void crossing_bar(const ConvexContact<T>& c, const Vec3<T>& pos_bar, ConvexBar<T>& bar) {
  const Vec3<T>&e1 = c.f1.e, &e2 = c.f2.e;
  const LinePlace<T> p = line_place(c);
  const T b = p.cosine * p.a - dot(e2, c.g);
  const Vec3<T> gap = c.g + e2 * b - e1 * p.a;  // from w₁ to w₂
  const T sign = T(c.lines.cross_sign), a_bar = dot(e1, pos_bar);
  const T l1 = a_bar * p.inverse, l2 = p.cosine * a_bar * p.inverse;
  Vec3<T> e1_bar = pos_bar * p.a, e2_bar{};
  cross_pullback(e1, e2, direction_bar(direction(cross(e1, e2) * sign, c.n), bar.n) * sign, e1_bar,
                 e2_bar);
  // e₁·(w₁ - w₂) = 0 and e₂·(w₂ - w₁) = 0, at fixed places.
  const Vec3<T> pull = e2 * l2 - e1 * l1;
  e1_bar += gap * l1 + pull * p.a;
  e2_bar -= gap * l2 + pull * b;
  bar.x1 += pull;
  bar.x2 -= pull;
  bar.e1 += e1_bar;
  bar.e2 += e2_bar;
}

// (4) and the middle of the common stretch.
template <class T>
void parallel_bar(const ConvexContact<T>& c, const Vec3<T>& pos_bar, ConvexBar<T>& bar) {
  const Vec3<T>& e = c.f1.e;
  const T along = dot(e, c.g), a_bar = T(0.5) * dot(e, pos_bar);
  const Vec3<T> v_bar = direction_bar(direction(c.g - e * along, c.n), bar.n);
  const T e_v = dot(e, v_bar);
  T along_bar = -e_v;
  Vec3<T> e_bar = pos_bar * line_place(c).a - v_bar * along;
  (c.lines.low == 0 ? bar.half1 : bar.half2) -= a_bar;
  (c.lines.high == 0 ? bar.half1 : bar.half2) += a_bar;
  along_bar += a_bar * T((c.lines.low != 0) + (c.lines.high != 0));
  const Vec3<T> q_bar = v_bar + e * along_bar;
  e_bar += c.g * along_bar;
  bar.x2 += q_bar;
  bar.x1 -= q_bar;
  bar.e1 += e_bar;
}

// (5): adds what n's cotangent means for the support points and the line's direction.
template <class T>
void line_bar_of(const GeomPair<T>& g, const ConvexContact<T>& c, ConvexBar<T>& bar) {
  const bool first = c.f1.form == Form::line;
  const Vec3<T>& e = first ? c.f1.e : c.f2.e;
  const Vec3<T> bent = first ? apply_curvature(c.f2, g.x2, g.size2, c.p2, c.t1)
                             : apply_curvature(c.f1, g.x1, g.size1, c.p1, c.t1);
  const T alpha_bar = dot(c.t1, bar.n) * c.i11;
  bar.x2 += c.t1 * alpha_bar;
  bar.x1 -= c.t1 * alpha_bar;
  const Vec3<T> e_bar =
      c.n * (alpha_bar * dot(e, bent) - dot(e, bar.n)) - c.t1 * (alpha_bar * dot(e, c.g));
  (first ? bar.e1 : bar.e2) += e_bar;
}

// Cotangents of a feature's own sizes besides those of its support point.
template <class T>
void add_own_sizes(GeomKind kind, int code, const ShapeFeature<T>& f, const T& r_bar,
                   const T& half_bar, Vec3<T>& size_bar) {
  if (kind == GeomKind::box && f.form == Form::line) size_bar[(code - kBoxEdges) / 4] += half_bar;
  if (kind == GeomKind::sphere || kind == GeomKind::capsule) size_bar.x += r_bar;
  if (kind == GeomKind::cylinder && f.form == Form::line) size_bar.x += r_bar;
  if (kind == GeomKind::capsule || kind == GeomKind::cylinder) size_bar.y += half_bar;
}

template <class T, class Features>
void convex_touch_bar(GeomKind k1, GeomKind k2, const GeomPair<T>& g, const Features& at,
                      const Vec3<T>& start, const TouchBar<T>& out_bar, GeomPairBar<T>& g_bar) {
  const ConvexContact<T> c = convex_contact(k1, k2, g, at, start);
  const bool at1 = c.pointed1 || !c.pointed2;  // which form of (7)
  const T half = T(0.5) * c.dist, along = dot(c.n, out_bar.pos);
  const T dist_bar = out_bar.dist + along * T(at1 ? 0.5 : -0.5);
  ConvexBar<T> bar{};
  bar.n = out_bar.normal + out_bar.pos * (at1 ? c.f1.r + half : -c.f2.r - half) + c.g * dist_bar;
  bar.r1 = (at1 ? along : T(0)) - dist_bar;  // (7), (1)
  bar.r2 = (at1 ? T(0) : -along) - dist_bar;
  bar.x1 = (at1 ? out_bar.pos : Vec3<T>{}) - c.n * dist_bar;
  bar.x2 = (at1 ? Vec3<T>{} : out_bar.pos) + c.n * dist_bar;
  if (at1) bar.n += apply_curvature(c.f1, g.x1, g.size1, c.p1, out_bar.pos);
  if (!at1) bar.n -= apply_curvature(c.f2, g.x2, g.size2, c.p2, out_bar.pos);

  if (c.f1.form == Form::face) {
    bar.e1 = bar.n;  // (2)
  } else if (c.f2.form == Form::face) {
    bar.e2 = -bar.n;
  } else if (c.pointed1 && c.pointed2) {
    const T a = dot(c.t1, bar.n), b = dot(c.t2, bar.n);
    const Vec3<T> w = c.t1 * (c.i11 * a + c.i12 * b) + c.t2 * (c.i12 * a + c.i22 * b);  // (6)
    bar.x2 += w;
    bar.x1 -= w;
  } else if (c.pointed1 || c.pointed2) {
    line_bar_of(g, c, bar);
  } else if (c.lines.cross_sign != 0) {
    crossing_bar(c, out_bar.pos, bar);
  } else {
    parallel_bar(c, out_bar.pos, bar);
  }
  add_direction(g_bar.x1, c.f1.e, bar.e1);
  add_direction(g_bar.x2, c.f2.e, bar.e2);
  feature_point_bar(k1, c.code1, c.f1, g.x1, g.size1, c.n, c.p1, bar.x1, g_bar.x1, g_bar.size1);
  feature_point_bar(k2, c.code2, c.f2, g.x2, g.size2, -c.n, c.p2, bar.x2, g_bar.x2, g_bar.size2);
  add_own_sizes(k1, c.code1, c.f1, bar.r1, bar.half1, g_bar.size1);
  add_own_sizes(k2, c.code2, c.f2, bar.r2, bar.half2, g_bar.size2);
  if (k1 == GeomKind::mesh) {
    hull_feature_bar(*g.hull1, g.x1, c.code1, bar.x1, bar.e1, bar.half1, g_bar.hull1);
  }
  if (k2 == GeomKind::mesh) {
    hull_feature_bar(*g.hull2, g.x2, c.code2, bar.x2, bar.e2, bar.half2, g_bar.hull2);
  }
}

}  // namespace cycloid::inline geometry
