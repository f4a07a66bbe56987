// One contact of two boxes, given which features meet, and its pullback.
//
// Face contact: face ±a of one box, the reference, has outward normal n, and meets a point w of
// face ±b of the other box, the incident one. In the incident face's coordinates
//   w = f + u e_u + v e_v,    |u|, |v| ≤ 1                                                  (1)
// f is the face's centre, e_u and e_v its half edges. w is where two lines of that face cross: its
// own edges u = ±1, v = ±1, and the traces of the planes that bound the reference face,
//   m·(w - p) = ± s           m, s: axis and half-length of the reference box, p its centre  (2)
//   dist = n·(w - p) - s_a,   pos = w - ½ dist n                                            (3)
// Edge contact: edge i of box 1, direction d₁ and midpoint c₁, and edge j of box 2,
//   w₁ = c₁ + s d₁,   w₂ = c₂ + t d₂,   n = ± d₁ × d₂ / |d₁ × d₂|                            (4)
//   d₁·(w₁ - w₂) = 0 unless s is at an end of its edge;  d₂·(w₂ - w₁) = 0 likewise for t     (5)
//   dist = n·(w₂ - w₁),   pos = ½ (w₁ + w₂)                                                 (6)
// Lines of (2) that cross at a sine below kFrozenCrossing carry w along the incident face: u and v
// keep their values there, and their derivative is zero.
#pragma once

#include "cycloid/geometry/by_lane.h"

namespace cycloid::inline geometry {

inline constexpr double kFrozenCrossing = 1e-9;

// Lines of the incident face: 0..3 are u = +1, u = -1, v = +1, v = -1; 4..7 the planes (2) of the
// reference's axes a+1 and a+2 (mod 3), in the order +, -, +, -.
struct BoxFaceFeature {
  int reference;  // 0: box 1 owns the reference face, 1: box 2
  int a, a_sign;  // the reference face
  int b, b_sign;  // the incident face
  int line[2];    // w is where they cross
};

struct BoxEdgeFeature {
  int i, j;      // axes of the two edges
  int sign1[2];  // on which sides of box 1, along axes i+1 and i+2 (mod 3), edge i lies
  int sign2[2];
  int n_sign;        // n = n_sign d₁ × d₂ / |·|
  int s_end, t_end;  // -1, +1: at that end; 0: free
};

inline constexpr int kBoxFaceCodes = 2 * 6 * 6 * 64;
inline constexpr int kBoxEdgeCodes = 9 * 16 * 2 * 9;

inline int encode(const BoxFaceFeature& f) {
  int code = f.reference;
  code = code * 6 + 2 * f.a + (f.a_sign > 0);
  code = code * 6 + 2 * f.b + (f.b_sign > 0);
  return code * 64 + f.line[0] * 8 + f.line[1];
}
inline BoxFaceFeature decode_box_face(int code) {
  const int face = code / 64, a = face / 6 % 6, b = face % 6;
  return {face / 36, a / 2, a % 2 ? 1 : -1, b / 2, b % 2 ? 1 : -1, {code / 8 % 8, code % 8}};
}

inline int encode(const BoxEdgeFeature& f) {
  int code = 3 * f.i + f.j;
  for (const int sign : {f.sign1[0], f.sign1[1], f.sign2[0], f.sign2[1], f.n_sign}) {
    code = 2 * code + (sign > 0);
  }
  return kBoxFaceCodes + (code * 3 + f.s_end + 1) * 3 + f.t_end + 1;
}
inline BoxEdgeFeature decode_box_edge(int code) {
  code -= kBoxFaceCodes;
  const int t_end = code % 3 - 1, s_end = code / 3 % 3 - 1;
  code /= 9;
  const auto sign = [&](int bit) { return (code >> bit) % 2 ? 1 : -1; };
  const int edges = code / 32;
  return {edges / 3, edges % 3, {sign(4), sign(3)}, {sign(2), sign(1)}, sign(0), s_end, t_end};
}

// (1) to (3), with what the pullback needs.
template <class T>
struct BoxFaceContact {
  Vec3<T> w, n, e_u, e_v;
  T u, v, dist;
  T inverse[2][2];  // of the two lines' coefficients in u and v; zero where frozen
};

template <class T>
BoxFaceContact<T> box_face_contact(const BoxFaceFeature& f, const Pose<T>& ref,
                                   const Vec3<T>& ref_size, const Pose<T>& inc,
                                   const Vec3<T>& inc_size) {
  const int b_u = (f.b + 1) % 3, b_v = (f.b + 2) % 3;
  BoxFaceContact<T> c;
  c.n = axis(ref, f.a) * T(f.a_sign);
  c.e_u = axis(inc, b_u) * inc_size[b_u];
  c.e_v = axis(inc, b_v) * inc_size[b_v];
  const Vec3<T> centre = inc.p + axis(inc, f.b) * (inc_size[f.b] * T(f.b_sign)) - ref.p;
  T row[2][2], rhs[2];
  for (int k = 0; k < 2; ++k) {
    const int line = f.line[k];
    const T sign = T(line % 2 ? -1 : 1);
    if (line < 4) {
      row[k][0] = T(line < 2), row[k][1] = T(line >= 2), rhs[k] = sign;
    } else {
      const int m = (f.a + (line < 6 ? 1 : 2)) % 3;
      row[k][0] = dot(axis(ref, m), c.e_u), row[k][1] = dot(axis(ref, m), c.e_v);
      rhs[k] = sign * ref_size[m] - dot(axis(ref, m), centre);  // (2)
    }
  }
  const T det = row[0][0] * row[1][1] - row[0][1] * row[1][0];
  const double squares = primal((row[0][0] * row[0][0] + row[0][1] * row[0][1]) *
                                (row[1][0] * row[1][0] + row[1][1] * row[1][1]));
  const double det_0 = primal(det);
  const bool solvable = det_0 * det_0 > 1e-28 * squares;
  const T over = solvable ? T(1) / det : T(0);
  c.u = (rhs[0] * row[1][1] - rhs[1] * row[0][1]) * over;
  c.v = (row[0][0] * rhs[1] - row[1][0] * rhs[0]) * over;
  const bool frozen = !(det_0 * det_0 > kFrozenCrossing * kFrozenCrossing * squares);
  if (frozen) c.u = T(primal(c.u)), c.v = T(primal(c.v));
  const T scale = frozen ? T(0) : over;
  c.inverse[0][0] = row[1][1] * scale, c.inverse[0][1] = -row[0][1] * scale;
  c.inverse[1][0] = -row[1][0] * scale, c.inverse[1][1] = row[0][0] * scale;
  c.w = centre + c.e_u * c.u + c.e_v * c.v;  // (1), from the reference's centre
  c.dist = dot(c.n, c.w) - ref_size[f.a];    // (3)
  return c;
}

template <class T>
Touch<T> box_face_touch(const GeomPair<T>& g, const BoxFaceFeature& f) {
  const bool swap = f.reference == 1;
  const Pose<T>& ref = swap ? g.x2 : g.x1;
  const BoxFaceContact<T> c = box_face_contact(f, ref, swap ? g.size2 : g.size1, swap ? g.x1 : g.x2,
                                               swap ? g.size1 : g.size2);
  return {c.dist, ref.p + c.w - c.n * (T(0.5) * c.dist), c.n * T(swap ? -1 : 1), {}};  // (3)
}

template <class T>
void box_face_touch_bar(const GeomPair<T>& g, const BoxFaceFeature& f, const TouchBar<T>& bar,
                        GeomPairBar<T>& g_bar) {
  const bool swap = f.reference == 1;
  const Pose<T>&ref = swap ? g.x2 : g.x1, &inc = swap ? g.x1 : g.x2;
  const Vec3<T>&ref_size = swap ? g.size2 : g.size1, &inc_size = swap ? g.size1 : g.size2;
  PoseBar<T>&ref_bar = swap ? g_bar.x2 : g_bar.x1, &inc_bar = swap ? g_bar.x1 : g_bar.x2;
  Vec3<T>& ref_size_bar = swap ? g_bar.size2 : g_bar.size1;
  Vec3<T>& inc_size_bar = swap ? g_bar.size1 : g_bar.size2;
  const BoxFaceContact<T> c = box_face_contact(f, ref, ref_size, inc, inc_size);

  const T dist_bar = bar.dist - T(0.5) * dot(c.n, bar.pos);  // (3)
  Vec3<T> w_bar = bar.pos + c.n * dist_bar;
  Vec3<T> n_bar = bar.normal * T(swap ? -1 : 1) - bar.pos * (T(0.5) * c.dist) + c.w * dist_bar;
  Vec3<T> p_bar = -(c.n * dist_bar);
  ref_size_bar[f.a] -= dist_bar;
  add_direction(ref_bar, c.n, n_bar);
  const T u_bar = dot(c.e_u, w_bar), v_bar = dot(c.e_v, w_bar);  // (1)
  for (int k = 0; k < 2; ++k) {
    if (f.line[k] < 4) continue;
    const int m = (f.a + (f.line[k] < 6 ? 1 : 2)) % 3;
    const T lambda = c.inverse[0][k] * u_bar + c.inverse[1][k] * v_bar;
    const Vec3<T> normal = axis(ref, m);
    w_bar -= normal * lambda;  // (2)
    p_bar += normal * lambda;
    add_direction(ref_bar, normal, -(c.w * lambda));
    ref_size_bar[m] += lambda * T(f.line[k] % 2 ? -1 : 1);
  }
  ref_bar.force += p_bar;
  add_point(inc_bar, ref.p + c.w - inc.p, w_bar);  // (1)
  const int b_u = (f.b + 1) % 3, b_v = (f.b + 2) % 3;
  inc_size_bar[f.b] += dot(axis(inc, f.b), w_bar) * T(f.b_sign);
  inc_size_bar[b_u] += dot(axis(inc, b_u), w_bar) * c.u;
  inc_size_bar[b_v] += dot(axis(inc, b_v), w_bar) * c.v;
}

// (4) to (6).
template <class T>
struct BoxEdgeContact {
  Vec3<T> d1, d2, w1, w2;  // w relative to the centre of box 1
  Direction<T> n;
  T cosine, s, t, inverse;  // d₁·d₂; 1 / |d₁ × d₂|²
};

// Midpoint of the edge along axis i.
template <class T>
Vec3<T> edge_midpoint(const Pose<T>& x, const Vec3<T>& size, int i, const int* sign) {
  const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
  return x.p + axis(x, i1) * (size[i1] * T(sign[0])) + axis(x, i2) * (size[i2] * T(sign[1]));
}

template <class T>
BoxEdgeContact<T> box_edge_contact(const GeomPair<T>& g, const BoxEdgeFeature& f) {
  BoxEdgeContact<T> c;
  c.d1 = axis(g.x1, f.i);
  c.d2 = axis(g.x2, f.j);
  c.n = direction(cross(c.d1, c.d2) * T(f.n_sign), c.d1);  // (4)
  c.cosine = dot(c.d1, c.d2);
  c.inverse = c.n.inverse * c.n.inverse;
  const Vec3<T> c1 = edge_midpoint(g.x1, g.size1, f.i, f.sign1) - g.x1.p;
  const Vec3<T> c2 = edge_midpoint(g.x2, g.size2, f.j, f.sign2) - g.x1.p;
  const T e1 = dot(c.d1, c2 - c1), e2 = dot(c.d2, c2 - c1);
  c.s = g.size1[f.i] * T(f.s_end);
  c.t = g.size2[f.j] * T(f.t_end);
  if (f.s_end == 0 && f.t_end == 0) {
    c.s = (e1 - c.cosine * e2) * c.inverse;
    c.t = (c.cosine * e1 - e2) * c.inverse;
  } else if (f.s_end == 0) {
    c.s = e1 + c.cosine * c.t;
  } else if (f.t_end == 0) {
    c.t = c.cosine * c.s - e2;  // (5)
  }
  c.w1 = c1 + c.d1 * c.s;
  c.w2 = c2 + c.d2 * c.t;
  return c;
}

template <class T>
Touch<T> box_edge_touch(const GeomPair<T>& g, const BoxEdgeFeature& f) {
  const BoxEdgeContact<T> c = box_edge_contact(g, f);
  return {dot(c.n.u, c.w2 - c.w1), g.x1.p + (c.w1 + c.w2) * T(0.5), c.n.u, {}};  // (6)
}

template <class T>
void box_edge_touch_bar(const GeomPair<T>& g, const BoxEdgeFeature& f, const TouchBar<T>& bar,
                        GeomPairBar<T>& g_bar) {
  const BoxEdgeContact<T> c = box_edge_contact(g, f);
  const Vec3<T> gap = c.w2 - c.w1;
  Vec3<T> w1_bar = bar.pos * T(0.5) - c.n.u * bar.dist;  // (6)
  Vec3<T> w2_bar = bar.pos * T(0.5) + c.n.u * bar.dist;
  const Vec3<T> cross_bar = direction_bar(c.n, bar.normal + gap * bar.dist) * T(f.n_sign);
  Vec3<T> d1_bar{}, d2_bar{};
  cross_pullback(c.d1, c.d2, cross_bar, d1_bar, d2_bar);  // (4)

  const T s_bar = f.s_end == 0 ? dot(c.d1, w1_bar) : T(0);
  const T t_bar = f.t_end == 0 ? dot(c.d2, w2_bar) : T(0);
  const bool both = f.s_end == 0 && f.t_end == 0;
  const T l1 = both ? (s_bar + c.cosine * t_bar) * c.inverse : s_bar;
  const T l2 = both ? (c.cosine * s_bar + t_bar) * c.inverse : t_bar;
  const Vec3<T> pull = c.d2 * l2 - c.d1 * l1;  // (5)
  w1_bar += pull;
  w2_bar -= pull;
  d1_bar += gap * l1;
  d2_bar -= gap * l2;

  add_point(g_bar.x1, c.w1, w1_bar);
  add_point(g_bar.x2, g.x1.p + c.w2 - g.x2.p, w2_bar);
  add_direction(g_bar.x1, c.d1, d1_bar);
  add_direction(g_bar.x2, c.d2, d2_bar);
  for (int k = 0; k < 2; ++k) {
    const int i = (f.i + 1 + k) % 3, j = (f.j + 1 + k) % 3;
    g_bar.size1[i] += dot(axis(g.x1, i), w1_bar) * T(f.sign1[k]);
    g_bar.size2[j] += dot(axis(g.x2, j), w2_bar) * T(f.sign2[k]);
  }
  g_bar.size1[f.i] += dot(c.d1, w1_bar) * T(f.s_end);
  g_bar.size2[f.j] += dot(c.d2, w2_bar) * T(f.t_end);
}

// The contact of a code.
template <class T>
Touch<T> box_contact_touch(const GeomPair<T>& g, int code) {
  return code < kBoxFaceCodes ? box_face_touch(g, decode_box_face(code))
                              : box_edge_touch(g, decode_box_edge(code));
}

template <class T>
void box_contact_touch_bar(const GeomPair<T>& g, int code, const TouchBar<T>& bar,
                           GeomPairBar<T>& g_bar) {
  if (code < kBoxFaceCodes) {
    box_face_touch_bar(g, decode_box_face(code), bar, g_bar);
  } else {
    box_edge_touch_bar(g, decode_box_edge(code), bar, g_bar);
  }
}

}  // namespace cycloid::inline geometry
