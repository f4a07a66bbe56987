#include "cycloid/system/integrator/stage_sum.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid::stage_sum_test {

constexpr int kStages = 3, kSize = 2;
constexpr double kRow[kStages] = {0.25, -1.5, 0.75};

TEST_CASE("stage_sum: x + h times the weighted slopes; the first stage begins in x") {
  const double x[] = {1, 2}, k[] = {1, 0, 0, 1, 2, 2};
  double X[kSize];
  stage_sum(kRow, kStages, kSize, 0.5, x, k, X);
  CHECK(X[0] == 1 + 0.5 * (0.25 + 1.5));
  CHECK(X[1] == 2 + 0.5 * (-1.5 + 1.5));
  stage_sum(kRow, 0, kSize, 0.5, x, k, X);
  CHECK(X[0] == 1);
}

TEST_CASE("stage_sum: pullback equals dual numbers in h, x and all slopes") {
  const auto f = [](const auto* in, auto* out) {
    stage_sum(kRow, kStages, kSize, in[0], in + 1, in + 1 + kSize, out);
  };
  const auto f_pullback = [](const auto* in, const auto* out_bar, auto* in_bar) {
    stage_sum_pullback(kRow, kStages, kSize, in[0], in + 1 + kSize, out_bar, in_bar[0], in_bar + 1,
                       in_bar + 1 + kSize);
  };
  test::check_pullback("stage_sum", kSize, f, f_pullback,
                       {test::FixedNumbers(1).vector(9), test::FixedNumbers(2).vector(9)});
}

}  // namespace cycloid::stage_sum_test
