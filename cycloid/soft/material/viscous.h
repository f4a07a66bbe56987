// Kelvin and Voigt's damping over a step: stress in proportion to how fast Green's strain grows.
//
// E_ref is what the strain was, c the material's coefficients, z = damping / h [no unit]:
//   D = E(F) - E_ref                                                     (1)
//   T = z (2 mu D + lam tr(D) I)                                         (2)   second Piola [Pa]
//   ψ = z (mu D:D + lam/2 tr² D),   P = ∂ψ/∂F = F T                      (3)
// with (E - E_ref)/h for the rate of strain. So P has a potential, which a step minimises with
// the others, and a body that turns as a whole, by any angle in a step, feels nothing. With P̄
// and A = sym(Fᵀ P̄), T_A = (2) of A:
//   F̄ += P̄ T + F T_A,   Ē_ref -= T_A,   z̄ += T:A/z, ...                  (4)
// Along dF the stress changes by dF T + F T_A of A = sym(Fᵀ dF): the same function.
//
// At an instant, of a body with velocities whose gradient is G, D = sym(Fᵀ G) is the rate itself
// [1/s] and z the damping [s]:
//   P = F T,   F̄ += P̄ T + G T_A,   Ḡ += F T_A                            (5)
#pragma once

#include "cycloid/soft/material/coefficients.h"
#include "cycloid/soft/material/deformation.h"

namespace cycloid::inline soft {

template <class S>
CYCLOID_INLINE S viscous_energy(const Coefficients<S>& c, const S& z, const Mat3<S>& F,
                                const Mat3<S>& E_ref) {
  const Mat3<S> D = green_strain(F) - E_ref;                                  // (1)
  return z * (c.mu * contract(D, D) + S(0.5) * c.lam * trace(D) * trace(D));  // (3)
}

template <class S>
CYCLOID_INLINE Mat3<S> viscous_stress(const Coefficients<S>& c, const S& z, const Mat3<S>& F,
                                      const Mat3<S>& E_ref) {
  return F * (hooke(c.mu, c.lam, green_strain(F) - E_ref) * z);  // (2), (3)
}

template <class S>
CYCLOID_INLINE Mat3<S> viscous_stress_tangent(const Coefficients<S>& c, const S& z,
                                              const Mat3<S>& F, const Mat3<S>& E_ref,
                                              const Mat3<S>& dF) {
  return dF * (hooke(c.mu, c.lam, green_strain(F) - E_ref) * z) +
         F * (hooke(c.mu, c.lam, symmetric_part(transpose(F) * dF)) * z);  // (4)
}

template <class S>
CYCLOID_INLINE void viscous_stress_pullback(const Coefficients<S>& c, const S& z, const Mat3<S>& F,
                                            const Mat3<S>& E_ref, const Mat3<S>& P_bar,
                                            Coefficients<S>& c_bar, S& z_bar, Mat3<S>& F_bar,
                                            Mat3<S>& E_ref_bar) {
  const Mat3<S> D = green_strain(F) - E_ref, A = symmetric_part(transpose(F) * P_bar);
  const Mat3<S> T_A = hooke(c.mu, c.lam, A) * z;
  F_bar += viscous_stress_tangent(c, z, F, E_ref, P_bar);  // (4)
  E_ref_bar -= T_A;
  const S shear = S(2) * contract(D, A), swell = trace(D) * trace(A);
  c_bar.mu += z * shear;
  c_bar.lam += z * swell;
  z_bar += c.mu * shear + c.lam * swell;
}

template <class S>
CYCLOID_INLINE Mat3<S> rate_stress(const Coefficients<S>& c, const S& z, const Mat3<S>& F,
                                   const Mat3<S>& G) {
  return F * (hooke(c.mu, c.lam, symmetric_part(transpose(F) * G)) * z);  // (5)
}

template <class S>
CYCLOID_INLINE void rate_stress_pullback(const Coefficients<S>& c, const S& z, const Mat3<S>& F,
                                         const Mat3<S>& G, const Mat3<S>& P_bar,
                                         Coefficients<S>& c_bar, S& z_bar, Mat3<S>& F_bar,
                                         Mat3<S>& G_bar) {
  const Mat3<S> D = symmetric_part(transpose(F) * G), A = symmetric_part(transpose(F) * P_bar);
  const Mat3<S> T_A = hooke(c.mu, c.lam, A) * z;
  F_bar += P_bar * (hooke(c.mu, c.lam, D) * z) + G * T_A;  // (5)
  G_bar += F * T_A;
  const S shear = S(2) * contract(D, A), swell = trace(D) * trace(A);
  c_bar.mu += z * shear;
  c_bar.lam += z * swell;
  z_bar += c.mu * shear + c.lam * swell;
}

}  // namespace cycloid::inline soft
