#include "cycloid/optimise/identify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cycloid/base/error.h"
#include "cycloid/optimise/fit_descent.h"
#include "cycloid/optimise/fit_judgement.h"
#include "cycloid/optimise/sobol.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kGap = 1e-6;              // what multiple shooting may leave
constexpr double kValueTolerance = 1e-10;  // promised fall of F, relative
constexpr double kLooseTolerance = 1e-4;   // of the rounds before the last
constexpr int kMostRounds = 14;            // of multiple shooting
constexpr int kSigmaRounds = 6;
constexpr std::size_t kSobolPerRestart = 8;

// One descent to the end, with rounds for gaps and σ.
OptimiserStatus run_descent(FitProblem& problem, FitDescent& descent,
                            const IdentifyOptions& options) {
  const bool links = std::any_of(problem.stretches().begin(), problem.stretches().end(),
                                 [](const FitStretch& s) { return !s.last; });
  const auto finish = [&](double tolerance) {
    OptimiserStatus status = OptimiserStatus::max_iterations;
    if (!links) return descent.descend(tolerance, options.iterations);
    double gap = kInfinity;
    for (int round = 0; round < kMostRounds; ++round) {
      const bool near = gap <= kGap;
      status = descent.descend(near ? tolerance : kLooseTolerance, options.iterations);
      if (status == OptimiserStatus::stopped || status == OptimiserStatus::non_finite)
        return status;
      const double now = descent.largest_gap();
      if (near && now <= kGap) return status;
      descent.tighten(now > 0.25 * gap && round > 0 ? 10 : 3);
      gap = now;
    }
    return descent.largest_gap() <= kGap ? status : OptimiserStatus::max_iterations;
  };
  if (links) descent.weigh_links(0.1);
  OptimiserStatus status = finish(kValueTolerance);
  for (int round = 0; round < kSigmaRounds && !problem.sigma_known(); ++round) {
    if (!is_converged(status) && status != OptimiserStatus::max_iterations) return status;
    if (!estimate_sigma(problem, descent.evaluated())) break;
    descent.rescale();
    if (links) descent.weigh_links(10);
    status = finish(kValueTolerance);
  }
  return status;
}

void describe_parameters(const FitProblem& problem, Fit& fit) {
  for (const Unknowns::Group& group : problem.unknowns().groups()) {
    for (const Unknowns::Member& member : group.members) {
      fit.parameters.push_back({member.name, group.place, group.size, group.shape});
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

// The fit without segments, from where segments have led.
Fit finish_whole(const System& system, const std::vector<Recording>& recordings,
                 const std::vector<UnknownRequest>& params, const IdentifyOptions& options,
                 const FitProblem& problem, const FitPoint& at) {
  IdentifyOptions own = options;
  own.shooting = 0;
  own.restarts = 0;
  own.theta = at.theta;
  own.starts.clear();
  for (std::size_t e = 0; e < problem.stretches().size(); ++e) {
    if (problem.stretches()[e].first_step > 0) continue;
    const auto from = at.starts.begin() + static_cast<std::ptrdiff_t>(e * problem.states());
    own.starts.insert(own.starts.end(), from, from + static_cast<std::ptrdiff_t>(problem.states()));
  }
  return identify(system, recordings, params, own);
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

Fit identify(const System& system, const std::vector<Recording>& recordings,
             const std::vector<UnknownRequest>& params, const IdentifyOptions& options) {
  check_options(options);
  const Asked asked = sorted(params, options.unknowns);
  const StretchOptions running{options.threads, options.keep_going};
  FitProblem problem(system, recordings, Unknowns(system, asked.parameters, asked.of_parameters),
                     asked.sensors, asked.of_sensors, options.x0, options.shooting, running);
  FitEffort effort{options.watch, options.iterations};
  FitPoint guess = problem.start();
  const FitPoint first = guess;
  if (!options.theta.empty()) {
    if (options.theta.size() != guess.theta.size() ||
        options.starts.size() != guess.starts.size()) {
      throw Error("the fit to go on from has other unknowns or other recordings");
    }
    guess = {options.theta, options.starts};
  }
  Fit fit;
  std::optional<FitDescent> best;
  const auto stops = [&](const std::exception_ptr& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Interrupted&) {
      return true;
    } catch (...) {
      return options.is_stop && options.is_stop(thrown);
    }
  };
  OptimiserStatus status = OptimiserStatus::max_iterations;
  std::string reason;  // why a start cannot be run
  const auto attempt = [&](const FitPoint& from) {
    FitDescent descent(problem, effort, options.loss, from);
    OptimiserStatus ended = OptimiserStatus::stopped;
    bool begun = false, stopped = false;
    try {
      begun = descent.begin();
      if (!begun) reason = descent.reason();
      if (begun && !best) fit.start_cost = descent.cost();
      if (begun && !effort.say(descent.cost())) {
        stopped = true;
      } else if (begun) {
        ended = run_descent(problem, descent, options);
        stopped = ended == OptimiserStatus::stopped;
      }
    } catch (...) {
      if ((!begun && !best) || !stops(std::current_exception())) throw;
      ended = OptimiserStatus::stopped;
      stopped = true;
    }
    if (begun && (!best || descent.cost() < best->cost())) {
      best.emplace(std::move(descent));
      status = ended;
    }
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
  if (!go_on) status = OptimiserStatus::stopped;
  if (go_on && best->largest_gap() > kGap) {
    // Contacts and dry friction may leave gaps that no slope closes: the rest in one piece.
    Fit whole = finish_whole(system, recordings, params, options, problem, best->at());
    whole.start_cost = fit.start_cost;
    whole.iterations += effort.iterations;
    whole.steps += effort.steps;
    whole.seconds = effort.seconds();
    return whole;
  }
  const FitDescent& descent = *best;
  fit.names = problem.names();
  fit.values = problem.values(descent.at().theta);
  fit.flat = problem.parameters(descent.at().theta);
  fit.theta = descent.at().theta;
  fit.starts = descent.at().starts;
  for (std::size_t e = 0; e < problem.stretches().size(); ++e) {
    if (problem.stretches()[e].first_step > 0) continue;
    const auto from = fit.starts.begin() + static_cast<std::ptrdiff_t>(e * problem.states());
    fit.x0.insert(fit.x0.end(), from, from + static_cast<std::ptrdiff_t>(problem.states()));
  }
  describe_parameters(problem, fit);
  describe_outputs(problem, descent.evaluated(), fit);
  judge(problem, descent.at(), descent.evaluated(), first, options.loss, fit);
  for (std::size_t r = 0; r < recordings.size(); ++r) fit.sigma.push_back(problem.sigma(r));
  fit.cost = descent.cost();
  fit.history = descent.history();
  fit.largest_gap = descent.largest_gap();
  fit.status = status;
  fit.converged = is_converged(status) && fit.largest_gap <= kGap;
  fit.message = message_of(status, fit);
  fit.iterations = effort.iterations;
  fit.steps = effort.steps;
  fit.seconds = effort.seconds();
  fit.shown = descent.evaluated().shown;
  return fit;
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
