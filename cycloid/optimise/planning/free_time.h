// Plans with a free end time: the time step is one more number to find.
//
//   min over t in [low, high] of  J*(t) + w t,   J*(t) the cost of the best plan of T steps of
//   length t / T                                                                              (1)
// J* is found by `plan` with the step as a parameter ("option.timestep"), each from the inputs of
// the best so far; t by a few values over the interval and then Brent's method around the best of
// them [Brent1973]. A cost has no factor of the time step, so that without w, or a bound on the
// inputs, a slow plan is often the cheapest.
#pragma once

#include "cycloid/optimise/plan.h"

namespace cycloid::inline optimise {

struct FreeTime {
  double low = 0, high = 0;  // of the end time [s]
  double weight = 0;         // w [1/s]
  double tolerance = 1e-3;   // on t, relative
  int most = 24;             // plans that are made
};

struct TimedPlan {
  Plan plan;                   // its cost is that of (1)
  double end_time = 0;         // t [s]
  std::vector<double> params;  // those of the plan, with its step
};

// Throws Error as plan does, on an interval that is none, and where the System's step is no
// parameter.
TimedPlan plan_with_free_time(const System& system, std::span<const double> x0, const Cost& cost,
                              std::int64_t steps, const FreeTime& time,
                              const PlanOptions& options = {});

// The least value of a function of one number in an interval, by Brent's method: parabolas, and
// golden sections where they fail. `from` is inside.
struct LineMinimum {
  double at = 0, value = 0;
  int evaluations = 0;
};
LineMinimum minimise_in(double low, double from, double high, double tolerance, int most,
                        const std::function<double(double)>& function);

}  // namespace cycloid::inline optimise
