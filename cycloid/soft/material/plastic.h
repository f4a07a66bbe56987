// plastic: metal-like matter, that flows where the stress is too large (von Mises, J2) and hardens.
//
// Green's strain E is the sum of an elastic and a plastic part E_p, which the point remembers with
// the accumulated plastic strain α (GreenNaghdi1965: for small elastic strains, rotations of any
// size; plastic strains above some ten percent want a product of gradients instead). In a step:
//   d = dev(E - E_p),  κ = lam + 2/3 mu                                  (1)
//   q = √6 mu |d|                                                        (2)   von Mises [Pa]
//   g = (q - yield - hardening α)₊ / (3 mu + hardening)                  (3)   flow in this step
//   T = κ tr(E) I + 2 mu (1 - 3 mu g/q) d,   P = F T                     (4)   [Pa], T second Piola
//   E_p⁺ = E_p + 3 mu g/q d,   α⁺ = α + g                                (5)   radial return
//   ψ = κ/2 tr² E + mu d:d - (3 mu + hardening) g²/2,   P = ∂ψ/∂F        (6)   [J/m³]
// so that a step with flow is still a minimisation (OrtizStainier1999). E_p has no trace. g has a
// kink where flow begins; the derivative there is the elastic one. A body that is only looked at
// (`flows` false) has g = 0: its point already is where the last step left it.
#pragma once

#include "cycloid/math/norm.h"
#include "cycloid/soft/material/deformation.h"

namespace cycloid::inline soft {

template <class S>
struct PlasticLaw {
  S mu, lam, yield, hardening;  // [Pa]
};

// What a point remembers: E_p as xx yy zz yz xz xy, then α.
inline constexpr int kPlasticNumbers = 7;

template <class S>
CYCLOID_INLINE Mat3<S> plastic_strain(const S* memory) {
  return {{memory[0], memory[5], memory[4], memory[5], memory[1], memory[3], memory[4], memory[3],
           memory[2]}};
}

template <class S>
struct PlasticPoint {
  S trace;
  Mat3<S> d;
  S flow, over_q;  // g, and 3 mu g/q
};

template <class S, class R>
CYCLOID_INLINE PlasticPoint<S> plastic_point(const PlasticLaw<R>& law, const R* memory,
                                             const Mat3<S>& F, bool flows) {
  PlasticPoint<S> at;
  const Mat3<R> before = plastic_strain(memory);
  at.d = green_strain(F);
  at.trace = trace(at.d);
  for (int k = 0; k < 9; ++k) at.d.e[k] = at.d.e[k] - before.e[k];
  const S mean = trace(at.d) * S(1.0 / 3);
  for (int i = 0; i < 3; ++i) at.d(i, i) -= mean;  // (1)
  at.flow = at.over_q = S(0);
  if (!flows) return at;
  const S square = contract(at.d, at.d);
  const auto bent = square > S(0);
  const S q = sqrt(select(bent, square, S(1))) * (S(2.44948974278317809820) * law.mu);  // (2)
  const S over = q - law.yield - law.hardening * memory[6];
  const auto yields = bent & (over > S(0));
  at.flow = select(yields, over, S(0)) / (R(3) * law.mu + law.hardening);  // (3)
  at.over_q = at.flow * (R(3) * law.mu) / select(yields, q, S(1));
  return at;
}

template <class S, class R>
CYCLOID_INLINE S plastic_energy(const PlasticLaw<R>& law, const R* memory, const Mat3<S>& F,
                                bool flows) {
  const PlasticPoint<S> at = plastic_point(law, memory, F, flows);
  const R kappa = law.lam + R(2.0 / 3) * law.mu;
  return S(0.5) * kappa * at.trace * at.trace + law.mu * contract(at.d, at.d) -
         S(0.5) * (R(3) * law.mu + law.hardening) * at.flow * at.flow;  // (6)
}

template <class S, class R>
CYCLOID_INLINE Mat3<S> plastic_stress(const PlasticLaw<R>& law, const R* memory, const Mat3<S>& F,
                                      bool flows) {
  const PlasticPoint<S> at = plastic_point(law, memory, F, flows);
  Mat3<S> T = at.d * (S(R(2) * law.mu) * (S(1) - at.over_q));
  const S pressure = (law.lam + R(2.0 / 3) * law.mu) * at.trace;
  for (int i = 0; i < 3; ++i) T(i, i) += pressure;
  return F * T;  // (4)
}

// memory_next: (5).
template <class S, class R>
CYCLOID_INLINE void plastic_flow(const PlasticLaw<R>& law, const R* memory, const Mat3<S>& F,
                                 S* memory_next) {
  const PlasticPoint<S> at = plastic_point(law, memory, F, true);
  const int place[6] = {0, 4, 8, 5, 2, 1};
  for (int k = 0; k < 6; ++k) memory_next[k] = at.d.e[place[k]] * at.over_q + memory[k];
  memory_next[6] = at.flow + memory[6];
}

}  // namespace cycloid::inline soft
