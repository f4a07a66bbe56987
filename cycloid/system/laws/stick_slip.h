// Stick and slip: a block on a moving belt, held by a spring, with dry friction, and its pullback.
//
// q stretch of the spring [m], v velocity of the block [m/s], V that of the belt, N the force that
// presses it on the belt, μ_s ≥ μ_k the coefficients of friction. The mode σ is a state that events
// alone change: 0 the block sticks to the belt, ±1 it slips, where σ is the sign of v - V. It is
// read by rounding, so that q and v do not depend on it continuously. A cotangent of σ itself goes
// back to the event that set it, and ends there; without one, it reaches the start.
//   q̇ = v                                                       (1)
//   v̇ = 0 where it sticks, else (-k q - d v - σ μ_k N) / m        (2)
// Event "stick": σ (v - V) falls through 0 while it slips. With F = k q + d V,
//   v⁺ = V,  σ⁺ = 0 if |F| ≤ μ_s N, else -sign F                 (3)
// Event "slip": μ_s N - |F| falls through 0 while it sticks: σ⁺ = -sign F      (4)
// Without damping its cycle is known: it sticks for 2 (μ_s - μ_k) N / (k V), and slips for
// (2/ω) (π - atan(ω (μ_s - μ_k) N / (k V))), ω = √(k/m).
#pragma once

#include <array>
#include <cmath>

#include "cycloid/math/elementary.h"
#include "cycloid/system/admission.h"
#include "cycloid/system/event/event.h"

namespace cycloid::inline system {

struct StickSlip {
  static constexpr const char* kName = "stick_slip";
  static constexpr std::array kState = {BlockSpec{"stretch", 1, "m"},
                                        BlockSpec{"velocity", 1, "m/s"}, BlockSpec{"mode", 1, "1"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"mass", 1.0, "kg", Constraint::positive},
      ParameterSpec{"stiffness", 1.0, "N/m", Constraint::positive},
      ParameterSpec{"damping", 0.0, "N·s/m", Constraint::non_negative},
      ParameterSpec{"belt", 0.21, "m/s"},
      ParameterSpec{"normal_force", 1.0, "N", Constraint::positive},
      ParameterSpec{"static_friction", 0.6, "1", Constraint::positive},
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

  std::string refuse(const double* p) const {
    if (p[kStatic] >= p[kKinetic]) return {};
    return message("static_friction is ", p[kStatic], ", below kinetic_friction, ", p[kKinetic],
                   ": the block would slip as soon as it sticks; give at least as much");
  }

  // The mode must be that of the velocity and of the pull.
  std::string admit(const double* p, double rounding, double* x) const {
    const double mode = std::round(x[2]);
    if (std::abs(mode) > 1 || std::abs(x[2] - mode) > kNearSurface) {
      return message("mode is ", x[2],
                     "; it must be 0 (the block sticks to the belt), 1 or -1 (it "
                     "slips, faster or slower than the belt)");
    }
    return mode == 0 ? admit_sticking(p, rounding, x) : admit_slipping(p, rounding, mode, x);
  }

 private:
  std::string admit_slipping(const double* p, double rounding, double mode, double* x) const {
    const double beyond = -mode * (x[1] - p[kBelt]);
    if (beyond <= 0 || (beyond <= kNearSurface && mode * force(x, p) > 0)) return {};
    if (beyond > rounding) {
      return message("mode is ", mode, ", but the block is ", mode > 0 ? "slower" : "faster",
                     " than the belt (", x[1], " and ", p[kBelt], " m/s); its mode is ", -mode);
    }
    x[1] = p[kBelt];
    return {};
  }

  std::string admit_sticking(const double* p, double rounding, double* x) const {
    const double slip = x[1] - p[kBelt];
    if (std::abs(slip) > kNearSurface) {
      return message("mode is 0, so that the block sticks to the belt, but their velocities are ",
                     x[1], " and ", p[kBelt], " m/s; give it that of the belt, or mode ",
                     slip > 0 ? 1 : -1);
    }
    const double F = pull(x, p), holds = p[kStatic] * p[kNormal], beyond = std::abs(F) - holds;
    if (beyond <= 0 || (beyond <= kNearSurface * holds && F * x[1] < 0)) return {};
    if (beyond > rounding * holds) {
      return message("mode is 0, so that the block sticks to the belt, but it is pulled with ",
                     std::abs(F), " N, and static friction holds ", holds, " N; give it mode ",
                     F > 0 ? -1 : 1);
    }
    x[0] -= (F > 0 ? 1 : -1) * (beyond + rounding * holds) / p[kStiffness];
    return {};
  }

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
