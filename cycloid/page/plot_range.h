// The numbers that an axis covers.
#pragma once

#include <initializer_list>
#include <span>

namespace cycloid::inline page {

struct PlotRange {
  double low = 0, high = 1;
};

// From the least to the greatest finite number of the rows, widened by `margin` of that on both
// sides. Rows without one give [0, 1], rows of one value a range around it.
PlotRange range_over(std::initializer_list<std::span<const double>> rows, double margin = 0.05);

}  // namespace cycloid::inline page
