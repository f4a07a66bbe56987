#include "cycloid/rigid/solver/wide.h"

#include <doctest/doctest.h>

#include <vector>

namespace cycloid::wide_test {

TEST_CASE("wide: a few numbers are stored without touching what lies behind them") {
  constexpr int W = kNativeLanes<double>;
  std::vector<double> from(W), to(2 * W, -1.0);
  for (int i = 0; i < W; ++i) from[static_cast<std::size_t>(i)] = i + 1;
  const Wide<double> x = Wide<double>::load(from.data());
  for (int n = 0; n <= W; ++n) {
    std::fill(to.begin(), to.end(), -1.0);
    store_some(x, n, to.data());
    for (int i = 0; i < 2 * W; ++i) CHECK(to[static_cast<std::size_t>(i)] == (i < n ? i + 1 : -1));
  }
}

TEST_CASE("wide: lengths are rounded up to whole registers") {
  constexpr int W = kNativeLanes<float>;
  CHECK(padded_to_wide<float>(0) == 0);
  CHECK(padded_to_wide<float>(1) == W);
  CHECK(padded_to_wide<float>(W) == W);
  CHECK(padded_to_wide<float>(W + 1) == 2 * W);
}

TEST_CASE("wide: a struct of numbers has each of them in all lanes") {
  struct Two {
    double a, b[2];
  } two{1.5, {-2, 3}};
  struct Wider {
    Wide<double> a, b[2];
  } wider;
  widen<double, Wide<double>>(two, wider);
  for (int l = 0; l < kNativeLanes<double>; ++l) {
    CHECK(wider.a[l] == 1.5);
    CHECK(wider.b[0][l] == -2);
    CHECK(wider.b[1][l] == 3);
  }
}

}  // namespace cycloid::wide_test
