// The factor of a symmetric positive definite matrix in 3×3 blocks, and solves with it.
//
//   H = Vᵀ V,   V lower triangular, H's pattern closed under elimination (block_pattern.h)    (1)
//   V_IIᵀ V_IJ = H_IJ - Σ_{K>I} V_KIᵀ V_KJ,   J ≤ I,  from the last block row to the first      (2)
//   H x = b:   Vᵀ y = b,   V x = y                                                            (3)
// Blocks of H are asked for one by one, each when its turn comes, and summed in registers: H itself
// is never stored. The diagonal of V holds reciprocals.
//
// A pivot is not let below n ε H_ii, the rounding error of the sum that it is: then V is the factor
// of a slightly stiffer matrix. One below zero shows an error of its own size, because earlier ones
// were nearly lost; its magnitude is taken, so that V does not outgrow H. NaN in a lane stays in
// that lane.
#pragma once

#include <limits>

#include "cycloid/base/device_stage.h"
#include "cycloid/math/dual.h"
#include "cycloid/rigid/solver/block_pattern.h"

namespace cycloid::inline rigid {

// The entries of a block, row by row.
template <class S>
struct BlockEntries {
  S e[kBlockEntries];

  // += aᵀ b for rows a and b of three, -= where `sign` is -1.
  template <int sign>
  CYCLOID_INLINE void add_outer(const S* a, const S* b) {
#pragma GCC unroll 3
    for (int i = 0; i < kBlock; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < kBlock; ++j) {
        if constexpr (sign > 0) {
          e[i * kBlock + j] += a[i] * b[j];
        } else {
          e[i * kBlock + j] -= a[i] * b[j];
        }
      }
    }
  }
  // -= Aᵀ B for blocks A and B.
  CYCLOID_INLINE void subtract_product(const S* A, const S* B) {
#pragma GCC unroll 3
    for (int k = 0; k < kBlock; ++k) add_outer<-1>(A + k * kBlock, B + k * kBlock);
  }
  CYCLOID_INLINE void clear() {
#pragma GCC unroll 9
    for (int i = 0; i < kBlockEntries; ++i) e[i] = S(0);
  }
  CYCLOID_INLINE void add_diagonal(const S* d) {
#pragma GCC unroll 3
    for (int i = 0; i < kBlock; ++i) e[i * (kBlock + 1)] += d[i];
  }
  CYCLOID_INLINE void load(const S* from) {
#pragma GCC unroll 9
    for (int i = 0; i < kBlockEntries; ++i) e[i] = from[i];
  }
  CYCLOID_INLINE void store(S* to) const {
#pragma GCC unroll 9
    for (int i = 0; i < kBlockEntries; ++i) to[i] = e[i];
  }
};

// (2) for J = I. `before`: the diagonal of H_II, by which pivots are judged.
template <class S>
CYCLOID_INLINE void factor_diagonal(const S* before, int n, BlockEntries<S>& b) {
  const S rounding = S(Scalar<S>(n) * std::numeric_limits<Scalar<S>>::epsilon());
  const auto reciprocal_root = [&](const S& pivot, int i) {
    return S(1) / sqrt(max(abs(pivot), before[i] * rounding));
  };
  S* e = b.e;
  e[8] = reciprocal_root(e[8], 2);
  e[7] *= e[8];
  e[6] *= e[8];
  e[4] = reciprocal_root(e[4] - e[7] * e[7], 1);
  e[3] = (e[3] - e[7] * e[6]) * e[4];
  e[0] = reciprocal_root(e[0] - e[6] * e[6] - e[3] * e[3], 0);
}

// (2) for J < I: b ← V_II⁻ᵀ b.
template <class S>
CYCLOID_INLINE void divide_by_diagonal(const S* V, BlockEntries<S>& b) {
  S* e = b.e;
#pragma GCC unroll 3
  for (int j = 0; j < kBlock; ++j) {
    e[6 + j] *= V[8];
    e[3 + j] = (e[3 + j] - V[7] * e[6 + j]) * V[4];
    e[j] = (e[j] - V[6] * e[6 + j] - V[3] * e[3 + j]) * V[0];
  }
}

// assemble(I, J, block) sets block to H_IJ, J ≤ I; of H_II its lower triangle counts.
template <class S, class Assemble>
CYCLOID_HD void factor_blocks(const BlockPattern& pattern, Assemble assemble, S* V) {
  const auto at = [&](int I, int J) { return V + pattern.place(I, J) * kBlockEntries; };
  for (int I = pattern.blocks - 1; I >= 0; --I) {
    S* const diagonal = at(I, I);
    BlockEntries<S> sum;
    assemble(I, I, sum);
    const S before[kBlock] = {sum.e[0], sum.e[4], sum.e[8]};
    for_each(pattern.column(I), [&](int K) { sum.subtract_product(at(K, I), at(K, I)); });  // (2)
    factor_diagonal(before, kBlock * pattern.pivots, sum);
    sum.store(diagonal);
    for_each(pattern.row(I), [&](int J) {
      if (J == I) return;
      BlockEntries<S> block;
      assemble(I, J, block);
      for_each_common(pattern.column(I), pattern.column(J), [&](int K) {
        block.subtract_product(at(K, I), at(K, J));  // (2)
      });
      divide_by_diagonal(diagonal, block);
      block.store(at(I, J));
    });
  }
}

// Turns x from b into H⁻¹ b. X: S, or several right-hand sides at
// once.
template <class S, class X>
CYCLOID_STAGE void solve_blocks(const BlockPattern& pattern, const S* V, X* x) {
  const auto at = [&](int I, int J) { return V + pattern.place(I, J) * kBlockEntries; };
  for (int I = pattern.blocks - 1; I >= 0; --I) {  // (3), Vᵀ
    const S* d = at(I, I);
    X* y = x + I * kBlock;
    const X y2 = y[2] * d[8];
    const X y1 = (y[1] - d[7] * y2) * d[4];
    const X y0 = (y[0] - d[6] * y2 - d[3] * y1) * d[0];
    y[0] = y0, y[1] = y1, y[2] = y2;
    for_each(pattern.row(I), [&](int J) {
      if (J == I) return;
      const S* v = at(I, J);
      X* other = x + J * kBlock;
#pragma GCC unroll 3
      for (int j = 0; j < kBlock; ++j) other[j] -= v[j] * y0 + v[3 + j] * y1 + v[6 + j] * y2;
    });
  }
  for (int I = 0; I < pattern.blocks; ++I) {  // (3), V
    const S* d = at(I, I);
    X* y = x + I * kBlock;
    X y0 = y[0], y1 = y[1], y2 = y[2];
    for_each(pattern.row(I), [&](int J) {
      if (J == I) return;
      const S* v = at(I, J);
      const X* other = x + J * kBlock;
      y0 -= v[0] * other[0] + v[1] * other[1] + v[2] * other[2];
      y1 -= v[3] * other[0] + v[4] * other[1] + v[5] * other[2];
      y2 -= v[6] * other[0] + v[7] * other[1] + v[8] * other[2];
    });
    y[0] = y0 * d[0];
    y[1] = (y1 - d[3] * y[0]) * d[4];
    y[2] = (y2 - d[6] * y[0] - d[7] * y[1]) * d[8];
  }
}

// y = H x for H stored in blocks; its diagonal blocks are whole. X: S, or several vectors at once.
template <class S, class X>
CYCLOID_STAGE void multiply_blocks(const BlockPattern& pattern, const S* H, const X* x, X* y) {
  for (int I = 0; I < pattern.blocks; ++I) {
    const X x0 = x[I * kBlock], x1 = x[I * kBlock + 1], x2 = x[I * kBlock + 2];
    X y0 = X(0), y1 = X(0), y2 = X(0);
    for_each(pattern.row(I), [&](int J) {
      const S* h = H + pattern.place(I, J) * kBlockEntries;
      const X* other = x + J * kBlock;
      y0 += h[0] * other[0] + h[1] * other[1] + h[2] * other[2];
      y1 += h[3] * other[0] + h[4] * other[1] + h[5] * other[2];
      y2 += h[6] * other[0] + h[7] * other[1] + h[8] * other[2];
      if (J == I) return;
      X* mirror = y + J * kBlock;
#pragma GCC unroll 3
      for (int j = 0; j < kBlock; ++j) mirror[j] += h[j] * x0 + h[3 + j] * x1 + h[6 + j] * x2;
    });
    y[I * kBlock] = y0;
    y[I * kBlock + 1] = y1;
    y[I * kBlock + 2] = y2;
  }
}

}  // namespace cycloid::inline rigid
