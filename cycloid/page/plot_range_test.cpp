#include "cycloid/page/plot_range.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace cycloid::inline page {
namespace {

using Row = std::vector<double>;

}  // namespace

TEST_CASE("plot_range: covers all finite numbers of all rows, with a margin") {
  const double infinite = std::numeric_limits<double>::infinity();
  const PlotRange range =
      range_over({Row{1, std::nan(""), 3}, Row{-1, infinite, -infinite}, Row{}}, 0.25);
  CHECK(range.low == -2);
  CHECK(range.high == 4);
}

TEST_CASE("plot_range: nothing and one value still give an axis") {
  CHECK(range_over({}).low == 0);
  CHECK(range_over({Row{std::nan("")}}).high == 1);
  for (const double v : {0.0, 1e-12, -3.0, 1e12}) {
    const PlotRange range = range_over({Row{v, v}});
    CAPTURE(v);
    CHECK(range.low < v);
    CHECK(range.high > v);
  }
}

}  // namespace cycloid::inline page
