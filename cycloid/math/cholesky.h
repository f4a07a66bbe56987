// Small dense symmetric systems in lanes: LLᵀ, LDLᵀ, the solve, and the pullback of the solve.
//
//   A = L Lᵀ                    A positive definite                                  (1)
//   A = L D Lᵀ                  L with unit diagonal; no square roots, D of any sign  (2)
//   x = A⁻¹ b                                                                        (3)
//   y = A⁻¹ x̄,   b̄ += y,   Ā -= ½ (y xᵀ + x yᵀ)                                       (4)
// (4) is the implicit function theorem: one solve with the factor at hand. The factorisation itself
// is never differentiated.
//
// Storage: n×n, row by row. Only the lower triangle of A is read, and the factor overwrites it; the
// entries above the diagonal are neither read nor written. The factor's diagonal holds 1/L_jj, or
// 1/D_j, so that a solve has no divisions. Accordingly A_bar is the cotangent of the numbers in the
// lower triangle, each of which stands at two places of A: entry (i,j) below the diagonal receives
// -(y_i x_j + y_j x_i), the diagonal -y_i x_i, the upper triangle nothing. (Halve what lies below
// the diagonal and mirror it for the symmetric form (4).)
//
// A factor function returns the lanes in which it succeeded. A pivot fails when it is not positive,
// in (2) not different from zero, by more than n ε Σ|terms|, the rounding error of the sum that it
// is. So A may be badly scaled, but not singular to working precision. NaN and infinity in A fail
// too. A failed pivot is replaced by one; what is then solved in that lane means nothing. (2) does
// not exchange rows: an indefinite A with a small leading minor loses digits.
#pragma once

#include <limits>

#include "cycloid/math/matrix.h"

namespace cycloid::inline math {

// Pivot p, the remainder of a sum of terms of total size `size`, stands out from rounding.
template <class S>
CYCLOID_INLINE Mask<S> pivot_stands_out(int n, const S& p, const S& size) {
  return p > size * S(Scalar<S>(n) * std::numeric_limits<Scalar<S>>::epsilon());
}

template <class S>
CYCLOID_INLINE Mask<S> llt_factor(int n, S* a) {
  Mask<S> ok = Mask<S>(true);
  for (int i = 0; i < n; ++i) {
    S* row = a + i * n;
    S pivot = row[i];
    for (int j = 0; j < i; ++j) {
      const S* other = a + j * n;
      S sum = row[j];
      for (int k = 0; k < j; ++k) sum -= row[k] * other[k];
      row[j] = sum * other[j];  // (1)
      pivot -= row[j] * row[j];
    }
    const Mask<S> stands_out = pivot_stands_out(n, pivot, abs(row[i]));
    ok = ok & stands_out;
    row[i] = S(1) / sqrt(select(stands_out, pivot, S(1)));
  }
  return ok;
}

// Turns b into x = A⁻¹ b.
template <class S>
CYCLOID_INLINE void llt_solve(int n, const S* factor, S* b) {
  for (int i = 0; i < n; ++i) {
    const S* row = factor + i * n;
    S sum = b[i];
    for (int k = 0; k < i; ++k) sum -= row[k] * b[k];
    b[i] = sum * row[i];
  }
  for (int i = n - 1; i >= 0; --i) {
    const S* row = factor + i * n;
    b[i] *= row[i];
    for (int k = 0; k < i; ++k) b[k] -= row[k] * b[i];
  }
}

template <class S>
CYCLOID_INLINE Mask<S> ldlt_factor(int n, S* a) {
  Mask<S> ok = Mask<S>(true);
  for (int i = 0; i < n; ++i) {
    S* row = a + i * n;
    for (int j = 1; j < i; ++j) {  // row[j] = L_ij D_j until the pivot is known
      const S* other = a + j * n;
      for (int k = 0; k < j; ++k) row[j] -= row[k] * other[k];
    }
    S pivot = row[i], size = abs(row[i]);
    for (int j = 0; j < i; ++j) {
      const S l = row[j] * a[j * n + j];  // (2)
      pivot -= row[j] * l;
      size += abs(row[j] * l);
      row[j] = l;
    }
    const Mask<S> stands_out = pivot_stands_out(n, abs(pivot), size);
    ok = ok & stands_out;
    row[i] = S(1) / select(stands_out, pivot, S(1));
  }
  return ok;
}

// Turns b into x = A⁻¹ b.
template <class S>
CYCLOID_INLINE void ldlt_solve(int n, const S* factor, S* b) {
  for (int i = 1; i < n; ++i) {
    const S* row = factor + i * n;
    for (int k = 0; k < i; ++k) b[i] -= row[k] * b[k];
  }
  for (int i = 0; i < n; ++i) b[i] *= factor[i * n + i];
  for (int i = n - 1; i > 0; --i) {
    const S* row = factor + i * n;
    for (int k = 0; k < i; ++k) b[k] -= row[k] * b[i];
  }
}

// (4) once y is known.
template <class S>
CYCLOID_INLINE void add_solve_cotangents(int n, const S* x, const S* y, S* a_bar, S* b_bar) {
  for (int i = 0; i < n; ++i) {
    b_bar[i] += y[i];
    S* row = a_bar + i * n;
    for (int j = 0; j < i; ++j) row[j] -= y[i] * x[j] + y[j] * x[i];
    row[i] -= y[i] * x[i];
  }
}

template <class S, int N>
CYCLOID_INLINE void add_solve_cotangents(const Vec<S, N>& x, const Vec<S, N>& y,
                                         Mat<S, N, N>& a_bar, Vec<S, N>& b_bar) {
  S x_array[N], y_array[N], b_bar_array[N];
  store(x_array, x), store(y_array, y), store(b_bar_array, b_bar);
  add_solve_cotangents(N, x_array, y_array, a_bar.e, b_bar_array);
  b_bar = load_vec<N>(b_bar_array);
}

// x: the solution; work: n numbers, receives y.
template <class S>
CYCLOID_INLINE void llt_solve_pullback(int n, const S* factor, const S* x, const S* x_bar, S* a_bar,
                                       S* b_bar, S* work) {
  for (int i = 0; i < n; ++i) work[i] = x_bar[i];
  llt_solve(n, factor, work);
  add_solve_cotangents(n, x, work, a_bar, b_bar);  // (4)
}

template <class S>
CYCLOID_INLINE void ldlt_solve_pullback(int n, const S* factor, const S* x, const S* x_bar,
                                        S* a_bar, S* b_bar, S* work) {
  for (int i = 0; i < n; ++i) work[i] = x_bar[i];
  ldlt_solve(n, factor, work);
  add_solve_cotangents(n, x, work, a_bar, b_bar);  // (4)
}

// The same for sizes known at compile time.
template <class S, int N>
CYCLOID_HD Mask<S> llt_factor(Mat<S, N, N>& a) {
  return llt_factor(N, a.e);
}
template <class S, int N>
CYCLOID_HD Vec<S, N> llt_solve(const Mat<S, N, N>& factor, const Vec<S, N>& b) {
  S x[N];
  store(x, b);
  llt_solve(N, factor.e, x);
  return load_vec<N>(x);
}
template <class S, int N>
CYCLOID_HD void llt_solve_pullback(const Mat<S, N, N>& factor, const Vec<S, N>& x,
                                   const Vec<S, N>& x_bar, Mat<S, N, N>& a_bar, Vec<S, N>& b_bar) {
  const Vec<S, N> y = llt_solve(factor, x_bar);
  add_solve_cotangents(x, y, a_bar, b_bar);  // (4)
}
template <class S, int N>
CYCLOID_HD Mask<S> ldlt_factor(Mat<S, N, N>& a) {
  return ldlt_factor(N, a.e);
}
template <class S, int N>
CYCLOID_HD Vec<S, N> ldlt_solve(const Mat<S, N, N>& factor, const Vec<S, N>& b) {
  S x[N];
  store(x, b);
  ldlt_solve(N, factor.e, x);
  return load_vec<N>(x);
}
template <class S, int N>
CYCLOID_HD void ldlt_solve_pullback(const Mat<S, N, N>& factor, const Vec<S, N>& x,
                                    const Vec<S, N>& x_bar, Mat<S, N, N>& a_bar, Vec<S, N>& b_bar) {
  const Vec<S, N> y = ldlt_solve(factor, x_bar);
  add_solve_cotangents(x, y, a_bar, b_bar);  // (4)
}

}  // namespace cycloid::inline math
