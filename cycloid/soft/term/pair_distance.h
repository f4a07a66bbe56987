// The distance of a point from a triangle, of a point from a segment, and of two segments, by the
// weights of the vertices in the way between the nearest points.
//
//   r = Σ weight_a x_a,  d = |r|                                                    (1)   [m]
//   point p, triangle a b c:    weight = (1, -u, -v, -w), u + v + w = 1             (2)
//   segments p0 p1 and q0 q1:   weight = (1 - s, s, t - 1, -t)                      (3)
//   point p, segment a b:       weight = (1, s - 1, -s, 0)                          (4)
// Which corner, side or face is nearest (Ericson2005, chapter 5) is decided by selects, so that the
// weights are functions of the positions with the derivatives of the case at hand. Since r stands
// across what the weights may change, ∂d/∂x_a = weight_a r/d without derivatives of the weights. d
// has a continuous first derivative where it is not zero, but for parallel segments; its second
// one jumps from case to case.
#pragma once

#include "cycloid/math/norm.h"

namespace cycloid::inline soft {

enum class PairKind { point_triangle, edge_edge, point_edge };

template <class S>
struct PairDistance {
  S weight[4];
  Vec3<S> n;  // r/d
  S d;
};

// (1), of three vertices or four.
template <int N, class S>
CYCLOID_HD void measure(const Vec3<S>* x, PairDistance<S>& out) {
  Vec3<S> r = x[0] * out.weight[0];
  for (int a = 1; a < N; ++a) r += x[a] * out.weight[a];
  const auto u = unit_and_norm(r);
  out.n = u.unit, out.d = u.norm;
}

// x: the point, then the triangle.
template <class S>
CYCLOID_HD PairDistance<S> point_triangle_distance(const Vec3<S>* x) {
  const S zero(0), one(1);
  const Vec3<S> ab = x[2] - x[1], ac = x[3] - x[1];
  const Vec3<S> ap = x[0] - x[1], bp = x[0] - x[2], cp = x[0] - x[3];
  const S d1 = dot(ab, ap), d2 = dot(ac, ap), d3 = dot(ab, bp), d4 = dot(ac, bp);
  const S d5 = dot(ab, cp), d6 = dot(ac, cp);
  const S va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
  // The face, unless a side is nearer, unless a corner is.
  S v = vb / (va + vb + vc), w = vc / (va + vb + vc);
  const auto on_bc = (va <= zero) & (d4 - d3 >= zero) & (d5 - d6 >= zero);
  const S along_bc = (d4 - d3) / ((d4 - d3) + (d5 - d6));
  v = select(on_bc, one - along_bc, v), w = select(on_bc, along_bc, w);
  const auto on_ac = (vb <= zero) & (d2 >= zero) & (d6 <= zero);
  v = select(on_ac, zero, v), w = select(on_ac, d2 / (d2 - d6), w);
  const auto on_ab = (vc <= zero) & (d1 >= zero) & (d3 <= zero);
  v = select(on_ab, d1 / (d1 - d3), v), w = select(on_ab, zero, w);
  const auto at_c = (d6 >= zero) & (d5 <= d6);
  v = select(at_c, zero, v), w = select(at_c, one, w);
  const auto at_b = (d3 >= zero) & (d4 <= d3);
  v = select(at_b, one, v), w = select(at_b, zero, w);
  const auto at_a = (d1 <= zero) & (d2 <= zero);
  v = select(at_a, zero, v), w = select(at_a, zero, w);
  PairDistance<S> out;
  out.weight[0] = one, out.weight[1] = v + w - one, out.weight[2] = -v, out.weight[3] = -w;  // (2)
  measure<4>(x, out);
  return out;
}

// x: the ends of one segment, then those of the other.
template <class S>
CYCLOID_HD PairDistance<S> edge_edge_distance(const Vec3<S>* x) {
  const S zero(0), one(1);
  const auto clamp = [&](const S& value) { return min(max(value, zero), one); };
  const Vec3<S> a = x[1] - x[0], b = x[3] - x[2], r = x[0] - x[2];
  const S aa = dot(a, a), bb = dot(b, b), ab = dot(a, b), ar = dot(a, r), br = dot(b, r);
  const S det = aa * bb - ab * ab;
  const auto cross = det > S(1e-14) * aa * bb;  // parallel ones: from the first's beginning
  S s = clamp(select(cross, (ab * br - ar * bb) / select(cross, det, one), zero));
  S t = (ab * s + br) / bb;
  const auto before = t < zero;
  const auto after = t > one;
  s = select(before, clamp(-ar / aa), select(after, clamp((ab - ar) / aa), s));
  t = clamp(t);
  PairDistance<S> out;
  out.weight[0] = one - s, out.weight[1] = s, out.weight[2] = t - one, out.weight[3] = -t;  // (3)
  measure<4>(x, out);
  return out;
}

// x: the point, then the ends of the segment.
template <class S>
CYCLOID_HD PairDistance<S> point_edge_distance(const Vec3<S>* x) {
  const Vec3<S> e = x[2] - x[1];
  const S s = min(max(dot(x[0] - x[1], e) / dot(e, e), S(0)), S(1));
  PairDistance<S> out;
  out.weight[0] = S(1), out.weight[1] = s - S(1), out.weight[2] = -s, out.weight[3] = S(0);  // (4)
  measure<3>(x, out);
  return out;
}

}  // namespace cycloid::inline soft
