// The law of a contact with an elliptic cone, in contact space.
//
// Residual r, n = 3, 4 or 6 numbers: normal, then the directions k with friction g_k.
//   T = √Σ (g_k r_k)²,   z_k = g_k² r_k / T,   c = D₀ / (1 + μ²)                          (1)
//   top, r₀ ≥ T              s = 0                                                        (2)
//   bottom, μ² r₀ + T ≤ 0    s = ½ D₀ (r₀² + T²/μ²)                                       (3)
//        f₀ = -D₀ r₀,   f_k = -(D₀/μ²) g_k² r_k,   k₀₀ = D₀,   k_k = (D₀/μ²) g_k²
//   middle, else             s = ½ c (r₀ - T)²                                            (4)
//        f₀ = -c (r₀ - T),   f_k = c (r₀ - T) z_k
//        k₀₀ = c,   c_k = -c z_k,   k_k = c (T - r₀)/T · g_k²,   β = c r₀/T   (cone_stiffness.h)
// In the bottom the contact sticks, in the middle it slips, in the top there is no force. s is C¹,
// K jumps at the borders, which belong to top and bottom. μ² = g₁²/impratio; it stands before the
// coefficients: friction = (μ², g₁, …). A frictionless contact has g = 0 and any μ² > 0; a contact
// with fewer directions has g_k = 0 in those that it lacks. [MuJoCo, Computation: Friction]
#pragma once

#include "cycloid/math/dual.h"
#include "cycloid/rigid/solver/cone_stiffness.h"
#include "cycloid/rigid/solver/constraint_problem.h"

namespace cycloid::inline rigid {

// What (1) says, and the zones.
template <class S, int n>
struct EllipticZone {
  S T, inverse_T, c, stick;  // 1/T, and 1 where T = 0; D₀/μ²
  Mask<S> top, bottom;

  CYCLOID_INLINE EllipticZone(const S& D0, const S* friction, const S* r) {
    S square = S(0);
#pragma GCC unroll 6
    for (int k = 1; k < n; ++k) square += friction[k] * friction[k] * r[k] * r[k];
    const Mask<S> zero = square == S(0);
    T = select(zero, S(0), sqrt(select(zero, S(1), square)));  // (1)
    inverse_T = S(1) / select(zero, S(1), T);
    c = D0 / (S(1) + friction[0]);
    stick = D0 / friction[0];
    top = r[0] >= T;
    bottom = (friction[0] * r[0] + T <= S(0)) & !top;
  }
};

template <int n, class S>
CYCLOID_INLINE ConeResponse<S, n> elliptic_response(const S* D, const S* friction, const S* r) {
  const EllipticZone<S, n> at(D[0], friction, r);
  const S zero = S(0);
  const Mask<S> outside = at.top | at.bottom;
  const S c = select(outside, zero, at.c);  // c of the middle, else zero
  const S stuck = select(at.bottom, at.stick, zero), D0 = select(at.bottom, D[0], zero);
  const S slip = c * (r[0] - at.T), bend = -slip * at.inverse_T;

  ConeResponse<S, n> out;
  out.f[0] = -(D0 * r[0] + slip);  // (3), (4)
  out.K.diagonal[0] = D0 + c;
  out.K.beta = c * r[0] * at.inverse_T;
#pragma GCC unroll 6
  for (int k = 1; k < n; ++k) {
    const S g2 = friction[k] * friction[k];
    const S z = g2 * r[k] * at.inverse_T;
    out.f[k] = slip * z - stuck * g2 * r[k];
    out.K.z[k] = z;
    out.K.cross[k] = -c * z;
    out.K.diagonal[k] = (stuck + bend) * g2;
  }
  return out;
}

// The force alone, an operator of (D₀, friction, r).
template <int n, class S>
CYCLOID_INLINE void elliptic_force(const S* D, const S* friction, const S* r, S* f) {
  const ConeResponse<S, n> out = elliptic_response<n>(D, friction, r);
#pragma GCC unroll 6
  for (int k = 0; k < n; ++k) f[k] = out.f[k];
}

// With Q = Σ g_k² r_k f̄_k:
//   bottom  D̄₀ = -r₀ f̄₀ - Q/μ²,   ḡ_k = -2 (D₀/μ²) g_k r_k f̄_k,   (μ²)¯ = (D₀/μ⁴) Q        (5)
//   middle  D̄₀ = (f·f̄)/D₀,   (μ²)¯ = -(f·f̄)/(1+μ²),                                         (6)
//           ḡ_k = c T'_k (f̄₀ - Q/T) + c (r₀-T)(2 g_k r_k f̄_k/T - Q T'_k/T²),  T'_k = g_k r_k²/T
template <int n, class S>
CYCLOID_INLINE void elliptic_force_pullback(const S* D, const S* friction, const S* r,
                                            const S* f_bar, S* D_bar, S* friction_bar, S* r_bar) {
  const EllipticZone<S, n> at(D[0], friction, r);
  const S zero = S(0), mu2 = friction[0];
  const Mask<S> outside = at.top | at.bottom;
  S Q = zero;
#pragma GCC unroll 6
  for (int k = 1; k < n; ++k) Q += friction[k] * friction[k] * r[k] * f_bar[k];

  const S depth = r[0] - at.T, turned = f_bar[0] - Q * at.inverse_T;
  const S per_D = -depth * turned / (S(1) + mu2);  // (f·f̄)/D₀ in the middle
  D_bar[0] += select(at.bottom, -(r[0] * f_bar[0] + Q / mu2), select(outside, zero, per_D));
  friction_bar[0] +=
      select(at.bottom, at.stick * Q / mu2, select(outside, zero, -D[0] * per_D / (S(1) + mu2)));

  S K_f[n];
  elliptic_response<n>(D, friction, r).K.multiply(f_bar, K_f);
#pragma GCC unroll 6
  for (int k = 0; k < n; ++k) r_bar[k] -= K_f[k];
#pragma GCC unroll 6
  for (int k = 1; k < n; ++k) {
    const S g_r = friction[k] * r[k], dT = g_r * r[k] * at.inverse_T;
    const S stuck = S(-2) * at.stick * g_r * f_bar[k];  // (5)
    const S bent = S(2) * g_r * f_bar[k] * at.inverse_T - Q * dT * at.inverse_T * at.inverse_T;
    const S slipping = at.c * (dT * turned + depth * bent);  // (6)
    friction_bar[k] += select(at.bottom, stuck, select(outside, zero, slipping));
  }
}

// s.
template <int n, class S>
CYCLOID_INLINE S elliptic_cost(const S* D, const S* friction, const S* r) {
  const EllipticZone<S, n> at(D[0], friction, r);
  const S depth = r[0] - at.T;
  const S stuck = D[0] * r[0] * r[0] + at.stick * at.T * at.T;
  return S(0.5) * select(at.bottom, stuck, select(at.top, S(0), at.c * depth * depth));
}

// As contact_laws.h takes it.
struct EllipticLaw {
  static constexpr RowLaw kLaw = RowLaw::elliptic;
  static constexpr bool kArrow = false, kEdges = false, kFrictionReference = true;

  template <int n, class S>
  static CYCLOID_INLINE ConeResponse<S, n> response(const S* D, const S* friction, const S* r) {
    return elliptic_response<n>(D, friction, r);
  }
  template <int n, class S>
  static CYCLOID_INLINE void pull_force(const S* D, const S* friction, const S* r, const S* f_bar,
                                        S* D_bar, S* friction_bar, S* r_bar) {
    elliptic_force_pullback<n>(D, friction, r, f_bar, D_bar, friction_bar, r_bar);
  }
  template <int n, class S>
  static CYCLOID_INLINE S cost(const S* D, const S* friction, const S* r) {
    return elliptic_cost<n>(D, friction, r);
  }
};

}  // namespace cycloid::inline rigid
