#include "cycloid/optimise/fit/whiteness.h"

#include <doctest/doctest.h>

#include "cycloid/base/random.h"

namespace cycloid::whiteness_test {

TEST_CASE("chi square: the tables' quantiles") {
  CHECK(chi_square_above(3.841458820694124, 1) == doctest::Approx(0.05).epsilon(1e-9));
  CHECK(chi_square_above(18.307038053275146, 10) == doctest::Approx(0.05).epsilon(1e-9));
  CHECK(chi_square_above(2.0, 4) == doctest::Approx(0.7357588823428847).epsilon(1e-12));
  CHECK(chi_square_above(0, 3) == 1);
}

TEST_CASE("ljung box: p-values of white noise are even, those of coloured noise are small") {
  int below = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed);
    std::vector<double> white(400);
    for (double& e : white) e = random.normal();
    below += ljung_box({white}) < 0.1;
  }
  CHECK(below > 8);  // of 200; 20 are expected
  CHECK(below < 34);
  RandomStream random(3);
  std::vector<double> coloured(400, 0.0);
  for (std::size_t i = 1; i < coloured.size(); ++i) {
    coloured[i] = 0.4 * coloured[i - 1] + random.normal();
  }
  CHECK(ljung_box({coloured}) < 1e-6);
  CHECK(ljung_box({{1, 2, 3}}) == 1);
  CHECK(ljung_box({std::vector<double>(50, 2.0)}) == 1);
}

}  // namespace cycloid::whiteness_test
