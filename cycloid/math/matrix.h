// Mat<S,R,C> and Mat3<S>: small dense matrices, row by row, and their products.
//
//   y = A x,      Ā += ȳ xᵀ,      x̄ += Aᵀ ȳ                           (1)
//   C = A B,      Ā += C̄ Bᵀ,      B̄ += Aᵀ C̄                           (2)
// Transposition, outer products and sums are linear in each argument; their pullbacks are the same
// functions again: (Aᵀ)¯ is Āᵀ, and a bᵀ with cotangent C̄ gives ā += C̄ b, b̄ += C̄ᵀ a.
#pragma once

#include "cycloid/math/vector.h"

namespace cycloid::inline math {

template <class S, int R, int C>
struct Mat {
  S e[R * C];

  CYCLOID_INLINE S& operator()(int i, int j) { return e[i * C + j]; }
  CYCLOID_INLINE const S& operator()(int i, int j) const { return e[i * C + j]; }
};

template <class S>
using Mat3 = Mat<S, 3, 3>;

template <class S, int N>
CYCLOID_INLINE Mat<S, N, N> identity_matrix() {
  Mat<S, N, N> a{};
  for (int i = 0; i < N; ++i) a(i, i) = S(1);
  return a;
}

template <class S, int R, int C>
CYCLOID_INLINE Mat<S, R, C>& operator+=(Mat<S, R, C>& a, const Mat<S, R, C>& b) {
#pragma GCC unroll 16
  for (int k = 0; k < R * C; ++k) a.e[k] += b.e[k];
  return a;
}
template <class S, int R, int C>
CYCLOID_INLINE Mat<S, R, C>& operator-=(Mat<S, R, C>& a, const Mat<S, R, C>& b) {
#pragma GCC unroll 16
  for (int k = 0; k < R * C; ++k) a.e[k] -= b.e[k];
  return a;
}
template <class S, int R, int C>
CYCLOID_INLINE Mat<S, R, C> operator+(Mat<S, R, C> a, const Mat<S, R, C>& b) {
  return a += b;
}
template <class S, int R, int C>
CYCLOID_INLINE Mat<S, R, C> operator-(Mat<S, R, C> a, const Mat<S, R, C>& b) {
  return a -= b;
}
template <class S, int R, int C>
CYCLOID_INLINE Mat<S, R, C> operator*(Mat<S, R, C> a, const std::type_identity_t<S>& s) {
#pragma GCC unroll 16
  for (int k = 0; k < R * C; ++k) a.e[k] *= s;
  return a;
}
template <class S, int R, int C>
CYCLOID_INLINE Mat<S, R, C> operator*(const std::type_identity_t<S>& s, const Mat<S, R, C>& a) {
  return a * s;
}

template <class S, int R, int C>
CYCLOID_INLINE Mat<S, C, R> transpose(const Mat<S, R, C>& a) {
  Mat<S, C, R> t;
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) t(j, i) = a(i, j);
  }
  return t;
}

template <class S, int R, int C>
CYCLOID_INLINE Mat<S, R, C> outer(const Vec<S, R>& a, const Vec<S, C>& b) {
  Mat<S, R, C> m;
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) m(i, j) = a[i] * b[j];
  }
  return m;
}

template <class S, int R, int C>
CYCLOID_INLINE Vec<S, R> matrix_vector_product(const Mat<S, R, C>& a, const Vec<S, C>& x) {
  Vec<S, R> y;
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
    y[i] = a(i, 0) * x[0];
#pragma GCC unroll 8
    for (int j = 1; j < C; ++j) y[i] += a(i, j) * x[j];  // (1)
  }
  return y;
}

// Aᵀ x without forming Aᵀ.
template <class S, int R, int C>
CYCLOID_INLINE Vec<S, C> transpose_vector_product(const Mat<S, R, C>& a, const Vec<S, R>& x) {
  Vec<S, C> y;
#pragma GCC unroll 8
  for (int j = 0; j < C; ++j) {
    y[j] = a(0, j) * x[0];
#pragma GCC unroll 8
    for (int i = 1; i < R; ++i) y[j] += a(i, j) * x[i];
  }
  return y;
}

template <class S, int R, int C>
CYCLOID_INLINE void matrix_vector_product_pullback(const Mat<S, R, C>& a, const Vec<S, C>& x,
                                                   const Vec<S, R>& y_bar, Mat<S, R, C>& a_bar,
                                                   Vec<S, C>& x_bar) {
  a_bar += outer(y_bar, x);  // (1)
  x_bar += transpose_vector_product(a, y_bar);
}

template <class S, int R, int K, int C>
CYCLOID_INLINE Mat<S, R, C> matrix_product(const Mat<S, R, K>& a, const Mat<S, K, C>& b) {
  Mat<S, R, C> c;
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) {
      c(i, j) = a(i, 0) * b(0, j);
#pragma GCC unroll 8
      for (int k = 1; k < K; ++k) c(i, j) += a(i, k) * b(k, j);  // (2)
    }
  }
  return c;
}

template <class S, int R, int K, int C>
CYCLOID_INLINE void matrix_product_pullback(const Mat<S, R, K>& a, const Mat<S, K, C>& b,
                                            const Mat<S, R, C>& c_bar, Mat<S, R, K>& a_bar,
                                            Mat<S, K, C>& b_bar) {
  a_bar += matrix_product(c_bar, transpose(b));  // (2)
  b_bar += matrix_product(transpose(a), c_bar);
}

template <class S, int R, int C>
CYCLOID_INLINE Vec<S, R> operator*(const Mat<S, R, C>& a, const Vec<S, C>& x) {
  return matrix_vector_product(a, x);
}
template <class S, int R, int K, int C>
CYCLOID_INLINE Mat<S, R, C> operator*(const Mat<S, R, K>& a, const Mat<S, K, C>& b) {
  return matrix_product(a, b);
}

}  // namespace cycloid::inline math
