// Dual<S,N>: a number with N directional derivatives (forward mode); the oracle of pullback tests.
//
//   x = value + Σ tangent[i] ε_i,   ε_i ε_j = 0                       (1)
//   f(x) = f(value) + Σ f'(value) tangent[i] ε_i                      (2)
//
// S is any scalar: Dual<double,4>, Dual<Pack<double,8>,2>, and Dual again for second derivatives:
// the ε of Dual<Dual<double,1>,4>'s two levels are independent. Comparisons and is_finite look at
// the value alone, so that a function of Duals takes the same decisions as the function of values.
// Seed a variable with Dual::variable(v, i); a constant has zero tangents.
//
// Where a function has a kink or a pole (all without branches on lanes):
//   abs'(0) = 0,  copysign'(0, y) = 0,  positive_part'(0) = 0,  unit_step' = floor' =
//   round_nearest' = 0 everywhere; min and max take the derivative of the argument they return, the
//   second one at a tie                                               (3)
//   sqrt'(0), asin'(±1), acos'(±1) are infinite, as in mathematics; a zero tangent stays zero.
//   norm.h has the square root of a sum of squares with a finite derivative                (4)
//   atan2'(0, 0) = 0                                                  (5)
//   pow(x, y) at x = 0: ∂/∂x = 0 for y = 0 and y > 1, 1 for y = 1, infinite for 0 < y < 1;
//   ∂/∂y = 0 for x <= 0                                               (6)
#pragma once

#include "cycloid/math/elementary.h"
#include "cycloid/math/scalar.h"

namespace cycloid::inline math {

template <class S, int N>
struct Dual;

template <class S, int N>
struct ScalarTraits<Dual<S, N>> {
  using Scalar = typename ScalarTraits<S>::Scalar;
  using Mask = typename ScalarTraits<S>::Mask;
  static constexpr int kLanes = ScalarTraits<S>::kLanes;
};

// A T that meets a Dual over S as a constant: a built-in number, an S, or a constant of S.
template <class T, class S>
inline constexpr bool kIsConstantOf = std::is_arithmetic_v<T> || std::is_same_v<T, S>;
template <class T, class S, int N>
inline constexpr bool kIsConstantOf<T, Dual<S, N>> =
    std::is_same_v<T, Dual<S, N>> || kIsConstantOf<T, S>;
template <class T, class S>
concept DualConstant = kIsConstantOf<T, S>;

template <class S, int N>
struct Dual {
  S value;
  S tangent[N];

  Dual() = default;
  CYCLOID_INLINE Dual(const S& v) : value(v) {
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) tangent[i] = S(0);
  }
  template <class T>
    requires std::is_arithmetic_v<T> && (!std::is_same_v<T, S>)
  CYCLOID_INLINE explicit(!std::is_same_v<T, Scalar<S>> && !std::is_integral_v<T>) Dual(T c)
      : Dual(S(static_cast<Scalar<S>>(c))) {}

  // v + ε_i.
  CYCLOID_INLINE static Dual variable(const S& v, int i) {
    Dual x(v);
    x.tangent[i] = S(1);
    return x;
  }

  // The one loop over tangents.
  template <class F>
  CYCLOID_INLINE static Dual make(const S& v, F tangent_of) {
    Dual y;
    y.value = v;
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) y.tangent[i] = tangent_of(i);
    return y;
  }
  // f(x) from f(value) and g = f'(value), (2).
  CYCLOID_INLINE static Dual chain(const S& f, const S& g, const Dual& x) {
    return make(f, [&](int i) { return g * x.tangent[i]; });
  }
  CYCLOID_INLINE static Dual chain(const S& f, const S& g_a, const Dual& a, const S& g_b,
                                   const Dual& b) {
    return make(f, [&](int i) { return g_a * a.tangent[i] + g_b * b.tangent[i]; });
  }
  // Where g may be infinite: there, a zero tangent stays zero, (4). Elsewhere nothing is cut, for a
  // tangent whose value is zero may have a derivative of its own.
  CYCLOID_INLINE static Dual chain_at_pole(const S& f, const S& g, const Dual& x) {
    const Mask<S> pole = !is_finite(g);
    return make(
        f, [&](int i) { return select(pole & (x.tangent[i] == S(0)), S(0), g * x.tangent[i]); });
  }
  // A constant as the arithmetic of S takes it.
  template <class T>
  CYCLOID_INLINE static auto constant(const T& c) {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<Scalar<S>>(c);
    } else {
      return c;
    }
  }

  CYCLOID_INLINE friend Dual operator+(const Dual& a) { return a; }
  CYCLOID_INLINE friend Dual operator-(const Dual& a) {
    return make(-a.value, [&](int i) { return -a.tangent[i]; });
  }
  CYCLOID_INLINE friend Dual operator+(const Dual& a, const Dual& b) {
    return make(a.value + b.value, [&](int i) { return a.tangent[i] + b.tangent[i]; });
  }
  CYCLOID_INLINE friend Dual operator-(const Dual& a, const Dual& b) {
    return make(a.value - b.value, [&](int i) { return a.tangent[i] - b.tangent[i]; });
  }
  CYCLOID_INLINE friend Dual operator*(const Dual& a, const Dual& b) {
    return chain(a.value * b.value, b.value, a, a.value, b);
  }
  CYCLOID_INLINE friend Dual operator/(const Dual& a, const Dual& b) {
    const S f = a.value / b.value, g = S(1) / b.value;
    return make(f, [&](int i) { return g * (a.tangent[i] - f * b.tangent[i]); });
  }

  template <DualConstant<S> T>
  CYCLOID_INLINE friend Dual operator+(const Dual& a, const T& c) {
    return make(a.value + constant(c), [&](int i) { return a.tangent[i]; });
  }
  template <DualConstant<S> T>
  CYCLOID_INLINE friend Dual operator+(const T& c, const Dual& a) {
    return a + c;
  }
  template <DualConstant<S> T>
  CYCLOID_INLINE friend Dual operator-(const Dual& a, const T& c) {
    return make(a.value - constant(c), [&](int i) { return a.tangent[i]; });
  }
  template <DualConstant<S> T>
  CYCLOID_INLINE friend Dual operator-(const T& c, const Dual& a) {
    return make(constant(c) - a.value, [&](int i) { return -a.tangent[i]; });
  }
  template <DualConstant<S> T>
  CYCLOID_INLINE friend Dual operator*(const Dual& a, const T& c) {
    return make(a.value * constant(c), [&](int i) { return a.tangent[i] * constant(c); });
  }
  template <DualConstant<S> T>
  CYCLOID_INLINE friend Dual operator*(const T& c, const Dual& a) {
    return a * c;
  }
  template <DualConstant<S> T>
  CYCLOID_INLINE friend Dual operator/(const Dual& a, const T& c) {
    return make(a.value / constant(c), [&](int i) { return a.tangent[i] / constant(c); });
  }
  template <DualConstant<S> T>
  CYCLOID_INLINE friend Dual operator/(const T& c, const Dual& a) {
    const S f = constant(c) / a.value;
    return chain(f, -f / a.value, a);
  }
  template <class T>
  CYCLOID_INLINE Dual& operator+=(const T& b) {
    return *this = *this + b;
  }
  template <class T>
  CYCLOID_INLINE Dual& operator-=(const T& b) {
    return *this = *this - b;
  }
  template <class T>
  CYCLOID_INLINE Dual& operator*=(const T& b) {
    return *this = *this * b;
  }
  template <class T>
  CYCLOID_INLINE Dual& operator/=(const T& b) {
    return *this = *this / b;
  }

  CYCLOID_INLINE friend auto operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
  CYCLOID_INLINE friend auto operator>(const Dual& a, const Dual& b) { return a.value > b.value; }
  CYCLOID_INLINE friend auto operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
  CYCLOID_INLINE friend auto operator>=(const Dual& a, const Dual& b) { return a.value >= b.value; }
  CYCLOID_INLINE friend auto operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  CYCLOID_INLINE friend auto operator!=(const Dual& a, const Dual& b) { return a.value != b.value; }
};

// The number without its derivatives, at every level of nesting.
template <class S>
CYCLOID_HD const S& primal(const S& x) {
  return x;
}
template <class S, int N>
CYCLOID_HD const auto& primal(const Dual<S, N>& x) {
  return primal(x.value);
}

template <class S, int N>
CYCLOID_HD Dual<S, N> select(const Mask<S>& m, const Dual<S, N>& a,
                             const std::type_identity_t<Dual<S, N>>& b) {
  return Dual<S, N>::make(select(m, a.value, b.value),
                          [&](int i) { return select(m, a.tangent[i], b.tangent[i]); });
}
template <class S, int N>
CYCLOID_HD Mask<S> is_finite(const Dual<S, N>& x) {
  return is_finite(x.value);
}

// Pieces, (3).
template <class S, int N>
CYCLOID_HD Dual<S, N> positive_part(const Dual<S, N>& x) {
  return Dual<S, N>::chain(positive_part(x.value), unit_step(x.value), x);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> unit_step(const Dual<S, N>& x) {
  return unit_step(x.value);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> floor(const Dual<S, N>& x) {
  return floor(x.value);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> round_nearest(const Dual<S, N>& x) {
  return round_nearest(x.value);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> abs(const Dual<S, N>& x) {
  return Dual<S, N>::chain(abs(x.value), unit_step(x.value) - unit_step(-x.value), x);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> copysign(const Dual<S, N>& x, const std::type_identity_t<Dual<S, N>>& y) {
  const S sign_y = copysign(S(1), y.value);
  return Dual<S, N>::chain(copysign(x.value, y.value),
                           sign_y * (unit_step(x.value) - unit_step(-x.value)), x);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> min(const Dual<S, N>& a, const std::type_identity_t<Dual<S, N>>& b) {
  return select(a < b, a, b);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> max(const Dual<S, N>& a, const std::type_identity_t<Dual<S, N>>& b) {
  return select(a > b, a, b);
}

template <class S, int N>
CYCLOID_HD Dual<S, N> sqrt(const Dual<S, N>& x) {
  const S r = sqrt(x.value);
  return Dual<S, N>::chain_at_pole(r, S(0.5) / r, x);  // (4)
}
template <class S, int N>
CYCLOID_HD void sin_cos(const Dual<S, N>& x, Dual<S, N>& s, Dual<S, N>& c) {
  S sine, cosine;
  sin_cos(x.value, sine, cosine);
  const Dual<S, N> angle = x;  // s or c may be x itself
  s = Dual<S, N>::chain(sine, cosine, angle);
  c = Dual<S, N>::chain(cosine, -sine, angle);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> sin(const Dual<S, N>& x) {
  S s, c;
  sin_cos(x.value, s, c);
  return Dual<S, N>::chain(s, c, x);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> cos(const Dual<S, N>& x) {
  S s, c;
  sin_cos(x.value, s, c);
  return Dual<S, N>::chain(c, -s, x);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> tan(const Dual<S, N>& x) {
  const S t = tan(x.value);
  return Dual<S, N>::chain(t, S(1) + t * t, x);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> asin(const Dual<S, N>& x) {
  const S g = S(1) / sqrt((S(1) - x.value) * (S(1) + x.value));
  return Dual<S, N>::chain_at_pole(asin(x.value), g, x);  // (4)
}
template <class S, int N>
CYCLOID_HD Dual<S, N> acos(const Dual<S, N>& x) {
  const S g = S(-1) / sqrt((S(1) - x.value) * (S(1) + x.value));
  return Dual<S, N>::chain_at_pole(acos(x.value), g, x);  // (4)
}
// Divides by the larger argument first, so that x² + y² neither overflows nor underflows.
template <class S, int N>
CYCLOID_HD Dual<S, N> atan2(const Dual<S, N>& y, const std::type_identity_t<Dual<S, N>>& x) {
  const auto m = max(abs(primal(x.value)), abs(primal(y.value)));
  using P = std::remove_cvref_t<decltype(m)>;
  const P scale = P(1) / select(m > P(0), m, P(1));
  const S xs = x.value * scale, ys = y.value * scale;
  const S g = scale / select(m > P(0), xs * xs + ys * ys, S(1));
  return Dual<S, N>::chain(atan2(y.value, x.value), g * xs, y, -g * ys, x);  // (5)
}
template <class S, int N>
CYCLOID_HD Dual<S, N> exp(const Dual<S, N>& x) {
  const S e = exp(x.value);
  return Dual<S, N>::chain(e, e, x);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> log(const Dual<S, N>& x) {
  return Dual<S, N>::chain(log(x.value), S(1) / x.value, x);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> tanh(const Dual<S, N>& x) {
  const S t = tanh(x.value);
  return Dual<S, N>::chain(t, (S(1) - t) * (S(1) + t), x);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> sigmoid(const Dual<S, N>& x) {
  const S s = sigmoid(x.value);
  return Dual<S, N>::chain(s, s * sigmoid(-x.value), x);  // 1 - s without cancellation
}

// ∂(x^y)/∂x, (6).
template <class S>
CYCLOID_HD S pow_slope(const S& x, const S& y) {
  const Mask<S> constant_one = (x == S(0)) & (y == S(0));
  return select(constant_one, S(0), y * pow(x, y - S(1)));
}
template <class S, int N, DualConstant<S> T>
CYCLOID_HD Dual<S, N> pow(const Dual<S, N>& x, const T& y) {
  const S e = S(Dual<S, N>::constant(y));
  return Dual<S, N>::chain_at_pole(pow(x.value, e), pow_slope(x.value, e), x);
}
template <class S, int N>
CYCLOID_HD Dual<S, N> pow(const Dual<S, N>& x, const Dual<S, N>& y) {
  const S zero = S(0), f = pow(x.value, y.value);
  const S positive_x = select(x.value > zero, x.value, S(1));
  const S g_y = select(x.value > zero, f * log(positive_x), zero);
  Dual<S, N> z = Dual<S, N>::chain_at_pole(f, pow_slope(x.value, y.value), x);
  for (int i = 0; i < N; ++i) z.tangent[i] += g_y * y.tangent[i];
  return z;  // (6)
}
template <class S, int N, DualConstant<S> T>
CYCLOID_HD Dual<S, N> pow(const T& x, const Dual<S, N>& y) {
  return pow(Dual<S, N>(x), y);
}

}  // namespace cycloid::inline math
