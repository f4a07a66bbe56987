// What a stepper does with its lanes besides physics: sums over steps, and whether all is finite.
#pragma once

#include <cstring>

#include "cycloid/math/dual.h"
#include "cycloid/math/pack.h"

namespace cycloid::inline system {

// The sum over steps of a parameter's cotangent: in double, whatever the precision of the step.
template <class S>
struct Accumulator {
  using T = Scalar<S>;
  static constexpr int kNumbers = static_cast<int>(sizeof(S) / sizeof(T));
  double sum[kNumbers];

  CYCLOID_INLINE void add(const S& x) {
    if constexpr (requires { widen_add(sum, x); }) {
      widen_add(sum, x);
    } else {
      alignas(S) T lanes[kNumbers];
      std::memcpy(lanes, &x, sizeof(S));
      for (int i = 0; i < kNumbers; ++i) sum[i] += static_cast<double>(lanes[i]);
    }
  }
};

// Lanes in which x, tangents included, is finite.
template <class S>
CYCLOID_INLINE auto finite_lanes(const S& x) {
  return is_finite(x);
}
template <class S, int N>
CYCLOID_INLINE auto finite_lanes(const Dual<S, N>& x) {
  auto finite = finite_lanes(x.value);
  for (int i = 0; i < N; ++i) finite = finite & finite_lanes(x.tangent[i]);
  return finite;
}

}  // namespace cycloid::inline system
