// LuGre friction of a motor: the deflection z of bristles.
//
//   g   = F_C + (F_S - F_C) exp(-(v/v_S)²)                            (1)  Stribeck's curve [N·m]
//   a   = -σ₀ |v| / g                                                  (2)  [1/s]
//   ż   = a z + v                                                      (3)
//   z⁺  = E z + Q v,   E = e^{a h},   Q = (e^{a h} - 1)/a              (4)  exact while v stays
//   F   = σ₀ z + σ₁ ż                                                  (5)  opposes the motor
// At v = 0 (2) has a kink: its derivative is taken as zero there. Source: MuJoCo's manual,
// actuator/dcmotor; Canudas de Wit et al. 1995.
#pragma once

#include "cycloid/rigid/force/actuator.h"

namespace cycloid::inline rigid {

// Parameters, as their numbers or their cotangents.
template <class S>
struct BristleLaw {
  S coulomb{}, stick{}, stribeck{}, stiffness{}, damping{};  // F_C, F_S, v_S, σ₀, σ₁
};

template <class S>
struct Bristle {
  S friction{};  // F
  S z_dot{}, z_next{};
  S g{}, bell{}, a{}, E{}, Q{};  // kept; bell: the exponential of (1)
};

template <class S>
CYCLOID_HD Bristle<S> bristle_friction(const BristleLaw<S>& law, const S& v, const S& z,
                                       const S& h) {
  const S least(static_cast<Scalar<S>>(1e-15));
  Bristle<S> out;
  const S ratio = v / max(law.stribeck, least);
  out.bell = exp(-ratio * ratio);
  out.g = max(law.coulomb + (law.stick - law.coulomb) * out.bell, least);  // (1)
  out.a = -law.stiffness * abs(v) / out.g;                                 // (2)
  out.z_dot = out.a * z + v;                                               // (3)
  out.E = exp(out.a * h);
  const auto still = -out.a <= least;
  out.Q = select(still, h, (out.E - S(1)) / select(still, S(1), out.a));
  out.z_next = out.E * z + out.Q * v;                          // (4)
  out.friction = law.stiffness * z + law.damping * out.z_dot;  // (5)
  return out;
}

// bar: of friction, z_dot and z_next. Adds to law_bar, v_bar, z_bar and h_bar.
template <class S>
CYCLOID_HD void bristle_friction_pullback(const BristleLaw<S>& law, const S& v, const S& z,
                                          const S& h, const Bristle<S>& out, const Bristle<S>& bar,
                                          BristleLaw<S>& law_bar, S& v_bar, S& z_bar, S& h_bar) {
  const S least(static_cast<Scalar<S>>(1e-15));
  law_bar.stiffness += bar.friction * z;  // (5)
  law_bar.damping += bar.friction * out.z_dot;
  z_bar += bar.friction * law.stiffness;
  const S dot_bar = bar.z_dot + bar.friction * law.damping;

  const S E_bar = bar.z_next * z, Q_bar = bar.z_next * v;  // (4)
  z_bar += bar.z_next * out.E;
  v_bar += bar.z_next * out.Q;
  h_bar += Q_bar * out.E + E_bar * out.E * out.a;
  const auto still = -out.a <= least;
  const S Q_slope = select(still, h * h * S(0.5), (h * out.E - out.Q) / select(still, S(1), out.a));
  const S a_bar = dot_bar * z + E_bar * out.E * h + Q_bar * Q_slope;  // and (3)
  z_bar += dot_bar * out.a;
  v_bar += dot_bar;

  const S sign = select(v > S(0), S(1), select(v < S(0), S(-1), S(0)));
  law_bar.stiffness -= a_bar * abs(v) / out.g;  // (2)
  v_bar -= a_bar * law.stiffness * sign / out.g;
  const S g_bar = select(out.g > least, -a_bar * out.a / out.g, S(0));

  const S width = max(law.stribeck, least), ratio = v / width;  // (1)
  law_bar.coulomb += g_bar * (S(1) - out.bell);
  law_bar.stick += g_bar * out.bell;
  const S slope = S(2) * ratio / width * out.bell * g_bar * (law.stick - law.coulomb);
  v_bar -= slope;
  law_bar.stribeck += select(law.stribeck > least, slope * ratio, S(0));
}

}  // namespace cycloid::inline rigid
