// bootstrap.h: how much a number would change with other runs.
//
// Runs are drawn with replacement, as many as there are, and the statistic is taken of each draw;
// the interval holds the middle 95 % of these (the percentile bootstrap, Efron1979). Of one run
// there is nothing to draw: the interval is the value itself.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cycloid/base/interrupt.h"

namespace cycloid::inline evaluate {

struct ScoreInterval {
  double low = 0, high = 0;
};

// A number made of some runs, which may be listed more than once.
using RunStatistic = std::function<double(std::span<const std::int64_t> runs)>;

// Of all runs, each once.
double of_all_runs(std::int64_t runs, const RunStatistic& statistic);

// Throws Interrupted between draws when keep_going says no.
ScoreInterval bootstrap(std::int64_t runs, const RunStatistic& statistic, int draws,
                        std::uint64_t seed, const KeepGoing& keep_going = {});

// The q-quantile of numbers, linear between them; NaN of none. Those that are not numbers are left
// out.
double quantile(std::span<const double> numbers, double q);

}  // namespace cycloid::inline evaluate
