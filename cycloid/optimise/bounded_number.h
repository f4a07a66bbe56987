// BoundedNumber: a number u between bounds as a function of a free variable z, for optimisers that
// know no bounds.
//   low ≤ u ≤ high     u = low + ½ (high - low)(1 + sin z)          (1)
//   low ≤ u            u = low - 1 + √(z² + 1)                      (2)  and likewise from above
// At a bound the slope by z vanishes, so starts on one are moved inside by a thousandth of the half
// width.
#pragma once

namespace cycloid::inline optimise {

struct BoundedNumber {
  double low, high;  // infinite where there is none

  double free_of(double u) const;   // z, of the nearest u inside
  double value_of(double z) const;  // u
  double slope_of(double z) const;  // ∂u/∂z
};

}  // namespace cycloid::inline optimise
