#include "cycloid/couple/state_bar.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid {

TEST_CASE("add_state_bar: lanes have what Space::to_tangent gives each row, and are added to") {
  const Space space({{"place", 2, "m"}, {"attitude", 4, "1", BlockKind::quaternion}});
  constexpr int W = 3;
  std::vector<double> x(6 * W), bar(6 * W), d(5 * W, 0.5);
  test::FixedNumbers random(1);
  std::vector<std::vector<double>> expected;
  for (int l = 0; l < W; ++l) {
    std::vector<double> row = random.vector(6), row_bar = random.vector(6), row_d(5, 0.5);
    space.normalise(row.data());
    space.to_tangent(row.data(), row_bar.data(), row_d.data());
    expected.push_back(row_d);
    for (std::size_t i = 0; i < 6; ++i) {
      x[i * W + static_cast<std::size_t>(l)] = row[i];
      bar[i * W + static_cast<std::size_t>(l)] = row_bar[i];
    }
  }
  add_state_bar(space, x.data(), bar.data(), W, d.data());
  for (int l = 0; l < W; ++l) {
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(d[i * W + static_cast<std::size_t>(l)] ==
            doctest::Approx(expected[static_cast<std::size_t>(l)][i]).epsilon(1e-14));
    }
  }
}

}  // namespace cycloid
