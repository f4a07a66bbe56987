// The scalar interface: what a physics function may ask of its scalar S.
//
// S is float, double, Pack<T,N> (pack.h) or Dual<S,N> (dual.h). This header holds the traits and
// the built-in scalars; pack.h and dual.h add their own, elementary.h the functions from sqrt to
// pow.
//
//   Scalar<S>   element type: float or double
//   Mask<S>     result of a comparison: bool, or one truth value per lane
//   kLanes<S>   environments that one S holds
//
// A branch on S is a selection, so that every lane goes its own way:
//   select(m, a, b)   = a where m, else b
//   positive_part(x)  = x where x > 0, else 0; NaN stays NaN
//   unit_step(x)      = 1 where x > 0, else 0: the derivative of positive_part, 0 at the kink
//   min(a, b), max(a, b): b where the comparison is false, as the processor has it; a NaN in b
//   stays, a NaN in a does not round_nearest(x)  halves go to the even neighbour
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cycloid/base/host_device.h"

namespace cycloid::inline math {

template <class S>
struct ScalarTraits;

template <class T>
concept BuiltinScalar = std::same_as<T, float> || std::same_as<T, double>;

template <BuiltinScalar T>
struct ScalarTraits<T> {
  using Scalar = T;
  using Mask = bool;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int kLanes = 1;
};

template <class S>
using Scalar = typename ScalarTraits<S>::Scalar;
template <class S>
using Mask = typename ScalarTraits<S>::Mask;
template <class S>
inline constexpr int kLanes = ScalarTraits<S>::kLanes;

// Masks of one lane; `!`, `&` and `|` on them are the built-in ones.
CYCLOID_HD constexpr bool any(bool m) { return m; }
CYCLOID_HD constexpr bool all(bool m) { return m; }

template <BuiltinScalar T>
CYCLOID_HD constexpr T select(bool m, T a, std::type_identity_t<T> b) {
  return m ? a : b;
}

// One S takes kLanes<S> consecutive elements; p needs the alignment of an element only.
template <class S>
CYCLOID_INLINE S load(const Scalar<S>* p) {
  if constexpr (BuiltinScalar<S>) {
    return *p;
  } else {
    return S::load(p);
  }
}
template <BuiltinScalar T>
CYCLOID_INLINE void store(T* p, std::type_identity_t<T> x) {
  *p = x;
}
template <BuiltinScalar T>
CYCLOID_INLINE T lane(T x, int) {
  return x;
}
template <BuiltinScalar T>
CYCLOID_INLINE void set_lane(T& x, int, std::type_identity_t<T> value) {
  x = value;
}
template <BuiltinScalar T>
CYCLOID_INLINE double widen(T x) {
  return x;
}
template <BuiltinScalar T>
CYCLOID_INLINE void widen_add(double* acc, T x) {
  *acc += x;
}
template <BuiltinScalar T>
CYCLOID_INLINE T sum_lanes(T x) {
  return x;
}

// Templates, so that a law outside the namespace that also sees <cmath> is not ambiguous.
template <BuiltinScalar T>
CYCLOID_INLINE T abs(T x) {
  return sizeof(T) == 4 ? T(__builtin_fabsf(float(x))) : T(__builtin_fabs(x));
}
template <BuiltinScalar T>
CYCLOID_INLINE T copysign(T x, std::type_identity_t<T> sign) {
  return sizeof(T) == 4 ? T(__builtin_copysignf(float(x), float(sign)))
                        : T(__builtin_copysign(x, sign));
}
template <BuiltinScalar T>
CYCLOID_INLINE T sqrt(T x) {
  return sizeof(T) == 4 ? T(__builtin_sqrtf(float(x))) : T(__builtin_sqrt(x));
}

// The rest is the same text for scalars and packs. Dual brings its own overloads.
template <class S>
concept RealScalar = requires { typename ScalarTraits<S>::Bits; };

template <RealScalar S>
CYCLOID_INLINE S min(S a, std::type_identity_t<S> b) {
  return select(a < b, a, b);
}
template <RealScalar S>
CYCLOID_INLINE S max(S a, std::type_identity_t<S> b) {
  return select(a > b, a, b);
}
template <RealScalar S>
CYCLOID_INLINE S positive_part(S x) {
  return max(S(0), x);
}
template <RealScalar S>
CYCLOID_INLINE S unit_step(S x) {
  return select(x > S(0), S(1), S(0));
}

template <RealScalar S>
CYCLOID_INLINE Mask<S> is_finite(S x) {
  return abs(x) < S(std::numeric_limits<Scalar<S>>::infinity());
}

// Adding 2^p (p = 23 or 52) leaves no bits below one; larger numbers are integers already.
template <RealScalar S>
CYCLOID_INLINE S round_nearest(S x) {
  const S integers = S(sizeof(Scalar<S>) == 4 ? 0x1p23 : 0x1p52);
  const S rounded = (abs(x) + integers) - integers;
  return select(abs(x) < integers, copysign(rounded, x), x);
}
template <RealScalar S>
CYCLOID_INLINE S floor(S x) {
  const S nearest = round_nearest(x);
  return nearest - select(nearest > x, S(1), S(0));
}

}  // namespace cycloid::inline math
