#include <algorithm>

#include "cycloid/math/pack.h"
#include "cycloid/optimise/planning/products.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

constexpr int kWide = 2 * kNativeLanes<double>, kNarrow = kNativeLanes<double>, kRows = 4;

// Rows i..i+R, columns j..j+width of C. Entry (i, l) of the left factor is at left[i di + l dl].
template <int R, class Columns>
void add_tile(int k, const double* left, int di, int dl, const double* B, int n, double* C) {
  Columns sum[R];
  for (int r = 0; r < R; ++r) {
    if constexpr (std::is_same_v<Columns, double>) {
      sum[r] = C[r * n];
    } else {
      sum[r] = Columns::load(C + r * n);
    }
  }
  for (int l = 0; l < k; ++l) {
    Columns row;
    if constexpr (std::is_same_v<Columns, double>) {
      row = B[l * n];
    } else {
      row = Columns::load(B + l * n);
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[r] += Columns(left[r * di + l * dl]) * row;
  }
  for (int r = 0; r < R; ++r) {
    if constexpr (std::is_same_v<Columns, double>) {
      C[r * n] = sum[r];
    } else {
      sum[r].store(C + r * n);
    }
  }
}

// The last `rest` columns by the tile that ends with them, whose other columns are left alone.
template <int R>
void add_tail(int k, const double* left, int di, int dl, const double* B, int n, double* C,
              int rest) {
  using Columns = Pack<double, kNarrow>;
  Columns sum[R];
  for (int r = 0; r < R; ++r) sum[r] = Columns(0.0);
  for (int l = 0; l < k; ++l) {
    const Columns row = Columns::load(B + l * n + rest - kNarrow);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[r] += Columns(left[r * di + l * dl]) * row;
  }
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < rest; ++j) C[r * n + j] += lane(sum[r], kNarrow - rest + j);
  }
}

// `columns` of the columns of B and C, whose rows are n apart.
template <int R>
void add_rows(int columns, int n, int k, const double* left, int di, int dl, const double* B,
              double* C) {
  int j = 0;
  for (; j + kWide <= columns; j += kWide) {
    add_tile<R, Pack<double, kWide>>(k, left, di, dl, B + j, n, C + j);
  }
  for (; j + kNarrow <= columns; j += kNarrow) {
    add_tile<R, Pack<double, kNarrow>>(k, left, di, dl, B + j, n, C + j);
  }
  if (j == columns) return;
  if (j > 0) return add_tail<R>(k, left, di, dl, B + j, n, C + j, columns - j);
  for (; j < columns; ++j) add_tile<R, double>(k, left, di, dl, B + j, n, C + j);
}

void add_any(int m, int n, int k, const double* left, int di, int dl, const double* B, double* C) {
  int i = 0;
  for (; i + kRows <= m; i += kRows) add_rows<kRows>(n, n, k, left + i * di, di, dl, B, C + i * n);
  for (; i < m; ++i) add_rows<1>(n, n, k, left + i * di, di, dl, B, C + i * n);
}

// (3): rows from their diagonal on, but never less than a tile.
void add_upper(int n, int k, const double* A, const double* B, double* C) {
  const auto first = [&](int i) { return n > kNarrow ? std::min(i, n - kNarrow) : 0; };
  int i = 0;
  for (; i + kRows <= n; i += kRows) {
    const int j = first(i);
    add_rows<kRows>(n - j, n, k, A + i, 1, n, B + j, C + i * n + j);
  }
  for (; i < n; ++i)
    add_rows<1>(n - first(i), n, k, A + i, 1, n, B + first(i), C + i * n + first(i));
  for (int r = 1; r < n; ++r) {
    for (int j = 0; j < r; ++j) C[r * n + j] = C[j * n + r];
  }
}

}  // namespace

Products products() {
  return {[](int m, int n, int k, const double* A, const double* B, double* C) {
            add_any(m, n, k, A, k, 1, B, C);  // (1)
          },
          [](int m, int n, int k, const double* A, const double* B, double* C) {
            add_any(m, n, k, A, 1, m, B, C);  // (2)
          },
          add_upper};
}

}  // namespace cycloid::isa::CYCLOID_ISA
