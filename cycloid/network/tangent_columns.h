// TangentColumns: columns of numbers with one tangent each, as an Ops of mlp_pass.h.
//
// Values and tangents are parted for the products, which are then those of matrix_product.h:
//   z = W h + b       ż = W ḣ + Ẇ h + ḃ                                      (1)
//   h̄ = Wᵀ p          h̄˙ = Wᵀ ṗ + Ẇᵀ p                                      (2)
//   W̄ += p hᵀ         W̄˙ += ṗ hᵀ + p ḣᵀ                                     (3)
// Constants (the features' waves) have no tangents. What is not a product is done number by number.
#pragma once

#include "cycloid/network/matrix_product.h"
#include "cycloid/network/mlp_block.h"

namespace cycloid::inline network {

struct TangentColumns {
  using Number = Tangent1;
  using Element = Tangent1;
  using Constant = double;
  using Weight = Tangent1;
  using Accumulator = Tangent1;
  static constexpr int W = kNativeLanes<double>;

  int columns = 1, widest = 1;
  double* plain = nullptr;  // plain_numbers

  static int padded(int n) { return (n + W - 1) / W * W; }
  // Four arrays of columns, one of them turned, and two of weights with their bias.
  static std::size_t plain_numbers(int widest, int columns) {
    const std::size_t wide = static_cast<std::size_t>(padded(widest)),
                      across = static_cast<std::size_t>(padded(columns));
    return 5 * wide * across + 2 * wide * (wide + 1) + W;
  }

  std::size_t room(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(columns);
  }
  template <class F>
  CYCLOID_INLINE void each(int n, F f) const {
    for (int i = 0; i < n * columns; ++i) f(i);
  }
  static CYCLOID_INLINE Tangent1 get(const Tangent1* a, int i) { return a[i]; }
  static CYCLOID_INLINE void put(Tangent1* a, int i, const Tangent1& v) { a[i] = v; }

  template <class U>
  void dense(const U* A, const U* b, int m, int n, const Tangent1* h, Tangent1* z) const {
    const int P = padded(columns);
    double *const hv = array(0), *const ht = array(1), *const zv = array(2), *const zt = array(3);
    double *const Av = weights(0), *const At = weights(1), *const bv = Av + m * n,
                  *const bt = At + m * n;
    part_columns(h, n, hv, ht);
    part(A, m * n, Av, At);
    if (b) part(b, m, bv, bt);
    product<double, true>(m, P, n, Av, n, hv, P, b ? bv : nullptr, zv, P, false);  // (1)
    product<double, true>(m, P, n, Av, n, ht, P, b ? bt : nullptr, zt, P, false);
    if constexpr (std::is_same_v<U, Tangent1>) {
      product<double, true>(m, P, n, At, n, hv, P, nullptr, zt, P, true);
    }
    join_columns(zv, zt, m, z);
  }
  template <class U>
  void dense_back(const U* A, int m, int n, const Tangent1* p, Tangent1* h_bar) const {
    const int P = padded(columns);
    double *const pv = array(0), *const pt = array(1), *const hv = array(2), *const ht = array(3);
    double *const Av = weights(0), *const At = weights(1);
    part_columns(p, m, pv, pt);
    part(A, m * n, Av, At);
    product<double, false>(n, P, m, Av, n, pv, P, nullptr, hv, P, false);  // (2)
    product<double, false>(n, P, m, Av, n, pt, P, nullptr, ht, P, false);
    if constexpr (std::is_same_v<U, Tangent1>) {
      product<double, false>(n, P, m, At, n, pv, P, nullptr, ht, P, true);
    }
    join_columns(hv, ht, n, h_bar);
  }
  void dense_add(const Tangent1* p, const Tangent1* h, int m, int n, Tangent1* bar) const {
    const int P = padded(columns), ldt = padded(n);
    double *const pv = array(0), *const pt = array(1), *const hv = array(2), *const ht = array(3),
                  *const turned = array(4);
    double *const own = weights(0), *const own_tan = weights(1);
    part_columns(p, m, pv, pt);
    part_columns(h, n, hv, ht);
    std::fill_n(own, m * n, 0.0);
    std::fill_n(own_tan, m * n, 0.0);
    transpose(n, P, hv, turned, ldt);
    product_add(m, n, P, pv, P, turned, ldt, own, n);  // (3)
    product_add(m, n, P, pt, P, turned, ldt, own_tan, n);
    transpose(n, P, ht, turned, ldt);
    product_add(m, n, P, pv, P, turned, ldt, own_tan, n);
    for (int i = 0; i < m * n; ++i) bar[i].value += own[i], bar[i].tangent[0] += own_tan[i];
  }
  void bias_add(const Tangent1* p, int m, Tangent1* bar) const {
    for (int o = 0; o < m; ++o) {
      for (int c = 0; c < columns; ++c) bar[o] += p[o * columns + c];
    }
  }

 private:
  double* array(int k) const { return plain + k * padded(widest) * padded(columns); }
  double* weights(int k) const { return array(5) + k * padded(widest) * (padded(widest) + 1); }

  static void part(const double* from, int n, double* value, double* tangent) {
    std::copy_n(from, n, value);
    std::fill_n(tangent, n, 0.0);
  }
  static void part(const Tangent1* from, int n, double* value, double* tangent) {
    for (int i = 0; i < n; ++i) value[i] = from[i].value, tangent[i] = from[i].tangent[0];
  }
  // Columns that fill up the registers are zeros.
  void part_columns(const Tangent1* from, int n, double* value, double* tangent) const {
    const int P = padded(columns);
    for (int i = 0; i < n; ++i) {
      part(from + i * columns, columns, value + i * P, tangent + i * P);
      std::fill_n(value + i * P + columns, P - columns, 0.0);
      std::fill_n(tangent + i * P + columns, P - columns, 0.0);
    }
  }
  void join_columns(const double* value, const double* tangent, int n, Tangent1* to) const {
    const int P = padded(columns);
    for (int i = 0; i < n; ++i) {
      for (int c = 0; c < columns; ++c) {
        Tangent1& own = to[i * columns + c];
        own.value = value[i * P + c], own.tangent[0] = tangent[i * P + c];
      }
    }
  }
};

}  // namespace cycloid::inline network
