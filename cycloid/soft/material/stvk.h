// stvk: St. Venant and Kirchhoff's material, Hooke's law of Green's strain. Soft in compression:
// ψ has a finite value at F = 0.
//
//   E = ½ (FᵀF - I)                                                      (1)
//   ψ = mu E:E + lam/2 tr² E                                             (2)   [J/m³]
//   P = F T,  T = 2 mu E + lam tr(E) I                                   (3)   [Pa]
//   dP = dF T + F (2 mu dE + lam tr(dE) I),  dE = sym(Fᵀ dF)             (4)
#pragma once

#include "cycloid/soft/material/coefficients.h"
#include "cycloid/soft/material/deformation.h"

namespace cycloid::inline soft {

struct Stvk {
  static constexpr const char* kName = "stvk";

  template <class S>
  static S energy(const Coefficients<S>& c, const Mat3<S>& F) {
    const Mat3<S> E = green_strain(F);                                    // (1)
    return c.mu * contract(E, E) + S(0.5) * c.lam * trace(E) * trace(E);  // (2)
  }
  template <class S>
  static Mat3<S> stress(const Coefficients<S>& c, const Mat3<S>& F) {
    return F * hooke(c.mu, c.lam, green_strain(F));  // (3)
  }
  template <class S>
  static Mat3<S> stress_tangent(const Coefficients<S>& c, const Mat3<S>& F, const Mat3<S>& dF) {
    return dF * hooke(c.mu, c.lam, green_strain(F)) +
           F * hooke(c.mu, c.lam, symmetric_part(transpose(F) * dF));  // (4)
  }
};

}  // namespace cycloid::inline soft
