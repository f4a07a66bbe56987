// The bits of floating-point numbers, and the small tools that the elementary functions share.
//
// A number is (-1)^sign · 2^(exponent - kBias) · 1.fraction with kFractionBits fraction bits.
// The functions take what fits one register (OneRegister): a scalar or a narrow enough pack.
#pragma once

#include <array>
#include <bit>

#include "cycloid/math/pack.h"

namespace cycloid::inline math {

template <RealScalar S>
using Bits = typename ScalarTraits<S>::Bits;

template <class S>
inline constexpr bool kIsOneRegister = BuiltinScalar<S>;
template <class T, int N>
inline constexpr bool kIsOneRegister<Pack<T, N>> = Pack<T, N>::kRegisters == 1;
template <class S>
concept OneRegister = RealScalar<S> && kIsOneRegister<S>;

template <class T>
struct FloatFormat {
  using Bits = typename ScalarTraits<T>::Bits;
  static constexpr int kFractionBits = sizeof(T) == 4 ? 23 : 52;
  static constexpr int kBias = sizeof(T) == 4 ? 127 : 1023;
  static constexpr Bits kSign = Bits(1) << (8 * sizeof(T) - 1);
  static constexpr T kMinNormal = std::numeric_limits<T>::min();
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  // Numbers near 1.5 · 2^kFractionBits are spaced by one: x + kRounder has round_nearest(x) in its
  // lowest bits, as a two's complement integer.
  static constexpr T kRounder = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);
};

template <OneRegister S>
CYCLOID_INLINE Bits<S> to_bits(S x) {
  if constexpr (BuiltinScalar<S>) {
    return std::bit_cast<Bits<S>>(x);
  } else {
    return (Bits<S>)x.r[0];
  }
}
template <OneRegister S>
CYCLOID_INLINE S from_bits(Bits<S> b) {
  if constexpr (BuiltinScalar<S>) {
    return std::bit_cast<S>(b);
  } else {
    S x;
    x.r[0] = (typename S::Register)b;
    return x;
  }
}

// True where the highest bit of b is set. As a comparison with zero of signed integers this is what
// blend instructions take.
template <OneRegister S>
CYCLOID_INLINE Mask<S> highest_bit(Bits<S> b) {
  if constexpr (BuiltinScalar<S>) {
    return LaneInteger<S>(b) < 0;
  } else {
    Mask<S> m;
    m.r[0] = (typename Mask<S>::Register)b < 0;
    return m;
  }
}
template <OneRegister S>
CYCLOID_INLINE Mask<S> sign_bit(S x) {
  return highest_bit<S>(to_bits(x));
}

// Changes the sign of x where the sign bit of `sign` is set.
template <OneRegister S>
CYCLOID_INLINE S flip_sign(S x, Bits<S> sign) {
  return from_bits<S>(to_bits(x) ^ (sign & FloatFormat<Scalar<S>>::kSign));
}

// The leading half of the significand (12 or 26 bits): products of two such halves are exact.
template <OneRegister S>
CYCLOID_INLINE S leading_half(S x) {
  using B = typename FloatFormat<Scalar<S>>::Bits;
  constexpr int kDropped = sizeof(Scalar<S>) == 4 ? 12 : 27;
  return from_bits<S>(to_bits(x) & B(~B(0) << kDropped));
}

// x · 2^n for an integer-valued n, correctly rounded where the result is subnormal; |n| < 2 kBias.
// Two factors, because 2^n alone may leave the range when the result does not.
template <OneRegister S>
CYCLOID_INLINE S times_power_of_two(S x, S n) {
  using F = FloatFormat<Scalar<S>>;
#if defined(__AVX512F__)
  if constexpr (sizeof(S) == 64) {
    S y;
    if constexpr (sizeof(Scalar<S>) == 4) {
      y.r[0] = (typename S::Register)_mm512_maskz_scalef_ps(__mmask16(-1), (__m512)x.r[0],
                                                            (__m512)n.r[0]);
    } else {
      y.r[0] = (typename S::Register)_mm512_maskz_scalef_pd(__mmask8(-1), (__m512d)x.r[0],
                                                            (__m512d)n.r[0]);
    }
    return y;
  }
#endif
  const S rounder = S(F::kRounder);
  const S half = n * S(0.5) + rounder;  // bits: n / 2, to nearest
  const S rest = n - (half - rounder) + rounder;
  const typename F::Bits bias = F::kBias;
  const S a = from_bits<S>((to_bits(half) + bias) << F::kFractionBits);
  const S b = from_bits<S>((to_bits(rest) + bias) << F::kFractionBits);
  return x * a * b;
}

// c[0] + c[1] x + c[2] x² + …, even and odd powers apart when there are many, which halves the
// chain of dependent operations.
template <OneRegister S, std::size_t n>
CYCLOID_INLINE S polynomial(const std::array<Scalar<S>, n>& c, S x) {
  if constexpr (n < 5) {
    S sum = S(c[n - 1]);
#pragma GCC unroll 16
    for (int i = int(n) - 2; i >= 0; --i) sum = sum * x + S(c[i]);
    return sum;
  } else {
    const S x2 = x * x;
    S last = S(c[n - 1]), other = S(c[n - 2]);
#pragma GCC unroll 16
    for (int i = int(n) - 3; i >= 1; i -= 2) {
      last = last * x2 + S(c[i]);
      other = other * x2 + S(c[i - 1]);
    }
    if constexpr (n % 2 == 1) {  // the last coefficient's powers are the even ones
      return other * x + (last * x2 + S(c[0]));
    } else {
      return last * x + other;
    }
  }
}

}  // namespace cycloid::inline math
