#include "cycloid/soft/skew_solve.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/pullback_check.h"

namespace cycloid {

TEST_CASE("skew_solve: solves with the sum and with its transpose") {
  constexpr int n = 8;
  SparsePattern pattern;
  std::vector<double> values, skew, points;
  test::FixedNumbers random(7);
  std::vector<double> odd(n * n, 0.0);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      odd[static_cast<std::size_t>(i * n + j)] = random.next();
      odd[static_cast<std::size_t>(j * n + i)] = -odd[static_cast<std::size_t>(i * n + j)];
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      pattern.column.push_back(j);
      values.push_back(i == j ? 5.0 : 0.3 / (1 + std::abs(i - j)));
      skew.push_back(odd[static_cast<std::size_t>(i * n + j)]);
    }
    pattern.first.push_back(pattern.entries());
    points.insert(points.end(), {1.0 * i, 0, 0});
  }
  CholeskyFactor factor(std::make_shared<const Dissection>(pattern, points, 3));
  REQUIRE(factor.factor(values, 1) < 0);
  const SolveInPlace inverse = [&](double* b) { factor.solve(b, 1); };
  for (const bool transposed : {false, true}) {
    std::vector<double> b(n), x;
    for (double& each : b) each = random.next();
    x = b;
    CHECK(skew_solve(pattern, inverse, skew, 0, transposed, x.data()) < 1e-12);
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int j = 0; j < n; ++j) {
        const auto e = static_cast<std::size_t>(i * n + j);
        sum += (values[e] + (transposed ? -1 : 1) * skew[e]) * x[static_cast<std::size_t>(j)];
      }
      CHECK(sum == doctest::Approx(b[static_cast<std::size_t>(i)]).epsilon(1e-12));
    }
  }
  std::vector<double> zero(n, 0.0);
  CHECK(skew_solve(pattern, inverse, skew, 0, false, zero.data()) == 0);
}

}  // namespace cycloid
