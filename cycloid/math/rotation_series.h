// The even functions that rotations are made of, accurate and smooth through zero.
//
// Stumpff's functions of x = θ²:
//   c_k(x) = Σ_j (-x)^j / (k + 2j)!                                   (1)
//   c0 = cos θ,  c1 = sin θ / θ,  c2 = (1 - cos θ) / θ²,  c3 = (θ - sin θ) / θ³
//   c_k = 1/k! - x c_{k+2}                                            (2)
//   dc_k/dx = -(c_{k+1} - k c_{k+2}) / 2                              (3)
// Up to x = 4 the series (1) gives c4 and c5, and (2) the others downwards, which cancels nothing;
// beyond, sine and cosine give c0 and c1, and (2) the others upwards. The split is where both lose
// few digits: upwards, an error ε of c1 becomes ε / x² in c5. Both sides are smooth expressions of
// x, so that dual numbers, nested too, go through them without loss.
//
//   arctangent_ratio(y) = atan(√y) / √y,   0 <= y <= tan²(π/8)         (4)
// by a polynomial through Chebyshev's points, exact at zero, off by 3e-18 (float: 2e-9) before
// rounding.
#pragma once

#include "cycloid/math/dual.h"

namespace cycloid::inline math {

template <class S>
struct Stumpff {
  S c0, c1, c2, c3, c4, c5;
};

constexpr double inverse_factorial(int n) {
  double product = 1;
  for (int k = 2; k <= n; ++k) product *= k;
  return 1 / product;
}

template <class S>
CYCLOID_HD Stumpff<S> stumpff(const S& x) {
  using T = Scalar<S>;
  constexpr T kSplit = 4;
  constexpr int kTerms = sizeof(T) == 4 ? 7 : 11;
  Stumpff<S> c;
  c.c4 = S(T(inverse_factorial(2 + 2 * kTerms)));
  c.c5 = S(T(inverse_factorial(3 + 2 * kTerms)));
#pragma GCC unroll 16
  for (int j = kTerms - 2; j >= 0; --j) {
    c.c4 = T(inverse_factorial(4 + 2 * j)) - x * c.c4;  // (1)
    c.c5 = T(inverse_factorial(5 + 2 * j)) - x * c.c5;
  }
  c.c3 = T(1.0 / 6.0) - x * c.c5;  // (2)
  c.c2 = T(0.5) - x * c.c4;
  c.c1 = T(1) - x * c.c3;
  c.c0 = T(1) - x * c.c2;

  const Mask<S> far = x > S(kSplit);
  if (any(far)) {
    const S safe = select(far, x, S(kSplit)), theta = sqrt(safe), inverse = T(1) / safe;
    Stumpff<S> f;
    sin_cos(theta, f.c1, f.c0);
    f.c1 = f.c1 / theta;
    f.c2 = (T(1) - f.c0) * inverse;  // (2)
    f.c3 = (T(1) - f.c1) * inverse;
    f.c4 = (T(0.5) - f.c2) * inverse;
    f.c5 = (T(1.0 / 6.0) - f.c3) * inverse;
    c.c0 = select(far, f.c0, c.c0), c.c1 = select(far, f.c1, c.c1);
    c.c2 = select(far, f.c2, c.c2), c.c3 = select(far, f.c3, c.c3);
    c.c4 = select(far, f.c4, c.c4), c.c5 = select(far, f.c5, c.c5);
  }
  return c;
}

template <class S>
CYCLOID_HD S arctangent_ratio(const S& y) {
  using T = Scalar<S>;
  constexpr bool kFloat = sizeof(T) == 4;
  constexpr int kDegree = kFloat ? 7 : 14;
  constexpr double kDouble[] = {1.0,
                                -0x1.5555555555555p-2,
                                0x1.9999999999999p-3,
                                -0x1.2492492492461p-3,
                                0x1.c71c71c718ce8p-4,
                                -0x1.745d1744b4a25p-4,
                                0x1.3b13b106c8c33p-4,
                                -0x1.11110ad464dfdp-4,
                                0x1.e1e0de6848e02p-5,
                                -0x1.af19a6c9bd78ep-5,
                                0x1.857f934965bd4p-5,
                                -0x1.5fc9004cb5437p-5,
                                0x1.3104d13506c3dp-5,
                                -0x1.bed97f0de4102p-6,
                                0x1.87da18e861544p-7};
  constexpr double kSingle[] = {1.0,           -0x1.555556p-2, 0x1.999998p-3, -0x1.2491c0p-3,
                                0x1.c6f684p-4, -0x1.71d396p-4, 0x1.24425cp-4, -0x1.4b3490p-5};
  S sum = S(T(kFloat ? kSingle[7] : kDouble[14]));
#pragma GCC unroll 16
  for (int k = kDegree - 1; k >= 0; --k) sum = sum * y + T(kFloat ? kSingle[k % 8] : kDouble[k]);
  return sum;  // (4)
}

}  // namespace cycloid::inline math
