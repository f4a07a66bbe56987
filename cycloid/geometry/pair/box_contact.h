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

#include "cycloid/geometry/pair/by_lane.h"

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

CYCLOID_HD inline int encode(const BoxFaceFeature& f) {
  int code = f.reference;
  code = code * 6 + 2 * f.a + (f.a_sign > 0);
  code = code * 6 + 2 * f.b + (f.b_sign > 0);
  return code * 64 + f.line[0] * 8 + f.line[1];
}
CYCLOID_HD inline BoxFaceFeature decode_box_face(int code) {
  const int face = code / 64, a = face / 6 % 6, b = face % 6;
  return {face / 36, a / 2, a % 2 ? 1 : -1, b / 2, b % 2 ? 1 : -1, {code / 8 % 8, code % 8}};
}

CYCLOID_HD inline int encode(const BoxEdgeFeature& f) {
  int code = 3 * f.i + f.j;
  for (const int sign : {f.sign1[0], f.sign1[1], f.sign2[0], f.sign2[1], f.n_sign}) {
    code = 2 * code + (sign > 0);
  }
  return kBoxFaceCodes + (code * 3 + f.s_end + 1) * 3 + f.t_end + 1;
}
CYCLOID_HD inline BoxEdgeFeature decode_box_edge(int code) {
  code -= kBoxFaceCodes;
  const int t_end = code % 3 - 1, s_end = code / 3 % 3 - 1;
  code /= 9;
  const auto sign = [&](int bit) { return (code >> bit) % 2 ? 1 : -1; };
  const int edges = code / 32;
  return {edges / 3, edges % 3, {sign(4), sign(3)}, {sign(2), sign(1)}, sign(0), s_end, t_end};
}

// The numbers in which lanes choose: T without its tangents.
template <class T>
using Chosen = std::remove_cvref_t<decltype(primal(std::declval<T>()))>;

// BoxFaceFeature as numbers, so that lanes may have different ones.
template <class B>
struct BoxFaceChoice {
  B reference, a, a_sign, b, b_sign;
  B line[2];
};

template <class B>
CYCLOID_HD BoxFaceChoice<B> box_face_choice(const BoxFaceFeature& f) {
  return {B(f.reference), B(f.a), B(f.a_sign), B(f.b), B(f.b_sign), {B(f.line[0]), B(f.line[1])}};
}

// Element k of three, 0 ≤ k < 3.
template <class B, class T>
CYCLOID_INLINE T pick(const B& k, const T& x0, const T& x1, const T& x2) {
  return select(k == B(0), x0, select(k == B(1), x1, x2));
}

// What all contacts of two faces share. Axes and sizes of the reference box are in the order a,
// a+1, a+2 (mod 3), those of the incident box in the order b, b+1, b+2.
template <class T>
struct BoxFaces {
  Vec3<T> ref_p, inc_p, ref_axis[3], inc_axis[3];
  T ref_size[3], inc_size[3];
  T side;                       // of the normal: -1 where box 2 is the reference
  Vec3<T> n, e_u, e_v, centre;  // centre: f of (1), from the reference's centre
  T m_u[2], m_v[2], m_f[2];     // m·e_u, m·e_v and m·f for both m
};

template <class T>
CYCLOID_HD BoxFaces<T> box_faces(const GeomPair<T>& g, const BoxFaceChoice<Chosen<T>>& f) {
  using B = Chosen<T>;
  const auto swap = f.reference == B(1);
  BoxFaces<T> F;
  F.side = select(swap, T(-1), T(1));
  F.ref_p = select(swap, g.x2.p, g.x1.p);
  F.inc_p = select(swap, g.x1.p, g.x2.p);
  Vec3<T> ref[3], inc[3];
  for (int k = 0; k < 3; ++k) {
    ref[k] = select(swap, axis(g.x2, k), axis(g.x1, k));
    inc[k] = select(swap, axis(g.x1, k), axis(g.x2, k));
  }
  const Vec3<T> ref_size = select(swap, g.size2, g.size1);
  const Vec3<T> inc_size = select(swap, g.size1, g.size2);
  for (int k = 0; k < 3; ++k) {
    const int k1 = (k + 1) % 3, k2 = (k + 2) % 3;
    for (int c = 0; c < 3; ++c) {
      F.ref_axis[k][c] = pick(f.a, ref[k][c], ref[k1][c], ref[k2][c]);
      F.inc_axis[k][c] = pick(f.b, inc[k][c], inc[k1][c], inc[k2][c]);
    }
    F.ref_size[k] = pick(f.a, ref_size[k], ref_size[k1], ref_size[k2]);
    F.inc_size[k] = pick(f.b, inc_size[k], inc_size[k1], inc_size[k2]);
  }
  F.n = F.ref_axis[0] * T(f.a_sign);
  F.e_u = F.inc_axis[1] * F.inc_size[1];
  F.e_v = F.inc_axis[2] * F.inc_size[2];
  F.centre = F.inc_p + F.inc_axis[0] * (F.inc_size[0] * T(f.b_sign)) - F.ref_p;
  for (int k = 0; k < 2; ++k) {
    F.m_u[k] = dot(F.ref_axis[1 + k], F.e_u);
    F.m_v[k] = dot(F.ref_axis[1 + k], F.e_v);
    F.m_f[k] = dot(F.ref_axis[1 + k], F.centre);
  }
  return F;
}

// One of the two lines that cross at w: row·(u, v) = rhs.
template <class T>
struct BoxLine {
  T row[2], rhs, sign;
};

template <class T>
CYCLOID_INLINE BoxLine<T> box_line(const BoxFaces<T>& F, const Chosen<T>& line) {
  using B = Chosen<T>;
  const auto own = line < B(4), first = line < B(6);
  const Mask<B> minus((line == B(1)) | (line == B(3)) | (line == B(5)) | (line == B(7)));
  const T sign = select(minus, T(-1), T(1));
  const T on_u = select(line < B(2), T(1), T(0));
  const T plane = sign * select(first, F.ref_size[1], F.ref_size[2]) -
                  select(first, F.m_f[0], F.m_f[1]);  // (2)
  return {{select(own, on_u, select(first, F.m_u[0], F.m_u[1])),
           select(own, T(1) - on_u, select(first, F.m_v[0], F.m_v[1]))},
          select(own, sign, plane),
          sign};
}

// (1) to (3), with what the pullback needs.
template <class T>
struct BoxFaceContact {
  Vec3<T> w;
  T u, v, dist;
  T inverse[2][2];  // of the two lines' coefficients in u and v; zero where frozen
};

template <class T>
CYCLOID_HD BoxFaceContact<T> box_face_contact(const BoxFaces<T>& F, const Chosen<T>* line) {
  using B = Chosen<T>;
  const BoxLine<T> l0 = box_line(F, line[0]), l1 = box_line(F, line[1]);
  BoxFaceContact<T> c;
  const T det = l0.row[0] * l1.row[1] - l0.row[1] * l1.row[0];
  const B squares = primal((l0.row[0] * l0.row[0] + l0.row[1] * l0.row[1]) *
                           (l1.row[0] * l1.row[0] + l1.row[1] * l1.row[1]));
  const B det_0 = primal(det);
  const auto solvable = det_0 * det_0 > B(1e-28) * squares;
  const T over = select(solvable, T(1) / select(solvable, det, T(1)), T(0));
  c.u = (l0.rhs * l1.row[1] - l1.rhs * l0.row[1]) * over;
  c.v = (l0.row[0] * l1.rhs - l1.row[0] * l0.rhs) * over;
  const auto moves = det_0 * det_0 > B(kFrozenCrossing * kFrozenCrossing) * squares;
  c.u = select(moves, c.u, T(primal(c.u)));
  c.v = select(moves, c.v, T(primal(c.v)));
  const T scale = select(moves, over, T(0));
  c.inverse[0][0] = l1.row[1] * scale, c.inverse[0][1] = -l0.row[1] * scale;
  c.inverse[1][0] = -l1.row[0] * scale, c.inverse[1][1] = l0.row[0] * scale;
  c.w = F.centre + F.e_u * c.u + F.e_v * c.v;  // (1), from the reference's centre
  c.dist = dot(F.n, c.w) - F.ref_size[0];      // (3)
  return c;
}

template <class T>
CYCLOID_HD Touch<T> box_face_touch(const BoxFaces<T>& F, const Chosen<T>* line) {
  const BoxFaceContact<T> c = box_face_contact(F, line);
  const T zero = T(0);
  return {
      c.dist, F.ref_p + c.w - F.n * (T(0.5) * c.dist), F.n * F.side, {zero, zero, zero}};  // (3)
}

// Cotangents of the two boxes, in the order of BoxFaces.
template <class T>
struct BoxFacesBar {
  PoseBar<T> ref, inc;
  T ref_size[3], inc_size[3];

  CYCLOID_HD BoxFacesBar() {
    const Vec3<T> zeros{T(0), T(0), T(0)};
    ref = inc = {zeros, zeros};
    for (int k = 0; k < 3; ++k) ref_size[k] = inc_size[k] = T(0);
  }
};

template <class T>
CYCLOID_HD void box_face_touch_bar(const BoxFaces<T>& F, const Chosen<T>* line,
                                   const Chosen<T>& b_sign, const TouchBar<T>& bar,
                                   BoxFacesBar<T>& sum) {
  using B = Chosen<T>;
  const BoxFaceContact<T> c = box_face_contact(F, line);

  const T dist_bar = bar.dist - T(0.5) * dot(F.n, bar.pos);  // (3)
  Vec3<T> w_bar = bar.pos + F.n * dist_bar;
  const Vec3<T> n_bar = bar.normal * F.side - bar.pos * (T(0.5) * c.dist) + c.w * dist_bar;
  Vec3<T> p_bar = -(F.n * dist_bar);
  sum.ref_size[0] -= dist_bar;
  add_direction(sum.ref, F.n, n_bar);
  const T u_bar = dot(F.e_u, w_bar), v_bar = dot(F.e_v, w_bar);  // (1)
  for (int k = 0; k < 2; ++k) {
    const auto own = line[k] < B(4), first = line[k] < B(6);
    const T lambda = select(own, T(0), c.inverse[0][k] * u_bar + c.inverse[1][k] * v_bar);
    const Vec3<T> m = select(first, F.ref_axis[1], F.ref_axis[2]);
    w_bar -= m * lambda;  // (2)
    p_bar += m * lambda;
    add_direction(sum.ref, m, -(c.w * lambda));
    const T size_bar = lambda * box_line(F, line[k]).sign;
    sum.ref_size[1] += select(first, size_bar, T(0));
    sum.ref_size[2] += select(first, T(0), size_bar);
  }
  sum.ref.force += p_bar;
  add_point(sum.inc, F.ref_p + c.w - F.inc_p, w_bar);  // (1)
  sum.inc_size[0] += dot(F.inc_axis[0], w_bar) * T(b_sign);
  sum.inc_size[1] += dot(F.inc_axis[1], w_bar) * c.u;
  sum.inc_size[2] += dot(F.inc_axis[2], w_bar) * c.v;
}

// From the order of BoxFaces to that of the boxes.
template <class T>
CYCLOID_HD void add_box_faces_bar(const BoxFaceChoice<Chosen<T>>& f, const BoxFacesBar<T>& sum,
                                  GeomPairBar<T>& g_bar) {
  using B = Chosen<T>;
  const auto swap = f.reference == B(1);
  g_bar.x1.force += select(swap, sum.inc.force, sum.ref.force);
  g_bar.x1.torque += select(swap, sum.inc.torque, sum.ref.torque);
  g_bar.x2.force += select(swap, sum.ref.force, sum.inc.force);
  g_bar.x2.torque += select(swap, sum.ref.torque, sum.inc.torque);
  for (int k = 0; k < 3; ++k) {  // axis k is number k - a (mod 3) of the reference's
    const int k1 = (k + 1) % 3, k2 = (k + 2) % 3;
    const T ref = pick(f.a, sum.ref_size[k], sum.ref_size[k2], sum.ref_size[k1]);
    const T inc = pick(f.b, sum.inc_size[k], sum.inc_size[k2], sum.inc_size[k1]);
    g_bar.size1[k] += select(swap, inc, ref);
    g_bar.size2[k] += select(swap, ref, inc);
  }
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
CYCLOID_HD Vec3<T> edge_midpoint(const Pose<T>& x, const Vec3<T>& size, int i, const int* sign) {
  const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
  return x.p + axis(x, i1) * (size[i1] * T(sign[0])) + axis(x, i2) * (size[i2] * T(sign[1]));
}

template <class T>
CYCLOID_HD BoxEdgeContact<T> box_edge_contact(const GeomPair<T>& g, const BoxEdgeFeature& f) {
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
CYCLOID_HD Touch<T> box_edge_touch(const GeomPair<T>& g, const BoxEdgeFeature& f) {
  const BoxEdgeContact<T> c = box_edge_contact(g, f);
  return {dot(c.n.u, c.w2 - c.w1), g.x1.p + (c.w1 + c.w2) * T(0.5), c.n.u, {}};  // (6)
}

template <class T>
CYCLOID_HD void box_edge_touch_bar(const GeomPair<T>& g, const BoxEdgeFeature& f,
                                   const TouchBar<T>& bar, GeomPairBar<T>& g_bar) {
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
CYCLOID_HD Touch<T> box_contact_touch(const GeomPair<T>& g, int code) {
  if (code >= kBoxFaceCodes) return box_edge_touch(g, decode_box_edge(code));
  const auto f = box_face_choice<Chosen<T>>(decode_box_face(code));
  return box_face_touch(box_faces(g, f), f.line);
}

template <class T>
CYCLOID_HD void box_contact_touch_bar(const GeomPair<T>& g, int code, const TouchBar<T>& bar,
                                      GeomPairBar<T>& g_bar) {
  if (code >= kBoxFaceCodes) return box_edge_touch_bar(g, decode_box_edge(code), bar, g_bar);
  const auto f = box_face_choice<Chosen<T>>(decode_box_face(code));
  BoxFacesBar<T> sum;
  box_face_touch_bar(box_faces(g, f), f.line, f.b_sign, bar, sum);
  add_box_faces_bar(f, sum, g_bar);
}

}  // namespace cycloid::inline geometry
