#include "cycloid/learn/dropout.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/learn/uncertain_laws_test.h"
#include "tests/support/pullback_check.h"

namespace cycloid {

TEST_CASE("Dropout: a masked law is the law without these units, in the mean the law itself") {
  const System system = test::small_law({6, 5});
  const Dropout dropout(system, 0.3, 4);
  CHECK(dropout.units() == 11);
  const std::vector<double> p = system.parameters().default_values();
  std::vector<double> mean(p.size(), 0.0);
  constexpr int kDraws = 4000;
  int zeros = 0;
  for (int k = 0; k < kDraws; ++k) {
    const std::vector<double> own = dropout.masked(p, static_cast<std::uint64_t>(k));
    for (std::size_t i = 0; i < p.size(); ++i) {
      mean[i] += own[i] / kDraws;
      zeros += own[i] == 0 && p[i] != 0;
    }
  }
  for (std::size_t i = 0; i < p.size(); ++i) CHECK(mean[i] == doctest::Approx(p[i]).epsilon(0.06));
  // 5 x 6 and 2 x 5 weights read hidden units.
  CHECK(zeros / static_cast<double>(kDraws) == doctest::Approx(0.3 * 40).epsilon(0.03));
  CHECK(dropout.masked(p, 9) == dropout.masked(p, 9));
}

TEST_CASE("Dropout: the gradient of a masked loss equals a stencil along a direction") {
  const System system = test::small_law({6, 5});
  Derivatives data;
  data.x = test::FixedNumbers(1).vector(60), data.x_dot = test::FixedNumbers(2).vector(60);
  const auto loss = dropout_loss(derivative_loss(system, data, {}), Dropout(system, 0.4, 1));
  const std::vector<double> p = system.parameters().default_values();
  std::vector<double> d = test::FixedNumbers(3).vector(p.size()), bar;
  d[0] = 0;
  std::vector<std::int64_t> rows, none;
  loss->split(0, rows, none);
  const double value = loss->value(p, {rows, 1, 5}, &bar);
  CHECK(value != loss->value(p, {rows, 1, 6}, nullptr));
  CHECK(value != loss->value(p, {rows, 1, -1}, nullptr));
  const auto at = [&](double s) {
    std::vector<double> moved = p;
    for (std::size_t i = 0; i < p.size(); ++i) moved[i] += s * d[i];
    return loss->value(moved, {rows, 1, 5}, nullptr);
  };
  const double h = 1e-3, slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  CHECK(std::abs(slope) > 1e-3);
  CHECK(test::dot(bar, d) == doctest::Approx(slope).epsilon(1e-7));
}

TEST_CASE("Dropout: rates and Systems that make no sense are refused") {
  CHECK_THROWS_AS(Dropout(test::small_law(), 1.0, 0), Error);
  CHECK_THROWS_AS(Dropout(systems::make("pendulum", {}, {}), 0.1, 0), Error);
}

}  // namespace cycloid
