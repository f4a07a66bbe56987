// Small dense square systems in lanes: LU with row exchanges, the solves with A and Aᵀ, and the
// pullback of the solve.
//
//   P A = L U                   each lane exchanges rows as its own pivots ask            (1)
//   x = A⁻¹ b                                                                            (2)
//   y = A⁻ᵀ x̄,   b̄ += y,   Ā -= y xᵀ                                                      (3)
// (3) is the implicit function theorem: one solve with the factor at hand. The factorisation itself
// is never differentiated.
//
// Storage: n×n, row by row; the factor overwrites A: U with 1/U_kk on its diagonal, L below it
// without its unit diagonal. `exchanged` has n numbers: the row that came to place k, as a number,
// since lanes differ. lu_factor returns the lanes in which it succeeded: a pivot fails when it is
// zero or not finite, and is then replaced by one; what is solved in that lane means nothing.
#pragma once

#include "cycloid/math/scalar.h"

namespace cycloid::inline math {

// Exchanges a and b where m.
template <class S>
CYCLOID_INLINE void exchange_where(const Mask<S>& m, S& a, S& b) {
  const S c = select(m, b, a);
  b = select(m, a, b);
  a = c;
}

// The row at or below k with the largest entry of column k, in each lane.
template <class S>
CYCLOID_INLINE S pivot_row(int n, int k, const S* a) {
  S row(k), size = abs(a[k * n + k]);
  for (int i = k + 1; i < n; ++i) {
    const S other = abs(a[i * n + k]);
    const Mask<S> larger = other > size;
    size = select(larger, other, size);
    row = select(larger, S(i), row);
  }
  return row;
}

template <class S>
CYCLOID_HD Mask<S> lu_factor(int n, S* a, S* exchanged) {
  Mask<S> ok = Mask<S>(true);
  for (int k = 0; k < n; ++k) {
    exchanged[k] = pivot_row(n, k, a);
    for (int i = k + 1; i < n; ++i) {
      const Mask<S> here = exchanged[k] == S(i);
      if (!any(here)) continue;
      for (int j = 0; j < n; ++j) exchange_where(here, a[k * n + j], a[i * n + j]);
    }
    const S pivot = a[k * n + k];
    const Mask<S> good = (abs(pivot) > S(0)) & is_finite(pivot);
    ok = ok & good;
    a[k * n + k] = S(1) / select(good, pivot, S(1));
    for (int i = k + 1; i < n; ++i) {
      const S l = a[i * n + k] * a[k * n + k];  // (1)
      a[i * n + k] = l;
      for (int j = k + 1; j < n; ++j) a[i * n + j] -= l * a[k * n + j];
    }
  }
  return ok;
}

// Turns b into x = A⁻¹ b, (2).
template <class S>
CYCLOID_HD void lu_solve(int n, const S* factor, const S* exchanged, S* b) {
  for (int k = 0; k < n; ++k) {
    for (int i = k + 1; i < n; ++i) {
      exchange_where(exchanged[k] == S(i), b[k], b[i]);
    }
  }
  for (int i = 1; i < n; ++i) {
    for (int k = 0; k < i; ++k) b[i] -= factor[i * n + k] * b[k];
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) b[i] -= factor[i * n + k] * b[k];
    b[i] *= factor[i * n + i];
  }
}

// Turns b into A⁻ᵀ b: Uᵀ, Lᵀ, then the exchanges in reverse.
template <class S>
CYCLOID_HD void lu_solve_transposed(int n, const S* factor, const S* exchanged, S* b) {
  for (int i = 0; i < n; ++i) {
    b[i] *= factor[i * n + i];
    for (int k = i + 1; k < n; ++k) b[k] -= factor[i * n + k] * b[i];
  }
  for (int i = n - 1; i > 0; --i) {
    for (int k = 0; k < i; ++k) b[k] -= factor[i * n + k] * b[i];
  }
  for (int k = n - 1; k >= 0; --k) {
    for (int i = k + 1; i < n; ++i) {
      exchange_where(exchanged[k] == S(i), b[k], b[i]);
    }
  }
}

// x: the solution; work: n numbers, receives y.
template <class S>
CYCLOID_HD void lu_solve_pullback(int n, const S* factor, const S* exchanged, const S* x,
                                  const S* x_bar, S* a_bar, S* b_bar, S* work) {
  for (int i = 0; i < n; ++i) work[i] = x_bar[i];
  lu_solve_transposed(n, factor, exchanged, work);
  for (int i = 0; i < n; ++i) {  // (3)
    b_bar[i] += work[i];
    for (int j = 0; j < n; ++j) a_bar[i * n + j] -= work[i] * x[j];
  }
}

}  // namespace cycloid::inline math
