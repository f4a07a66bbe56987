// Stick and slip: a block on a moving belt, held by a spring, with dry friction, and its pullback.
//
// q stretch of the spring [m], v velocity of the block [m/s], V that of the belt, N the force that
// presses it on the belt, μ_s > μ_k the coefficients of friction. The mode σ is a state that events
// alone change: 0 the block sticks to the belt, ±1 it slips, where σ is the sign of v - V. It is
// read by rounding: nothing depends on it continuously, and its cotangent is zero.
//   q̇ = v                                                       (1)
//   v̇ = 0 where it sticks, else (-k q - d v - σ μ_k N) / m        (2)
// Event "stick": σ (v - V) falls through 0 while it slips. With F = k q + d V,
//   v⁺ = V,  σ⁺ = 0 if |F| ≤ μ_s N, else -sign F                 (3)
// Event "slip": μ_s N - |F| falls through 0 while it sticks: σ⁺ = -sign F      (4)
// Without damping its cycle is known: it sticks for 2 (μ_s - μ_k) N / (k V), and slips for
// (2/ω) (π - atan(ω (μ_s - μ_k) N / (k V))), ω = √(k/m).
#pragma once

#include <array>

#include "cycloid/math/elementary.h"
#include "cycloid/system/event.h"

namespace cycloid::inline system {

struct StickSlip {
  static constexpr const char* kName = "stick_slip";
  static constexpr std::array kState = {BlockSpec{"stretch", 1, "m"},
                                        BlockSpec{"velocity", 1, "m/s"}, BlockSpec{"mode", 1, "1"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"mass", 1.0, "kg", Constraint::positive},
      ParameterSpec{"stiffness", 1.0, "N/m", Constraint::positive},
      ParameterSpec{"damping", 0.0, "N·s/m", Constraint::non_negative},
      ParameterSpec{"belt", 0.2, "m/s"},
      ParameterSpec{"normal_force", 1.0, "N", Constraint::non_negative},
      ParameterSpec{"static_friction", 0.6, "1", Constraint::non_negative},
      ParameterSpec{"kinetic_friction", 0.4, "1", Constraint::non_negative}};
  enum { kMass, kStiffness, kDamping, kBelt, kNormal, kStatic, kKinetic };
  enum { kStick, kSlip };
  static constexpr std::array kEvents = {
      EventSpec{"stick", EventDirection::falling, EventEffect::reset},
      EventSpec{"slip", EventDirection::falling, EventEffect::reset}};

  template <class S>
  CYCLOID_INLINE void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    dx[0] = x[1];                                             // (1)
    dx[1] = select(sticks(x), S(0), force(x, p) / p[kMass]);  // (2)
    dx[2] = S(0);
  }

  template <class S>
  CYCLOID_INLINE void x_dot_pullback(const S&, const S* x, const S*, const S* p, const S* dx_bar,
                                     S&, S* x_bar, S*, S* p_bar) const {
    const S f_bar = select(sticks(x), S(0), dx_bar[1] / p[kMass]);  // (2)
    x_bar[0] -= f_bar * p[kStiffness];
    x_bar[1] += dx_bar[0] - f_bar * p[kDamping];  // (1)
    p_bar[kMass] -= f_bar * force(x, p) / p[kMass];
    p_bar[kStiffness] -= f_bar * x[0];
    p_bar[kDamping] -= f_bar * x[1];
    p_bar[kKinetic] -= f_bar * slip_sign(x) * p[kNormal];
    p_bar[kNormal] -= f_bar * slip_sign(x) * p[kKinetic];
  }

  // Of the other mode, a constant that does not reach zero.
  template <class S>
  CYCLOID_INLINE void events(const S&, const S* x, const S*, const S* p, S* g) const {
    g[kStick] = select(sticks(x), S(1), slip_sign(x) * (x[1] - p[kBelt]));
    g[kSlip] = select(sticks(x), p[kStatic] * p[kNormal] - abs(pull(x, p)), S(1));
  }

  template <class S>
  CYCLOID_INLINE void reset(int event, const S&, const S* x, const S*, const S* p,
                            S* x_next) const {
    const S F = pull(x, p), away = select(F > S(0), S(-1), S(1));
    const auto holds = abs(F) <= p[kStatic] * p[kNormal];
    x_next[0] = x[0];
    x_next[1] = p[kBelt];
    x_next[2] = event == kSlip ? away : select(holds, S(0), away);  // (3), (4)
  }

 private:
  template <class S>
  CYCLOID_INLINE static auto sticks(const S* x) {
    return abs(x[2]) < S(0.5);
  }
  template <class S>
  CYCLOID_INLINE static S slip_sign(const S* x) {
    return select(x[2] > S(0), S(1), S(-1));
  }
  template <class S>
  CYCLOID_INLINE static S force(const S* x, const S* p) {
    return -p[kStiffness] * x[0] - p[kDamping] * x[1] - slip_sign(x) * p[kKinetic] * p[kNormal];
  }
  // What friction must hold while the block sticks.
  template <class S>
  CYCLOID_INLINE static S pull(const S* x, const S* p) {
    return p[kStiffness] * x[0] + p[kDamping] * p[kBelt];
  }
};

}  // namespace cycloid::inline system
