// Pendulum: a point mass on a massless rod, damped and driven at the pivot, and its pullback.
//
// θ angle from hanging [rad], ω its rate [rad/s]; J = m l² [kg·m²].
//   θ̇ = ω                                            (1)
//   ω̇ = -(g/l) sin θ + (τ - d ω) / J                  (2)
//   E = ½ J ω² - m g l cos θ                          (3)  energy [J]
#pragma once

#include <array>

#include "cycloid/math/elementary.h"
#include "cycloid/system/law.h"

namespace cycloid::inline system {

struct Pendulum {
  static constexpr const char* kName = "pendulum";
  static constexpr std::array kState = {BlockSpec{"angle", 1, "rad"},
                                        BlockSpec{"angular_velocity", 1, "rad/s"}};
  static constexpr std::array kInput = {BlockSpec{"torque", 1, "N·m"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"length", 1.0, "m", Constraint::positive},
      ParameterSpec{"mass", 1.0, "kg", Constraint::positive},
      ParameterSpec{"damping", 0.0, "N·m·s/rad", Constraint::non_negative},
      ParameterSpec{"gravity", 9.81, "m/s²"}};
  enum { kLength, kMass, kDamping, kGravity };
  static constexpr bool kSecondOrder = true;
  static constexpr int kSaved = 2;  // sin θ, cos θ

  template <class S>
  CYCLOID_INLINE void x_dot(const S&, const S* x, const S* u, const S* p, S* dx, S* saved) const {
    sin_cos(x[0], saved[0], saved[1]);
    const S inv_l = S(1) / p[kLength];
    const S inv_J = inv_l * inv_l / p[kMass];
    dx[0] = x[1];                                                                  // (1)
    dx[1] = (u[0] - p[kDamping] * x[1]) * inv_J - p[kGravity] * inv_l * saved[0];  // (2)
  }

  template <class S>
  CYCLOID_INLINE void x_dot_pullback(const S&, const S* x, const S* u, const S* p, const S* saved,
                                     const S* dx_bar, S&, S* x_bar, S* u_bar, S* p_bar) const {
    const S inv_l = S(1) / p[kLength], inv_m = S(1) / p[kMass];
    const S torque_bar = dx_bar[1] * (inv_l * inv_l * inv_m);  // (2)
    const S drive = torque_bar * (u[0] - p[kDamping] * x[1]);
    const S fall_bar = dx_bar[1] * inv_l;
    const S fall = fall_bar * saved[0];
    x_bar[0] -= fall_bar * p[kGravity] * saved[1];
    x_bar[1] += dx_bar[0] - torque_bar * p[kDamping];  // (1)
    u_bar[0] += torque_bar;
    p_bar[kLength] += inv_l * (p[kGravity] * fall - S(2) * drive);
    p_bar[kMass] -= inv_m * drive;
    p_bar[kDamping] -= torque_bar * x[1];
    p_bar[kGravity] -= fall;
  }

  template <class S>
  CYCLOID_INLINE S energy(const S* x, const S* p) const {
    const S half = S(0.5) * p[kLength] * x[1] * x[1];
    return p[kMass] * p[kLength] * (half - p[kGravity] * cos(x[0]));  // (3)
  }

  template <class S>
  CYCLOID_INLINE void energy_pullback(const S* x, const S* p, const S& energy_bar, S* x_bar,
                                      S* p_bar) const {
    S sine, cosine;
    sin_cos(x[0], sine, cosine);
    const S &l = p[kLength], &m = p[kMass], &g = p[kGravity], w2 = x[1] * x[1];
    x_bar[0] += energy_bar * m * l * g * sine;  // (3)
    x_bar[1] += energy_bar * m * l * l * x[1];
    p_bar[kLength] += energy_bar * m * (l * w2 - g * cosine);
    p_bar[kMass] += energy_bar * l * (S(0.5) * l * w2 - g * cosine);
    p_bar[kGravity] -= energy_bar * m * l * cosine;
  }
};

}  // namespace cycloid::inline system
