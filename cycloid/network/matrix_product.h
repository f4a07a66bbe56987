// Products of matrices in registers, and of a matrix and a vector.
//
//   C (M, N) = A (M, K) B (K, N) [+ c] [+ C],   C_mn = Σ_k A_mk B_kn, k rising                (1)
// A tile of C, kTileRows by two registers, stays in registers while k runs: for each k two
// registers of B, and a number of A in all lanes for each row. B's strip stays in the first-level
// cache while the tiles of its columns go by, A's rows come from the second. Every number of C is
// the same sum in the same order wherever it lies, so that a column's bits do not depend on its
// neighbours. A is given by rows (M, K) or by columns (K, M); B and C by rows, their columns in
// whole registers.
//
// Only for files that are compiled once per instruction set.
#pragma once

#include "cycloid/math/pack.h"

namespace cycloid::inline network {

template <class T>
using Lanes = Pack<T, kNativeLanes<T>>;

// Registers for tiles: 32 with AVX-512, else 16.
inline constexpr int kTileRows = kRegisterBytes == 64 ? 12 : 6;

template <class T, int kRows, int kRegisters, bool kByRows>
CYCLOID_INLINE void product_tile(int K, const T* A, int lda, const T* B, int ldb, const T* c, T* C,
                                 int ldc, bool add) {
  constexpr int W = kNativeLanes<T>;
  Lanes<T> sum[kRows][kRegisters];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) sum[r][v] = Lanes<T>(c ? c[r] : T(0));
  }
  for (int k = 0; k < K; ++k) {
    Lanes<T> b[kRegisters];
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) b[v] = Lanes<T>::load(B + k * ldb + v * W);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Lanes<T> a(kByRows ? A[r * lda + k] : A[k * lda + r]);
#pragma GCC unroll 4
      for (int v = 0; v < kRegisters; ++v) sum[r][v] = sum[r][v] + a * b[v];  // (1)
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) {
      T* const out = C + r * ldc + v * W;
      (add ? Lanes<T>::load(out) + sum[r][v] : sum[r][v]).store(out);
    }
  }
}

// The rows of one strip of columns, kRegisters wide.
template <class T, int kRegisters, bool kByRows>
inline void product_strip(int M, int K, const T* A, int lda, const T* B, int ldb, const T* c, T* C,
                          int ldc, bool add) {
  const auto tiles = [&]<int kRows>() {
    for (; M >= kRows; M -= kRows) {
      product_tile<T, kRows, kRegisters, kByRows>(K, A, lda, B, ldb, c, C, ldc, add);
      A += kByRows ? kRows * lda : kRows;
      C += kRows * ldc;
      if (c) c += kRows;
    }
  };
  if constexpr (kRegisters <= 2) {
    tiles.template operator()<kTileRows>();
    if constexpr (kTileRows > 8) tiles.template operator()<8>();
    tiles.template operator()<4>();
  }
  tiles.template operator()<2>();
  tiles.template operator()<1>();
}

// (1); N in whole registers. c: (M), added to each column, or null.
template <class T, bool kByRows>
inline void product(int M, int N, int K, const T* A, int lda, const T* B, int ldb, const T* c, T* C,
                    int ldc, bool add) {
  constexpr int W = kNativeLanes<T>;
  int n = 0;
  if (M <= 2) {  // few sums at once: wider strips hide their latency
    for (; n + 4 * W <= N; n += 4 * W) {
      product_strip<T, 4, kByRows>(M, K, A, lda, B + n, ldb, c, C + n, ldc, add);
    }
  }
  for (; n + 2 * W <= N; n += 2 * W) {
    product_strip<T, 2, kByRows>(M, K, A, lda, B + n, ldb, c, C + n, ldc, add);
  }
  for (; n < N; n += W) {
    product_strip<T, 1, kByRows>(M, K, A, lda, B + n, ldb, c, C + n, ldc, add);
  }
}

// W rows of W numbers, transposed in registers: exchanges blocks of 1, 2, 4, … lanes.
template <class T, int kStep = 1>
CYCLOID_INLINE void transpose_registers(Lanes<T>* r) {
  constexpr int W = kNativeLanes<T>;
  if constexpr (kStep < W) {
    [&]<int... j>(std::integer_sequence<int, j...>) {
#pragma GCC unroll 16
      for (int i = 0; i < W; ++i) {
        if (i & kStep) continue;
        const auto a = r[i].r[0], b = r[i + kStep].r[0];
        r[i].r[0] = __builtin_shufflevector(a, b, (j & kStep ? W + j - kStep : j)...);
        r[i + kStep].r[0] = __builtin_shufflevector(a, b, (j & kStep ? W + j : j + kStep)...);
      }
    }(std::make_integer_sequence<int, W>{});
    transpose_registers<T, 2 * kStep>(r);
  }
}

// to (columns, ldt) = from (rows, columns)ᵀ; columns in whole registers, rows filled up with zeros
// to whole registers.
template <class T>
inline void transpose(int rows, int columns, const T* from, T* to, int ldt) {
  constexpr int W = kNativeLanes<T>;
  for (int i = 0; i < rows; i += W) {
    for (int c = 0; c < columns; c += W) {
      Lanes<T> block[W];
#pragma GCC unroll 16
      for (int r = 0; r < W; ++r) {
        block[r] = i + r < rows ? Lanes<T>::load(from + (i + r) * columns + c) : Lanes<T>(0);
      }
      transpose_registers<T>(block);
#pragma GCC unroll 16
      for (int r = 0; r < W; ++r) block[r].store(to + (c + r) * ldt + i);
    }
  }
}

// C (M, N) += A (M, K) B (K, ldb): as (1), with any N; B's rows go on with zeros to whole
// registers.
template <class T>
inline void product_add(int M, int N, int K, const T* A, int lda, const T* B, int ldb, T* C,
                        int ldc) {
  constexpr int W = kNativeLanes<T>;
  const int whole = N / W * W;
  product<T, true>(M, whole, K, A, lda, B, ldb, nullptr, C, ldc, true);
  if (whole == N) return;
  alignas(64) T edge[8 * W];
  for (int m = 0; m < M; m += 8) {
    const int rows = M - m < 8 ? M - m : 8;
    product<T, true>(rows, W, K, A + m * lda, lda, B + whole, ldb, nullptr, edge, W, false);
    for (int r = 0; r < rows; ++r) {
      for (int n = whole; n < N; ++n) C[(m + r) * ldc + n] += edge[r * W + n - whole];
    }
  }
}

// Calls f<lanes>(place) for n numbers: whole registers, then halves of one, then single numbers.
template <class T, int kWidth = kNativeLanes<T>, class F>
CYCLOID_INLINE void in_pieces(int n, int from, F&& f) {
  for (; from + kWidth <= n; from += kWidth) f.template operator()<kWidth>(from);
  if constexpr (kWidth > 1) in_pieces<T, kWidth / 2>(n, from, f);
}

template <class T, int kWidth>
struct PieceOf {
  using Type = Pack<T, kWidth>;
};
template <class T>
struct PieceOf<T, 1> {
  using Type = T;
};
template <class T, int kWidth>
using Piece = typename PieceOf<T, kWidth>::Type;

// Lane i: the sum over the lanes of r[i], of W registers. Neighbours are added crosswise, then
// pairs of pairs; r is used up.
template <int kStep = 1, class T, int W>
CYCLOID_INLINE Pack<T, W> sums_of_lanes(Pack<T, W>* r) {
  if constexpr (kStep == W) {
    return r[0];
  } else {
    [&]<int... j>(std::integer_sequence<int, j...>) {
#pragma GCC unroll 16
      for (int i = 0; i < W; i += 2 * kStep) {
        const auto a = r[i].r[0], b = r[i + kStep].r[0];
        r[i].r[0] = __builtin_shufflevector(a, b, (j & kStep ? W + j - kStep : j)...) +
                    __builtin_shufflevector(a, b, (j & kStep ? W + j : j + kStep)...);
      }
    }(std::make_integer_sequence<int, W>{});
    return sums_of_lanes<2 * kStep>(r);
  }
}

// matrix_vector of N <= kColumns columns, known to the compiler, which then takes rows as lanes.
template <class T, int kColumns>
inline void matrix_vector_narrow(int M, int N, const T* __restrict A, const T* __restrict x,
                                 const T* __restrict c, T* __restrict y) {
  if constexpr (kColumns > 1) {
    if (N < kColumns) return matrix_vector_narrow<T, kColumns - 1>(M, N, A, x, c, y);
  }
  for (int m = 0; m < M; ++m) {
    T sum = c ? c[m] : T(0);
#pragma GCC unroll 8
    for (int n = 0; n < kColumns; ++n) sum += A[m * kColumns + n] * x[n];
    y[m] = sum;
  }
}

// y (M) = A (M, N) x [+ c], rows of A one behind the other. W rows at a time: their sums are added
// across registers. The last rows and columns overlap those before them: rows
// are computed again, numbers of x that were taken already count as zeros.
template <class T>
inline void matrix_vector(int M, int N, const T* A, const T* x, const T* c, T* y) {
  constexpr int W = kNativeLanes<T>;
  if (N <= 4) return matrix_vector_narrow<T, 4>(M, N, A, x, c, y);
  if (M < W || N < W) {
    for (int m = 0; m < M; ++m) {
      const T* const row = A + m * N;
      Lanes<T> even(0), odd(0);
      int n = 0;
      for (; n + 2 * W <= N; n += 2 * W) {
        even = even + Lanes<T>::load(row + n) * Lanes<T>::load(x + n);
        odd = odd + Lanes<T>::load(row + n + W) * Lanes<T>::load(x + n + W);
      }
      T sum = c ? c[m] : T(0);
      if (n > 0) sum += sum_lanes(even + odd);
      for (; n < N; ++n) sum += row[n] * x[n];
      y[m] = sum;
    }
    return;
  }
  const int whole = N / W * W;
  alignas(64) T last[W];
  for (int i = 0; i < W; ++i) last[i] = N - W + i < whole ? T(0) : x[N - W + i];
  for (int m = 0; m < M; m += W) {
    if (m + W > M) m = M - W;
    Lanes<T> sum[W];
#pragma GCC unroll 16
    for (int r = 0; r < W; ++r) sum[r] = Lanes<T>(0);
    const T* const rows = A + m * N;
    for (int n = 0; n < whole; n += W) {
      const Lanes<T> v = Lanes<T>::load(x + n);
#pragma GCC unroll 16
      for (int r = 0; r < W; ++r) sum[r] = sum[r] + Lanes<T>::load(rows + r * N + n) * v;
    }
    if (whole < N) {
      const Lanes<T> v = Lanes<T>::load(last);
#pragma GCC unroll 16
      for (int r = 0; r < W; ++r) sum[r] = sum[r] + Lanes<T>::load(rows + r * N + N - W) * v;
    }
    const Lanes<T> y_m = sums_of_lanes(sum);
    (c ? y_m + Lanes<T>::load(c + m) : y_m).store(y + m);
  }
}

// Columns n to n + kRegisters W of y = Aᵀ x, in kSums sums each.
template <class T, int kRegisters, int kSums>
CYCLOID_INLINE void vector_matrix_strip(int M, int N, const T* A, const T* x, T* y, int n) {
  constexpr int W = kNativeLanes<T>;
  Lanes<T> sum[kSums][kRegisters];
#pragma GCC unroll 8
  for (int k = 0; k < kSums * kRegisters; ++k) sum[k / kRegisters][k % kRegisters] = Lanes<T>(0);
  int m = 0;
  const auto add = [&](int k) {
    const Lanes<T> a(x[m + k]);
    const T* const row = A + (m + k) * N + n;
#pragma GCC unroll 8
    for (int v = 0; v < kRegisters; ++v) {
      sum[k][v] = sum[k][v] + a * Lanes<T>::load(row + v * W);
    }
  };
  for (; m + kSums <= M; m += kSums) {
#pragma GCC unroll 4
    for (int k = 0; k < kSums; ++k) add(k);
  }
  for (; m < M; ++m) add(0);
#pragma GCC unroll 8
  for (int v = 0; v < kRegisters; ++v) {
#pragma GCC unroll 4
    for (int k = 1; k < kSums; ++k) sum[0][v] = sum[0][v] + sum[k][v];
    sum[0][v].store(y + n + v * W);
  }
}

// y (N) = Aᵀ x, A (M, N): sums stay in registers while the rows of A go by; the last columns
// overlap those before them.
template <class T>
inline void vector_matrix(int M, int N, const T* A, const T* x, T* y) {
  constexpr int W = kNativeLanes<T>;
  if (N < W) {
    for (int n = 0; n < N; ++n) {
      T sum[4] = {};
      int m = 0;
      for (; m + 4 <= M; m += 4) {
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) sum[k] += A[(m + k) * N + n] * x[m + k];
      }
      for (; m < M; ++m) sum[0] += A[m * N + n] * x[m];
      y[n] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    return;
  }
  int n = 0;
  for (; n + 8 * W <= N; n += 8 * W) vector_matrix_strip<T, 8, 1>(M, N, A, x, y, n);
  if (n + 4 * W <= N) vector_matrix_strip<T, 4, 2>(M, N, A, x, y, n), n += 4 * W;
  for (; n < N; n += W) vector_matrix_strip<T, 1, 4>(M, N, A, x, y, n + W <= N ? n : N - W);
}

// Rows of A that product_and_back takes at once: a register's lanes, or half of them.
template <class T>
inline constexpr int kSweepRows = kNativeLanes<T> < 8 ? kNativeLanes<T> : kRegisterBytes / 8;

template <class T>
CYCLOID_INLINE Pack<T, kSweepRows<T>> sums_of_rows(Lanes<T>* r) {
  if constexpr (kSweepRows<T> == kNativeLanes<T>) {
    return sums_of_lanes(r);
  } else {
    Pack<T, kSweepRows<T>> folded[kSweepRows<T>];
#pragma GCC unroll 8
    for (int k = 0; k < kSweepRows<T>; ++k) folded[k] = half<0>(r[k]) + half<1>(r[k]);
    return sums_of_lanes(folded);
  }
}

// One sweep of product_and_back over the columns: sums of the rows at `there` with x, and the rows
// at `back` times p onto y. `edge`: the last register of y, which overlaps the one before it.
template <bool kThere, class T>
CYCLOID_INLINE void sweep(int N, const T* there, const T* back, const T* x, const T* x_edge,
                          const T* p, T* y, T* edge, std::type_identity_t<Lanes<T>>* sum) {
  constexpr int W = kNativeLanes<T>, kRows = kSweepRows<T>;
  Lanes<T> factor[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) factor[r] = Lanes<T>(p[r]);
  const auto column = [&](int n, const T* from, T* to) {
    const Lanes<T> v = Lanes<T>::load(from);
    Lanes<T> even = Lanes<T>::load(to), odd(0);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      if constexpr (kThere) sum[r] = sum[r] + Lanes<T>::load(there + r * N + n) * v;
      Lanes<T>& part = r % 2 ? odd : even;
      part = part + factor[r] * Lanes<T>::load(back + r * N + n);
    }
    (even + odd).store(to);
  };
  const int whole = N / W * W;
  for (int n = 0; n < whole; n += W) column(n, x + n, y + n);
  if (whole < N) column(N - W, x_edge, edge);
}

// y (N) = Aᵀ p, p = f(A x + c), A (M, N) read once, for matrices that do not fit the first-level
// cache: f(z, m) gives p of rows m, m + 1, …, of which z are the sums. While the sums of some rows
// are formed, those before them, still close by, go back. The last rows and columns overlap as in
// matrix_vector. M >= kSweepRows, N >= W.
template <class T, class F>
inline void product_and_back(int M, int N, const T* A, const T* x, const T* c, F&& f, T* y) {
  constexpr int W = kNativeLanes<T>, kRows = kSweepRows<T>;
  const int whole = N / W * W;
  alignas(64) T x_edge[W], edge[W] = {}, p[kRows] = {};
  for (int i = 0; i < W; ++i) x_edge[i] = N - W + i < whole ? T(0) : x[N - W + i];
  for (int n = 0; n < whole; n += W) Lanes<T>(0).store(y + n);
  const T* before = A;  // times p, which is zero at first
  for (int m = 0; m < M; m += kRows) {
    const int first = m + kRows > M ? M - kRows : m;
    const T* const rows = A + first * N;
    Lanes<T> sum[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sum[r] = Lanes<T>(0);
    sweep<true>(N, rows, before, x, x_edge, p, y, edge, sum);
    using Rows = Pack<T, kRows>;
    f(sums_of_rows<T>(sum) + Rows::load(c + first), first).store(p);
    for (int r = 0; r < m - first; ++r) p[r] = T(0);
    before = rows;
  }
  sweep<false>(N, before, before, x, x_edge, p, y, edge, nullptr);
  for (int n = whole; n < N; ++n) y[n] = edge[n - (N - W)];
}

// C (M, N) += x yᵀ.
template <class T>
inline void outer_add(int M, int N, const T* x, const T* y, T* C) {
  for (int m = 0; m < M; ++m) {
    T* const row = C + m * N;
    in_pieces<T>(N, 0, [&]<int kWidth>(int i) {
      using P = Piece<T, kWidth>;
      store(row + i, P(load<P>(row + i) + P(x[m]) * load<P>(y + i)));
    });
  }
}

}  // namespace cycloid::inline network
