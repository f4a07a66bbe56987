// The stiffness of a contact in its own space, n × n: an arrow and a matrix of rank one.
//
//       ⎡ k₀₀  c₁  c₂ … ⎤
//   K = ⎢ c₁   k₁       ⎥ + β z zᵀ        with z₀ = 0                     (1)
//       ⎣ c₂       k₂   ⎦
// Both cones have this form (pyramid_law.h with β = 0, elliptic_law.h), so that K times a vector
// takes 4 n products and not n².
#pragma once

#include "cycloid/math/scalar.h"

namespace cycloid::inline rigid {

template <class S, int n>
struct ConeStiffness {
  S diagonal[n];  // k
  S cross[n];     // c; c₀ is not used
  S z[n];         // z₀ is not used
  S beta;

  // y = K x.
  CYCLOID_INLINE void multiply(const S* x, S* y) const {
    y[0] = diagonal[0] * x[0];
    S along = S(0);
#pragma GCC unroll 6
    for (int k = 1; k < n; ++k) {
      y[0] += cross[k] * x[k];
      along += z[k] * x[k];
    }
    along *= beta;
#pragma GCC unroll 6
    for (int k = 1; k < n; ++k) y[k] = cross[k] * x[0] + diagonal[k] * x[k] + along * z[k];  // (1)
  }
  // The same where β = 0.
  CYCLOID_INLINE void multiply_arrow(const S* x, S* y) const {
    y[0] = diagonal[0] * x[0];
#pragma GCC unroll 6
    for (int k = 1; k < n; ++k) {
      y[0] += cross[k] * x[k];
      y[k] = cross[k] * x[0] + diagonal[k] * x[k];
    }
  }
};

// The force in contact space, and its stiffness.
template <class S, int n>
struct ConeResponse {
  S f[n];
  ConeStiffness<S, n> K;
};

}  // namespace cycloid::inline rigid
