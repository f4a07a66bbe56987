// Laws that act in cells besides the material: fibres that pull (material/fibre.h), and plastic
// matter (material/plastic.h), which takes the material's place.
//
// Of element E, with w, B_a and F of rest_point.h at the points of integration:
//   W = Σ w ψ,   f_a = Σ w P B_a                                         (1)   [J], [N]
// A group is a cell. The constants of a fibre are its direction a at rest; the memory of plastic
// matter is kPlasticNumbers for each point. Hexahedra without locking have neither in their inner
// nodes.
#pragma once

#include "cycloid/soft/element/rest_point.h"
#include "cycloid/soft/material/coefficients.h"
#include "cycloid/soft/material/fibre.h"
#include "cycloid/soft/material/plastic.h"
#include "cycloid/soft/term/stencil.h"

namespace cycloid::inline soft {

// Σ x_a B_aᵀ of vertices in another scalar than the rest shape's.
template <class E, class S, class R>
CYCLOID_INLINE Mat3<S> moving_gradient(const RestPoint<E, R>& at, const Vec3<S>* x) {
  Mat3<S> F;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      S sum = x[0][i] * at.slope[0][j];
      for (int a = 1; a < E::kNodes; ++a) sum += x[a][i] * at.slope[a][j];
      F(i, j) = sum;
    }
  }
  return F;
}

template <class E>
struct FibreLaw {
  static constexpr int kNodes = E::kNodes, kNumbers = 3, kConstants = 3, kMemory = 0;
  static constexpr bool kSymmetric = true, kHasMass = false, kMixed = true, kRates = false;
  enum { strength, stiffness, activation };
  template <class S, class R = S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants, R>;

  template <class S, class R>
  static Fibre<R> fibre(const Group<S, R>& s) {
    return {{s.constant[0], s.constant[1], s.constant[2]},
            s.number[activation] * s.number[strength],
            s.number[stiffness]};
  }
  template <class S, class R>
  static S energy(const Group<S, R>& s) {
    const Fibre<R> own = fibre(s);
    S sum(0);
    for (int q = 0; q < E::kPoints; ++q) {
      const auto at = rest_point<E, R>(s.rest, q);
      sum += at.volume * fibre_energy(own, moving_gradient<E, S, R>(at, s.now));  // (1)
    }
    return sum;
  }
  template <class S, class R>
  [[gnu::noinline]] static void force(const Group<S, R>& s, Vec3<S>* f) {
    const Fibre<R> own = fibre(s);
    for (int a = 0; a < kNodes; ++a) f[a] = {S(0), S(0), S(0)};
    for (int q = 0; q < E::kPoints; ++q) {
      const auto at = rest_point<E, R>(s.rest, q);
      const Vec3<S> t = fibre_traction(own, moving_gradient<E, S, R>(at, s.now));
      for (int a = 0; a < kNodes; ++a) {
        const R along = at.volume * dot(own.a, at.slope[a]);
        f[a].x += t.x * along, f[a].y += t.y * along, f[a].z += t.z * along;  // (1)
      }
    }
  }
};

template <class E>
struct PlasticCell {
  static constexpr int kNodes = E::kNodes, kNumbers = 4, kConstants = 0;
  static constexpr int kMemory = kPlasticNumbers * E::kPoints;
  static constexpr bool kSymmetric = true, kHasMass = false, kMixed = true, kRates = false;
  enum { young, poisson, yield, hardening };
  template <class S, class R = S>
  using Group = Stencil<S, kNodes, kNumbers, kConstants, R, kMemory>;

  template <class S, class R>
  static PlasticLaw<R> law(const Group<S, R>& s) {
    const Coefficients<R> c = lame(s.number[young], s.number[poisson]);
    return {c.mu, c.lam, s.number[yield], s.number[hardening]};
  }
  template <class S, class R>
  static S energy(const Group<S, R>& s) {
    const PlasticLaw<R> own = law(s);
    S sum(0);
    for (int q = 0; q < E::kPoints; ++q) {
      const auto at = rest_point<E, R>(s.rest, q);
      sum += at.volume * plastic_energy(own, s.memory + kPlasticNumbers * q,
                                        moving_gradient<E, S, R>(at, s.now), s.step.flows);  // (1)
    }
    return sum;
  }
  template <class S, class R>
  [[gnu::noinline]] static void force(const Group<S, R>& s, Vec3<S>* f) {
    const PlasticLaw<R> own = law(s);
    for (int a = 0; a < kNodes; ++a) f[a] = {S(0), S(0), S(0)};
    for (int q = 0; q < E::kPoints; ++q) {
      const auto at = rest_point<E, R>(s.rest, q);
      const Mat3<S> P = plastic_stress(own, s.memory + kPlasticNumbers * q,
                                       moving_gradient<E, S, R>(at, s.now), s.step.flows);
      for (int a = 0; a < kNodes; ++a) {
        for (int i = 0; i < 3; ++i) {
          f[a][i] += at.volume * (P(i, 0) * at.slope[a].x + P(i, 1) * at.slope[a].y +
                                  P(i, 2) * at.slope[a].z);  // (1)
        }
      }
    }
  }
  // What the cell remembers after a step to the positions now.
  template <class S>
  [[gnu::noinline]] static void flow(const Group<S>& s, S* memory_next) {
    const PlasticLaw<S> own = law(s);
    for (int q = 0; q < E::kPoints; ++q) {
      plastic_flow(own, s.memory + kPlasticNumbers * q,
                   gradient_at(rest_point<E, S>(s.rest, q), s.now),
                   memory_next + kPlasticNumbers * q);
    }
  }
  // First Piola, mean over the cell's volume at rest.
  template <class S>
  static Mat3<S> stress(const Group<S>& s) {
    const PlasticLaw<S> own = law(s);
    Mat3<S> sum{};
    S volume(0);
    for (S& e : sum.e) e = S(0);
    for (int q = 0; q < E::kPoints; ++q) {
      const auto at = rest_point<E, S>(s.rest, q);
      sum += plastic_stress(own, s.memory + kPlasticNumbers * q, gradient_at(at, s.now), false) *
             at.volume;
      volume += at.volume;
    }
    return sum * (S(1) / volume);
  }
};

}  // namespace cycloid::inline soft
