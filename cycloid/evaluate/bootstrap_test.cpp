#include "cycloid/evaluate/bootstrap.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

using namespace cycloid;

TEST_CASE("quantile: linear between numbers, without those that are none") {
  const std::vector<double> v = {3, 1, NAN, 2};
  CHECK(quantile(v, 0.5) == 2);
  CHECK(quantile(v, 0.25) == 1.5);
  CHECK(quantile(v, 1) == 3);
  CHECK(std::isnan(quantile(std::vector<double>{NAN}, 0.5)));
}

TEST_CASE("bootstrap: the interval of a mean is as wide as theory says, and holds the truth") {
  constexpr int kRuns = 64, kTrials = 100;
  int held = 0;
  double width = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> v;
    RandomStream random(7, 0, static_cast<std::uint64_t>(trial));
    for (int i = 0; i < kRuns; ++i) v.push_back(random.normal());
    const RunStatistic mean = [&](std::span<const std::int64_t> runs) {
      double sum = 0;
      for (const std::int64_t r : runs) sum += v[static_cast<std::size_t>(r)];
      return sum / static_cast<double>(runs.size());
    };
    const ScoreInterval i = bootstrap(kRuns, mean, 200, static_cast<std::uint64_t>(trial));
    held += i.low <= 0 && 0 <= i.high;
    width += (i.high - i.low) / kTrials;
  }
  CHECK(held >= 87);  // 95 expected, six less by three standard errors
  CHECK(width == doctest::Approx(2 * 1.96 / std::sqrt(64.0)).epsilon(0.05));
}

TEST_CASE("bootstrap: it ends between draws when it is told to") {
  int asked = 0;
  const auto statistic = [](std::span<const std::int64_t>) { return 1.0; };
  const auto keep_going = [&] { return ++asked < 5; };
  CHECK_THROWS_AS(bootstrap(10, statistic, 100, 0, keep_going), Interrupted);
  CHECK(asked == 5);
}

TEST_CASE("bootstrap: one run has no spread") {
  const ScoreInterval i = bootstrap(1, [](std::span<const std::int64_t>) { return 3.0; }, 100, 0);
  CHECK(i.low == 3.0);
  CHECK(i.high == 3.0);
}
