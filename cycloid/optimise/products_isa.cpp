#include "cycloid/math/pack.h"
#include "cycloid/optimise/products.h"

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

template <int R>
void add_rows(int n, int k, const double* left, int di, int dl, const double* B, double* C) {
  int j = 0;
  for (; j + kWide <= n; j += kWide) {
    add_tile<R, Pack<double, kWide>>(k, left, di, dl, B + j, n, C + j);
  }
  for (; j + kNarrow <= n; j += kNarrow) {
    add_tile<R, Pack<double, kNarrow>>(k, left, di, dl, B + j, n, C + j);
  }
  for (; j < n; ++j) add_tile<R, double>(k, left, di, dl, B + j, n, C + j);
}

void add_any(int m, int n, int k, const double* left, int di, int dl, const double* B, double* C) {
  int i = 0;
  for (; i + kRows <= m; i += kRows) add_rows<kRows>(n, k, left + i * di, di, dl, B, C + i * n);
  for (; i < m; ++i) add_rows<1>(n, k, left + i * di, di, dl, B, C + i * n);
}

}  // namespace

Products products() {
  return {[](int m, int n, int k, const double* A, const double* B, double* C) {
            add_any(m, n, k, A, k, 1, B, C);  // (1)
          },
          [](int m, int n, int k, const double* A, const double* B, double* C) {
            add_any(m, n, k, A, 1, m, B, C);  // (2)
          }};
}

}  // namespace cycloid::isa::CYCLOID_ISA
