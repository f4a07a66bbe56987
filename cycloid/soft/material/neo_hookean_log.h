// neo_hookean_log: the classical compressible form. A cell that is pressed flat costs infinitely
// much, and J <= 0 has no energy: infinity.
//
//   ψ = mu/2 (I1 - 3) - mu ln J + lam/2 ln² J                            (1)   [J/m³]
//   P = mu F + p F⁻ᵀ,  p = lam ln J - mu                                 (2)   [Pa]
//   dP = mu dF + lam (F⁻ᵀ:dF) F⁻ᵀ + p d(F⁻ᵀ)                             (3)
//   d(F⁻ᵀ) = d(cof F)/J - (F⁻ᵀ:dF) F⁻ᵀ                                   (4)
// At small strains t - ln J, half of what mu has in (1), is computed from those of deformation.h:
//   t - ln J = ½ (x - ln(1 + x)) - ½ s,   x = J² - 1 = 2 t + s           (5)
//   x - ln(1 + x) = r x - 2 (r³/3 + r⁵/5 + ...),   r = x/(2 + x)         (6)
#pragma once

#include <limits>

#include "cycloid/math/elementary.h"
#include "cycloid/soft/material/coefficients.h"
#include "cycloid/soft/material/deformation.h"

namespace cycloid::inline soft {

// ln J; infinite, and so is every energy that is made of it, where J is not positive.
template <class S>
CYCLOID_INLINE S log_volume(const S& J) {
  const Mask<S> inside = J > S(0);
  return select(inside, log(select(inside, J, S(1))),
                S(std::numeric_limits<Scalar<S>>::infinity()));
}

// (5); l = ln J.
template <class S>
CYCLOID_INLINE S strain_less_log(const StrainInvariants<S>& at, const S& l) {
  constexpr int kTerms = 8;  // of (6): to rounding where |r| < 0.1
  const S x = S(2) * at.t + at.s;
  const Mask<S> small = abs(x) < S(0.2);
  const S r = select(small, x, S(0)) / (S(2) + select(small, x, S(0))), rr = r * r;
  S sum(1.0 / (2 * kTerms + 1));
  for (int k = kTerms - 1; k > 0; --k) sum = S(1.0 / (2 * k + 1)) + rr * sum;
  const S left = r * (x - S(2) * rr * sum);  // (6)
  return select(small, S(0.5) * (left - at.s), at.t - l);
}

struct NeoHookeanLog {
  static constexpr const char* kName = "neo_hookean_log";

  template <class S>
  static S energy(const Coefficients<S>& c, const Mat3<S>& F) {
    const S J = determinant(F), l = log_volume(J);
    const S value = c.mu * strain_less_log(strain_invariants(F), l) + S(0.5) * c.lam * l * l;
    return select(J > S(0), value, S(std::numeric_limits<Scalar<S>>::infinity()));  // (1)
  }
  template <class S>
  static Mat3<S> stress(const Coefficients<S>& c, const Mat3<S>& F) {
    const S J = determinant(F);
    return F * c.mu + cofactor(F) * ((c.lam * log_volume(J) - c.mu) / J);  // (2)
  }
  template <class S>
  static Mat3<S> stress_tangent(const Coefficients<S>& c, const Mat3<S>& F, const Mat3<S>& dF) {
    const S J = determinant(F), p = c.lam * log_volume(J) - c.mu;
    const Mat3<S> inverse_t = cofactor(F) * (S(1) / J);
    const S along = contract(inverse_t, dF);
    return dF * c.mu + inverse_t * ((c.lam - p) * along) +
           cofactor_tangent(F, dF) * (p / J);  // (3), (4)
  }
};

}  // namespace cycloid::inline soft
