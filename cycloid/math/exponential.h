// exp, log, tanh, sigmoid for scalars and packs, over the whole range.
//
//   exp x     = 2^n e^r,  n = round(x / ln 2),  r = x - n ln 2           (1)  |r| ≤ ln 2 / 2
//   e^r       = 1 + r + r² E(r)                                         (2)  minimax
//   log x     = k ln 2 + log m,  x = 2^k m,  √½ ≤ m < √2                 (3)
//   log(1+f)  = f - (h - s (h + s² L(s²))),  s = f / (2 + f),  h = f²/2   (4)  minimax, after
//               log(1+f) = 2 artanh s [Tang1990; Muller2016]
//   tanh x    = x + x³ H(x²)             where |x| < 0.7                (5)
//               ±(1 - 2 / (e^{2|x|} + 1))  elsewhere                      (6)
//   sigmoid x = g / (1 + e^{-|x|}),  g = 1 for x ≥ 0, e^{-|x|} otherwise      (7)  never overflows
//
// ln 2 is split so that n times its leading part is exact [CodyWaite1980]. Results below the normal
// range are rounded once, into the subnormal numbers.
#pragma once

#include "cycloid/math/float_format.h"

namespace cycloid::inline math {

template <class T>
struct Ln2;
template <>
struct Ln2<float> {
  static constexpr float kHigh = 0x1.62e4p-1f, kLow = 0x1.7f7d1cp-20f;
  static constexpr float kInverse = 0x1.715476p+0f;
};
template <>
struct Ln2<double> {
  static constexpr double kHigh = 0x1.62e42fefa38p-1, kLow = 0x1.ef35793c7673p-45;
  static constexpr double kInverse = 0x1.71547652b82fep+0;
};

// E of (2): relative error of e^r below 2^-28 (float), 2^-60 (double).
template <class T>
inline constexpr auto kExpTail = std::array<double, 11>{
    0x1.0000000000000p-1,  0x1.555555555555bp-3,  0x1.5555555555500p-5,  0x1.111111110ebbcp-7,
    0x1.6c16c16c3141ap-10, 0x1.a01a01b3be0c1p-13, 0x1.a01a01329dd08p-16, 0x1.71ddef7e2b066p-19,
    0x1.27e5bb673d76bp-22, 0x1.af6d0862c19dfp-26, 0x1.1e33b9d8bf9ecp-29};
template <>
inline constexpr auto kExpTail<float> = std::array<float, 5>{
    0x1.fffffcp-2f, 0x1.55548ap-3f, 0x1.55585p-5f, 0x1.123ebep-7f, 0x1.6ac2ap-10f};

// L of (4): relative error of the logarithm below 2^-30 (float), 2^-59 (double).
template <class T>
inline constexpr auto kLogTail = std::array<double, 7>{
    0x1.5555555555592p-1, 0x1.999999997fef2p-2, 0x1.24924941e4e28p-2, 0x1.c71c521094c39p-3,
    0x1.74663dd64d694p-3, 0x1.39a1ce1b22373p-3, 0x1.2f04e3fb6b75ap-3};
template <>
inline constexpr auto kLogTail<float> =
    std::array<float, 3>{0x1.55557ap-1f, 0x1.995ed4p-2f, 0x1.31e0d8p-2f};

// H of (5): relative error of tanh below 2^-30 (float), 2^-61 (double).
template <class T>
inline constexpr auto kTanhTail = std::array<double, 13>{
    -0x1.5555555555553p-2,  0x1.1111111110e1dp-3,  -0x1.ba1ba1b9f1bd6p-5,  0x1.664f487961a3bp-6,
    -0x1.226e3420f07eap-7,  0x1.d6d39ab5dd521p-9,  -0x1.7da0418c56691p-10, 0x1.3537a5e9f4bb1p-11,
    -0x1.f39f690d9b860p-13, 0x1.8cb6d99143426p-14, -0x1.255f65d4dbd40p-15, 0x1.5df308fb3563bp-17,
    -0x1.dba21ca1c2f98p-20};
template <>
inline constexpr auto kTanhTail<float> =
    std::array<float, 6>{-0x1.55555p-2f, 0x1.110f52p-3f,  -0x1.b9bb3cp-5f,
                         0x1.617fecp-6f, -0x1.02971ap-7f, 0x1.f253fap-10f};

// e^(r + r_low) - 1 by (2).
template <OneRegister S>
CYCLOID_INLINE S expm1_reduced(S r, S r_low) {
  constexpr auto series = kExpTail<Scalar<S>>;
  return r + (r * r * polynomial(series, r) + r_low);
}

// e^x = 2^n (1 + t) by (1).
template <OneRegister S>
struct ScaledExp {
  S n, t;
};
template <OneRegister S>
CYCLOID_INLINE ScaledExp<S> scaled_exp(S x) {
  using T = Scalar<S>;
  constexpr T kSurelyZero = sizeof(T) == 4 ? -105 : -750, kSurelyInfinite = -kSurelyZero;
  x = max(S(kSurelyZero), min(S(kSurelyInfinite), x));
  const S rounder = S(FloatFormat<T>::kRounder);
  const S n = (x * S(Ln2<T>::kInverse) + rounder) - rounder;
  const S high = x - n * S(Ln2<T>::kHigh);  // exact
  const S r = high - n * S(Ln2<T>::kLow);
  return {n, expm1_reduced(r, (high - r) - n * S(Ln2<T>::kLow))};
}

template <OneRegister S>
CYCLOID_INLINE S exp(S x) {
  const ScaledExp<S> e = scaled_exp(x);
  return times_power_of_two(S(1) + e.t, e.n);
}

// x = 2^k m as in (3), for x > 0, subnormal numbers included.
template <OneRegister S>
struct PowerAndFraction {
  S k, m;
};
template <OneRegister S>
CYCLOID_INLINE PowerAndFraction<S> split_exponent(S x) {
  using T = Scalar<S>;
  using F = FloatFormat<T>;
  using B = typename F::Bits;
  constexpr B kRootHalf = sizeof(T) == 4 ? B(0x3F3504F3) : B(0x3FE6A09E667F3BCD);
  constexpr B kOne = B(F::kBias) << F::kFractionBits;
  constexpr T kIntegers = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);  // k is added to its last bits
  const Mask<S> subnormal = x < S(F::kMinNormal);
  x = select(subnormal, x * S(kIntegers), x);
  const Bits<S> shifted = to_bits(x) + (kOne - kRootHalf);
  const S biased = from_bits<S>((shifted >> F::kFractionBits) | to_bits(S(kIntegers)));
  const S k = biased - select(subnormal, S(kIntegers + T(F::kBias + F::kFractionBits)),
                              S(kIntegers + T(F::kBias)));
  constexpr B kFraction = (B(1) << F::kFractionBits) - 1;
  return {k, from_bits<S>((shifted & kFraction) + kRootHalf)};
}

template <OneRegister S>
CYCLOID_INLINE S log(S x) {
  using T = Scalar<S>;
  const PowerAndFraction<S> p = split_exponent(x);  // (3)
  const S f = p.m - S(1);
  const S h = S(0.5) * f * f;
  const S s = f / (S(2) + f);
  const S z = s * s;
  constexpr auto series = kLogTail<T>;
  const S tail = s * (h + z * polynomial(series, z)) + p.k * S(Ln2<T>::kLow);
  const S y = p.k * S(Ln2<T>::kHigh) - ((h - tail) - f);  // (4)
  const S outside = select(x == S(0), S(-FloatFormat<T>::kInfinity), S(FloatFormat<T>::kNan));
  return select(x > S(0), select(x < S(FloatFormat<T>::kInfinity), y, x), outside);
}

template <OneRegister S>
CYCLOID_INLINE S tanh(S x) {
  const S a = abs(x);
  const S z = a * a;
  constexpr auto series = kTanhTail<Scalar<S>>;
  const S near = a + a * z * polynomial(series, z);  // (5)
  const S far = S(1) - S(2) / (exp(a + a) + S(1));   // (6)
  return copysign(select(a < S(Scalar<S>(0.7)), near, far), x);
}

// What the exponential and the denominator lose to rounding corrects the quotient q; 1 / d is q or
// 1 - q.
template <OneRegister S>
CYCLOID_INLINE S sigmoid(S x) {
  const ScaledExp<S> p = scaled_exp(-abs(x));
  const S one_plus_t = S(1) + p.t;
  const S e = times_power_of_two(one_plus_t, p.n);
  const S e_low = times_power_of_two(p.t - (one_plus_t - S(1)), p.n);
  const Mask<S> negative = x < S(0);
  const S d = S(1) + e, d_low = (e - (d - S(1))) + e_low;
  const S q = select(negative, e, S(1)) / d;  // (7)
  return q + (select(negative, e_low, S(0)) - q * d_low) * select(negative, S(1) - q, q);
}

}  // namespace cycloid::inline math
