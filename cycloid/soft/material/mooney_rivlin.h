// mooney_rivlin: Mooney and Rivlin's rubber, compressible; m is the share of C01 in C10 + C01.
//
//   I1 = F:F,  I2 = ½ (I1² - FᵀF:FᵀF),  J = det F, l = ln J
//   ψ = mu/2 ((1 - m)(I1 - 3) + m (I2 - 3)) - mu (1 + m) l + (lam - 2 m mu)/2 l²       (1)  [J/m³]
// C10 = (1 - m) mu/2, C01 = m mu/2. The terms of l make F = I free of stress and mu, lam the
// small-strain numbers; m = 0 is neo_hookean_log. J <= 0 has no energy: infinity. With the strains
// t and II of deformation.h, (1) is computed as
//   ψ = mu ((1 + m)(t - l) + 2 m II) + (lam - 2 m mu)/2 l²                             (6)
//   P = mu (1 - m) F + mu m Q + p F⁻ᵀ,  Q = I1 F - F FᵀF                               (2)  [Pa]
//   p = (lam - 2 m mu) l - mu (1 + m)                                                  (3)
//   dQ = 2 (F:dF) F + I1 dF - dF FᵀF - F dFᵀF - F FᵀdF                                 (4)
//   dP = mu (1 - m) dF + mu m dQ + (lam - 2 m mu)(F⁻ᵀ:dF) F⁻ᵀ + p d(F⁻ᵀ)               (5)
#pragma once

#include "cycloid/soft/material/neo_hookean_log.h"

namespace cycloid::inline soft {

struct MooneyRivlin {
  static constexpr const char* kName = "mooney_rivlin";

  template <class S>
  static S energy(const Coefficients<S>& c, const Mat3<S>& F) {
    const StrainInvariants<S> at = strain_invariants(F);
    const S J = determinant(F), l = log_volume(J), m = c.mooney;
    const S sheared = (S(1) + m) * strain_less_log(at, l) + S(2) * m * at.II;
    const S value = c.mu * sheared + S(0.5) * bulk(c) * l * l;                      // (6)
    return select(J > S(0), value, S(std::numeric_limits<Scalar<S>>::infinity()));  // (1)
  }
  template <class S>
  static Mat3<S> stress(const Coefficients<S>& c, const Mat3<S>& F) {
    const S J = determinant(F), m = c.mooney;
    const Mat3<S> C = transpose(F) * F, Q = F * trace(C) - F * C;
    return F * (c.mu * (S(1) - m)) + Q * (c.mu * m) + cofactor(F) * (pressure(c, J) / J);  // (2)
  }
  template <class S>
  static Mat3<S> stress_tangent(const Coefficients<S>& c, const Mat3<S>& F, const Mat3<S>& dF) {
    const S J = determinant(F), p = pressure(c, J), m = c.mooney;
    const Mat3<S> C = transpose(F) * F, mixed = transpose(F) * dF;
    const Mat3<S> dQ = F * (S(2) * contract(F, dF)) + dF * trace(C) - dF * C -
                       F * (mixed + transpose(mixed));  // (4)
    const Mat3<S> inverse_t = cofactor(F) * (S(1) / J);
    const S along = contract(inverse_t, dF);
    return dF * (c.mu * (S(1) - m)) + dQ * (c.mu * m) + inverse_t * ((bulk(c) - p) * along) +
           cofactor_tangent(F, dF) * (p / J);  // (5)
  }

 private:
  template <class S>
  static S bulk(const Coefficients<S>& c) {
    return c.lam - S(2) * c.mooney * c.mu;
  }
  template <class S>
  static S pressure(const Coefficients<S>& c, const S& J) {
    return bulk(c) * log_volume(J) - c.mu * (S(1) + c.mooney);  // (3)
  }
};

}  // namespace cycloid::inline soft
