// Double pendulum: two point masses on massless rods, and its pullback.
//
// θ₁, θ₂ absolute angles from hanging [rad]; Δ = θ₁ - θ₂; torques and dampings act in the joints:
// the first between the support and rod 1, the second between rod 1 and rod 2.
//   Q₁ = τ₁ - d₁ω₁ - τ₂ + d₂(ω₂ - ω₁),   Q₂ = τ₂ - d₂(ω₂ - ω₁)                           (1)
//   a = (m₁+m₂) l₁²,   b = m₂ l₁ l₂,   c = m₂ l₂²                                        (2)
//   r₁ = Q₁ - b sinΔ ω₂² - (m₁+m₂) g l₁ sin θ₁                                            (3)
//   r₂ = Q₂ + b sinΔ ω₁² - m₂ g l₂ sin θ₂                                                 (4)
//   [a  b cosΔ; b cosΔ  c] (α₁, α₂) = (r₁, r₂)                                            (5)
//   E = ½ a ω₁² + b cosΔ ω₁ ω₂ + ½ c ω₂² - (m₁+m₂) g l₁ cos θ₁ - m₂ g l₂ cos θ₂   (6)  energy [J]
// The determinant a c - b² cos²Δ ≥ m₁ m₂ l₁² l₂² is positive. (5) is differentiated by one more
// solve.
#pragma once

#include <array>

#include "cycloid/math/elementary.h"
#include "cycloid/system/law.h"

namespace cycloid::inline system {

struct DoublePendulum {
  static constexpr const char* kName = "double_pendulum";
  static constexpr std::array kState = {BlockSpec{"angles", 2, "rad"},
                                        BlockSpec{"angular_velocities", 2, "rad/s"}};
  static constexpr std::array kInput = {BlockSpec{"torques", 2, "N·m"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"lengths", 1.0, "m", Constraint::positive, 2},
      ParameterSpec{"masses", 1.0, "kg", Constraint::positive, 2},
      ParameterSpec{"damping", 0.0, "N·m·s/rad", Constraint::non_negative, 2},
      ParameterSpec{"gravity", 9.81, "m/s²"}};
  enum { kL1, kL2, kM1, kM2, kD1, kD2, kG };
  static constexpr bool kSecondOrder = true;
  static constexpr int kSaved = 6;
  enum { kSin1, kCos1, kSin2, kCos2, kAlpha1, kAlpha2 };

  template <class S>
  CYCLOID_INLINE void x_dot(const S&, const S* x, const S* u, const S* p, S* dx, S* saved) const {
    sin_cos(x[0], saved[kSin1], saved[kCos1]);
    sin_cos(x[1], saved[kSin2], saved[kCos2]);
    const S &w1 = x[2], &w2 = x[3];
    const S sin_d = saved[kSin1] * saved[kCos2] - saved[kCos1] * saved[kSin2];
    const S cos_d = saved[kCos1] * saved[kCos2] + saved[kSin1] * saved[kSin2];
    const S M = p[kM1] + p[kM2];
    const S joint2 = u[1] - p[kD2] * (w2 - w1);
    const S Q1 = u[0] - p[kD1] * w1 - joint2, Q2 = joint2;  // (1)
    const S a = M * p[kL1] * p[kL1], b = p[kM2] * p[kL1] * p[kL2],
            c = p[kM2] * p[kL2] * p[kL2];                                            // (2)
    const S r1 = Q1 - b * sin_d * w2 * w2 - M * p[kG] * p[kL1] * saved[kSin1];       // (3)
    const S r2 = Q2 + b * sin_d * w1 * w1 - p[kM2] * p[kG] * p[kL2] * saved[kSin2];  // (4)
    dx[0] = w1;
    dx[1] = w2;
    solve(a, b * cos_d, c, r1, r2, dx[2], dx[3]);  // (5)
    saved[kAlpha1] = dx[2];
    saved[kAlpha2] = dx[3];
  }

  template <class S>
  CYCLOID_INLINE void x_dot_pullback(const S&, const S* x, const S*, const S* p, const S* saved,
                                     const S* dx_bar, S&, S* x_bar, S* u_bar, S* p_bar) const {
    const S &w1 = x[2], &w2 = x[3], &l1 = p[kL1], &l2 = p[kL2], &m2 = p[kM2], &g = p[kG];
    const S &s1 = saved[kSin1], &c1 = saved[kCos1], &s2 = saved[kSin2], &c2 = saved[kCos2];
    const S &alpha1 = saved[kAlpha1], &alpha2 = saved[kAlpha2];
    const S sin_d = s1 * c2 - c1 * s2, cos_d = c1 * c2 + s1 * s2;
    const S M = p[kM1] + m2, a = M * l1 * l1, b = m2 * l1 * l2, c = m2 * l2 * l2;

    S r1_bar, r2_bar;  // (5)
    solve(a, b * cos_d, c, dx_bar[2], dx_bar[3], r1_bar, r2_bar);
    const S off_bar = -(r1_bar * alpha2 + r2_bar * alpha1);
    S a_bar = -r1_bar * alpha1, c_bar = -r2_bar * alpha2, b_bar = off_bar * cos_d;
    const S cos_d_bar = off_bar * b;

    const S w2w2 = w2 * w2, w1w1 = w1 * w1;  // (3), (4)
    const S centrifugal = r2_bar * w1w1 - r1_bar * w2w2;
    b_bar += centrifugal * sin_d;
    const S delta_bar = centrifugal * b * cos_d - cos_d_bar * sin_d;
    x_bar[0] += delta_bar - r1_bar * M * g * l1 * c1;
    x_bar[1] -= delta_bar + r2_bar * m2 * g * l2 * c2;
    const S Q1_bar = r1_bar, joint2_bar = r2_bar - r1_bar;  // (1)
    x_bar[2] += dx_bar[0] + S(2) * r2_bar * b * sin_d * w1 - Q1_bar * p[kD1] + joint2_bar * p[kD2];
    x_bar[3] += dx_bar[1] - S(2) * r1_bar * b * sin_d * w2 - joint2_bar * p[kD2];
    u_bar[0] += Q1_bar;
    u_bar[1] += joint2_bar;
    p_bar[kD1] -= Q1_bar * w1;
    p_bar[kD2] -= joint2_bar * (w2 - w1);
    p_bar[kG] -= r1_bar * M * l1 * s1 + r2_bar * m2 * l2 * s2;

    const S M_bar = a_bar * l1 * l1 - r1_bar * g * l1 * s1;  // (2)
    p_bar[kM1] += M_bar;
    p_bar[kM2] += M_bar + b_bar * l1 * l2 + c_bar * l2 * l2 - r2_bar * g * l2 * s2;
    p_bar[kL1] += S(2) * a_bar * M * l1 + b_bar * m2 * l2 - r1_bar * M * g * s1;
    p_bar[kL2] += b_bar * m2 * l1 + S(2) * c_bar * m2 * l2 - r2_bar * m2 * g * s2;
  }

  template <class S>
  CYCLOID_INLINE S energy(const S* x, const S* p) const {
    const S &w1 = x[2], &w2 = x[3], &l1 = p[kL1], &l2 = p[kL2], &m2 = p[kM2], M = p[kM1] + m2;
    const S a = M * l1 * l1, b = m2 * l1 * l2, c = m2 * l2 * l2;  // (2)
    const S half(0.5);
    return half * a * w1 * w1 + b * cos(x[0] - x[1]) * w1 * w2 + half * c * w2 * w2 -
           p[kG] * (M * l1 * cos(x[0]) + m2 * l2 * cos(x[1]));  // (6)
  }

  template <class S>
  CYCLOID_INLINE void energy_pullback(const S* x, const S* p, const S& energy_bar, S* x_bar,
                                      S* p_bar) const {
    const S &w1 = x[2], &w2 = x[3], &l1 = p[kL1], &l2 = p[kL2], &m2 = p[kM2], &g = p[kG];
    S s1, c1, s2, c2, sin_d, cos_d;
    sin_cos(x[0], s1, c1), sin_cos(x[1], s2, c2), sin_cos(x[0] - x[1], sin_d, cos_d);
    const S M = p[kM1] + m2, a = M * l1 * l1, b = m2 * l1 * l2, c = m2 * l2 * l2;
    const S delta_bar = -energy_bar * b * sin_d * w1 * w2;  // (6)
    x_bar[0] += delta_bar + energy_bar * g * M * l1 * s1;
    x_bar[1] += energy_bar * g * m2 * l2 * s2 - delta_bar;
    x_bar[2] += energy_bar * (a * w1 + b * cos_d * w2);
    x_bar[3] += energy_bar * (c * w2 + b * cos_d * w1);
    p_bar[kG] -= energy_bar * (M * l1 * c1 + m2 * l2 * c2);
    const S a_bar = S(0.5) * energy_bar * w1 * w1, b_bar = energy_bar * cos_d * w1 * w2,
            c_bar = S(0.5) * energy_bar * w2 * w2;

    const S M_bar = a_bar * l1 * l1 - energy_bar * g * l1 * c1;  // (2)
    p_bar[kM1] += M_bar;
    p_bar[kM2] += M_bar + b_bar * l1 * l2 + c_bar * l2 * l2 - energy_bar * g * l2 * c2;
    p_bar[kL1] += S(2) * a_bar * M * l1 + b_bar * m2 * l2 - energy_bar * g * M * c1;
    p_bar[kL2] += b_bar * m2 * l1 + S(2) * c_bar * m2 * l2 - energy_bar * g * m2 * c2;
  }

 private:
  // [a e; e c] (y1, y2) = (r1, r2).
  template <class S>
  CYCLOID_INLINE static void solve(const S& a, const S& e, const S& c, const S& r1, const S& r2,
                                   S& y1, S& y2) {
    const S inv = S(1) / (a * c - e * e);
    y1 = (c * r1 - e * r2) * inv;
    y2 = (a * r2 - e * r1) * inv;
  }
};

}  // namespace cycloid::inline system
