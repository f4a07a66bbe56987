// Woven cloth: two directions, warp and weft, at right angles, each with a stiffness of its own.
//
// Warp lies along a direction of the rest shape, in the triangle's plane: d_1; weft d_2 across it.
//   ν' = ν Y_2/Y_1,  Q_11 = Y_1/(1 - ν ν'),  Q_22 = Y_2/(1 - ν ν'),  Q_12 = ν Q_22     (1)   [Pa]
//   T_11 = Q_11 E_11 + Q_12 E_22,  T_22 = Q_12 E_11 + Q_22 E_22,  T_12 = 2 G E_12      (2)   [Pa]
// of Green's strain in that frame, in place of membrane.h's law; bending likewise, with the shape
// operator Λ of shell_bending.h:
//   W = A h³/24 (Q_11 Λ_11² + 2 Q_12 Λ_11 Λ_22 + Q_22 Λ_22² + 4 G Λ_12²)              (3)   [J]
// ν is the contraction of the weft under tension along the warp. With Y_1 = Y_2 and
// G = Y/2(1 + ν) both are the laws of plain cloth.
#pragma once

#include "cycloid/soft/term/membrane.h"
#include "cycloid/soft/term/shell_bending.h"

namespace cycloid::inline soft {

// Q of (1), and G.
template <class S>
struct PlaneStiffness {
  S warp, cross, weft, shear;
};

template <class S>
CYCLOID_INLINE PlaneStiffness<S> woven_stiffness(const S& young_warp, const S& young_weft,
                                                 const S& poisson, const S& shear) {
  const S scale = S(1) / (S(1) - poisson * poisson * young_weft / young_warp);
  return {young_warp * scale, poisson * young_weft * scale, young_weft * scale, shear};  // (1)
}

// (2), of a symmetric tensor in the frame of the weave.
template <class S, class R>
CYCLOID_INLINE Metric<S> woven_stress(const PlaneStiffness<R>& q, const Metric<S>& e) {
  return {q.warp * e.xx + q.cross * e.yy, R(2) * q.shear * e.xy, q.cross * e.xx + q.weft * e.yy};
}

// d_1 and d_2 as sums of the edges a, b: d_i = a_i a + b_i b.
template <class S>
struct WeaveFrame {
  S a[2], b[2];
};

// G: the metric of the edges a, b at rest.
template <class S>
CYCLOID_INLINE WeaveFrame<S> weave_frame(const Metric<S>& G, const Vec3<S>& a, const Vec3<S>& b,
                                         const Vec3<S>& warp) {
  const S det = G.xx * G.yy - G.xy * G.xy, along_a = dot(a, warp), along_b = dot(b, warp);
  const S p = (G.yy * along_a - G.xy * along_b) / det, q = (G.xx * along_b - G.xy * along_a) / det;
  const S scale = S(1) / sqrt(p * along_a + q * along_b), root = scale / sqrt(det);
  return {{p * scale, -along_b * root}, {q * scale, along_a * root}};
}

struct WovenMembrane : MembraneForms<WovenMembrane> {
  static constexpr int kNumbers = 7, kConstants = 3;
  enum { young_warp, young_weft, poisson, shear, thickness, density, damping };
  template <class S, class R = S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants, R>;

  template <class S>
  struct Rest {
    Metric<S> G;
    S volume;
    PlaneStiffness<S> stiffness;
    WeaveFrame<S> frame;
  };
  template <class S, class R>
  static Rest<R> rest(const Group<S, R>& s) {
    Rest<R> r;
    r.G = metric(s.rest);
    r.volume = R(0.5) * sqrt(r.G.xx * r.G.yy - r.G.xy * r.G.xy) * s.number[thickness];
    r.stiffness = woven_stiffness(s.number[young_warp], s.number[young_weft], s.number[poisson],
                                  s.number[shear]);
    r.frame = weave_frame(r.G, s.rest[1] - s.rest[0], s.rest[2] - s.rest[0],
                          {s.constant[0], s.constant[1], s.constant[2]});
    return r;
  }
  template <class S, class R>
  static Metric<S> stress(const Rest<R>& r, const Metric<S>& E) {
    const auto& a = r.frame.a;
    const auto& b = r.frame.b;
    const auto in_frame = [&](int i, int j) {
      return E.xx * (a[i] * a[j]) + E.xy * (a[i] * b[j] + b[i] * a[j]) + E.yy * (b[i] * b[j]);
    };
    const Metric<S> T =
        woven_stress(r.stiffness, Metric<S>{in_frame(0, 0), in_frame(0, 1), in_frame(1, 1)});
    const auto of_edges = [&](const R& c0, const R& c1, const R& c2) {
      return T.xx * c0 + T.xy * c1 + T.yy * c2;
    };
    return {of_edges(a[0] * a[0], R(2) * a[0] * a[1], a[1] * a[1]),
            of_edges(a[0] * b[0], a[0] * b[1] + b[0] * a[1], a[1] * b[1]),
            of_edges(b[0] * b[0], R(2) * b[0] * b[1], b[1] * b[1])};
  }
};

struct WovenBending : BendingForms<WovenBending> {
  static constexpr int kNumbers = 6, kConstants = 6;  // c_i of shell_bending.h, then the warp
  enum { young_warp, young_weft, poisson, shear, thickness, damping };
  template <class S, class R = S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants, R>;

  template <class S>
  struct Rest {
    S scale;      // A h³/12
    S weight[3];  // c_i / (2 A l_i)
    S t[3][2];    // t_i in the frame of the weave
    PlaneStiffness<S> stiffness;
    Angles<S> angle;
  };
  template <class S, class R>
  static Rest<R> rest(const Group<S, R>& s) {
    Rest<R> r;
    const Vec3<R> a = s.rest[1] - s.rest[0], b = s.rest[2] - s.rest[0], n = cross(a, b);
    const R area = R(0.5) * sqrt(dot(n, n)), h = s.number[thickness];
    const WeaveFrame<R> frame = weave_frame<R>({dot(a, a), dot(a, b), dot(b, b)}, a, b,
                                               {s.constant[3], s.constant[4], s.constant[5]});
    const Vec3<R> warp = a * frame.a[0] + b * frame.b[0], weft = a * frame.a[1] + b * frame.b[1];
    for (int i = 0; i < 3; ++i) {
      const Vec3<R> e = s.rest[(i + 2) % 3] - s.rest[(i + 1) % 3];
      r.weight[i] = s.constant[i] / (R(2) * area * sqrt(dot(e, e)));
      r.t[i][0] = -dot(e, weft), r.t[i][1] = dot(e, warp);
    }
    r.scale = area * h * h * h * R(1.0 / 12);
    r.stiffness = woven_stiffness(s.number[young_warp], s.number[young_weft], s.number[poisson],
                                  s.number[shear]);
    r.angle = angles(s.rest);
    return r;
  }
  template <class S, class R>
  static Angles<S> moment(const Rest<R>& r, const Angles<S>& k) {
    Metric<S> bent{S(0), S(0), S(0)};
    for (int i = 0; i < 3; ++i) {
      bent.xx += k.at[i] * (r.t[i][0] * r.t[i][0]);
      bent.xy += k.at[i] * (r.t[i][0] * r.t[i][1]);
      bent.yy += k.at[i] * (r.t[i][1] * r.t[i][1]);
    }
    const Metric<S> M = woven_stress(r.stiffness, bent);
    Angles<S> out;
    for (int i = 0; i < 3; ++i) {
      out.at[i] =
          r.scale * (M.xx * (r.t[i][0] * r.t[i][0]) + M.xy * (R(2) * r.t[i][0] * r.t[i][1]) +
                     M.yy * (r.t[i][1] * r.t[i][1]));  // (3)
    }
    return out;
  }
};

}  // namespace cycloid::inline soft
