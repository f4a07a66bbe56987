// pow for scalars and packs.
//
//   |x|^y  = 2^(y log2 |x|)                                                    (1)
//   log2 m = 2/(3 ln 2) · s (3 + s² + s⁴ Q(s²)),  |x| = 2^k m,  s = (m - 1)/(m + 1)     (2) minimax
//   2^w    = 2^n e^{(w - n) ln 2},  n = round(w)                                    (3)
// The exponent w = y log2 |x| may be as large as 1074 and needs its digits after the point: up to
// (3) numbers are carried in two words, of which the first has half a significand, so that products
// of first words are exact. s⁴ Q is below 2^-10 of the sum and needs one word [Tang1990;
// Muller2016]. Special cases are those of IEEE 754: x^0 = 1^y = 1 whatever the other argument is,
// even NaN; a negative base takes integer exponents and keeps its sign for odd ones.
#pragma once

#include "cycloid/math/exponential.h"

namespace cycloid::inline math {

// Q of (2): relative error of the logarithm below 2^-36 (float), 2^-66 (double).
template <class T>
inline constexpr auto kPowerTail = std::array<double, 7>{
    0x1.3333333333464p-1, 0x1.b6db6db683bddp-2, 0x1.555555a210d1ep-2, 0x1.1745af68909c3p-2,
    0x1.d8ae62f1747abp-3, 0x1.973fc65f590bcp-3, 0x1.9564feee0b1b3p-3};
template <>
inline constexpr auto kPowerTail<float> =
    std::array<float, 3>{0x1.33338p-1f, 0x1.b67bbap-2f, 0x1.67b9cap-2f};

// high + low with half a significand in high.
template <OneRegister S>
struct TwoWords {
  S high, low;
};

// ln 2 and 2/(3 ln 2) in two words.
template <class T>
struct PowerConstants {
  static constexpr double kLn2[2] = {0x1.62e42f8p-1, 0x1.be8e7bcd5e4f2p-27};
  static constexpr double kTwoThirds[2] = {0x1.ec709d8p-1, 0x1.0e80ff5d27f05p-27};
  static constexpr double kHugePower = 0x1p66, kHugeExponent = 1100;
};
template <>
struct PowerConstants<float> {
  static constexpr float kLn2[2] = {0x1.62ep-1f, 0x1.0bfbe8p-15f};
  static constexpr float kTwoThirds[2] = {0x1.ec6p-1f, 0x1.09dc3ap-13f};
  static constexpr float kHugePower = 0x1p34f, kHugeExponent = 160;
};

// (2) for a > 0.
template <OneRegister S>
CYCLOID_INLINE TwoWords<S> log2_two_words(S a) {
  using C = PowerConstants<Scalar<S>>;
  const PowerAndFraction<S> p = split_exponent(a);
  const S f = p.m - S(1), d = p.m + S(1);
  const S d_high = leading_half(d), d_low = p.m - (d_high - S(1));
  const S s_high = leading_half(f / d);
  const S s_low = ((f - s_high * d_high) - s_high * d_low) / d;
  const S s = s_high + s_low;
  const S z = s * s;
  const S z_high = s_high * s_high;
  constexpr auto series = kPowerTail<Scalar<S>>;
  const S rest = s_low * (s_high + s) + z * z * polynomial(series, z);
  const S t_high = leading_half(S(3) + z_high + rest);
  const S t_low = rest - ((t_high - S(3)) - z_high);
  const S u = s_high * t_high, v = s_low * t_high + s * t_low;
  const S w_high = leading_half(u + v), w_low = v - (w_high - u);
  const S head = w_high * S(C::kTwoThirds[0]);
  const S tail = w_high * S(C::kTwoThirds[1]) + w_low * S(C::kTwoThirds[0] + C::kTwoThirds[1]);
  const S high = leading_half((head + tail) + p.k);
  return {high, tail - ((high - p.k) - head)};
}

// 2^(w.high + w.low) by (3).
template <OneRegister S>
CYCLOID_INLINE S exp2_two_words(TwoWords<S> w) {
  using C = PowerConstants<Scalar<S>>;
  const S rounder = S(FloatFormat<Scalar<S>>::kRounder);
  const S n = ((w.high + w.low) + rounder) - rounder;
  const S rest = w.high - n;
  const S high = leading_half(rest + w.low), low = (rest - high) + w.low;
  const S head = high * S(C::kLn2[0]);
  const S tail = high * S(C::kLn2[1]) + low * S(C::kLn2[0] + C::kLn2[1]);
  const S r = head + tail;
  return times_power_of_two(S(1) + expm1_reduced(r, tail - (r - head)), n);
}

template <OneRegister S>
CYCLOID_INLINE S pow(S x, std::type_identity_t<S> y) {
  using T = Scalar<S>;
  using C = PowerConstants<T>;
  const S infinity = S(FloatFormat<T>::kInfinity);
  const S a = abs(x);

  const TwoWords<S> log2 = log2_two_words(a);
  const S power = copysign(min(abs(y), S(C::kHugePower)), y);
  const S y_high = leading_half(power);
  const S head = y_high * log2.high;  // (1)
  const S tail = (power - y_high) * log2.high + power * log2.low;
  const Mask<S> beyond = abs(head) > S(C::kHugeExponent);
  S result = exp2_two_words<S>(
      {select(beyond, copysign(S(C::kHugeExponent), head), head), select(beyond, S(0), tail)});

  const Mask<S> zero = a == S(0), infinite = a == infinity;
  const Mask<S> grows = zero ^ (y > S(0));  // 0^-1 and infinity^1
  result = select(zero | infinite, select(grows, infinity, S(0)), result);
  const Mask<S> whole = round_nearest(y) == y;
  const Mask<S> odd = whole & (round_nearest(S(0.5) * y) != S(0.5) * y);
  const Mask<S> negative = sign_bit(x);
  result = select(negative & odd, -result, result);
  result = select((x < S(0)) & !whole & !infinite, S(FloatFormat<T>::kNan), result);
  result = select((x == x) & (y == y), result, x + y);
  return select((x == S(1)) | (y == S(0)), S(1), result);
}

}  // namespace cycloid::inline math
