#include "cycloid/system/laws/bare_motion.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/support/operator_coverage.h"

namespace cycloid::bare_motion_test {

TEST_CASE("bare motion: nothing moves at rest, positions coast with their velocities") {
  const std::vector<double> x = {1, 2, 3, -4}, none;
  std::vector<double> dx(4, 9.0);
  AtRest{4, 1}.x_dot(0.0, x.data(), none.data(), none.data(), dx.data());
  CHECK(dx == std::vector<double>{0, 0, 0, 0});
  Coasting{2, 1}.x_dot(0.0, x.data(), none.data(), none.data(), dx.data());
  CHECK(dx == std::vector<double>{3, -4, 0, 0});
  CHECK(Coasting{2, 1}.input()[0].size == 1);
  CHECK(AtRest{2}.input().empty());
}

TEST_CASE("bare motion: the pullback is the transpose") {
  const std::vector<double> x = {1, 2, 3, -4}, bar = {5, 6, 7, 8}, none;
  std::vector<double> x_bar(4, 1.0);
  double t_bar = 0;
  Coasting{2}.x_dot_pullback(0.0, x.data(), none.data(), none.data(), bar.data(), t_bar,
                             x_bar.data(), x_bar.data(), x_bar.data());
  CHECK(x_bar == std::vector<double>{1, 1, 6, 7});
  AtRest{4}.x_dot_pullback(0.0, x.data(), none.data(), none.data(), bar.data(), t_bar, x_bar.data(),
                           x_bar.data(), x_bar.data());
  REQUIRE(x_bar == std::vector<double>{1, 1, 6, 7});
  test::mark_operator_tested("AtRest::x_dot");
  test::mark_operator_tested("Coasting::x_dot");
}

}  // namespace cycloid::bare_motion_test
