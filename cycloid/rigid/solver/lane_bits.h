// Sets of lanes as bits of a word, bit l for lane l, and masks.
#pragma once

#include <type_traits>

#include "cycloid/math/pack.h"

namespace cycloid::inline rigid {

// One bit per lane of a register of a mask, bit i for lane i.
template <class Register>
CYCLOID_INLINE unsigned register_bits(Register m) {
  [[maybe_unused]] constexpr bool kSingle = sizeof(m[0]) == 4;
#if defined(__AVX512F__)
  if constexpr (sizeof m == 64 && kSingle) return _mm512_test_epi32_mask((__m512i)m, (__m512i)m);
  if constexpr (sizeof m == 64 && !kSingle) return _mm512_test_epi64_mask((__m512i)m, (__m512i)m);
#endif
#if defined(__AVX__)
  if constexpr (sizeof m == 32 && kSingle) return unsigned(_mm256_movemask_ps((__m256)m));
  if constexpr (sizeof m == 32 && !kSingle) return unsigned(_mm256_movemask_pd((__m256d)m));
#endif
#if defined(__SSE2__)
  if constexpr (sizeof m == 16 && kSingle) return unsigned(_mm_movemask_ps((__m128)m));
  if constexpr (sizeof m == 16 && !kSingle) return unsigned(_mm_movemask_pd((__m128d)m));
#endif
  unsigned bits = 0;
  for (int i = 0; i < int(sizeof m / sizeof m[0]); ++i) bits |= unsigned(m[i] != 0) << i;
  return bits;
}

// One bit per lane.
CYCLOID_INLINE unsigned lane_bits(bool m) { return m; }
template <BuiltinScalar T, int N>
CYCLOID_INLINE unsigned lane_bits(const PackMask<T, N>& m) {
  unsigned bits = 0;
#pragma GCC unroll 16
  for (int k = 0; k < m.kRegisters; ++k) bits |= register_bits(m.r[k]) << (k * m.kWidth);
  return bits;
}

template <class S>
inline constexpr unsigned kAllLanes = ~0u >> (32 - kLanes<S>);

// The lanes whose bit is set.
template <class S>
CYCLOID_INLINE Mask<S> lanes_of_bits(unsigned bits) {
  if constexpr (std::is_same_v<Mask<S>, bool>) {
    return (bits & 1) != 0;
  } else {
    Mask<S> m;
    using Register = std::remove_cvref_t<decltype(m.r[0])>;
    using Integer = std::remove_cvref_t<decltype(m.r[0][0])>;
    constexpr int kWidth = static_cast<int>(sizeof(Register) / sizeof(Integer));
#pragma GCC unroll 16
    for (int k = 0; k < static_cast<int>(sizeof(m) / sizeof(Register)); ++k) {
      Register own{};
#pragma GCC unroll 16
      for (int i = 0; i < kWidth; ++i) own[i] = Integer(1) << (k * kWidth + i);
      m.r[k] = ((Register{} + static_cast<Integer>(bits)) & own) != Register{};
    }
    return m;
  }
}

}  // namespace cycloid::inline rigid
