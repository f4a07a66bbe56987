// What a law refuses: parameters that make no sense together, and starts beyond its surfaces.
//
//   refuse(p)               (1)  optional: why not these parameters, or nothing
//   admit(p, rounding, x)   (2)  optional: why a run cannot start at x, or nothing
// Events happen where the state passes through a surface. A start that is already beyond it never
// does, and what follows would be no motion of the law, without a word: (2) says so. A state that a
// run has reached must be admitted again, though rounding may have put it a little beyond: where it
// moves on from there, (2) puts it on the surface or within rounding before it, and the event comes
// at once. One that comes back by itself is left as it is, up to kNearSurface. Both limits are
// absolute, in the units of the state.
#pragma once

#include <string>

#include "cycloid/base/error.h"

namespace cycloid::inline system {

template <class Law>
concept RefusesParameters =
    requires(const Law& law, const double* p) { std::string(law.refuse(p)); };  // (1)
template <class Law>
concept AdmitsStarts = requires(const Law& law, const double* p, double* x) {
  std::string(law.admit(p, 1.0, x));
};  // (2)

// How far beyond a surface a start may be if it comes back, in units of the state.
inline constexpr double kNearSurface = 1e-3;

// Whether a state that is `beyond` a surface (> 0), with a rate and an acceleration away from it,
// is near and comes back.
inline bool comes_back(double beyond, double rate, double acceleration) {
  return beyond <= kNearSurface && rate < 0 && rate * rate > 2 * acceleration * beyond;
}

}  // namespace cycloid::inline system
