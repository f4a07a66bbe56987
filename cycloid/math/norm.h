// Length and direction of a vector, with value and gradient finite at zero by construction.
//
//   n = |v|              ∂n/∂v = uᵀ                                   (1)
//   u = v / |v|          ∂u/∂v = (1 - u uᵀ) / |v|                     (2)
//   at v = 0:  n = 0, u = 0, both derivatives 0                       (3)
//   |v| = |s v| / s      s = 2^±k where squares of entries would overflow or underflow, else 1  (4)
//
// (1) has a kink at zero: its one-sided derivatives along a line are ±1, and 0 is their mean.
// (2) grows without bound towards zero; it is cut there, not smoothed. s is a power of two, so that
// scaling is exact; NaN stays NaN.
#pragma once

#include "cycloid/math/dual.h"
#include "cycloid/math/vector.h"

namespace cycloid::inline math {

template <class S, int N>
struct UnitAndNorm {
  Vec<S, N> unit;  // u
  S norm;          // n
  S inverse;       // 1 / n, and 0 at zero
};

template <class S, int N>
CYCLOID_HD UnitAndNorm<S, N> unit_and_norm(const Vec<S, N>& v) {
  using P = std::remove_cvref_t<decltype(primal(v[0]))>;
  constexpr bool kFloat = sizeof(Scalar<S>) == 4;
  const P large = P(kFloat ? 0x1p60 : 0x1p500), small = P(kFloat ? 0x1p-60 : 0x1p-500);
  const P up = P(kFloat ? 0x1p100 : 0x1p600), down = P(kFloat ? 0x1p-100 : 0x1p-600);
  P m = abs(primal(v[0]));
#pragma GCC unroll 8
  for (int i = 1; i < N; ++i) m = max(m, abs(primal(v[i])));
  const P s = select(m > large, down, select(m < small, up, P(1)));
  const P inverse_s = select(m > large, up, select(m < small, down, P(1)));

  Vec<S, N> scaled;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) scaled[i] = v[i] * s;
  const S square = dot(scaled, scaled);
  const Mask<S> zero = square == S(0);
  const S length = sqrt(select(zero, S(1), square));
  const S inverse = select(zero, S(0), S(1) / length);
  return {scaled * inverse, select(zero, S(0), length * inverse_s), inverse * s};  // (3), (4)
}

template <class S, int N>
CYCLOID_HD S norm(const Vec<S, N>& v) {
  return unit_and_norm(v).norm;  // (1)
}

template <class S, int N>
CYCLOID_HD void norm_pullback(const Vec<S, N>& v, const S& n_bar, Vec<S, N>& v_bar) {
  v_bar += unit_and_norm(v).unit * n_bar;  // (1)
}

template <class S>
CYCLOID_HD S norm(const S& x, const std::type_identity_t<S>& y) {
  return norm(Vec<S, 2>{{x, y}});
}
template <class S>
CYCLOID_HD S norm(const S& x, const std::type_identity_t<S>& y, const std::type_identity_t<S>& z) {
  return norm(Vec3<S>{x, y, z});
}

template <class S, int N>
CYCLOID_HD Vec<S, N> normalise(const Vec<S, N>& v) {
  return unit_and_norm(v).unit;  // (2)
}

template <class S, int N>
CYCLOID_HD void normalise_pullback(const Vec<S, N>& v, const Vec<S, N>& u_bar, Vec<S, N>& v_bar) {
  const UnitAndNorm<S, N> d = unit_and_norm(v);
  v_bar += (u_bar - d.unit * dot(d.unit, u_bar)) * d.inverse;  // (2)
}

}  // namespace cycloid::inline math
