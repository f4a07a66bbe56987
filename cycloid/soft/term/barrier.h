// The barrier of a distance (LiEtAl2020), with its slope.
//
//   W = -κ (φ - w)² ln(φ/w) for 0 < φ < w, 0 beyond, infinite for φ <= 0            (1)   [J]
//   W' = κ (w - φ) (2 ln(φ/w) - (w - φ)/φ), not above zero                          (2)   [N]
// W has two continuous derivatives at φ = w.
#pragma once

#include <limits>

#include "cycloid/math/norm.h"

namespace cycloid::inline soft {

template <class S>
CYCLOID_HD S barrier_energy(const S& kappa, const S& w, const S& phi) {
  const auto open = phi > S(0);
  const S safe = select(open, phi, S(1));
  const S gap = positive_part(w - safe);
  return select(open, -kappa * gap * gap * log(safe / w),
                S(std::numeric_limits<double>::infinity()));  // (1)
}

// Zero where φ <= 0: there is no slope.
template <class S>
CYCLOID_HD S barrier_slope(const S& kappa, const S& w, const S& phi) {
  const auto near = (phi > S(0)) & (phi < w);
  const S safe = select(near, phi, w);
  const S gap = w - safe;
  return kappa * gap * (S(2) * log(safe / w) - gap / safe);  // (2)
}

}  // namespace cycloid::inline soft
