// Activations of a network's hidden units, with derivatives up to the third.
//
//   tanh       t = tanh z          t' = 1 - t²          t'' = -2 t t'       t''' = -2 t' (1 - 3 t²)
//   softplus   log(1 + e^z)        s = sigmoid z        s (1 - s)           s (1 - s) (1 - 2 s)
//   silu       z s                 s (1 + z (1 - s))    s' (2 + z (1 - 2 s))
//                                  s' (3 (1 - 2 s) + z (1 - 6 s + 6 s²)),   s' = s (1 - s)
//   relu       max(0, z)           1 for z > 0, else 0  0                   0
//   sine       sin z               cos z                -sin z              -cos z
// relu has a kink at z = 0, where its derivative is taken from the left, 0; silu is after
// [Elfwing2018], sine after [Sitzmann2020].
//
// What derivatives need of z is kept in at most two numbers, (k0, k1), so that no exponential is
// taken twice: of tanh t, of softplus s, of silu z and s, of relu the step, of sine both sine and
// cosine.
#pragma once

#include <string>
#include <vector>

#include "cycloid/math/elementary.h"

namespace cycloid::inline network {

enum class Activation { tanh, softplus, silu, relu, sine };

const std::vector<std::string>& activation_names();
// Throws Error with the nearest name.
Activation activation_of(const std::string& name);
const std::string& name(Activation activation);

// Whether k0 is the value itself.
constexpr bool keeps_value(Activation a) { return a == Activation::tanh || a == Activation::sine; }
constexpr bool keeps_two(Activation a) { return a == Activation::silu || a == Activation::sine; }

template <class S>
struct Activated {
  S value, k0, k1;
};

template <Activation A, class S>
CYCLOID_INLINE Activated<S> activate(const S& z) {
  if constexpr (A == Activation::tanh) {
    const S t = tanh(z);
    return {t, t, t};
  } else if constexpr (A == Activation::softplus) {
    const S s = sigmoid(z);
    return {positive_part(z) + log(S(1) + exp(-abs(z))), s, s};
  } else if constexpr (A == Activation::silu) {
    const S s = sigmoid(z);
    return {z * s, z, s};
  } else if constexpr (A == Activation::relu) {
    return {positive_part(z), unit_step(z), z};
  } else {
    S s, c;
    sin_cos(z, s, c);
    return {s, s, c};
  }
}

template <Activation A, class S>
CYCLOID_INLINE S first_derivative(const S& k0, [[maybe_unused]] const S& k1) {
  if constexpr (A == Activation::tanh) return S(1) - k0 * k0;
  else if constexpr (A == Activation::silu) return k1 * (S(1) + k0 * (S(1) - k1));
  else if constexpr (A == Activation::sine) return k1;
  else return k0;
}

template <Activation A, class S>
CYCLOID_INLINE S second_derivative(const S& k0, [[maybe_unused]] const S& k1) {
  if constexpr (A == Activation::tanh) return S(-2) * k0 * (S(1) - k0 * k0);
  else if constexpr (A == Activation::softplus) return k0 * (S(1) - k0);
  else if constexpr (A == Activation::silu)
    return k1 * (S(1) - k1) * (S(2) + k0 * (S(1) - S(2) * k1));
  else if constexpr (A == Activation::sine) return -k0;
  else return S(0) * k0;
}

template <Activation A, class S>
CYCLOID_INLINE S third_derivative(const S& k0, [[maybe_unused]] const S& k1) {
  if constexpr (A == Activation::tanh) {
    const S t2 = k0 * k0;
    return S(-2) * (S(1) - t2) * (S(1) - S(3) * t2);
  } else if constexpr (A == Activation::softplus) {
    return k0 * (S(1) - k0) * (S(1) - S(2) * k0);
  } else if constexpr (A == Activation::silu) {
    return k1 * (S(1) - k1) *
           (S(3) * (S(1) - S(2) * k1) + k0 * (S(1) - S(6) * k1 + S(6) * k1 * k1));
  } else if constexpr (A == Activation::sine) {
    return -k1;
  } else {
    return S(0) * k0;
  }
}

// Calls f with the activation as a constant.
template <class F>
CYCLOID_INLINE void with_activation(Activation a, F&& f) {
  switch (a) {
    case Activation::tanh: return f.template operator()<Activation::tanh>();
    case Activation::softplus: return f.template operator()<Activation::softplus>();
    case Activation::silu: return f.template operator()<Activation::silu>();
    case Activation::relu: return f.template operator()<Activation::relu>();
    case Activation::sine: return f.template operator()<Activation::sine>();
  }
}

}  // namespace cycloid::inline network
