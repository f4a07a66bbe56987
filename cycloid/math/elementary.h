// Elementary functions of every scalar: sqrt, sin, cos, sin_cos, tan, asin, acos, atan2, exp, log,
// pow, tanh, sigmoid. This is the header to include.
//
// 1. One text serves float, double and packs. A lane keeps its bits whatever its neighbours are;
//    sin_cos has the bits of sin and of cos.
// 2. The whole range is taken, subnormal and huge arguments included; special values (zeros with
//    sign, infinities, NaN) are those of the C standard.
// 3. Errors are below 2 units in the last place on every instruction set; the largest measured are
//    0.5 for sqrt, 1.0 for exp, log and pow, 1.7 for the others (docs/elementary_functions.md).
// 4. Nothing of the standard library is called, and packs branch only where an angle is huge.
#pragma once

#include "cycloid/math/inverse_trigonometric.h"
#include "cycloid/math/power.h"
#include "cycloid/math/trigonometric.h"

namespace cycloid::inline math {

// A pack wider than a register: each register by itself.
template <class S>
concept ManyRegisters = RealScalar<S> && !OneRegister<S>;

template <ManyRegisters S>
using RegisterPack = Pack<Scalar<S>, S::kWidth>;

template <ManyRegisters S, class F>
CYCLOID_INLINE S per_register(S x, F f) {
  RegisterPack<S> part;
#pragma GCC unroll 16
  for (int k = 0; k < S::kRegisters; ++k) {
    part.r[0] = x.r[k];
    x.r[k] = f(part).r[0];
  }
  return x;
}
template <ManyRegisters S, class F>
CYCLOID_INLINE S per_register(S x, S y, F f) {
  RegisterPack<S> a, b;
#pragma GCC unroll 16
  for (int k = 0; k < S::kRegisters; ++k) {
    a.r[0] = x.r[k];
    b.r[0] = y.r[k];
    x.r[k] = f(a, b).r[0];
  }
  return x;
}

template <ManyRegisters S>
CYCLOID_INLINE S sin(S x) {
  return per_register(x, [](auto v) { return sin(v); });
}
template <ManyRegisters S>
CYCLOID_INLINE S cos(S x) {
  return per_register(x, [](auto v) { return cos(v); });
}
template <ManyRegisters S>
CYCLOID_INLINE void sin_cos(S x, S& s, S& c) {
  RegisterPack<S> part, sine, cosine;
#pragma GCC unroll 16
  for (int k = 0; k < S::kRegisters; ++k) {
    part.r[0] = x.r[k];
    sin_cos(part, sine, cosine);
    s.r[k] = sine.r[0];
    c.r[k] = cosine.r[0];
  }
}
template <ManyRegisters S>
CYCLOID_INLINE S tan(S x) {
  return per_register(x, [](auto v) { return tan(v); });
}
template <ManyRegisters S>
CYCLOID_INLINE S asin(S x) {
  return per_register(x, [](auto v) { return asin(v); });
}
template <ManyRegisters S>
CYCLOID_INLINE S acos(S x) {
  return per_register(x, [](auto v) { return acos(v); });
}
template <ManyRegisters S>
CYCLOID_INLINE S atan2(S y, std::type_identity_t<S> x) {
  return per_register(y, x, [](auto v, auto w) { return atan2(v, w); });
}
template <ManyRegisters S>
CYCLOID_INLINE S exp(S x) {
  return per_register(x, [](auto v) { return exp(v); });
}
template <ManyRegisters S>
CYCLOID_INLINE S log(S x) {
  return per_register(x, [](auto v) { return log(v); });
}
template <ManyRegisters S>
CYCLOID_INLINE S pow(S x, std::type_identity_t<S> y) {
  return per_register(x, y, [](auto v, auto w) { return pow(v, w); });
}
template <ManyRegisters S>
CYCLOID_INLINE S tanh(S x) {
  return per_register(x, [](auto v) { return tanh(v); });
}
template <ManyRegisters S>
CYCLOID_INLINE S sigmoid(S x) {
  return per_register(x, [](auto v) { return sigmoid(v); });
}

}  // namespace cycloid::inline math
