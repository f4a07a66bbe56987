// neo_hookean_log: the classical compressible form. A cell that is pressed flat costs infinitely
// much, and J <= 0 has no energy: infinity.
//
//   ψ = mu/2 (I1 - 3) - mu ln J + lam/2 ln² J                            (1)   [J/m³]
//   P = mu F + p F⁻ᵀ,  p = lam ln J - mu                                 (2)   [Pa]
//   dP = mu dF + lam (F⁻ᵀ:dF) F⁻ᵀ + p d(F⁻ᵀ)                             (3)
//   d(F⁻ᵀ) = d(cof F)/J - (F⁻ᵀ:dF) F⁻ᵀ                                   (4)
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

struct NeoHookeanLog {
  static constexpr const char* kName = "neo_hookean_log";

  template <class S>
  static S energy(const Coefficients<S>& c, const Mat3<S>& F) {
    const S J = determinant(F), l = log_volume(J);
    const S value = S(0.5) * c.mu * (contract(F, F) - S(3)) - c.mu * l + S(0.5) * c.lam * l * l;
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
