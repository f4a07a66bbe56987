// Bits of a word, on the host and on a device.
//
// nvcc turns std::countr_zero, std::countl_zero and std::popcount of 64 bits into constants in
// device code, without a warning: what kernels run calls these instead (tests/checks/house.py).
#pragma once

#include <bit>
#include <cstdint>

#include "cycloid/base/host_device.h"

namespace cycloid::inline base {

// The place of the lowest bit that is set; of a word that has one.
CYCLOID_INLINE int lowest_bit(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(word)) - 1;
#else
  return std::countr_zero(word);
#endif
}
CYCLOID_INLINE int lowest_bit(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(word)) - 1;
#else
  return std::countr_zero(word);
#endif
}

// The place of the highest bit that is set; of a word that has one.
CYCLOID_INLINE int topmost_bit(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return 63 - __clzll(static_cast<long long>(word));
#else
  return 63 - std::countl_zero(word);
#endif
}

// How many bits are set.
CYCLOID_INLINE int bit_count(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __popc(word);
#else
  return std::popcount(word);
#endif
}
CYCLOID_INLINE int bit_count(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return __popcll(word);
#else
  return std::popcount(word);
#endif
}

}  // namespace cycloid::inline base
