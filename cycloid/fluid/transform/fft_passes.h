// fft_passes: the passes of which a real transform of a box is made, in lanes.
//
//   columns   along axis 0, real numbers on one side. Lanes are neighbouring columns. Two groups of
//             W columns a, b make one complex transform of z = a + i b:
//               A_k = (Z_k + Z*_{n-k}) / 2,   B_k = (Z_k - Z*_{n-k}) / 2i                    (1)
//             so that no length is special.
//   middle    of three axes the second, complex; lanes along the third
//   rows      along the last axis, complex: W rows are transposed in registers, and leave in lanes
// Between them lies `half`, coefficients along axis 0 and numbers along the others.
#pragma once

#include <utility>

#include "cycloid/fluid/transform/box_view.h"
#include "cycloid/fluid/transform/fft_lanes.h"

namespace cycloid::inline fluid {

template <class S>
inline constexpr int kLanesOf = static_cast<int>(sizeof(S) / sizeof(Scalar<S>));

// Numbers in lanes; those from `count` on are zero, or stay unwritten.
template <class S>
CYCLOID_INLINE S load_lanes(const Scalar<S>* p, int count) {
  if constexpr (kLanesOf<S> == 1) {
    return count > 0 ? *p : S(0);
  } else {
    if (count >= kLanesOf<S>) return S::load(p);
    S x(0);
    for (int l = 0; l < count; ++l) set_lane(x, l, p[l]);
    return x;
  }
}
template <class S>
CYCLOID_INLINE void store_lanes(Scalar<S>* p, const S& x, int count) {
  if constexpr (kLanesOf<S> == 1) {
    if (count > 0) *p = x;
  } else {
    if (count >= kLanesOf<S>) return x.store(p);
    for (int l = 0; l < count; ++l) p[l] = lane(x, l);
  }
}
template <class S>
CYCLOID_INLINE S load_all(const Scalar<S>* p) {
  return load_lanes<S>(p, kLanesOf<S>);
}
template <class S>
CYCLOID_INLINE void store_all(Scalar<S>* p, const S& x) {
  store_lanes(p, x, kLanesOf<S>);
}

// Columns of a block of 2 W: where it begins, and how many each group has.
template <class S>
struct ColumnBlock {
  static constexpr int W = kLanesOf<S>;
  int first, count_a, count_b;
  ColumnBlock(int columns, int block)
      : first(2 * W * block), count_a(columns - first), count_b(columns - first - W) {}
};

// Node values of a block, from its coefficients along axis 0. Those of group a come to lie in
// z[j].im, of group b in z[j].re: the transform is the forward one, with the parts exchanged.
template <class S>
void columns_to_nodes(const BoxView<Scalar<S>>& v, int block, const Scalar<S>* half,
                      ComplexLane<S>* z, ComplexLane<S>* t) {
  constexpr int W = kLanesOf<S>;
  const int n = v.axis[0].n;
  const int* const place = v.axis[0].place;
  const Scalar<S>* const from = half + 2 * W * block;
  // Beyond the columns lie leavings of other passes, which must not touch their partners in a.
  const int count_b = ColumnBlock<S>(v.columns, block).count_b;
  for (int k = v.kept0; k <= n - v.kept0; ++k) z[place[k]] = {S(0), S(0)};
  for (int k = 0; k < v.kept0; ++k) {
    const Scalar<S>* const row = from + static_cast<std::ptrdiff_t>(k) * v.half_step;
    const S ar = load_all<S>(row), ai = load_all<S>(row + v.half_part);
    const S br = load_lanes<S>(row + W, count_b),
            bi = load_lanes<S>(row + v.half_part + W, count_b);
    if (k == 0 || 2 * k == n) {
      z[place[k]] = {br, ar};
    } else {
      z[place[k]] = {ai + br, ar - bi};
      z[place[n - k]] = {br - ai, ar + bi};
    }
  }
  fft_in_place(v.axis[0], z, t);
}

// Coefficients along axis 0 of a block (1), from node values: of group a in z[place[j]].re, of
// group b in z[place[j]].im.
template <class S>
void nodes_to_columns(const BoxView<Scalar<S>>& v, int block, ComplexLane<S>* z, Scalar<S>* half,
                      ComplexLane<S>* t) {
  constexpr int W = kLanesOf<S>;
  const int n = v.axis[0].n;
  Scalar<S>* const to = half + 2 * W * block;
  const S s = S(Scalar<S>(0.5) * v.scale);
  fft_in_place(v.axis[0], z, t);
  for (int k = 0; k < v.kept0; ++k) {
    const ComplexLane<S> p = z[k], m = z[k == 0 ? 0 : n - k];
    Scalar<S>* const row = to + static_cast<std::ptrdiff_t>(k) * v.half_step;
    store_all(row, s * (p.re + m.re));
    store_all(row + v.half_part, s * (p.im - m.im));
    if (v.dimensions == 1) continue;
    store_all(row + W, s * (p.im + m.im));
    store_all(row + v.half_part + W, s * (m.re - p.re));
  }
}

// Real numbers x (n_0, columns) to and from the coefficients along axis 0.
template <class S>
void columns_forward(const BoxView<Scalar<S>>& v, int block, const Scalar<S>* x, Scalar<S>* half,
                     ComplexLane<S>* z, ComplexLane<S>* t) {
  const ColumnBlock<S> b(v.columns, block);
  for (int j = 0; j < v.axis[0].n; ++j) {
    const Scalar<S>* const row = x + static_cast<std::ptrdiff_t>(j) * v.columns + b.first;
    z[v.axis[0].place[j]] = {load_lanes<S>(row, b.count_a), load_lanes<S>(row + b.W, b.count_b)};
  }
  nodes_to_columns(v, block, z, half, t);
}
template <class S>
void columns_inverse(const BoxView<Scalar<S>>& v, int block, const Scalar<S>* half, Scalar<S>* x,
                     ComplexLane<S>* z, ComplexLane<S>* t) {
  const ColumnBlock<S> b(v.columns, block);
  columns_to_nodes(v, block, half, z, t);
  for (int j = 0; j < v.axis[0].n; ++j) {
    Scalar<S>* const row = x + static_cast<std::ptrdiff_t>(j) * v.columns + b.first;
    store_lanes(row, z[j].im, b.count_a);
    store_lanes(row + b.W, z[j].re, b.count_b);
  }
}

// W × W numbers, transposed.
template <int kStep, class Register, int... l>
CYCLOID_INLINE void exchange(Register& a, Register& b, std::integer_sequence<int, l...>) {
  constexpr int W = sizeof...(l);
  const Register low = __builtin_shufflevector(a, b, ((l & kStep) ? W + l - kStep : l)...);
  const Register high = __builtin_shufflevector(a, b, ((l & kStep) ? W + l : l + kStep)...);
  a = low, b = high;
}
template <int kStep, class S>
CYCLOID_INLINE void transpose_from(S* t) {
  constexpr int W = kLanesOf<S>;
  if constexpr (kStep < W) {
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) {
      if (!(i & kStep)) {
        exchange<kStep>(t[i].r[0], t[i + kStep].r[0], std::make_integer_sequence<int, W>{});
      }
    }
    transpose_from<2 * kStep>(t);
  }
}

// W rows (row, 2, pitch) of complex numbers along the last axis, to coefficients in lanes
// X (kept_last, 2, row_pitch), and back.
template <class S>
void rows_forward(const BoxView<Scalar<S>>& v, int block, const Scalar<S>* rows, Scalar<S>* X,
                  ComplexLane<S>* z, ComplexLane<S>* t) {
  constexpr int W = kLanesOf<S>;
  const FftView<Scalar<S>>& axis = v.axis[v.dimensions - 1];
  const std::ptrdiff_t step = 2 * v.last_pitch;
  const Scalar<S>* const from = rows + W * block * step;
  for (int j = 0; j < axis.n; j += W) {
    S re[W], im[W];
    for (int i = 0; i < W; ++i) {
      re[i] = S::load(from + i * step + j);
      im[i] = S::load(from + i * step + v.last_pitch + j);
    }
    transpose_from<1>(re), transpose_from<1>(im);
    const int end = axis.n - j < W ? axis.n - j : W;
    for (int i = 0; i < end; ++i) z[axis.place[j + i]] = {re[i], im[i]};
  }
  fft_in_place(axis, z, t);
  for (int s = 0; s < v.kept_last; ++s) {
    Scalar<S>* const to = X + s * (2 * v.row_pitch) + W * block;
    const ComplexLane<S>& c = z[v.last_place[s]];
    c.re.store(to), c.im.store(to + v.row_pitch);
  }
}
template <class S>
void rows_inverse(const BoxView<Scalar<S>>& v, int block, const Scalar<S>* X, Scalar<S>* rows,
                  ComplexLane<S>* z, ComplexLane<S>* t) {
  constexpr int W = kLanesOf<S>;
  const FftView<Scalar<S>>& axis = v.axis[v.dimensions - 1];
  if (v.kept_last < axis.n) {
    for (int j = 0; j < axis.n; ++j) z[j] = {S(0), S(0)};
  }
  for (int s = 0; s < v.kept_last; ++s) {
    const Scalar<S>* const from = X + s * (2 * v.row_pitch) + W * block;
    z[axis.place[v.last_place[s]]] = {S::load(from + v.row_pitch), S::load(from)};
  }
  fft_in_place(axis, z, t);
  const std::ptrdiff_t step = 2 * v.last_pitch;
  Scalar<S>* const to = rows + W * block * step;
  for (int j = 0; j < axis.n; j += W) {
    S re[W], im[W];
    for (int i = 0; i < W; ++i) {
      const bool inside = j + i < axis.n;
      re[i] = inside ? z[j + i].im : S(0);
      im[i] = inside ? z[j + i].re : S(0);
    }
    transpose_from<1>(re), transpose_from<1>(im);
    for (int i = 0; i < W; ++i) {
      re[i].store(to + i * step + j);
      im[i].store(to + i * step + v.last_pitch + j);
    }
  }
}

// Of three axes the second: half (k_0, 2, n_1 n_2) to rows (k_0, k_1, 2, n_2), W numbers along the
// third at a time, and back.
template <class S>
void middle_forward(const BoxView<Scalar<S>>& v, int k0, const Scalar<S>* half, Scalar<S>* rows,
                    ComplexLane<S>* z, ComplexLane<S>* t) {
  constexpr int W = kLanesOf<S>;
  const FftView<Scalar<S>>& axis = v.axis[1];
  const int n2 = v.axis[2].n;
  const Scalar<S>* const from = half + k0 * v.half_step;
  for (int c = 0; c < n2; c += W) {
    for (int j = 0; j < axis.n; ++j) {
      const Scalar<S>* const p = from + static_cast<std::ptrdiff_t>(j) * n2 + c;
      z[axis.place[j]] = {load_lanes<S>(p, n2 - c), load_lanes<S>(p + v.half_part, n2 - c)};
    }
    fft_in_place(axis, z, t);
    for (int s = 0; s < v.kept1; ++s) {
      Scalar<S>* const to =
          rows + (static_cast<std::ptrdiff_t>(k0) * v.kept1 + s) * (2 * v.last_pitch) + c;
      const ComplexLane<S>& x = z[v.middle_place[s]];
      x.re.store(to), x.im.store(to + v.last_pitch);
    }
  }
}
template <class S>
void middle_inverse(const BoxView<Scalar<S>>& v, int k0, const Scalar<S>* rows, Scalar<S>* half,
                    ComplexLane<S>* z, ComplexLane<S>* t) {
  constexpr int W = kLanesOf<S>;
  const FftView<Scalar<S>>& axis = v.axis[1];
  const int n2 = v.axis[2].n;
  Scalar<S>* const to = half + k0 * v.half_step;
  for (int c = 0; c < n2; c += W) {
    if (v.kept1 < axis.n) {
      for (int j = 0; j < axis.n; ++j) z[j] = {S(0), S(0)};
    }
    for (int s = 0; s < v.kept1; ++s) {
      const Scalar<S>* const from =
          rows + (static_cast<std::ptrdiff_t>(k0) * v.kept1 + s) * (2 * v.last_pitch) + c;
      z[axis.place[v.middle_place[s]]] = {S::load(from + v.last_pitch), S::load(from)};
    }
    fft_in_place(axis, z, t);
    for (int j = 0; j < axis.n; ++j) {
      Scalar<S>* const p = to + static_cast<std::ptrdiff_t>(j) * n2 + c;
      store_lanes(p, z[j].im, n2 - c), store_lanes(p + v.half_part, z[j].re, n2 - c);
    }
  }
}

}  // namespace cycloid::inline fluid
