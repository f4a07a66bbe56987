#include "cycloid/optimise/identify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cycloid/base/error.h"
#include "cycloid/optimise/fit/fit_descent.h"
#include "cycloid/optimise/fit/fit_gradient.h"
#include "cycloid/optimise/fit/fit_judgement.h"
#include "cycloid/optimise/fit/sobol.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;

constexpr double kGap = 1e-6;              // what multiple shooting may leave
constexpr double kValueTolerance = 1e-10;  // promised fall of F, relative
constexpr double kLooseTolerance = 1e-4;   // of the rounds before the last
constexpr int kMostRounds = 14;            // of multiple shooting
constexpr int kStuckRounds = 3;            // ... that close a gap by less than a third
constexpr int kSigmaRounds = 6;
constexpr std::size_t kSobolPerRestart = 8;

// Where a descent has ended.
struct Ended {
  OptimiserStatus status = OptimiserStatus::stopped;
  FitPoint at;
  Evaluated seen;
  double cost = kInfinity, gap = 0;
  Numbers history;
};

// Finds a minimum, and again with σ from its residuals until that stays.
template <class Minimise, class Seen>
OptimiserStatus with_sigma(FitProblem& problem, Minimise&& minimise, Seen&& seen) {
  OptimiserStatus status = minimise(0);
  for (int round = 1; round <= kSigmaRounds && !problem.sigma_known(); ++round) {
    if (!is_converged(status) && status != OptimiserStatus::max_iterations) return status;
    if (!estimate_sigma(problem, seen())) break;
    status = minimise(round);
  }
  return status;
}

// Rounds of multiple shooting: gaps weigh more and more until they are closed.
OptimiserStatus close_gaps(FitDescent& descent, int iterations) {
  OptimiserStatus status = OptimiserStatus::max_iterations;
  double gap = kInfinity;
  int stuck = 0;
  for (int round = 0; round < kMostRounds && stuck < kStuckRounds; ++round) {
    const bool near = gap <= kGap;
    status = descent.descend(near ? kValueTolerance : kLooseTolerance, iterations);
    if (status == OptimiserStatus::stopped || status == OptimiserStatus::non_finite) return status;
    const double now = descent.largest_gap();
    if (near && now <= kGap) return status;
    descent.tighten(now > 0.25 * gap && round > 0 ? 10 : 3);
    stuck = now > 0.67 * gap ? stuck + 1 : 0;
    gap = now;
  }
  return descent.largest_gap() <= kGap ? status : OptimiserStatus::max_iterations;
}

// One descent with Jacobians to the end, with rounds for gaps and σ.
OptimiserStatus run_descent(FitProblem& problem, FitDescent& descent,
                            const IdentifyOptions& options) {
  const bool links = std::any_of(problem.stretches().begin(), problem.stretches().end(),
                                 [](const FitStretch& s) { return !s.last; });
  const auto minimise = [&](int round) {
    if (round > 0) descent.rescale();
    if (!links) return descent.descend(kValueTolerance, options.iterations);
    descent.weigh_links(round == 0 ? 0.1 : 10);
    return close_gaps(descent, options.iterations);
  };
  return with_sigma(problem, minimise, [&]() -> const Evaluated& { return descent.evaluated(); });
}

// The same by gradients. `best` is where it stands whenever it ends.
void run_gradient_descent(FitProblem& problem, FitEffort& effort, const IdentifyOptions& options,
                          FitMethod method, Ended& best) {
  GradientDescentOptions how;
  how.method = method == FitMethod::adam ? GradientMethod::adam : GradientMethod::lbfgs;
  how.iterations = options.iterations;
  const auto minimise = [&](int) {
    const GradientDescent found = descend_by_gradient(problem, effort, options.loss, best.at, how);
    best.at = found.at;
    best.cost = found.cost;
    best.history.insert(best.history.end(), found.history.begin(), found.history.end());
    best.seen = problem.evaluate(best.at, false);
    return found.status;
  };
  best.status = with_sigma(problem, minimise, [&]() -> const Evaluated& { return best.seen; });
}

void describe_parameters(const FitProblem& problem, Fit& fit) {
  for (const Unknowns::Group& group : problem.unknowns().groups()) {
    for (const Unknowns::Member& member : group.members) {
      fit.parameters.push_back({member.name, group.place, group.size, group.shape, member.offset});
    }
  }
  for (const SensorUnknown& s : problem.sensors()) {
    fit.parameters.push_back(
        {s.name, s.place, s.size, s.size == 1 ? std::vector<int>() : std::vector<int>{s.size}});
  }
}

// Starts of further descents: the best of a Sobol set around the guess, judged in one batch.
std::vector<Numbers> further_starts(FitProblem& problem, const FitPoint& guess, int restarts,
                                    std::uint64_t seed, FitEffort& effort) {
  const std::size_t K = problem.size(), n = kSobolPerRestart * static_cast<std::size_t>(restarts);
  const Numbers unit = sobol(n, K, seed);
  std::vector<Numbers> thetas(n, guess.theta);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < K; ++j) {
      const double u = unit[i * K + j], at = guess.theta[j], low = problem.low()[j],
                   high = problem.high()[j];
      if (std::isfinite(low) && std::isfinite(high)) {
        thetas[i][j] = low + u * (high - low);
      } else if (low >= 0 && at > 0) {  // a factor of four each way
        thetas[i][j] = std::clamp(at * std::exp2(4 * u - 2), low, high);
      } else {
        const double reach = at != 0 ? 2 * std::abs(at) : 1;
        thetas[i][j] = std::clamp(at + (2 * u - 1) * reach, low, high);
      }
    }
  }
  effort.steps += problem.steps_per_run() * static_cast<std::int64_t>(n);
  const std::vector<double> costs = problem.costs(guess, thetas);
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
  std::vector<Numbers> best;
  for (std::size_t i = 0; i < n && best.size() < static_cast<std::size_t>(restarts); ++i) {
    if (std::isfinite(costs[order[i]])) best.push_back(thetas[order[i]]);
  }
  return best;
}

// Of parameters, sensors and starts.
std::size_t unknown_numbers(const FitProblem& problem) {
  std::size_t n = problem.size();
  for (const FitStretch& s : problem.stretches()) {
    if (s.free && s.first_step == 0) n += problem.tangents();
  }
  return n;
}

FitMethod chosen(FitMethod asked, const FitProblem& problem) {
  if (asked != FitMethod::automatic) return asked;
  return unknown_numbers(problem) <= kMostJacobian ? FitMethod::lm : FitMethod::lbfgs;
}

void check_options(const IdentifyOptions& options) {
  if (options.iterations < 1) {
    throw Error(message("iterations must be positive, got ", options.iterations));
  }
  if (options.restarts < 0) {
    throw Error(message("restarts must not be negative, got ", options.restarts));
  }
}

// Requests and options of parameters, and of sensors.
struct Asked {
  std::vector<UnknownRequest> parameters, sensors;
  UnknownOptions of_parameters, of_sensors;
};

Asked sorted(const std::vector<UnknownRequest>& params, const UnknownOptions& options) {
  Asked out;
  const auto is_sensor = [](const std::string& name) { return name.starts_with("output:"); };
  for (const UnknownRequest& request : params) {
    if (request.names.empty()) throw ParameterError("params: an unknown without a name");
    const bool sensor = is_sensor(request.names.front());
    if (sensor && request.names.size() > 1) {
      throw ParameterError(message("\"", request.names.front(), "\" cannot be tied"));
    }
    (sensor ? out.sensors : out.parameters).push_back(request);
  }
  out.of_parameters.parameters = options.parameters;
  for (const UnknownBounds& b : options.bounds) {
    (is_sensor(b.name) ? out.of_sensors : out.of_parameters).bounds.push_back(b);
  }
  for (const UnknownPrior& p : options.priors) {
    (is_sensor(p.name) ? out.of_sensors : out.of_parameters).priors.push_back(p);
  }
  return out;
}

// Where a fit with shorter segments has led: θ, and the states at their starts.
struct Carried {
  struct Start {
    int recording = 0;
    std::int64_t step = 0;
    Numbers state;
  };
  Numbers theta;
  std::vector<Start> starts;
};

Carried carried_from(const FitProblem& problem, const FitPoint& at) {
  Carried out{at.theta, {}};
  for (std::size_t e = 0; e < problem.stretches().size(); ++e) {
    const auto from = at.starts.begin() + static_cast<std::ptrdiff_t>(e * problem.states());
    out.starts.push_back({problem.stretches()[e].recording,
                          problem.stretches()[e].first_step,
                          {from, from + static_cast<std::ptrdiff_t>(problem.states())}});
  }
  return out;
}

// Segments of another length begin with the states of those that began with them.
FitPoint begun_from(const FitProblem& problem, const Carried& carried, FitPoint at) {
  at.theta = carried.theta;
  for (std::size_t e = 0; e < problem.stretches().size(); ++e) {
    for (const Carried::Start& s : carried.starts) {
      if (s.recording != problem.stretches()[e].recording ||
          s.step != problem.stretches()[e].first_step) {
        continue;
      }
      std::copy(s.state.begin(), s.state.end(),
                at.starts.begin() + static_cast<std::ptrdiff_t>(e * problem.states()));
    }
  }
  return at;
}

// Twice the segments' length; 0 where that is all of the longest recording.
double twice(double shooting, const std::vector<Recording>& recordings) {
  double longest = 0;
  for (const Recording& r : recordings) {
    longest = std::max(longest, r.times.back() - r.times.front());
  }
  return 2 * shooting < longest ? 2 * shooting : 0;
}

std::string message_of(OptimiserStatus status, const Fit& fit) {
  if (status == OptimiserStatus::stopped) {
    return "Stopped before it converged: the best so far.";
  }
  if (fit.largest_gap > kGap) {
    return message("Segments do not meet: a gap of ", fit.largest_gap,
                   " is left. Allow more iterations, or take shorter segments.");
  }
  return advice(status);
}

}  // namespace

const char* name(FitMethod method) {
  switch (method) {
    case FitMethod::automatic: return "auto";
    case FitMethod::lm: return "lm";
    case FitMethod::lbfgs: return "lbfgs";
    case FitMethod::adam: return "adam";
  }
  return "unknown";
}

namespace {

Fit identify_from(const System& system, const std::vector<Recording>& recordings,
                  const std::vector<UnknownRequest>& params, const IdentifyOptions& options,
                  const Carried* carried, FitEffort& effort) {
  const Asked asked = sorted(params, options.unknowns);
  const StretchOptions running{options.threads, options.keep_going};
  FitProblem problem(system, recordings, Unknowns(system, asked.parameters, asked.of_parameters),
                     asked.sensors, asked.of_sensors, options.x0, options.shooting, running);
  FitPoint guess = problem.start();
  const FitPoint first = guess;
  if (carried) guess = begun_from(problem, *carried, std::move(guess));
  if (!options.theta.empty()) {
    if (options.theta.size() != guess.theta.size() ||
        options.starts.size() != guess.starts.size()) {
      throw Error("the fit to go on from has other unknowns or other recordings");
    }
    guess = {options.theta, options.starts};
  }
  Fit fit;
  std::optional<Ended> best;
  const FitMethod method = chosen(options.method, problem);
  const auto stops = [&](const std::exception_ptr& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Interrupted&) {
      return true;
    } catch (...) {
      return options.is_stop && options.is_stop(thrown);
    }
  };
  std::string reason;  // why a start cannot be run
  // False: whoever watches wants it to end.
  const auto attempt = [&](const FitPoint& from) {
    Ended ended;
    ended.at = from;
    std::optional<FitDescent> descent;
    bool begun = false;
    try {
      if (method == FitMethod::lm) {
        descent.emplace(problem, effort, options.loss, from);
        begun = descent->begin();
        reason = descent->reason();
        if (begun && !best) fit.start_cost = descent->cost();
        if (begun && effort.say(descent->cost(), problem.parameters(from.theta))) {
          ended.status = run_descent(problem, *descent, options);
        }
      } else {
        ended.seen = problem.evaluate(from, false);
        begun = ended.seen.ok;
        reason = ended.seen.reason;
        if (begun) run_gradient_descent(problem, effort, options, method, ended);
        if (begun && !best && !ended.history.empty()) fit.start_cost = ended.history.front();
      }
    } catch (...) {
      if ((!begun && !best) || !stops(std::current_exception())) throw;
      ended.status = OptimiserStatus::stopped;
    }
    if (!begun) return true;
    if (descent) {
      ended.at = descent->at();
      ended.seen = descent->evaluated();
      ended.cost = descent->cost();
      ended.gap = descent->largest_gap();
      ended.history = descent->history();
    }
    const bool stopped = ended.status == OptimiserStatus::stopped;
    if (!best || ended.cost < best->cost) best = std::move(ended);
    return !stopped;
  };
  bool go_on = attempt(guess);
  if (!best && options.restarts == 0) {
    throw Error(message("the run from the guess fails: ", reason,
                        "; give another guess, or restarts=... for starts elsewhere"));
  }
  if (go_on && options.restarts > 0) {
    for (const Numbers& theta :
         further_starts(problem, guess, options.restarts, options.seed, effort)) {
      go_on = attempt({theta, guess.starts});
      if (!go_on) break;
    }
  }
  if (!best) throw Error(message("no start can be run: ", reason));
  if (!go_on) best->status = OptimiserStatus::stopped;
  if (go_on && best->gap > kGap) {
    // Contacts and dry friction may leave gaps that no slope closes: from here with segments twice
    // as long, in the end in one piece.
    IdentifyOptions own = options;
    own.shooting = twice(options.shooting, recordings);
    own.restarts = 0;
    own.theta.clear(), own.starts.clear();
    const Carried here = carried_from(problem, best->at);
    Fit longer = identify_from(system, recordings, params, own, &here, effort);
    longer.start_cost = fit.start_cost;
    return longer;
  }
  fit.names = problem.names();
  fit.values = problem.values(best->at.theta);
  fit.flat = problem.parameters(best->at.theta);
  fit.theta = best->at.theta;
  fit.starts = best->at.starts;
  for (std::size_t e = 0; e < problem.stretches().size(); ++e) {
    if (problem.stretches()[e].first_step > 0) continue;
    const auto from = fit.starts.begin() + static_cast<std::ptrdiff_t>(e * problem.states());
    fit.x0.insert(fit.x0.end(), from, from + static_cast<std::ptrdiff_t>(problem.states()));
  }
  describe_parameters(problem, fit);
  describe_outputs(problem, best->seen, fit);
  const bool few = unknown_numbers(problem) <= kMostJacobian;
  if (method != FitMethod::lm && few) best->seen = problem.evaluate(best->at, true);
  if (method == FitMethod::lm || few) {
    judge(problem, best->at, best->seen, first, options.loss, fit);
  } else {
    fit.std.assign(problem.size(), std::numeric_limits<double>::quiet_NaN());
    fit.determined.assign(problem.size(), true);
  }
  for (std::size_t r = 0; r < recordings.size(); ++r) fit.sigma.push_back(problem.sigma(r));
  fit.cost = best->cost;
  fit.history = best->history;
  fit.largest_gap = best->gap;
  fit.status = best->status;
  fit.converged = is_converged(best->status) && fit.largest_gap <= kGap;
  fit.message = message_of(best->status, fit);
  fit.iterations = effort.iterations;
  fit.steps = effort.steps;
  fit.seconds = effort.seconds();
  fit.shown = std::move(best->seen.shown);
  return fit;
}

}  // namespace

Fit identify(const System& system, const std::vector<Recording>& recordings,
             const std::vector<UnknownRequest>& params, const IdentifyOptions& options) {
  check_options(options);
  FitEffort effort{options.watch, options.iterations};
  return identify_from(system, recordings, params, options, nullptr, effort);
}

Fit fit_start(const System& system, const Recording& recording, std::span<const double> parameters,
              const IdentifyOptions& options) {
  IdentifyOptions own = options;
  own.unknowns.parameters.assign(parameters.begin(), parameters.end());
  own.x0 = {};
  own.x0.known = !recording.x0.empty();
  own.shooting = 0;
  own.restarts = 0;
  std::vector<UnknownRequest> sensors;
  for (const UnknownBounds& b : own.unknowns.bounds) sensors.push_back({{b.name}, b.low});
  return identify(system, {recording}, sensors, own);
}

}  // namespace cycloid::inline optimise
