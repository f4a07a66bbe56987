// Sets of lanes as bits of a word, bit l for lane l, and masks.
#pragma once

#include <type_traits>

#include "cycloid/math/pack.h"

namespace cycloid::inline rigid {

// One bit per lane.
CYCLOID_INLINE unsigned lane_bits(bool m) { return m; }
template <BuiltinScalar T, int N>
CYCLOID_INLINE unsigned lane_bits(const PackMask<T, N>& m) {
  unsigned bits = 0;
#pragma GCC unroll 16
  for (int l = 0; l < N; ++l) bits |= unsigned(m[l]) << l;
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
