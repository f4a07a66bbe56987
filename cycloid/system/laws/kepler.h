// Kepler's problem in the plane: motion about a fixed centre of attraction, and its pullback.
//
// Position r [m], velocity v [m/s], gravitational parameter mu [m³/s²]; s = |r|.
//   ṙ = v                  (1)
//   v̇ = -mu r / s³         (2)
//   E = ½ |v|² - mu / s    (3)  energy of a unit mass [m²/s²]
// (2) has no value at the centre: a state there is a failure of the step, and named as such.
#pragma once

#include <array>

#include "cycloid/math/elementary.h"
#include "cycloid/system/law.h"

namespace cycloid::inline system {

struct Kepler {
  static constexpr const char* kName = "kepler";
  static constexpr std::array kState = {BlockSpec{"position", 2, "m"},
                                        BlockSpec{"velocity", 2, "m/s"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"mu", 1.0, "m³/s²", Constraint::positive}};
  static constexpr bool kSecondOrder = true;

  template <class S>
  CYCLOID_INLINE void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    const S s2 = x[0] * x[0] + x[1] * x[1];
    const S w = p[0] / (s2 * sqrt(s2));
    dx[0] = x[2];  // (1)
    dx[1] = x[3];
    dx[2] = -w * x[0];  // (2)
    dx[3] = -w * x[1];
  }

  template <class S>
  CYCLOID_INLINE void x_dot_pullback(const S&, const S* x, const S*, const S* p, const S* dx_bar,
                                     S&, S* x_bar, S*, S* p_bar) const {
    const S s2 = x[0] * x[0] + x[1] * x[1];
    const S inv_s3 = S(1) / (s2 * sqrt(s2));
    const S w = p[0] * inv_s3;
    const S along = dx_bar[2] * x[0] + dx_bar[3] * x[1];
    p_bar[0] -= along * inv_s3;  // (2)
    const S radial = S(3) * w * along / s2;
    x_bar[0] += radial * x[0] - w * dx_bar[2];
    x_bar[1] += radial * x[1] - w * dx_bar[3];
    x_bar[2] += dx_bar[0];  // (1)
    x_bar[3] += dx_bar[1];
  }

  static constexpr const char* kEnergyUnit = "m²/s²";
  template <class S>
  CYCLOID_INLINE S energy(const S* x, const S* p) const {
    const S s = sqrt(x[0] * x[0] + x[1] * x[1]);
    return S(0.5) * (x[2] * x[2] + x[3] * x[3]) - p[0] / s;  // (3)
  }

  template <class S>
  CYCLOID_INLINE void energy_pullback(const S* x, const S* p, const S& energy_bar, S* x_bar,
                                      S* p_bar) const {
    const S s2 = x[0] * x[0] + x[1] * x[1], inv_s = S(1) / sqrt(s2);
    const S w = energy_bar * p[0] * inv_s / s2;  // (3)
    x_bar[0] += w * x[0];
    x_bar[1] += w * x[1];
    x_bar[2] += energy_bar * x[2];
    x_bar[3] += energy_bar * x[3];
    p_bar[0] -= energy_bar * inv_s;
  }
};

}  // namespace cycloid::inline system
