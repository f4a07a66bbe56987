#include "cycloid/rigid/constraint/joint_equality.h"

#include "tests/support/pullback_check.h"

namespace cycloid::joint_equality_test {

TEST_CASE("coupling: pullback equals dual numbers for the polynomial and its slope") {
  test::check_pullback(
      "coupling", 2,
      [](const auto* in, auto* out) {
        const auto at = coupling(in + 1, in[0]);
        out[0] = -at.value;
        out[1] = -at.slope;
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        in_bar[0] += coupling_pullback(in + 1, in[0], out_bar[0], out_bar[1], in_bar + 1);
      },
      {{0.7, 0.1, 0.4, -0.3, 0.2, -0.15},
       {-1.3, 0.1, 0.4, -0.3, 0.2, -0.15},
       {0, 0.1, 0.4, -0.3, 0.2, -0.15}});
}

TEST_CASE("coupling: 1 + 2y + 3y² + 4y³ + 5y⁴ at y = 2") {
  const double d[5] = {1, 2, 3, 4, 5};
  const Coupling<double> at = coupling(d, 2.0);
  CHECK(at.value == 129);
  CHECK(at.slope == 222);
  CHECK(at.bend == 294);
}

}  // namespace cycloid::joint_equality_test
