// Constraints of parameters, and the smooth maps between a constrained value and free variables.
//
// An optimiser moves free variables z over all reals; the value p = value_from_free(z) then always
// satisfies the constraint:
//   none           p = z                                                    (1)
//   positive       p = exp(z)                                               (2)   p > 0
//   non_negative   p = log(1 + exp(z))                                      (3)   p ≥ 0
//   unit_interval  p = 1 / (1 + exp(-z))                                    (4)   0 ≤ p ≤ 1
//   inertia        p = (xx yy zz xy xz yz) of I = tr(Σ) 1 - Σ, Σ = L Lᵀ,    (5)
//                  L = [e^z0 0 0; z3 e^z1 0; z4 z5 e^z2]
// (5) covers exactly the rotational inertias of real mass distributions (Σ, the second moment of
// mass, positive definite; equivalently the principal moments obey the triangle inequality), after
// RuckerWensing2022. A value on the border (a damping of zero) has no free variable;
// free_from_value then takes the nearest one that is kBorder inside.
#pragma once

#include "cycloid/math/elementary.h"

namespace cycloid::inline system {

enum class Constraint { none, positive, non_negative, unit_interval, inertia };

inline constexpr double kBorder = 1e-9;

// In words, for messages: "positive", "between 0 and 1".
const char* describe(Constraint constraint);

// True when the `size` numbers at p satisfy the constraint. NaN satisfies none.
bool satisfies(Constraint constraint, const double* p, int size);

// z from p, for p that satisfies the constraint.
void free_from_value(Constraint constraint, const double* p, int size, double* z);

// log(1 + exp(z)) without overflow above, or loss of digits below, where it is nearly exp(z).
template <class S>
CYCLOID_HD S softplus(const S& z) {
  const Mask<S> above = z > S(0);
  const S e = exp(select(above, -z, z));
  const S series = e * (S(1) - e * (S(0.5) - e * S(1.0 / 3)));  // to e³/4
  return select(above, z, S(0)) + select(e < S(1e-4), series, log(S(1) + e));
}

// (2)-(4), one number at a time.
template <class S>
CYCLOID_HD S scalar_value_from_free(Constraint constraint, const S& z) {
  switch (constraint) {
    case Constraint::positive: return exp(z);           // (2)
    case Constraint::non_negative: return softplus(z);  // (3)
    case Constraint::unit_interval: return sigmoid(z);  // (4)
    default: return z;                                  // (1)
  }
}

template <class S>
CYCLOID_HD void scalar_value_from_free_pullback(Constraint constraint, const S& z, const S& p_bar,
                                                S& z_bar) {
  switch (constraint) {
    case Constraint::positive: z_bar += p_bar * exp(z); break;          // (2)
    case Constraint::non_negative: z_bar += p_bar * sigmoid(z); break;  // (3)
    case Constraint::unit_interval:  // (4), s(1-s) without cancellation
      z_bar += p_bar * sigmoid(z) * sigmoid(-z);
      break;
    default: z_bar += p_bar;  // (1)
  }
}

// (5): six free variables to six inertia numbers.
template <class S>
CYCLOID_HD void inertia_from_free(const S* z, S* p) {
  const S a = exp(z[0]), b = exp(z[1]), c = exp(z[2]);
  const S xx = a * a, yy = z[3] * z[3] + b * b, zz = z[4] * z[4] + z[5] * z[5] + c * c;
  p[0] = yy + zz;
  p[1] = xx + zz;
  p[2] = xx + yy;
  p[3] = -a * z[3];
  p[4] = -a * z[4];
  p[5] = -(z[3] * z[4] + b * z[5]);
}

template <class S>
CYCLOID_HD void inertia_from_free_pullback(const S* z, const S* p_bar, S* z_bar) {
  const S a = exp(z[0]), b = exp(z[1]), c = exp(z[2]);
  const S xx_bar = p_bar[1] + p_bar[2], yy_bar = p_bar[0] + p_bar[2], zz_bar = p_bar[0] + p_bar[1];
  z_bar[0] += a * (S(2) * a * xx_bar - p_bar[3] * z[3] - p_bar[4] * z[4]);
  z_bar[1] += b * (S(2) * b * yy_bar - p_bar[5] * z[5]);
  z_bar[2] += S(2) * c * c * zz_bar;
  z_bar[3] += S(2) * z[3] * yy_bar - a * p_bar[3] - z[4] * p_bar[5];
  z_bar[4] += S(2) * z[4] * zz_bar - a * p_bar[4] - z[3] * p_bar[5];
  z_bar[5] += S(2) * z[5] * zz_bar - b * p_bar[5];
}

}  // namespace cycloid::inline system
