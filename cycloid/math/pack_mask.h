// PackMask<T,N>: one truth value per lane of a Pack<T,N>, and how lanes lie in registers.
//
// 1. A true lane has all bits set, a false one none: the form that comparisons give and selections
//    take.
// 2. N lanes are stored in registers of the instruction set that the file is compiled for (GCC
//    vector types), as many as it takes.
#pragma once

#include <bit>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "cycloid/math/scalar.h"

namespace cycloid::inline math {

#if defined(__AVX512F__)
inline constexpr int kRegisterBytes = 64;
#elif defined(__AVX__)
inline constexpr int kRegisterBytes = 32;
#else
inline constexpr int kRegisterBytes = 16;
#endif

// Lanes of T in one register of this translation unit's instruction set.
template <class T>
inline constexpr int kNativeLanes = kRegisterBytes / int(sizeof(T));

// How N lanes of E lie in registers: kRegisters of kWidth lanes each.
template <class E, int N>
struct Registers {
  static_assert(N >= 2 && std::has_single_bit(unsigned(N)), "lanes come in powers of two");
  static constexpr int kWidth = N < kNativeLanes<E> ? N : kNativeLanes<E>;
  static constexpr int kRegisters = N / kWidth;
  typedef E Register [[gnu::vector_size(sizeof(E) * kWidth)]];
  Register r[kRegisters];
};

template <BuiltinScalar T>
using LaneInteger = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// One truth value per lane.
template <BuiltinScalar T, int N>
struct PackMask : Registers<LaneInteger<T>, N> {
  using Base = Registers<LaneInteger<T>, N>;
  using Base::kRegisters;
  using Base::r;

  PackMask() = default;
  CYCLOID_INLINE PackMask(bool m) {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) r[k] = typename Base::Register{} - LaneInteger<T>(m);
  }

  CYCLOID_INLINE bool operator[](int i) const { return r[i / Base::kWidth][i % Base::kWidth] != 0; }
  CYCLOID_INLINE void set(int i, bool m) {
    r[i / Base::kWidth][i % Base::kWidth] = -LaneInteger<T>(m);
  }

  friend CYCLOID_INLINE PackMask operator!(PackMask a) {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) a.r[k] = ~a.r[k];
    return a;
  }
  friend CYCLOID_INLINE PackMask operator&(PackMask a, PackMask b) {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) a.r[k] &= b.r[k];
    return a;
  }
  friend CYCLOID_INLINE PackMask operator|(PackMask a, PackMask b) {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) a.r[k] |= b.r[k];
    return a;
  }
  friend CYCLOID_INLINE PackMask operator^(PackMask a, PackMask b) {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) a.r[k] ^= b.r[k];
    return a;
  }
  CYCLOID_INLINE PackMask& operator&=(PackMask b) { return *this = *this & b; }
  CYCLOID_INLINE PackMask& operator|=(PackMask b) { return *this = *this | b; }
};

// True in some lane. Registers are joined first, the survivor is tested once.
template <BuiltinScalar T, int N>
CYCLOID_INLINE bool any(PackMask<T, N> m) {
  auto joined = m.r[0];
#pragma GCC unroll 16
  for (int k = 1; k < m.kRegisters; ++k) joined |= m.r[k];
#if defined(__AVX512F__)
  if constexpr (sizeof(joined) == 64)
    return _mm512_test_epi32_mask((__m512i)joined, (__m512i)joined);
#endif
#if defined(__AVX__)
  if constexpr (sizeof(joined) == 32) return _mm256_movemask_ps((__m256)joined);
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(joined) == 16) return _mm_movemask_ps((__m128)joined);
#endif
  for (int i = 0; i < m.kWidth; ++i) {
    if (joined[i]) return true;
  }
  return false;
}
template <BuiltinScalar T, int N>
CYCLOID_INLINE bool all(PackMask<T, N> m) {
  return !any(!m);
}

}  // namespace cycloid::inline math
