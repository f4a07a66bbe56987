// Pack<T,N>: N numbers of type T that go through the same arithmetic, one lane per environment.
//
// 1. A lane never sees its neighbours: lane i of f(x) has the bits that f gives lane i alone.
// 2. kNativeLanes<T> lanes fill one register of the instruction set that the file is compiled for.
//    Wider packs are several registers.
// 3. Comparisons give a PackMask<T,N>.
// 4. A pack is made from T and from integers silently, from the other floating type by S(x) only.
#pragma once

#include <limits>
#include <utility>

#include "cycloid/math/pack_mask.h"

namespace cycloid::inline math {

template <BuiltinScalar T, int N>
struct Pack : Registers<T, N> {
  using Base = Registers<T, N>;
  using Base::kRegisters;
  using Base::kWidth;
  using Base::r;
  using M = PackMask<T, N>;

  Pack() = default;
  template <class U>
    requires std::is_arithmetic_v<U>
  CYCLOID_INLINE explicit(!(std::same_as<U, T> || std::integral<U>)) Pack(U value) {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) r[k] = T(value) - typename Base::Register{};
  }

  static CYCLOID_INLINE Pack load(const T* p) {
    Pack x;
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) __builtin_memcpy(&x.r[k], p + k * kWidth, sizeof x.r[k]);
    return x;
  }
  CYCLOID_INLINE void store(T* p) const {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) __builtin_memcpy(p + k * kWidth, &r[k], sizeof r[k]);
  }
  static CYCLOID_INLINE Pack load_aligned(const T* p) {
    return load(static_cast<const T*>(__builtin_assume_aligned(p, alignof(Pack))));
  }
  CYCLOID_INLINE void store_aligned(T* p) const {
    store(static_cast<T*>(__builtin_assume_aligned(p, alignof(Pack))));
  }

  CYCLOID_INLINE T operator[](int i) const { return r[i / kWidth][i % kWidth]; }
  CYCLOID_INLINE void set(int i, T value) { r[i / kWidth][i % kWidth] = value; }

  CYCLOID_INLINE Pack operator+() const { return *this; }
  CYCLOID_INLINE Pack operator-() const {
    Pack a;
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) a.r[k] = -r[k];
    return a;
  }
  friend CYCLOID_INLINE Pack operator+(Pack a, Pack b) {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) a.r[k] += b.r[k];
    return a;
  }
  friend CYCLOID_INLINE Pack operator-(Pack a, Pack b) {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) a.r[k] -= b.r[k];
    return a;
  }
  friend CYCLOID_INLINE Pack operator*(Pack a, Pack b) {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) a.r[k] *= b.r[k];
    return a;
  }
  friend CYCLOID_INLINE Pack operator/(Pack a, Pack b) {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) a.r[k] /= b.r[k];
    return a;
  }
  CYCLOID_INLINE Pack& operator+=(Pack b) { return *this = *this + b; }
  CYCLOID_INLINE Pack& operator-=(Pack b) { return *this = *this - b; }
  CYCLOID_INLINE Pack& operator*=(Pack b) { return *this = *this * b; }
  CYCLOID_INLINE Pack& operator/=(Pack b) { return *this = *this / b; }

  friend CYCLOID_INLINE M operator<(Pack a, Pack b) {
    M m;
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) m.r[k] = a.r[k] < b.r[k];
    return m;
  }
  friend CYCLOID_INLINE M operator<=(Pack a, Pack b) {
    M m;
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) m.r[k] = a.r[k] <= b.r[k];
    return m;
  }
  friend CYCLOID_INLINE M operator==(Pack a, Pack b) {
    M m;
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) m.r[k] = a.r[k] == b.r[k];
    return m;
  }
  friend CYCLOID_INLINE M operator>(Pack a, Pack b) { return b < a; }
  friend CYCLOID_INLINE M operator>=(Pack a, Pack b) { return b <= a; }
  friend CYCLOID_INLINE M operator!=(Pack a, Pack b) { return !(a == b); }

  friend CYCLOID_INLINE Pack select(M m, Pack a, Pack b) {
#pragma GCC unroll 16
    for (int k = 0; k < kRegisters; ++k) a.r[k] = m.r[k] ? a.r[k] : b.r[k];
    return a;
  }
};

template <BuiltinScalar T, int N>
struct ScalarTraits<Pack<T, N>> {
  using Scalar = T;
  using Mask = PackMask<T, N>;
  using Bits = typename Registers<typename ScalarTraits<T>::Bits, N>::Register;
  static constexpr int kLanes = N;
};

template <BuiltinScalar T, int N>
CYCLOID_INLINE void store(T* p, Pack<T, N> x) {
  x.store(p);
}
template <BuiltinScalar T, int N>
CYCLOID_INLINE T lane(Pack<T, N> x, int i) {
  return x[i];
}
template <BuiltinScalar T, int N>
CYCLOID_INLINE void set_lane(Pack<T, N>& x, int i, std::type_identity_t<T> value) {
  x.set(i, value);
}

// The sign bit is all that abs and copysign touch, so NaN and -0 come out right.
template <BuiltinScalar T, int N>
CYCLOID_INLINE Pack<T, N> abs(Pack<T, N> x) {
  using Integers = typename Registers<LaneInteger<T>, N>::Register;
#pragma GCC unroll 16
  for (int k = 0; k < x.kRegisters; ++k) {
    x.r[k] = (typename Pack<T, N>::Register)((Integers)x.r[k] &
                                             std::numeric_limits<LaneInteger<T>>::max());
  }
  return x;
}
template <BuiltinScalar T, int N>
CYCLOID_INLINE Pack<T, N> copysign(Pack<T, N> x, std::type_identity_t<Pack<T, N>> sign) {
  using Integers = typename Registers<LaneInteger<T>, N>::Register;
  constexpr LaneInteger<T> kSign = std::numeric_limits<LaneInteger<T>>::min();
#pragma GCC unroll 16
  for (int k = 0; k < x.kRegisters; ++k) {
    x.r[k] = (typename Pack<T, N>::Register)(((Integers)x.r[k] & ~kSign) |
                                             ((Integers)sign.r[k] & kSign));
  }
  return x;
}

// The processor's square root, correctly rounded, one instruction per register.
template <class Register>
CYCLOID_INLINE Register sqrt_register(Register x) {
  constexpr bool kFloat = sizeof(x[0]) == 4;
#if defined(__AVX512F__)
  if constexpr (sizeof x == 64 && kFloat)
    return (Register)_mm512_maskz_sqrt_ps(__mmask16(-1), (__m512)x);
  if constexpr (sizeof x == 64 && !kFloat)
    return (Register)_mm512_maskz_sqrt_pd(__mmask8(-1), (__m512d)x);
#endif
#if defined(__AVX__)
  if constexpr (sizeof x == 32 && kFloat) return (Register)_mm256_sqrt_ps((__m256)x);
  if constexpr (sizeof x == 32 && !kFloat) return (Register)_mm256_sqrt_pd((__m256d)x);
#endif
#if defined(__SSE2__)
  if constexpr (sizeof x == 16 && kFloat) return (Register)_mm_sqrt_ps((__m128)x);
  if constexpr (sizeof x == 16 && !kFloat) return (Register)_mm_sqrt_pd((__m128d)x);
#endif
  constexpr int kWidth = sizeof x / sizeof x[0];
  for (int i = 0; i < kWidth; ++i) x[i] = sqrt(x[i]);
  return x;
}
template <BuiltinScalar T, int N>
CYCLOID_INLINE Pack<T, N> sqrt(Pack<T, N> x) {
#pragma GCC unroll 16
  for (int k = 0; k < x.kRegisters; ++k) x.r[k] = sqrt_register(x.r[k]);
  return x;
}

// The lower (kPart = 0) or upper half of the lanes.
template <int kPart, BuiltinScalar T, int N>
  requires(N > 2)
CYCLOID_INLINE Pack<T, N / 2> half(Pack<T, N> x) {
  Pack<T, N / 2> y;
  if constexpr (x.kRegisters > 1) {
#pragma GCC unroll 16
    for (int k = 0; k < y.kRegisters; ++k) y.r[k] = x.r[k + kPart * y.kRegisters];
  } else {
#if defined(__CUDACC__)  // whose host pass loses the packs of a template lambda
    for (int i = 0; i < N / 2; ++i) y.r[0][i] = x.r[0][i + kPart * N / 2];
#else
    [&]<int... i>(std::integer_sequence<int, i...>) {
      y.r[0] = __builtin_shufflevector(x.r[0], x.r[0], (i + kPart * N / 2)...);
    }(std::make_integer_sequence<int, N / 2>{});
#endif
  }
  return y;
}
template <BuiltinScalar T, int N>
CYCLOID_INLINE Pack<T, 2 * N> join(Pack<T, N> low, Pack<T, N> high) {
  Pack<T, 2 * N> y;
  if constexpr (y.kRegisters > 1) {
#pragma GCC unroll 16
    for (int k = 0; k < y.kRegisters; ++k) {
      y.r[k] = k < low.kRegisters ? low.r[k] : high.r[k - low.kRegisters];
    }
  } else {
#if defined(__CUDACC__)
    for (int i = 0; i < 2 * N; ++i) y.r[0][i] = i < N ? low.r[0][i] : high.r[0][i - N];
#else
    [&]<int... i>(std::integer_sequence<int, i...>) {
      y.r[0] = __builtin_shufflevector(low.r[0], high.r[0], i...);
    }(std::make_integer_sequence<int, 2 * N>{});
#endif
  }
  return y;
}

// Lane by lane into the other element type; to float it rounds to nearest.
template <BuiltinScalar U, BuiltinScalar T, int N>
CYCLOID_INLINE Pack<U, N> convert(Pack<T, N> x) {
  Pack<U, N> y;
  if constexpr (std::same_as<T, U>) {
    return x;
  } else if constexpr (N > kNativeLanes<double>) {
    return join(convert<U>(half<0>(x)), convert<U>(half<1>(x)));
#if defined(__AVX512F__)
  } else if constexpr (N == 8 && std::same_as<U, double>) {
    y.r[0] = (typename Pack<U, N>::Register)_mm512_maskz_cvtps_pd(__mmask8(-1), (__m256)x.r[0]);
  } else if constexpr (N == 8) {
    y.r[0] = (typename Pack<U, N>::Register)_mm512_maskz_cvtpd_ps(__mmask8(-1), (__m512d)x.r[0]);
#endif
#if defined(__AVX__)
  } else if constexpr (N == 4 && std::same_as<U, double>) {
    y.r[0] = (typename Pack<U, N>::Register)_mm256_cvtps_pd((__m128)x.r[0]);
#endif
  } else {
    y.r[0] = __builtin_convertvector(x.r[0], typename Pack<U, N>::Register);
  }
  return y;
}
template <BuiltinScalar T, int N>
CYCLOID_INLINE Pack<double, N> widen(Pack<T, N> x) {
  return convert<double>(x);
}

// acc[i] += lane i, in double: sums of many float terms keep their digits.
template <BuiltinScalar T, int N>
CYCLOID_INLINE void widen_add(double* acc, Pack<T, N> x) {
  (Pack<double, N>::load(acc) + widen(x)).store(acc);
}

// Sum over lanes, upper half onto lower half: one order on every instruction set.
template <BuiltinScalar T, int N>
CYCLOID_INLINE T sum_lanes(Pack<T, N> x) {
  if constexpr (N == 2) {
    return x[0] + x[1];
  } else {
    return sum_lanes(half<0>(x) + half<1>(x));
  }
}

}  // namespace cycloid::inline math
