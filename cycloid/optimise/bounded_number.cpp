#include "cycloid/optimise/bounded_number.h"

#include <algorithm>
#include <cmath>

namespace cycloid::inline optimise {
namespace {

constexpr double kInside = 1e-3;  // how far from a bound a start is moved, in half widths

}  // namespace

double BoundedNumber::free_of(double u) const {
  const bool below = std::isfinite(low), above = std::isfinite(high);
  if (below && above) {
    const double half = 0.5 * (high - low);
    if (half == 0) return 0;
    const double share = std::clamp((u - low) / half - 1, kInside - 1, 1 - kInside);
    return std::asin(share);  // (1)
  }
  if (below) return std::sqrt(std::pow(std::max(u - low, kInside) + 1, 2) - 1);  // (2)
  if (above) return std::sqrt(std::pow(std::max(high - u, kInside) + 1, 2) - 1);
  return u;
}

double BoundedNumber::value_of(double z) const {
  const bool below = std::isfinite(low), above = std::isfinite(high);
  if (below && above) return std::clamp(low + 0.5 * (high - low) * (1 + std::sin(z)), low, high);
  if (below) return low - 1 + std::sqrt(z * z + 1);
  if (above) return high + 1 - std::sqrt(z * z + 1);
  return z;
}

double BoundedNumber::slope_of(double z) const {
  const bool below = std::isfinite(low), above = std::isfinite(high);
  if (below && above) return 0.5 * (high - low) * std::cos(z);
  if (below) return z / std::sqrt(z * z + 1);
  if (above) return -z / std::sqrt(z * z + 1);
  return 1;
}

}  // namespace cycloid::inline optimise
