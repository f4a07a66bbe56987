// Bouncing ball: a point mass that falls on a floor and bounces with restitution, and its pullback.
//
// y height above the floor [m], v its rate [m/s].
//   ẏ = v                       (1)
//   v̇ = -g                      (2)
// Event impact, when y falls through 0:
//   y⁺ = 0                      (3)
//   v⁺ = -e v                   (4)
//   E = ½ v² + g y              (5)  energy of a unit mass [m²/s²], conserved between impacts
// From a height y₀ at rest the first impact is at √(2 y₀/g). For e < 1 the bounces pile up at a
// time T = √(2 y₀/g) (1 + e)/(1 - e) after which there are infinitely many: a run that reaches it
// stops there.
#pragma once

#include <array>

#include "cycloid/system/admission.h"
#include "cycloid/system/event/event.h"

namespace cycloid::inline system {

struct BouncingBall {
  static constexpr const char* kName = "bouncing_ball";
  static constexpr std::array kState = {BlockSpec{"height", 1, "m"},
                                        BlockSpec{"velocity", 1, "m/s"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"restitution", 0.8, "1", Constraint::unit_interval},
      ParameterSpec{"gravity", 9.81, "m/s²"}};
  enum { kRestitution, kGravity };
  static constexpr std::array kEvents = {
      EventSpec{"impact", EventDirection::falling, EventEffect::reset}};
  static constexpr bool kSecondOrder = true;

  template <class S>
  CYCLOID_INLINE void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    dx[0] = x[1];          // (1)
    dx[1] = -p[kGravity];  // (2)
  }

  template <class S>
  CYCLOID_INLINE void x_dot_pullback(const S&, const S*, const S*, const S*, const S* dx_bar, S&,
                                     S* x_bar, S*, S* p_bar) const {
    p_bar[kGravity] -= dx_bar[1];  // (2)
    x_bar[1] += dx_bar[0];         // (1)
  }

  template <class S>
  CYCLOID_INLINE void events(const S&, const S* x, const S*, const S*, S* g) const {
    g[0] = x[0];
  }

  template <class S>
  CYCLOID_INLINE void reset(int, const S&, const S* x, const S*, const S* p, S* x_next) const {
    x_next[0] = S(0);                     // (3)
    x_next[1] = -p[kRestitution] * x[1];  // (4)
  }

  static constexpr const char* kEnergyUnit = "m²/s²";
  template <class S>
  CYCLOID_INLINE S energy(const S* x, const S* p) const {
    return S(0.5) * x[1] * x[1] + p[kGravity] * x[0];  // (5)
  }

  template <class S>
  CYCLOID_INLINE void energy_pullback(const S* x, const S* p, const S& energy_bar, S* x_bar,
                                      S* p_bar) const {
    x_bar[0] += energy_bar * p[kGravity];  // (5)
    x_bar[1] += energy_bar * x[1];
    p_bar[kGravity] += energy_bar * x[0];
  }

  // Below the floor there is nothing to bounce on.
  std::string admit(const double* p, double rounding, double* x) const {
    const double below = -x[0];
    if (below <= 0 || comes_back(below, -x[1], p[kGravity])) return {};
    if (below > rounding) {
      return message("height is ", x[0],
                     " m, below the floor, where the ball would fall for ever; "
                     "start at height 0 or above");
    }
    x[0] = 0;
    return {};
  }
};

}  // namespace cycloid::inline system
