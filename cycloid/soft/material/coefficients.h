// Coefficients of a material: Lamé's, from Young's modulus and Poisson's ratio, and a shape.
//
//   mu  = E / (2 (1 + ν))                                            (1)   [Pa]
//   lam = E ν / ((1 + ν)(1 - 2 ν))                                   (2)   [Pa], -1 < ν < 1/2
// They are the small-strain numbers of every material: near F = I each has the energy of `linear`.
#pragma once

#include "cycloid/math/scalar.h"

namespace cycloid::inline soft {

template <class S>
struct Coefficients {
  S mu, lam;
  S mooney;  // of mooney_rivlin: the share of C01, others ignore it
};

template <class S>
CYCLOID_HD Coefficients<S> lame(const S& young, const S& poisson) {
  const S mu = young / (S(2) * (S(1) + poisson));                                // (1)
  const S lam = young * poisson / ((S(1) + poisson) * (S(1) - S(2) * poisson));  // (2)
  return {mu, lam, S(0)};
}

template <class S>
CYCLOID_HD void lame_pullback(const S& young, const S& poisson, const Coefficients<S>& c_bar,
                              S& young_bar, S& poisson_bar) {
  const S one = S(1), a = one / (one + poisson), b = one / (one - S(2) * poisson);
  young_bar += c_bar.mu * S(0.5) * a + c_bar.lam * poisson * a * b;
  poisson_bar -= c_bar.mu * S(0.5) * young * a * a;                                     // (1)
  poisson_bar += c_bar.lam * young * a * b * (one - poisson * a + S(2) * poisson * b);  // (2)
}

}  // namespace cycloid::inline soft
