// corotated: Hooke's law in the frame that turns with the matter.
//
//   F = R U, R a rotation, U symmetric                                   (1)
//   ψ = mu |F - R|² + lam/2 tr²(U - I)                                   (2)   [J/m³]
//   P = 2 mu (F - R) + lam tr(U - I) R                                   (3)   [Pa]
//   dP = 2 mu dF + lam (R:dF) R + (lam tr(U - I) - 2 mu) dR              (4)
//   dR = R [ω],  (tr(U) I - U) ω = axial(RᵀdF)                           (5)
// R is that rotation which is nearest to F, also where J < 0. Where the two smallest singular
// values of F cancel (a cell turned inside out by the same amount), R is not unique and dR
// infinite.
#pragma once

#include "cycloid/math/dual.h"
#include "cycloid/math/norm.h"
#include "cycloid/soft/material/coefficients.h"
#include "cycloid/soft/material/deformation.h"

namespace cycloid::inline soft {

// (A32 - A23, A13 - A31, A21 - A12).
template <class S>
CYCLOID_INLINE Vec3<S> axial(const Mat3<S>& a) {
  return {a(2, 1) - a(1, 2), a(0, 2) - a(2, 0), a(1, 0) - a(0, 1)};
}

template <class S>
CYCLOID_INLINE Mat3<S> skew(const Vec3<S>& w) {
  return {{S(0), -w.z, w.y, w.z, S(0), -w.x, -w.y, w.x, S(0)}};
}

// tr(U) I - U.
template <class S>
CYCLOID_INLINE Mat3<S> turning_matrix(const Mat3<S>& U) {
  Mat3<S> g = U * S(-1);
  const S t = trace(U);
#pragma GCC unroll 3
  for (int i = 0; i < 3; ++i) g(i, i) += t;
  return g;
}

// One step of Newton's method towards a symmetric RᵀF, or a shorter one where that is no maximum
// of tr(RᵀF) yet (MullerEtAl2016); by Cayley's map, so that R stays a rotation.
template <class S>
CYCLOID_INLINE Mat3<S> polar_step(const Mat3<S>& R, const Mat3<S>& F) {
  const Mat3<S> A = transpose(R) * F;
  const Vec3<S> a = axial(A);
  const Mat3<S> G = turning_matrix(symmetric_part(A));
  const S minor = G(0, 0) * G(1, 1) - G(0, 1) * G(1, 0), det = determinant(G);
  const S size = abs(trace(A)) + S(1e-12);
  const Mask<S> maximum = (G(0, 0) > S(0)) & (minor > S(0)) & (det > S(1e-9) * size * size * size);
  const Vec3<S> newton = inverse(G) * a, damped = a * (S(1) / size);
  const Vec3<S> w = select(maximum, newton, damped) * S(0.5);
  const Mat3<S> W = skew(w);
  const Mat3<S> turn = identity_matrix<S, 3>() + (W + W * W) * (S(2) / (S(1) + dot(w, w)));
  return R * turn;
}

// R of (1).
template <class S>
CYCLOID_INLINE Mat3<S> polar_rotation(const Mat3<S>& F) {
  using P = std::remove_cvref_t<decltype(primal(F.e[0]))>;
  Mat3<P> f;
  for (int k = 0; k < 9; ++k) f.e[k] = primal(F.e[k]);
  // The columns of f, made orthonormal one after the other.
  const auto unit = [](const Vec3<P>& v) { return v * (P(1) / sqrt(dot(v, v) + P(1e-300))); };
  const Mat3<P> ft = transpose(f);
  const Vec3<P> a = unit(row(ft, 0)), b = unit(row(ft, 1) - a * dot(a, row(ft, 1)));
  const Mat3<P> first = transpose(from_rows(a, b, cross(a, b)));
  const P whole = abs(determinant(first));
  Mat3<P> r;
  for (int k = 0; k < 9; ++k) {
    r.e[k] = select(whole > P(0.5), first.e[k], P(k % 4 == 0 ? 1 : 0));
  }
  for (int k = 0; k < 12; ++k) r = polar_step(r, f);
  Mat3<S> R;
  for (int k = 0; k < 9; ++k) R.e[k] = S(r.e[k]);
  // Two more steps are exact in the first and second derivative of dual numbers.
  return polar_step(polar_step(R, F), F);
}

struct Corotated {
  static constexpr const char* kName = "corotated";

  template <class S>
  static S energy(const Coefficients<S>& c, const Mat3<S>& F) {
    const Mat3<S> R = polar_rotation(F), d = F - R;
    const S grown = contract(R, F) - S(3);
    return c.mu * contract(d, d) + S(0.5) * c.lam * grown * grown;  // (2)
  }
  template <class S>
  static Mat3<S> stress(const Coefficients<S>& c, const Mat3<S>& F) {
    const Mat3<S> R = polar_rotation(F);
    return (F - R) * (S(2) * c.mu) + R * (c.lam * (contract(R, F) - S(3)));  // (3)
  }
  // What (4) and (5) need of F, once for all directions.
  template <class S>
  struct Turned {
    Mat3<S> R, turning_inverse;
    S grown;
  };
  template <class S>
  static Turned<S> turned(const Mat3<S>& F) {
    const Mat3<S> R = polar_rotation(F);
    return {R, inverse(turning_matrix(symmetric_part(transpose(R) * F))), contract(R, F) - S(3)};
  }
  template <class S>
  static Mat3<S> stress_tangent(const Coefficients<S>& c, const Turned<S>& at, const Mat3<S>& dF) {
    const Mat3<S> dR = at.R * skew(at.turning_inverse * axial(transpose(at.R) * dF));  // (5)
    return dF * (S(2) * c.mu) + at.R * (c.lam * contract(at.R, dF)) +
           dR * (c.lam * at.grown - S(2) * c.mu);  // (4)
  }
  template <class S>
  static Mat3<S> stress_tangent(const Coefficients<S>& c, const Mat3<S>& F, const Mat3<S>& dF) {
    return stress_tangent(c, turned(F), dF);
  }
};

}  // namespace cycloid::inline soft
