#include "cycloid/page/plot_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cycloid::inline page {

PlotRange range_over(std::initializer_list<std::span<const double>> rows, double margin) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const std::span<const double> row : rows) {
    for (const double v : row) {
      if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
    }
  }
  if (low > high) return {0, 1};
  // Less than this is not told apart by an axis whose numbers have twelve digits.
  const double least = 1e-9 * std::max(std::abs(low), std::abs(high));
  const double width = high - low;
  const double more = width > least ? margin * width : low == 0 ? 1 : 0.05 * std::abs(low) + least;
  return {low - more, high + more};
}

}  // namespace cycloid::inline page
