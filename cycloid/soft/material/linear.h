// linear: small strains. It is not invariant under rotation.
//
//   e = ½ (F + Fᵀ) - I                                        (1)
//   ψ = mu e:e + lam/2 tr² e                                  (2)   [J/m³]
//   P = 2 mu e + lam tr(e) I,   dP the same of de             (3)   [Pa]
#pragma once

#include "cycloid/soft/material/coefficients.h"
#include "cycloid/soft/material/deformation.h"

namespace cycloid::inline soft {

struct Linear {
  static constexpr const char* kName = "linear";

  template <class S>
  static S energy(const Coefficients<S>& c, const Mat3<S>& F) {
    const Mat3<S> e = symmetric_part(F) - identity_matrix<S, 3>();        // (1)
    return c.mu * contract(e, e) + S(0.5) * c.lam * trace(e) * trace(e);  // (2)
  }
  template <class S>
  static Mat3<S> stress(const Coefficients<S>& c, const Mat3<S>& F) {
    return hooke(c.mu, c.lam, symmetric_part(F) - identity_matrix<S, 3>());  // (3)
  }
  template <class S>
  static Mat3<S> stress_tangent(const Coefficients<S>& c, const Mat3<S>&, const Mat3<S>& dF) {
    return hooke(c.mu, c.lam, symmetric_part(dF));  // (3)
  }
};

}  // namespace cycloid::inline soft
