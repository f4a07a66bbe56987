// shooting.h: plans by single shooting: one rollout, its gradient, and L-BFGS on all inputs.
//
// Inputs with bounds are functions of free variables z:
//   low ≤ u ≤ high     u = low + ½ (high - low)(1 + sin z)          (1)
//   low ≤ u            u = low - 1 + √(z² + 1)                      (2)  and likewise from above
// At a bound the slope by z vanishes, so starts on one are moved inside by a thousandth of the half
// width. There are no gains.
#pragma once

#include "cycloid/adjoint/rollout.h"
#include "cycloid/optimise/planner.h"

namespace cycloid::inline optimise {

struct BoundedInput {
  double low, high;  // infinite where there is none

  double free_of(double u) const;   // z, of the nearest u inside
  double value_of(double z) const;  // u
  double slope_of(double z) const;  // ∂u/∂z
};

}  // namespace cycloid::inline optimise
