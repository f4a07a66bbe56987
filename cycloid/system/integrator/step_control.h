// How long the next substep of an adaptive method is: error norm, controller and first guess.
//
//   s_i = atol + rtol max(|x_i|, |x⁺_i|)              (1)  what is allowed in component i
//   E   = max |e_i / s_i|                             (2)  a substep with E ≤ 1 is taken
//   h⁺  = h · clamp(0.8 E^-α E₀^β, 1/5, 10)            (3)  α = 1/q - ¾ β, β = 0.04; E₀ ≥ 1e-4 that
//                                                          of the substep before
//   h⁺  = h · clamp(0.8 E^-1/q, 1/5, 1)                (4)  after one that is not taken
// q is the order of the error estimate plus one. (3) is the PI controller of Gustafsson1991, with
// the constants of HairerNorsettWanner1993, II.4, but for 0.8, which is 0.9 there, and the largest
// component in (2) in place of the mean: at coarse tolerances estimates are too small, and what
// that adds to the error of a run is worth a fifth more substeps. The first guess is theirs too.
// Each lane has its own. Substep lengths are constants of the gradient (adaptive.h): nothing here
// has a derivative.
#pragma once

#include <limits>

#include "cycloid/math/dual.h"
#include "cycloid/system/integrator/tolerances.h"
#include "cycloid/system/law/law_point.h"

namespace cycloid::inline system {

// x as a constant: without tangents.
template <class S>
CYCLOID_INLINE S held(const S& x) {
  return x;
}
template <class S, int N>
CYCLOID_INLINE Dual<S, N> held(const Dual<S, N>& x) {
  return Dual<S, N>(held(x.value));
}

// (2), with (1) from x and y.
template <class S>
CYCLOID_HD S scaled_norm(const Tolerances& tolerances, int n, const S* e, const S* x, const S* y) {
  using T = Scalar<S>;
  const S rtol(tolerances.relative<T>()), atol(tolerances.absolute<T>());
  S most(0), nothing(0);
  for (int i = 0; i < n; ++i) {
    const S part = abs(held(e[i])) / (atol + rtol * held(max(abs(x[i]), abs(y[i]))));  // (1)
    most = max(most, part);
    nothing += S(0) * part;  // or what is not finite
  }
  return most + nothing;  // (2)
}

// The factor of (3) or (4); a substep without a finite error counts as a very bad one.
template <class S>
CYCLOID_HD S length_factor(int q, const S& error, const S& error_before, const Mask<S>& taken) {
  using T = Scalar<S>;
  constexpr T kBeta = T(0.04);
  const T exponent = T(1) / static_cast<T>(q);
  const S known = select(is_finite(error), error, S(T(1e10)));
  const S size = max(known, S(T(1e-10)));
  const S grown =
      S(T(0.8)) * pow(size, S(T(0.75) * kBeta - exponent)) * pow(error_before, S(kBeta));
  const S shrunk = S(T(0.8)) * pow(size, S(-exponent));
  return select(taken, max(S(T(0.2)), min(grown, S(T(10)))), max(S(T(0.2)), min(shrunk, S(T(1)))));
}

// A first guess from |x|, |x_dot| and how x_dot changes along an Euler step; f = x_dot(at.t, x).
// `e`, `y` and `saved` are memory, n and shape.saved numbers.
template <class Law, class S>
CYCLOID_HD S first_length(const Tolerances& tolerances, int q, const LawPoint<Law, S>& at,
                          const S* x, const S* f, S* e, S* y, S* saved) {
  using T = Scalar<S>;
  const int n = at.shape.tangents;
  const S d0 = scaled_norm(tolerances, n, x, x, x), d1 = scaled_norm(tolerances, n, f, x, x);
  const S small(T(1e-5));
  const S h0 =
      min(select((d0 < small) | (d1 < small), S(T(1e-6)), S(T(0.01)) * d0 / d1), held(at.h));
  for (int i = 0; i < n; ++i) y[i] = x[i] + h0 * f[i];
  law_x_dot(at, at.t + h0, y, e, saved);
  for (int i = 0; i < n; ++i) e[i] -= f[i];
  const S d2 = scaled_norm(tolerances, n, e, x, x) / h0;
  const S most = max(d1, select(is_finite(d2), d2, S(T(0))));
  const S h1 = select(most > S(T(1e-15)), pow(S(T(0.01)) / most, S(T(1) / static_cast<T>(q))),
                      max(S(T(1e-6)), S(T(1e-3)) * h0));
  return min(min(S(T(100)) * h0, h1), held(at.h));
}

}  // namespace cycloid::inline system
