// Warp: 32 lanes that work on one thing together, on a card and, step by step, on the host.
//
// Work comes in phases, after each of which the lanes wait for each other:
//   each   f(i) for i < n; lane l has i = l, l + 32, …
//   sums   of n terms: each lane's own in that order, then those of the lanes in pairs, l and
//          l ^ 16, l ^ 8, …: always in one order, and every lane has the same bits           (1)
//   copy   put(i, get(i)) for i < n, where reading takes long
//   any    whether some f(i) is true
// Within a phase no lane may read what another writes. `sums` orders no memory, for lanes exchange
// terms alone there: nobody may read in the phase after it what it wrote. On the host a phase is a
// loop over lanes; `backwards` begins with the last, and what a kernel finds must not change.
#pragma once

#include "cycloid/base/host_device.h"

namespace cycloid::inline base {

template <class T, int K>
struct WarpSums {
  T of[K];
};

struct Warp {
  static constexpr int kLanes = 32;
  bool backwards = false;  // on the host

  template <class F>
  CYCLOID_HD void each(int n, F f) const {
#if defined(__CUDA_ARCH__)
    for (int i = own_lane(); i < n; i += kLanes) f(i);
    __syncwarp();
#else
    for (int l = 0; l < kLanes; ++l) {
      for (int i = backwards ? kLanes - 1 - l : l; i < n; i += kLanes) f(i);
    }
#endif
  }

  // put(i, get(i)): of four items at a time what is far away is asked for before any is put.
  template <class Get, class Put>
  CYCLOID_HD void copy(int n, Get get, Put put) const {
#if defined(__CUDA_ARCH__)
    constexpr int kAtOnce = 4;
    for (int first = own_lane(); first < n; first += kAtOnce * kLanes) {
      decltype(get(0)) got[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k * kLanes < n) got[k] = get(first + k * kLanes);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k * kLanes < n) put(first + k * kLanes, got[k]);
      }
    }
    __syncwarp();
#else
    each(n, [&](int i) { put(i, get(i)); });
#endif
  }

  // add(i, sums) adds the i-th term of each of K sums.
  template <class T, int K, class F>
  CYCLOID_HD WarpSums<T, K> sums(int n, F add) const {
#if defined(__CUDA_ARCH__)
    WarpSums<T, K> sum{};
    for (int i = own_lane(); i < n; i += kLanes) add(i, sum.of);
#pragma unroll
    for (int other = kLanes / 2; other > 0; other /= 2) {
#pragma unroll
      for (int k = 0; k < K; ++k) sum.of[k] += __shfl_xor_sync(~0u, sum.of[k], other);  // (1)
    }
    return sum;
#else
    WarpSums<T, K> own[kLanes] = {}, before[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      const int lane = backwards ? kLanes - 1 - l : l;
      for (int i = lane; i < n; i += kLanes) add(i, own[lane].of);
    }
    for (int other = kLanes / 2; other > 0; other /= 2) {
      for (int l = 0; l < kLanes; ++l) before[l] = own[l];
      for (int l = 0; l < kLanes; ++l) {
        for (int k = 0; k < K; ++k) own[l].of[k] += before[l ^ other].of[k];  // (1)
      }
    }
    return own[0];
#endif
  }

  template <class F>
  CYCLOID_HD bool any(int n, F f) const {
    bool found = false;
#if defined(__CUDA_ARCH__)
    for (int i = own_lane(); i < n; i += kLanes) found = f(i) || found;
    const bool some = __any_sync(~0u, found);  // a vote, which orders no memory
    __syncwarp();
    return some;
#else
    each(n, [&](int i) { found = f(i) || found; });
    return found;
#endif
  }

 private:
#if defined(__CUDA_ARCH__)
  __device__ static int own_lane() { return static_cast<int>(threadIdx.x % kLanes); }
#endif
};

}  // namespace cycloid::inline base
