// fibre: matter that is stiff along one direction, and can pull along it: muscle.
//
// a is a unit vector of the rest shape, k a stiffness [Pa], T = activation · strength [Pa]:
//   λ = |F a|                                                            (1)   stretch of the fibre
//   ψ = T (λ - 1) + k/2 (λ - 1)²                                         (2)   [J/m³]
//   P = (T + k (λ - 1)) (F a / λ) aᵀ                                     (3)   first Piola [Pa]
//   dP = (k u·d u + (T + k (λ - 1))/λ (d - u u·d)) aᵀ,  u = F a / λ, d = dF a     (4)
// The pull T is a force per area of the rest shape, whatever the stretch is; (2) has its potential.
// Pressed fibres (λ < 1) are as stiff as stretched ones. A fibre of no length has no direction: u
// is 0 there.
#pragma once

#include "cycloid/math/norm.h"
#include "cycloid/soft/material/deformation.h"

namespace cycloid::inline soft {

template <class S>
struct Fibre {
  Vec3<S> a;
  S pull, stiffness;  // T, k
};

template <class S, class R>
CYCLOID_INLINE S fibre_energy(const Fibre<R>& fibre, const Mat3<S>& F) {
  const S e = norm(F * Vec3<S>{S(fibre.a.x), S(fibre.a.y), S(fibre.a.z)}) - S(1);  // (1)
  return e * (fibre.pull + S(0.5) * fibre.stiffness * e);                          // (2)
}

// (3) without aᵀ.
template <class S, class R>
CYCLOID_INLINE Vec3<S> fibre_traction(const Fibre<R>& fibre, const Mat3<S>& F) {
  const auto u = unit_and_norm(F * Vec3<S>{S(fibre.a.x), S(fibre.a.y), S(fibre.a.z)});
  return u.unit * (fibre.pull + fibre.stiffness * (u.norm - S(1)));
}

template <class S>
CYCLOID_INLINE void fibre_traction_pullback(const Fibre<S>& fibre, const Mat3<S>& F,
                                            const Vec3<S>& t_bar, Fibre<S>& fibre_bar,
                                            Mat3<S>& F_bar) {
  const auto u = unit_and_norm(F * fibre.a);
  const S along = dot(u.unit, t_bar), e = u.norm - S(1);
  const S across = (fibre.pull + fibre.stiffness * e) / u.norm;
  const Vec3<S> d_bar = u.unit * (fibre.stiffness * along) + (t_bar - u.unit * along) * across;
  F_bar += outer(d_bar, fibre.a);  // (4)
  fibre_bar.a += transpose_vector_product(F, d_bar);
  fibre_bar.pull += along;
  fibre_bar.stiffness += along * e;
}

}  // namespace cycloid::inline soft
