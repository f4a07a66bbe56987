// asin, acos, atan2 for scalars and packs, over the whole range.
//
//   asin s   = s + s³ A(s²)                                   (1)  minimax, s ≤ 1/2
//   asin |x| = π/2 - 2 asin s,  s = √((1 - |x|) / 2)            (2)  for |x| > 1/2
//   acos x   = π/2 - asin x;  2 asin s for x > 1/2;  π - 2 asin s for x < -1/2     (3)
//   atan t   = t + t³ B(t²)                                   (4)  minimax, |t| ≤ 1/2
//   atan2(y, x) = k π/4 ± atan t                                (5)
// In (5) let a ≤ b be |x| and |y| in order: t = a / b, or (a - b) / (a + b) and one more π/4 when
// 2 a > b (a - b is exact then); the octants follow by reflection. Signs of zeros are those of C.
#pragma once

#include "cycloid/math/float_format.h"

namespace cycloid::inline math {

// π/4 = kHigh + kLow; k · kHigh is exact for k ≤ 4.
template <class T>
struct QuarterPi {
  static constexpr double kHigh = 0x1.921fb54442d18p-1, kLow = 0x1.1a62633145c07p-55;
};
template <>
struct QuarterPi<float> {
  static constexpr float kHigh = 0x1.921fbp-1f, kLow = 0x1.5110b4p-23f;
};

// A of (1): relative error of asin below 2^-27 (float), 2^-59 (double).
template <class T>
inline constexpr auto kAsinTail = std::array<double, 13>{
    0x1.5555555555578p-3, 0x1.333333332deefp-4, 0x1.6db6db722e4dap-5, 0x1.f1c71a8a3b017p-6,
    0x1.6e8be013dc18bp-6, 0x1.1c49da76f14d3p-6, 0x1.ca21a0ae7e94ep-7, 0x1.7574635d9865cp-7,
    0x1.619d8510f761dp-7, 0x1.e030a45ad31a7p-9, 0x1.6560fc04564fcp-6, -0x1.5a827546a389bp-6,
    0x1.0c11ccc0a6fdep-5};
template <>
inline constexpr auto kAsinTail<float> = std::array<float, 5>{
    0x1.5555cap-3f, 0x1.33015ap-4f, 0x1.748cc4p-5f, 0x1.8b93eap-6f, 0x1.59ee3ap-5f};

// B of (4): relative error of atan below 2^-27 (float), 2^-62 (double).
template <class T>
inline constexpr auto kAtanTail = std::array<double, 13>{
    -0x1.5555555555552p-2, 0x1.99999999990d6p-3, -0x1.2492492453650p-3, 0x1.c71c71aaefaacp-4,
    -0x1.745d138f49259p-4, 0x1.3b1360afe08d7p-4, -0x1.110c711924833p-4, 0x1.e182d6f09e438p-5,
    -0x1.ac72adb074cbap-5, 0x1.77fc21115de78p-5, -0x1.301d2dc486fbcp-5, 0x1.83a8dcd6e9641p-6,
    -0x1.123ce00585699p-7};
template <>
inline constexpr auto kAtanTail<float> = std::array<float, 5>{
    -0x1.555512p-2f, 0x1.997b06p-3f, -0x1.2249b2p-3f, 0x1.9ffb9p-4f, -0x1.a3da52p-5f};

// s and asin(s) - s of (1) and (2).
template <OneRegister S>
struct Arcsine {
  Mask<S> far;
  S s, tail;
};
template <OneRegister S>
CYCLOID_INLINE Arcsine<S> arcsine(S a) {
  const Mask<S> far = a > S(0.5);
  const S z = select(far, (S(1) - a) * S(0.5), a * a);
  const S s = select(far, sqrt(z), a);
  constexpr auto series = kAsinTail<Scalar<S>>;
  return {far, s, s * z * polynomial(series, z)};
}

template <OneRegister S>
CYCLOID_INLINE S asin(S x) {
  using P = QuarterPi<Scalar<S>>;
  const Arcsine<S> f = arcsine(abs(x));
  const S far = S(2 * P::kHigh) - (S(2) * f.s + (S(2) * f.tail - S(2 * P::kLow)));  // (2)
  return copysign(select(f.far, far, f.s + f.tail), x);
}

template <OneRegister S>
CYCLOID_INLINE S acos(S x) {
  using P = QuarterPi<Scalar<S>>;
  const Arcsine<S> f = arcsine(abs(x));
  const Bits<S> sign = to_bits(x);
  const S s = flip_sign(f.s, sign), tail = flip_sign(f.tail, sign);
  const S near = S(2 * P::kHigh) - (s - (S(2 * P::kLow) - tail));
  const Mask<S> negative = sign_bit(x);
  const S base = select(negative, S(4 * P::kHigh), S(0));
  const S base_low = select(negative, S(4 * P::kLow), S(0));
  const S far = base + (S(2) * s + (S(2) * tail + base_low));
  return select(f.far, far, near);  // (3)
}

template <OneRegister S>
CYCLOID_INLINE S atan2(S y, std::type_identity_t<S> x) {
  using T = Scalar<S>;
  using P = QuarterPi<T>;
  constexpr T kLarge = sizeof(T) == 4 ? T(0x1p120) : T(0x1p1000);
  const S ax = abs(x), ay = abs(y);
  const Mask<S> steep = ay > ax;
  S a = select(steep, ax, ay), b = select(steep, ay, ax);
  const Mask<S> both_infinite = a == S(FloatFormat<T>::kInfinity);
  const S scale = select(b > S(kLarge), S(T(0.25)), S(1));  // a + b must stay finite
  a = select(both_infinite, S(1), a * scale);
  b = select(both_infinite, S(1), b * scale);
  const Mask<S> above = a + a > b;
  const S top = select(above, a - b, a), bottom = select(above, a + b, b);
  const S t = select(b == S(0), S(0), top / bottom);

  // k π/4 in two words and the sign of t, reflected at π/4 and at π/2.
  S high = select(above, S(P::kHigh), S(0)), low = select(above, S(P::kLow), S(0));
  high = select(steep, S(2 * P::kHigh) - high, high);
  low = select(steep, S(2 * P::kLow) - low, low);
  const Mask<S> left = sign_bit(x);
  high = select(left, S(4 * P::kHigh) - high, high);
  low = select(left, S(4 * P::kLow) - low, low);
  const S signed_t = select(steep ^ left, -t, t);
  const S z = t * t;
  constexpr auto series = kAtanTail<T>;
  const S angle = high + (signed_t + (signed_t * z * polynomial(series, z) + low));  // (5)
  return select((x == x) & (y == y), copysign(angle, y), x + y);
}

}  // namespace cycloid::inline math
