// sin, cos, sin_cos, tan for scalars and packs, over the whole range.
//
//   |x| = n π/2 + r                                            (1)  angle_reduction.h
//   sin r = r + r³ S(r²),  cos r = 1 - r²/2 + r⁴ C(r²)          (2)  minimax, |r| ≤ π/4
//   sin |x|: sin r, cos r, -sin r, -cos r for n mod 4 = 0 … 3    (3)  cos |x|: the same, n + 1
//   tan |x| = sin r / cos r, or -cos r / sin r for odd n         (4)
// Symmetry comes from the sign bit, so sin(-x) = -sin(x) holds to the bit, also at zero.
#pragma once

#include "cycloid/math/angle_reduction.h"

namespace cycloid::inline math {

// S and C of (2): relative error below 2^-28 and 2^-33 (float), 2^-58 and 2^-63 (double).
template <class T>
inline constexpr auto kSineTail =
    std::array<double, 6>{-0x1.5555555555549p-3, 0x1.111111110f87dp-7,   -0x1.a01a019c0df10p-13,
                          0x1.71de357235208p-19, -0x1.ae5e609004d63p-26, 0x1.5d910d02e47fbp-33};
template <>
inline constexpr auto kSineTail<float> =
    std::array<float, 3>{-0x1.555546p-3f, 0x1.110776p-7f, -0x1.995282p-13f};
template <class T>
inline constexpr auto kCosineTail =
    std::array<double, 6>{0x1.555555555554ap-5,   -0x1.6c16c16c14e00p-10, 0x1.a01a019c5c397p-16,
                          -0x1.27e4f7cd3215ep-22, 0x1.1ee9c3360f84cp-29,  -0x1.8f99cbec04403p-37};
template <>
inline constexpr auto kCosineTail<float> =
    std::array<float, 3>{0x1.55554ap-5f, -0x1.6c0c26p-10f, 0x1.99e714p-16f};

// (2) at r + r_low, less the leading r.
template <OneRegister S>
CYCLOID_INLINE S sine_rest(S r, S r_low, S z) {
  constexpr auto series = kSineTail<Scalar<S>>;
  return r * z * polynomial(series, z) + r_low;
}

// (3) for both; of what one result does not need, the compiler leaves nothing. r_low would change
// cos r by less than half a unit in the last place and is left out.
template <OneRegister S>
CYCLOID_INLINE void sin_cos(S x, S& sine, S& cosine) {
  constexpr int kToSign = 8 * sizeof(Scalar<S>) - 1;  // brings bit 0 of n to the place of the sign
  const ReducedAngle<S> angle = reduce_angle(abs(x));
  const S z = angle.r * angle.r;
  const S s = angle.r + sine_rest(angle.r, angle.r_low, z);
  constexpr auto series = kCosineTail<Scalar<S>>;
  const S c = S(1) + z * (z * polynomial(series, z) - S(0.5));
  const Mask<S> odd = highest_bit<S>(angle.n << kToSign);
  sine = flip_sign(select(odd, c, s), (angle.n << (kToSign - 1)) ^ to_bits(x));
  cosine = flip_sign(select(odd, s, c), (angle.n + 1) << (kToSign - 1));
}

template <OneRegister S>
CYCLOID_INLINE S sin(S x) {
  S s, c;
  sin_cos(x, s, c);
  return s;
}
template <OneRegister S>
CYCLOID_INLINE S cos(S x) {
  S s, c;
  sin_cos(x, s, c);
  return c;
}

// The rests of (2) correct the quotient, so that its error is little more than that of one
// division.
template <OneRegister S>
CYCLOID_INLINE S tan(S x) {
  constexpr int kToSign = 8 * sizeof(Scalar<S>) - 1;
  const ReducedAngle<S> angle = reduce_angle(abs(x));
  const S z = angle.r * angle.r;
  const S half = S(0.5) * z;
  const S cosine = S(1) - half;
  constexpr auto series = kCosineTail<Scalar<S>>;
  const S cosine_rest =
      (((S(1) - cosine) - half) - angle.r * angle.r_low) + z * z * polynomial(series, z);
  const S sine = angle.r, sine_rest = math::sine_rest(angle.r, angle.r_low, z);
  const Mask<S> odd = highest_bit<S>(angle.n << kToSign);
  const S top = select(odd, cosine, sine), top_rest = select(odd, cosine_rest, sine_rest);
  const S bottom = select(odd, sine, cosine), bottom_rest = select(odd, sine_rest, cosine_rest);
  const S dividend = top + top_rest, divisor = bottom + bottom_rest;
  const S q = dividend / divisor;
  const S rest = ((top - dividend) + top_rest) - q * ((bottom - divisor) + bottom_rest);
  return flip_sign(q + rest / divisor, (angle.n << kToSign) ^ to_bits(x));  // (4)
}

}  // namespace cycloid::inline math
