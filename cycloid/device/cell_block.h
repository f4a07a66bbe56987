// CellBlock: kCellThreads threads of a card that work on cells of a large world together, and sums
// over all cells in a fixed order.
//
// A kernel of cells is a plain struct with operator()(CellBlock). On a card the caller is one of
// the block's threads; on this machine it is all of them, one after the other, phase after phase:
// the same text, the same order of every sum.
//
// A sum: a block's threads add what they have as a tree; the block that is done last adds the
// blocks' sums, each thread every kCellThreads-th, and these as a tree again.
#pragma once

#include <cstdint>

#include "cycloid/base/host_device.h"

namespace cycloid::inline device {

inline constexpr int kCellThreads = 256;
inline constexpr int kMostCellSums = 3;  // of one kernel

// Shared memory of a block [doubles]: a tree for each sum, and whether the block is the last.
inline constexpr int kCellShared = kMostCellSums * kCellThreads + 1;

constexpr std::int64_t cell_blocks(std::int64_t cells) {
  return (cells + kCellThreads - 1) / kCellThreads;
}

struct CellBlock {
  std::int64_t number, count;  // which block of how many
  double* shared;              // kCellShared

  // f(t) for every thread t; all are done before the next phase.
  template <class F>
  CYCLOID_HD void each(const F& f) const {
#if defined(__CUDA_ARCH__)
    f(static_cast<int>(threadIdx.x));
    __syncthreads();
#else
    for (int t = 0; t < kCellThreads; ++t) f(t);
#endif
  }
  // f(i) for every cell i of the block.
  template <class F>
  CYCLOID_HD void cells(std::int64_t all, const F& f) const {
    each([&](int t) {
      const std::int64_t i = number * kCellThreads + t;
      if (i < all) f(i);
    });
  }
};

// Sums of all blocks, and how many blocks have written theirs; both outlive a kernel.
struct CellSums {
  double* partial = nullptr;  // (sums, blocks)
  unsigned* arrived = nullptr;
};

// What another block wrote.
CYCLOID_HD inline double read_written(const double* at) {
  return *static_cast<const volatile double*>(at);
}

// Counts a block that has written its sums; whether it is the last.
CYCLOID_HD inline bool arrive(const CellSums& sums, std::int64_t blocks) {
#if defined(__CUDA_ARCH__)
  __threadfence();
  const unsigned before = atomicAdd(sums.arrived, 1u);
  __threadfence();
#else
  const unsigned before = (*sums.arrived)++;
#endif
  if (static_cast<std::int64_t>(before) + 1 < blocks) return false;
  *sums.arrived = 0;
  return true;
}

// Adds the N trees of a block; sum n is then at shared[n * kCellThreads].
template <int N>
CYCLOID_HD void add_trees(const CellBlock& block) {
  for (int half = kCellThreads / 2; half > 0; half /= 2) {
    block.each([&](int t) {
      for (int n = 0; n < N && t < half; ++n) {
        block.shared[n * kCellThreads + t] += block.shared[n * kCellThreads + t + half];
      }
    });
  }
}

// term(i, add) gives cell i's share of N sums, of which `then` is told by one thread, once all
// blocks are through.
template <int N, class Term, class Then>
CYCLOID_HD void sum_cells(const CellBlock& block, std::int64_t cells, const CellSums& sums,
                          const Term& term, const Then& then) {
  static_assert(N <= kMostCellSums);
  double* const last = block.shared + kMostCellSums * kCellThreads;
  block.each([&](int t) {
    double add[N] = {};
    const std::int64_t i = block.number * kCellThreads + t;
    if (i < cells) term(i, add);
    for (int n = 0; n < N; ++n) block.shared[n * kCellThreads + t] = add[n];
  });
  add_trees<N>(block);
  block.each([&](int t) {
    if (t != 0) return;
    for (int n = 0; n < N; ++n) {
      sums.partial[n * block.count + block.number] = block.shared[n * kCellThreads];
    }
    *last = arrive(sums, block.count) ? 1 : 0;
  });
  if (*last == 0) return;
  block.each([&](int t) {
    for (int n = 0; n < N; ++n) {
      double sum = 0;
      for (std::int64_t b = t; b < block.count; b += kCellThreads) {
        sum += read_written(sums.partial + n * block.count + b);
      }
      block.shared[n * kCellThreads + t] = sum;
    }
  });
  add_trees<N>(block);
  block.each([&](int t) {
    if (t != 0) return;
    double all[N];
    for (int n = 0; n < N; ++n) all[n] = block.shared[n * kCellThreads];
    then(all);
  });
}

}  // namespace cycloid::inline device
