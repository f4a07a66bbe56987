// Laws that go wrong in a known place: on the way forward, or on the way back only.
#pragma once

#include <array>
#include <limits>

#include "cycloid/math/elementary.h"
#include "cycloid/system/law.h"

namespace cycloid::test {

// A driven oscillator whose force is NaN from the time `breaks_at` on.
struct Brittle {
  static constexpr const char* kName = "brittle";
  static constexpr std::array kState = {BlockSpec{"q", 1, "m"}, BlockSpec{"v", 1, "m/s"}};
  static constexpr std::array kInput = {BlockSpec{"force", 1, "N"}};
  static constexpr std::array kParameters = {ParameterSpec{"stiffness", 2.0, "N/m"},
                                             ParameterSpec{"breaks_at", 1e9, "s"}};
  static constexpr bool kSecondOrder = true;

  template <class S>
  CYCLOID_HD void x_dot(const S& t, const S* x, const S* u, const S* p, S* dx) const {
    constexpr auto kNaN = std::numeric_limits<Scalar<S>>::quiet_NaN();
    dx[0] = x[1];
    dx[1] = select(t >= p[1], S(kNaN), u[0] - p[0] * sin(x[0]));
  }
};

// A sum of roots of a countdown: finite everywhere, but without a derivative where n = 0.
//   n⁺ = n - 1,   s⁺ = s + scale √max(0, n)
struct RootsOfCountdown {
  static constexpr const char* kName = "roots_of_countdown";
  static constexpr std::array kState = {BlockSpec{"n", 1, "1"}, BlockSpec{"sum", 1, "1"}};
  static constexpr std::array kParameters = {ParameterSpec{"scale", 1.0, "1"}};

  template <class S>
  CYCLOID_HD void step(const S&, const S&, const S* x, const S*, const S* p, S* x_next) const {
    x_next[0] = x[0] - S(1);
    x_next[1] = x[1] + p[0] * sqrt(max(S(0), x[0]));
  }
};

// Only the input's derivative fails, at u = 0: ẋ = √u.
struct RootOfInput {
  static constexpr const char* kName = "root_of_input";
  static constexpr std::array kState = {BlockSpec{"x", 1, "m"}};
  static constexpr std::array kInput = {BlockSpec{"u", 1, "m²/s²"}};

  template <class S>
  CYCLOID_HD void x_dot(const S&, const S*, const S* u, const S*, S* dx) const {
    dx[0] = sqrt(u[0]);
  }
  template <class S>
  CYCLOID_HD void x_dot_pullback(const S&, const S*, const S* u, const S*, const S* dx_bar, S&, S*,
                                 S* u_bar, S*) const {
    u_bar[0] += dx_bar[0] * S(0.5) / sqrt(u[0]);
  }
};

}  // namespace cycloid::test
