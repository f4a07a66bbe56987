// Reduction of an angle to the octant around zero:
//
//   x = n π/2 + r + r_low,   |r| ≤ π/4 (1 + 2^-12),   x ≥ 0                       (1)
//
// n matters modulo 4; r_low is what r lost to rounding. Two ways, chosen lane by lane:
//
// x < kCodyWaiteLimit: π/2 = c1 + c2 + c3 + c4, the first three so short that n c1, n c2 and n c3
// are
//   exact with or without fused multiply-add, and so is x - n c1 - n c2
//   [CodyWaite1980; Muller2016].                                                       (2)
// beyond: x · 2/π modulo 4 in integers, with those 256 bits of 2/π that matter for the exponent of
//   x. A double comes as close as 2^-61 to a multiple of π/2 [PayneHanek1983; Muller2016].   (3)
// Infinity gives NaN, NaN stays NaN.
#pragma once

#include "cycloid/math/float_format.h"

namespace cycloid::inline math {

template <class T>
struct HalfPi;
template <>
struct HalfPi<float> {
  static constexpr float kParts[4] = {0x1.92p+0f, 0x1.fb4p-12f, 0x1.444p-24f, 0x1.68c234p-39f};
  static constexpr float kInverse = 0x1.45f306p-1f;
  static constexpr float kCodyWaiteLimit = 12867;  // n < 2^13
};
template <>
struct HalfPi<double> {
  static constexpr double kParts[4] = {0x1.921fb544p+0, 0x1.0b46p-34, 0x1.1a626331p-54,
                                       0x1.1701b839a252p-88};
  static constexpr double kInverse = 0x1.45f306dc9c883p-1;
  static constexpr double kCodyWaiteLimit = 1647099;  // n < 2^20
};

template <OneRegister S>
struct ReducedAngle {
  Bits<S> n;
  S r, r_low;
};

// x · 2/π modulo 4 for x = significand · 2^exponent, -42 ≤ exponent ≤ 971: the integer part is
// returned, the fraction is left in f, most significant word first.
CYCLOID_HD constexpr std::uint64_t times_two_over_pi(std::uint64_t significand, int exponent,
                                                     std::uint64_t (&f)[3]) {
  __extension__ using Wide = unsigned __int128;
  // 2/π after the binary point, with 64 zeros in front.
  constexpr std::uint64_t kTwoOverPi[] = {
      0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
      0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E,
      0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
      0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
      0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB};
  // Words before `first` contribute multiples of 4; the four from there on are enough.
  const int first = (exponent + 62) / 64;
  std::uint64_t product[4] = {};
  Wide carry = 0;
  for (int i = 3; i >= 0; --i) {
    carry += Wide(significand) * kTwoOverPi[first + i];
    product[i] = std::uint64_t(carry);
    carry >>= 64;
  }
  // The product's unit is 2^(exponent - 64 (first + 3)): bring the bits of weight 2 and 1 to the
  // top.
  const int up = exponent + 62 - 64 * first;  // 0 … 63
  for (int i = 0; i < 3; ++i) {
    f[i] = up == 0 ? product[i] : product[i] << up | product[i + 1] >> (64 - up);
  }
  const std::uint64_t n = f[0] >> 62;
  for (int i = 0; i < 3; ++i) f[i] = f[i] << 2 | (i < 2 ? f[i + 1] >> 62 : 0);
  return n;
}

// One angle ≥ 1024 by (3).
template <BuiltinScalar T>
CYCLOID_HD ReducedAngle<T> reduce_huge_angle(T x) {
  __extension__ using Wide = unsigned __int128;
  using Word = std::uint64_t;
  constexpr Word kHalfPi[2] = {0xC90FDAA22168C234, 0xC4C6628B80DC1CD1};  // π/2 · 2^127
  const Word bits = to_bits(double(x));
  if (bits >> 52 == 2047) return {0, FloatFormat<T>::kNan, T(0)};
  Word f[3];
  Word n =
      times_two_over_pi((bits & 0xFFFFFFFFFFFFF) | 0x10000000000000, int(bits >> 52) - 1075, f);
  // A fraction above one half belongs to the next multiple, with a negative rest.
  const bool negative = f[0] >> 63;
  if (negative) {
    n += 1;
    for (Word& word : f) word = ~word;
  }
  int zeros = 0;
  for (; !(f[0] >> 63) && zeros < 128; ++zeros) {
    f[0] = f[0] << 1 | f[1] >> 63;
    f[1] = f[1] << 1 | f[2] >> 63;
    f[2] <<= 1;
  }
  const Wide rest = Wide(f[0]) * kHalfPi[0] + (Wide(f[0]) * kHalfPi[1] >> 64) +
                    (Wide(f[1]) * kHalfPi[0] >> 64);  // |r + r_low| = rest · 2^-(127 + zeros)
  const double leading = double(Word(rest >> 75));    // 53 bits, and 64 more
  const double trailing = double(Word(rest >> 11)) * 0x1p-64;
  const double sum = leading + trailing;
  const double unit = from_bits<double>(Word(1023 - 52 - zeros) << 52);
  const double scale = negative ? -unit : unit;
  const T r = T(sum * scale);
  return {typename FloatFormat<T>::Bits(n), r,
          T((sum * scale - double(r)) + ((leading - sum) + trailing) * scale)};
}

// Replaces the lanes of x that (2) does not cover. Out of line: it is rare and long.
template <OneRegister S>
CYCLOID_NOINLINE ReducedAngle<S> reduce_huge_lanes(S x, Bits<S> n, S r, S r_low) {
  ReducedAngle<S> angle{n, r, r_low};
  for (int i = 0; i < kLanes<S>; ++i) {
    if (!(lane(x, i) >= HalfPi<Scalar<S>>::kCodyWaiteLimit)) continue;
    const ReducedAngle<Scalar<S>> huge = reduce_huge_angle(lane(x, i));
    set_lane(angle.r, i, huge.r);
    set_lane(angle.r_low, i, huge.r_low);
    if constexpr (BuiltinScalar<S>) {
      angle.n = huge.n;
    } else {
      angle.n[i] = huge.n;
    }
  }
  return angle;
}

// (1) for x ≥ 0.
template <OneRegister S>
CYCLOID_INLINE ReducedAngle<S> reduce_angle(S x) {
  using T = Scalar<S>;
  const S rounder = S(FloatFormat<T>::kRounder);
  const S shifted = x * S(HalfPi<T>::kInverse) + rounder;
  const S n = shifted - rounder;
  const S product3 = n * S(HalfPi<T>::kParts[2]);
  const S t2 = (x - n * S(HalfPi<T>::kParts[0])) - n * S(HalfPi<T>::kParts[1]);  // exact, (2)
  S r = t2 - product3;
  S r_low = ((t2 - r) - product3) - n * S(HalfPi<T>::kParts[3]);
  Bits<S> quadrant = to_bits(shifted);
  if (__builtin_expect(any(x >= S(HalfPi<T>::kCodyWaiteLimit)), 0)) {
    const ReducedAngle<S> mended = reduce_huge_lanes(x, quadrant, r, r_low);  // (3)
    quadrant = mended.n;
    r = mended.r;
    r_low = mended.r_low;
  }
  return {quadrant, r, r_low};
}

}  // namespace cycloid::inline math
