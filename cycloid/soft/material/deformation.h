// What materials ask of a deformation gradient F: its invariants and their derivatives.
//
//   J = det F,   cof F = J F⁻ᵀ = dJ/dF                                             (1)
//   d(cof F) along dF: rows of F are a b c, rows of cof F are b×c c×a a×b           (2)
//   E = ½ (FᵀF - I)                                                                 (3)
//   t = tr E,  II = ½ (t² - E:E),  s = 4 II + 8 det E                               (4)
//   I1 - 3 = 2 t,  I2 - 3 = 4 (t + II),  J² - 1 = 2 t + s                           (5)
// Energies are made of (4): I1, I2 and J are near 3, 3 and 1 at small strains, and what is left of
// their differences would be rounding, in which a line search loses its way.
#pragma once

#include "cycloid/math/matrix.h"

namespace cycloid::inline soft {

template <class S>
CYCLOID_INLINE Vec3<S> row(const Mat3<S>& a, int i) {
  return {a(i, 0), a(i, 1), a(i, 2)};
}

// A : B.
template <class S>
CYCLOID_INLINE S contract(const Mat3<S>& a, const Mat3<S>& b) {
  S sum = a.e[0] * b.e[0];
#pragma GCC unroll 9
  for (int k = 1; k < 9; ++k) sum += a.e[k] * b.e[k];
  return sum;
}

template <class S>
CYCLOID_INLINE S trace(const Mat3<S>& a) {
  return a(0, 0) + a(1, 1) + a(2, 2);
}

template <class S>
CYCLOID_INLINE Mat3<S> from_rows(const Vec3<S>& a, const Vec3<S>& b, const Vec3<S>& c) {
  return {{a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z}};
}

template <class S>
CYCLOID_INLINE Mat3<S> cofactor(const Mat3<S>& F) {
  const Vec3<S> a = row(F, 0), b = row(F, 1), c = row(F, 2);
  return from_rows(cross(b, c), cross(c, a), cross(a, b));  // (1)
}

template <class S>
CYCLOID_INLINE Mat3<S> cofactor_tangent(const Mat3<S>& F, const Mat3<S>& dF) {
  const Vec3<S> a = row(F, 0), b = row(F, 1), c = row(F, 2);
  const Vec3<S> da = row(dF, 0), db = row(dF, 1), dc = row(dF, 2);
  return from_rows(cross(db, c) + cross(b, dc), cross(dc, a) + cross(c, da),
                   cross(da, b) + cross(a, db));  // (2)
}

template <class S>
CYCLOID_INLINE S determinant(const Mat3<S>& F) {
  return dot(row(F, 0), cross(row(F, 1), row(F, 2)));  // (1)
}

// The inverse; of a singular matrix not finite.
template <class S>
CYCLOID_INLINE Mat3<S> inverse(const Mat3<S>& F) {
  const Mat3<S> cof = cofactor(F);
  return transpose(cof) * (S(1) / dot(row(F, 0), row(cof, 0)));
}

// ½ (A + Aᵀ).
template <class S>
CYCLOID_INLINE Mat3<S> symmetric_part(const Mat3<S>& a) {
  return (a + transpose(a)) * S(0.5);
}

template <class S>
CYCLOID_INLINE Mat3<S> green_strain(const Mat3<S>& F) {
  return (transpose(F) * F - identity_matrix<S, 3>()) * S(0.5);  // (3)
}

// (4).
template <class S>
struct StrainInvariants {
  S t, II, s;
};

template <class S>
CYCLOID_INLINE StrainInvariants<S> strain_invariants(const Mat3<S>& F) {
  const Mat3<S> E = green_strain(F);
  const S t = trace(E), II = S(0.5) * (t * t - contract(E, E));
  return {t, II, S(4) * II + S(8) * determinant(E)};
}

// 2 mu e + lam tr(e) I, the law of Hooke.
template <class S>
CYCLOID_INLINE Mat3<S> hooke(const S& mu, const S& lam, const Mat3<S>& e) {
  Mat3<S> s = e * (S(2) * mu);
  const S pressure = lam * trace(e);
#pragma GCC unroll 3
  for (int i = 0; i < 3; ++i) s(i, i) += pressure;
  return s;
}

}  // namespace cycloid::inline soft
