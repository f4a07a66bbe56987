#include "cycloid/optimise/planning/free_time.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "cycloid/base/error.h"
#include "cycloid/optimise/planning/planner.h"

namespace cycloid::inline optimise {
namespace {

constexpr double kGolden = 0.3819660112501051;  // (3 - √5) / 2
constexpr int kFirst = 5;                       // end times that are tried over the interval

}  // namespace

LineMinimum minimise_in(double low, double from, double high, double tolerance, int most,
                        const std::function<double(double)>& function) {
  LineMinimum out;
  const auto value_at = [&](double t) {
    ++out.evaluations;
    return function(t);
  };
  // The best, the second best and the one before it.
  double x = from, w = from, v = from, fx = value_at(x), fw = fx, fv = fx, step = 0, before = 0;
  while (out.evaluations < most) {
    const double middle = 0.5 * (low + high), least = tolerance * std::abs(x) + 1e-12;
    if (std::abs(x - middle) <= 2 * least - 0.5 * (high - low)) break;
    bool parabola = false;
    if (std::abs(before) > least) {
      const double r = (x - w) * (fx - fv), q = (x - v) * (fx - fw);
      double p = (x - v) * q - (x - w) * r, d = 2 * (q - r);
      if (d > 0) p = -p;
      d = std::abs(d);
      const double last = before;
      before = step;
      parabola = std::abs(p) < std::abs(0.5 * d * last) && p > d * (low - x) && p < d * (high - x);
      if (parabola) step = p / d;
    }
    if (!parabola) {
      before = x >= middle ? low - x : high - x;
      step = kGolden * before;
    }
    const double u = x + (std::abs(step) >= least ? step : std::copysign(least, step)),
                 fu = value_at(u);
    if (fu <= fx) {
      (u >= x ? low : high) = x;
      v = w, fv = fw, w = x, fw = fx, x = u, fx = fu;
      continue;
    }
    (u < x ? low : high) = u;
    if (fu <= fw || w == x) {
      v = w, fv = fw, w = u, fw = fu;
    } else if (fu <= fv || v == x || v == w) {
      v = u, fv = fu;
    }
  }
  out.at = x;
  out.value = fx;
  return out;
}

TimedPlan plan_with_free_time(const System& system, std::span<const double> x0, const Cost& cost,
                              std::int64_t steps, const FreeTime& time,
                              const PlanOptions& options) {
  if (!(time.low > 0) || !(time.high > time.low) || !std::isfinite(time.high)) {
    throw Error(message("plan: free_time must be (low, high) with 0 < low < high [s], got (",
                        time.low, ", ", time.high, ")"));
  }
  if (!std::isfinite(time.weight)) throw Error("plan: time_weight must be finite");
  const Parameters& registry = system.parameters();
  if (!registry.contains(kTimestepName)) {
    throw Error(message("plan: free_time: the time step of system \"", system.name(),
                        "\" is no parameter"));
  }
  const std::size_t place = static_cast<std::size_t>(registry.find(kTimestepName).offset);
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::optional<TimedPlan> best;
  std::vector<double> history;
  std::int64_t simulated = 0;
  int iterations = 0;
  bool stopped = false;
  const auto cost_at = [&](double t) {
    if (stopped) return std::numeric_limits<double>::infinity();
    PlanOptions own = options;
    if (own.params.empty()) own.params = registry.default_values();
    own.params[place] = t / static_cast<double>(steps);
    if (best) own.start = best->plan.controls, own.start_states = best->plan.states;
    if (options.time_limit) {
      if (best && seconds() >= *options.time_limit) return std::numeric_limits<double>::infinity();
      own.time_limit = std::max(0.0, *options.time_limit - seconds());
    }
    own.watch = [&](const Progress& now) {
      stopped = options.watch && !options.watch({iterations + now.iteration, 0, now.cost, seconds(),
                                                 simulated + now.steps});
      return !stopped;
    };
    Plan found;
    try {
      found = plan(system, x0, cost, steps, own);
    } catch (const StartFails&) {
      if (!best) throw;
      return std::numeric_limits<double>::infinity();
    }
    stopped = stopped || (options.keep_going && !options.keep_going());
    iterations += found.iterations;
    simulated += found.steps;
    found.cost += time.weight * t;  // (1)
    const double value = found.cost;
    if (!best || value < best->plan.cost) best = TimedPlan{std::move(found), t, own.params};
    history.push_back(best->plan.cost);
    return value;
  };
  // Over the whole interval first: there may be several valleys.
  std::vector<double> at, values;
  for (int i = 0; i < kFirst; ++i) {
    const double share = static_cast<double>(i) / (kFirst - 1);
    at.push_back(time.low * std::pow(time.high / time.low, share));
    values.push_back(cost_at(at.back()));
  }
  const std::size_t i =
      static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin());
  minimise_in(at[i == 0 ? 0 : i - 1], at[i], at[std::min<std::size_t>(i + 1, at.size() - 1)],
              time.tolerance, std::max(1, time.most - kFirst), cost_at);
  best->plan.history = std::move(history);
  best->plan.iterations = iterations;
  best->plan.steps = simulated;
  best->plan.seconds = seconds();
  if (stopped) best->plan.converged = false;
  return std::move(*best);
}

}  // namespace cycloid::inline optimise
