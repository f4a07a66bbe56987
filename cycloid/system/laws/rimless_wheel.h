// Rimless wheel: a point mass on rigid spokes that rolls down a slope, and its pullback.
//
// θ angle of the spoke on the ground from the vertical, downhill positive [rad], ω its rate
// [rad/s], 2α between spokes, γ the slope, l the spokes' length.
//   θ̇ = ω                                    (1)
//   ω̇ = (g/l) sin θ                          (2)
// The next spoke reaches the ground at θ = γ + α, rising: event "step". The impact is plastic and
// keeps the angular momentum about the new point of contact:
//   θ⁺ = γ - α,  ω⁺ = ω cos 2α               (3)
// Rolling backwards, at θ = γ - α falling, event "back": θ⁺ = γ + α, ω⁺ = ω cos 2α            (4)
//   E = ½ l² ω² + g l cos θ                  (5)  energy of a unit mass [m²/s²], conserved
//                                                 between impacts; heights from the contact
// Downhill it has a limit cycle: just after the impact
//   ω*² = 4 (g/l) sin α sin γ cos² 2α / sin² 2α,
// if the wheel gets over the top, and a deviation of ω* shrinks by cos² 2α per step (McGeer1990).
#pragma once

#include <array>
#include <numbers>

#include "cycloid/math/elementary.h"
#include "cycloid/system/admission.h"
#include "cycloid/system/event/event.h"

namespace cycloid::inline system {

struct RimlessWheel {
  static constexpr const char* kName = "rimless_wheel";
  static constexpr std::array kState = {BlockSpec{"angle", 1, "rad"},
                                        BlockSpec{"angular_velocity", 1, "rad/s"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"length", 1.0, "m", Constraint::positive},
      ParameterSpec{"half_angle", 0.4, "rad", Constraint::positive},
      ParameterSpec{"slope", 0.1, "rad"}, ParameterSpec{"gravity", 9.81, "m/s²"}};
  enum { kLength, kHalfAngle, kSlope, kGravity };
  static constexpr double kMostHalfAngle = std::numbers::pi / 4;
  enum { kStep, kBack };
  static constexpr std::array kEvents = {
      EventSpec{"step", EventDirection::rising, EventEffect::reset},
      EventSpec{"back", EventDirection::falling, EventEffect::reset}};
  static constexpr bool kSecondOrder = true;

  template <class S>
  CYCLOID_INLINE void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    dx[0] = x[1];                                  // (1)
    dx[1] = p[kGravity] / p[kLength] * sin(x[0]);  // (2)
  }

  template <class S>
  CYCLOID_INLINE void x_dot_pullback(const S&, const S* x, const S*, const S* p, const S* dx_bar,
                                     S&, S* x_bar, S*, S* p_bar) const {
    S sine, cosine;
    sin_cos(x[0], sine, cosine);
    const S a_bar = dx_bar[1] / p[kLength];  // (2)
    x_bar[0] += a_bar * p[kGravity] * cosine;
    p_bar[kGravity] += a_bar * sine;
    p_bar[kLength] -= a_bar * p[kGravity] * sine / p[kLength];
    x_bar[1] += dx_bar[0];  // (1)
  }

  template <class S>
  CYCLOID_INLINE void events(const S&, const S* x, const S*, const S* p, S* g) const {
    g[kStep] = x[0] - (p[kSlope] + p[kHalfAngle]);
    g[kBack] = x[0] - (p[kSlope] - p[kHalfAngle]);
  }

  template <class S>
  CYCLOID_INLINE void reset(int event, const S&, const S* x, const S*, const S* p,
                            S* x_next) const {
    x_next[0] = event == kStep ? p[kSlope] - p[kHalfAngle] : p[kSlope] + p[kHalfAngle];
    x_next[1] = x[1] * cos(S(2) * p[kHalfAngle]);  // (3), (4)
  }

  static constexpr const char* kEnergyUnit = "m²/s²";
  template <class S>
  CYCLOID_INLINE S energy(const S* x, const S* p) const {
    const S half = S(0.5) * p[kLength] * x[1] * x[1];
    return p[kLength] * (half + p[kGravity] * cos(x[0]));  // (5)
  }

  template <class S>
  CYCLOID_INLINE void energy_pullback(const S* x, const S* p, const S& energy_bar, S* x_bar,
                                      S* p_bar) const {
    S sine, cosine;
    sin_cos(x[0], sine, cosine);
    const S &l = p[kLength], &g = p[kGravity];
    x_bar[0] -= energy_bar * l * g * sine;  // (5)
    x_bar[1] += energy_bar * l * l * x[1];
    p_bar[kLength] += energy_bar * (l * x[1] * x[1] + g * cosine);
    p_bar[kGravity] += energy_bar * l * cosine;
  }

  // From π/4 on (3) turns the wheel round, or stops it.
  std::string refuse(const double* p) const {
    if (p[kHalfAngle] < kMostHalfAngle) return {};
    return message("half_angle is ", p[kHalfAngle],
                   " rad; it must be below π/4 (0.785), for an "
                   "impact multiplies the velocity by cos(2·half_angle), which must be positive");
  }

  // Another spoke would be in the ground.
  std::string admit(const double* p, double rounding, double* x) const {
    const double least = p[kSlope] - p[kHalfAngle], most = p[kSlope] + p[kHalfAngle];
    const double side = x[0] > most ? 1 : -1;
    const double border = side > 0 ? most : least, beyond = side * (x[0] - border);
    const double acceleration = side * p[kGravity] / p[kLength] * sin(x[0]);
    if (beyond <= 0 || comes_back(beyond, side * x[1], acceleration)) return {};
    if (beyond > rounding) {
      return message("angle is ", x[0], " rad, where the ", side > 0 ? "next" : "last",
                     " spoke is in the ground; start between slope - half_angle and slope + "
                     "half_angle, ",
                     least, " and ", most);
    }
    x[0] = border;
    return {};
  }
};

}  // namespace cycloid::inline system
