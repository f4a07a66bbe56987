#include "cycloid/evaluate/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::inline evaluate {
namespace {

constexpr double kTail = 0.025;  // left out on either side

}  // namespace

double of_all_runs(std::int64_t runs, const RunStatistic& statistic) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(runs));
  std::iota(all.begin(), all.end(), 0);
  return statistic(all);
}

ScoreInterval bootstrap(std::int64_t runs, const RunStatistic& statistic, int draws,
                        std::uint64_t seed, const KeepGoing& keep_going) {
  const double value = of_all_runs(runs, statistic);
  if (runs < 2) return {value, value};
  std::vector<double> found;
  std::vector<std::int64_t> picked(static_cast<std::size_t>(runs));
  for (int k = 0; k < draws; ++k) {
    if (keep_going && !keep_going()) throw Interrupted("the evaluation was interrupted");
    RandomStream random(seed, 0, static_cast<std::uint64_t>(k));
    for (std::int64_t& p : picked) {
      p = std::min(runs - 1,
                   static_cast<std::int64_t>(random.uniform() * static_cast<double>(runs)));
    }
    const double drawn = statistic(picked);
    if (!std::isnan(drawn)) found.push_back(drawn);
  }
  if (found.empty()) return {value, value};
  return {std::min(value, quantile(found, kTail)), std::max(value, quantile(found, 1 - kTail))};
}

double quantile(std::span<const double> numbers, double q) {
  std::vector<double> sorted;
  for (const double v : numbers) {
    if (!std::isnan(v)) sorted.push_back(v);
  }
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(sorted.begin(), sorted.end());
  const double place = q * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(below);
  if (share == 0) return sorted[below];
  return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

}  // namespace cycloid::inline evaluate
