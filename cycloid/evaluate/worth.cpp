#include "cycloid/evaluate/worth.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/optimise/plan.h"
#include "cycloid/optimise/planning/trajectory_cost.h"

namespace cycloid::inline evaluate {
namespace {

using Numbers = std::vector<double>;

constexpr int kPlanIterations = 100;
constexpr std::int64_t kMostCoarse = 16;  // steps of the truth in one
constexpr double kLeastTime = 0.02;       // [s] that a measurement takes
constexpr int kTrials = 3;

// The least time of one call [s].
template <class F>
double seconds_of(const F& call) {
  using Clock = std::chrono::steady_clock;
  double least = 1e300, spent = 0;
  for (int k = 0; k < kTrials || spent < kLeastTime; ++k) {
    const auto from = Clock::now();
    call();
    const double t = std::chrono::duration<double>(Clock::now() - from).count();
    least = std::min(least, t), spent += t;
  }
  return least;
}

Numbers plan_controls(const System& system, const Numbers& x0, const Contest& c, const Cost& cost) {
  PlanOptions options;
  options.iterations = kPlanIterations;
  options.threads = c.threads, options.keep_going = c.keep_going;
  for (std::int64_t i = 0; i < c.m(); ++i) {
    options.low.push_back(c.truth.input_bounds(static_cast<int>(i)).low);
    options.high.push_back(c.truth.input_bounds(static_cast<int>(i)).high);
  }
  // A cost that has no quadratic model is followed by its gradient.
  const bool smooth = TrajectoryCost(system, cost, c.steps, {}, c.threads).without_model().empty();
  options.method = smooth ? "ilqr" : "lbfgs";
  return plan(system, x0, cost, c.steps, options).controls;
}

}  // namespace

std::optional<PlanRegret> plan_regret(const Contest& c, const Cost& cost, int starts) {
  if (!c.model.system || c.m() == 0 || c.model.system->inputs().size() != c.m() ||
      c.model.system->states().size() != c.n() || c.ratio.coarser * c.ratio.finer != 1) {
    return std::nullopt;
  }
  const System model = c.model.system->in_double();
  const TrajectoryCost judge(c.truth, cost, c.steps, {}, c.threads);
  const auto cost_in_truth = [&](const Numbers& x0, const Numbers& u) {
    const RunRows run = simulate(c.truth, x0, u, 1, c.steps, c.n(), c.threads, c.keep_going);
    return judge.values(run.values, u, 1, c.keep_going).front();
  };
  PlanRegret out;
  for (std::int64_t r = 0; r < std::min<std::int64_t>(starts, c.runs); ++r) {
    const Numbers x0(c.x0.begin() + r * c.n(), c.x0.begin() + (r + 1) * c.n());
    const Numbers idle(at(c.steps * c.m()), 0.0);
    const double own = cost_in_truth(x0, plan_controls(model, x0, c, cost)),
                 best = cost_in_truth(x0, plan_controls(c.truth, x0, c, cost)),
                 start = cost_in_truth(x0, idle);
    out.regret.push_back(own - best);                                                        // (1)
    out.share.push_back(start > best ? (own - best) / (start - best) : own > best ? 1 : 0);  // (2)
  }
  return out;
}

RunCost run_cost(const Contest& c, double error) {
  RunCost out;
  const double runs = static_cast<double>(c.runs), steps = static_cast<double>(c.steps);
  double model = 0;  // [s] of a run
  if (c.model.forecast) {
    model = seconds_of([&] { c.model.forecast(c.x0, c.controls, c.runs, c.steps); }) / runs;
    out.seconds_per_step = model / steps;
  } else {
    const System& system = *c.model.system;
    Numbers u;
    if (system.inputs().size() > 0) u = seen_controls(c.controls, c.runs, c.steps, c.m(), c.ratio);
    const std::int64_t own = c.steps / c.ratio.coarser * c.ratio.finer;
    model =
        seconds_of([&] { simulate(system, c.x0, u, c.runs, own, c.n(), 1, c.keep_going); }) / runs;
    out.seconds_per_step = model / static_cast<double>(own);
  }
  double truth = 0;
  for (std::int64_t k = 1; k <= kMostCoarse && k <= c.steps; k *= 2) {
    std::optional<System> rough;
    try {
      rough =
          k == 1 ? c.truth : c.truth.variant({.dt = c.truth.timestep() * static_cast<double>(k)});
    } catch (const Error&) {
      break;
    }
    const std::int64_t coarse = c.steps / k;
    const StepRatio ratio{k, 1};
    const Numbers u =
        c.m() > 0 ? seen_controls(c.controls, c.runs, c.steps, c.m(), ratio) : Numbers();
    const auto run = [&] {
      return simulate(*rough, c.x0, u, c.runs, coarse, c.n(), 1, c.keep_going);
    };
    const RunRows found = run();
    RunRows best{c.runs, coarse + 1, c.n(), {}};
    for (std::int64_t r = 0; r < c.runs; ++r) {
      for (std::int64_t s = 0; s <= coarse; ++s) {
        best.values.insert(best.values.end(), c.every.at(r, s * k), c.every.at(r, s * k) + c.n());
      }
    }
    const RunRows e = scaled_errors(c.truth.states(), best, found, c.scale);
    if (k > 1 && !(rms(e.values) <= error)) break;
    // A run whose steps do not fill the horizon is paid for in full.
    truth = seconds_of(run) / runs * steps / static_cast<double>(coarse * k);
  }
  out.speedup = truth / model;  // (3)
  out.saved_seconds = truth - model;
  return out;
}

}  // namespace cycloid::inline evaluate
