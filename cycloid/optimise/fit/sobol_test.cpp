#include "cycloid/optimise/fit/sobol.h"

#include <doctest/doctest.h>

#include <set>

namespace cycloid::sobol_test {

TEST_CASE("sobol: the first points are those of the literature") {
  const std::vector<double> p = sobol(7, 3, 0);
  const std::vector<double> wanted{0.5,   0.5,   0.5,   0.75,  0.25,  0.25,  0.25,
                                   0.75,  0.75,  0.375, 0.375, 0.625, 0.875, 0.875,
                                   0.125, 0.625, 0.125, 0.875, 0.125, 0.625, 0.375};
  CHECK(p == wanted);
}

TEST_CASE("sobol: every interval of each dimension has one point, whatever the seed") {
  for (const std::uint64_t seed : {0, 7}) {
    constexpr std::size_t kPoints = 255, kAll = 23;
    const std::vector<double> p = sobol(kPoints, kAll, seed);
    for (std::size_t d = 0; d < static_cast<std::size_t>(kSobolDimensions); ++d) {
      std::set<int> cells;
      for (std::size_t i = 0; i < kPoints; ++i)
        cells.insert(static_cast<int>(p[i * kAll + d] * 256));
      CHECK(cells.size() == kPoints);  // but for the one of the point that is left out
    }
  }
  CHECK(sobol(5, 3, 7) == sobol(5, 3, 7));
  CHECK(sobol(5, 3, 7) != sobol(5, 3, 8));
}

}  // namespace cycloid::sobol_test
