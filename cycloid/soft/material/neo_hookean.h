// neo_hookean: the stable form, finite for inverted cells too, after SmithDeGoesKim2018.
//
//   ψ = mu/2 (I1 - 3) - mu (J - 1) + (lam + mu)/2 (J - 1)²               (1)   [J/m³]
//   P = mu F + p cof F,  p = (lam + mu)(J - 1) - mu                      (2)   [Pa]
//   dP = mu dF + (lam + mu)(cof F : dF) cof F + p d(cof F)               (3)
// with I1 = F:F. P(I) = 0, and lam + mu in place of lam makes mu, lam the small-strain numbers.
// Where J > 0, (1) is computed from the strains t and s of deformation.h:
//   J - 1 = (2 t + s)/(J + 1),   t - (J - 1) = (t (J - 1) - s)/(J + 1)   (4)
#pragma once

#include "cycloid/soft/material/coefficients.h"
#include "cycloid/soft/material/deformation.h"

namespace cycloid::inline soft {

struct NeoHookean {
  static constexpr const char* kName = "neo_hookean";

  template <class S>
  static S energy(const Coefficients<S>& c, const Mat3<S>& F) {
    const S J = determinant(F);
    const Mask<S> outside_in = J <= S(0);
    const auto [t, II, s] = strain_invariants(F);
    const S divisor = S(1) / select(outside_in, S(1), J + S(1));
    const S grown = select(outside_in, J - S(1), (S(2) * t + s) * divisor);      // (4)
    const S sheared = select(outside_in, t - grown, (t * grown - s) * divisor);  // (4)
    return c.mu * sheared + S(0.5) * (c.lam + c.mu) * grown * grown;             // (1)
  }
  template <class S>
  static Mat3<S> stress(const Coefficients<S>& c, const Mat3<S>& F) {
    return F * c.mu + cofactor(F) * pressure(c, F);  // (2)
  }
  template <class S>
  static Mat3<S> stress_tangent(const Coefficients<S>& c, const Mat3<S>& F, const Mat3<S>& dF) {
    const Mat3<S> cof = cofactor(F);
    return dF * c.mu + cof * ((c.lam + c.mu) * contract(cof, dF)) +
           cofactor_tangent(F, dF) * pressure(c, F);  // (3)
  }

 private:
  template <class S>
  static S pressure(const Coefficients<S>& c, const Mat3<S>& F) {
    return (c.lam + c.mu) * (determinant(F) - S(1)) - c.mu;
  }
};

}  // namespace cycloid::inline soft
