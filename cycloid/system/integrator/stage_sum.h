// The state in which a stage of a Runge–Kutta method begins, from the slopes of the stages before.
//
//   X_i = x_i + h Σ_{j<s} a_j k_{j,i}      (1)
// a: the stage's row of the method's matrix; k (s, n) slopes; n tangents of a flat space.
#pragma once

#include "cycloid/base/host_device.h"

namespace cycloid::inline system {

template <class S>
CYCLOID_INLINE void stage_sum(const double* a, int s, int n, const S& h, const S* x, const S* k,
                              S* X) {
  for (int i = 0; i < n; ++i) {
    S sum(0);
    for (int j = 0; j < s; ++j) sum += S(a[j]) * k[j * n + i];
    X[i] = x[i] + h * sum;  // (1)
  }
}

// Adds to h_bar, x_bar (n) and k_bar (s, n).
template <class S>
CYCLOID_INLINE void stage_sum_pullback(const double* a, int s, int n, const S& h, const S* k,
                                       const S* X_bar, S& h_bar, S* x_bar, S* k_bar) {
  for (int i = 0; i < n; ++i) x_bar[i] += X_bar[i];
  for (int j = 0; j < s; ++j) {  // (1)
    S along(0);
    for (int i = 0; i < n; ++i) {
      along += X_bar[i] * k[j * n + i];
      k_bar[j * n + i] += S(a[j]) * h * X_bar[i];
    }
    h_bar += S(a[j]) * along;
  }
}

}  // namespace cycloid::inline system
