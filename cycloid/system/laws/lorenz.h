// Lorenz's system of 1963, the classical chaotic flow, and its pullback. Source: Lorenz1963.
//
//   ẋ = sigma (y - x)          (1)
//   ẏ = x (rho - z) - y        (2)
//   ż = x y - beta z           (3)
// At the default parameters its largest Lyapunov exponent is 0.906 (Sprott2003), in units of
// 1/time.
#pragma once

#include <array>

#include "cycloid/system/law.h"

namespace cycloid::inline system {

struct Lorenz {
  static constexpr const char* kName = "lorenz";
  static constexpr std::array kState = {BlockSpec{"x", 1, "1"}, BlockSpec{"y", 1, "1"},
                                        BlockSpec{"z", 1, "1"}};
  static constexpr std::array kParameters = {ParameterSpec{"sigma", 10.0, "1/s"},
                                             ParameterSpec{"rho", 28.0, "1"},
                                             ParameterSpec{"beta", 8.0 / 3.0, "1/s"}};
  enum { kSigma, kRho, kBeta };

  template <class S>
  CYCLOID_INLINE void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    dx[0] = p[kSigma] * (x[1] - x[0]);       // (1)
    dx[1] = x[0] * (p[kRho] - x[2]) - x[1];  // (2)
    dx[2] = x[0] * x[1] - p[kBeta] * x[2];   // (3)
  }

  template <class S>
  CYCLOID_INLINE void x_dot_pullback(const S&, const S* x, const S*, const S* p, const S* dx_bar,
                                     S&, S* x_bar, S*, S* p_bar) const {
    x_bar[0] += dx_bar[2] * x[1];  // (3)
    x_bar[1] += dx_bar[2] * x[0];
    x_bar[2] -= dx_bar[2] * p[kBeta];
    p_bar[kBeta] -= dx_bar[2] * x[2];
    x_bar[0] += dx_bar[1] * (p[kRho] - x[2]);  // (2)
    x_bar[1] -= dx_bar[1];
    x_bar[2] -= dx_bar[1] * x[0];
    p_bar[kRho] += dx_bar[1] * x[0];
    x_bar[0] -= dx_bar[0] * p[kSigma];  // (1)
    x_bar[1] += dx_bar[0] * p[kSigma];
    p_bar[kSigma] += dx_bar[0] * (x[1] - x[0]);
  }
};

}  // namespace cycloid::inline system
