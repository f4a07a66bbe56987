#include "cli/tour/trust.h"

#include <cmath>

#include "cli/tour/stop.h"
#include "cycloid/adjoint/check_gradient.h"
#include "cycloid/adjoint/diagnose.h"
#include "cycloid/adjoint/pushforward.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/random.h"
#include "cycloid/system/systems.h"

namespace cycloid::tour {
namespace {

constexpr int kLandscapePoints = 601;

using Row = std::vector<double>;

std::int64_t steps_of(const TrustProblem& problem, double seconds) {
  return std::llround(seconds / problem.dt);
}

double norm3(const double* a) { return std::hypot(a[0], a[1], a[2]); }

RolloutOptions keeping(const Save& save, const KeepGoing& keep_going) {
  RolloutOptions options;
  options.save = save;
  options.keep_going = keep_going;
  return options;
}

// The cotangent of the last state's first number, and how it grows on the way back.
void diagnose_run(const System& system, const Row& x0, const KeepGoing& keep_going,
                  TrustResult& result) {
  const std::int64_t T = steps_of(result.problem, result.problem.duration);
  const auto run = rollout(system, x0, T, {}, keeping(Save::all(), keep_going));
  Row states_bar(run.states().size(), 0.0);
  states_bar[states_bar.size() - 3] = 1;
  const Diagnosis diagnosis = diagnose(run, states_bar);
  result.verdict = name(diagnosis.verdict);
  result.advice = diagnosis.advice;
  result.horizon = diagnosis.horizon;
  result.times = run.times();
  result.look_back.assign(1, 1.0);
  for (auto growth = diagnosis.growth.rbegin(); growth != diagnosis.growth.rend(); ++growth) {
    result.look_back.push_back(result.look_back.back() * *growth);
  }
  for (std::int64_t k = 0; k <= T; ++k) {
    const auto x = run.state(0, k);
    result.orbit.push_back({x[0], x[1], x[2]});
  }
}

// (1) for every nudge of x.
void follow_nudges(const System& system, const Row& x0, const KeepGoing& keep_going,
                   TrustResult& result) {
  const std::int64_t T = steps_of(result.problem, result.problem.duration);
  const RolloutOptions options = keeping(Save::all(), keep_going);
  const Row direction = {1, 0, 0};
  const Pushforward forecast = pushforward(system, x0, T, {.x0 = direction}, {}, options);
  const double* states = forecast.states().data();
  const double* tangents = forecast.states_tan().data();
  for (std::size_t n = 0; n < result.nudges.size(); ++n) {
    NudgeTrace& trace = result.nudges[n];
    trace.size = result.problem.nudges[n];
    trace.lost_at = result.problem.duration;
    const auto nudged = rollout(system, Row{x0[0] + trace.size, x0[1], x0[2]}, T, {}, options);
    bool lost = false;
    for (std::int64_t k = 0; k <= T; ++k) {
      const double* tangent = tangents + 3 * k;
      double error[3];
      for (int i = 0; i < 3; ++i) {
        error[i] = nudged.states()[static_cast<std::size_t>(3 * k + i)] - states[3 * k + i] -
                   trace.size * tangent[i];
      }
      trace.disagreement.push_back(norm3(error) / (trace.size * norm3(tangent)));  // (1)
      if (!lost && trace.disagreement.back() > 0.5) {
        trace.lost_at = result.times[static_cast<std::size_t>(k)];
        lost = true;
      }
      if (n == 1) {
        const auto x = nudged.state(0, k);
        result.neighbour.push_back({x[0], x[1], x[2]});
      }
    }
  }
}

Landscape landscape(const System& system, const TrustProblem& problem, const Row& x0,
                    double duration, const KeepGoing& keep_going) {
  Landscape land;
  land.duration = duration;
  const std::int64_t T = steps_of(problem, duration);
  const RolloutOptions options = keeping(Save::last(), keep_going);
  const auto here = rollout(system, x0, T, {}, options);
  land.here = here.states()[0];
  land.gradient = here.pullback(Row{1, 0, 0}).x0[0];
  Row starts;
  for (int i = 0; i < kLandscapePoints; ++i) {
    land.nudge.push_back(problem.reach * (2.0 * i / (kLandscapePoints - 1) - 1));
    starts.insert(starts.end(), {x0[0] + land.nudge.back(), x0[1], x0[2]});
  }
  const auto runs = rollout(system, starts, T, {}, options);
  for (std::size_t i = 0; i < land.nudge.size(); ++i) land.value.push_back(runs.states()[3 * i]);
  return land;
}

void measure_exponent(const System& system, const Row& x0, const KeepGoing& keep_going,
                      TrustResult& result) {
  const TrustProblem& problem = result.problem;
  RandomStream random(0);
  Row starts;
  for (int e = 0; e < problem.environments; ++e) {
    for (const double x : x0) starts.push_back(x + random.uniform(-1.0, 1.0));
  }
  const auto runs = rollout(system, starts, steps_of(problem, problem.exponent_time), {},
                            keeping(Save::last(), keep_going));
  const Diagnosis diagnosis = diagnose(runs, Row(runs.states().size(), 1.0));
  const double n = problem.environments;
  double sum = 0, squares = 0;
  for (const double l : diagnosis.lyapunov) sum += l, squares += l * l;
  result.lyapunov = sum / n;
  result.lyapunov_error = std::sqrt((squares / n - sum / n * sum / n) / (n - 1));
}

}  // namespace

TrustResult question_lorenz(const TrustProblem& problem, const KeepGoing& keep_going) {
  const System system = systems::lorenz({}, {.dt = problem.dt});
  TrustResult result;
  result.problem = problem;
  const Row x0(problem.start.begin(), problem.start.end());
  stop_if_asked(keep_going);
  diagnose_run(system, x0, keep_going, result);
  follow_nudges(system, x0, keep_going, result);
  result.within = landscape(system, problem, x0, problem.short_run, keep_going);
  result.beyond = landscape(system, problem, x0, problem.long_run, keep_going);
  stop_if_asked(keep_going);
  measure_exponent(system, x0, keep_going, result);
  const GradientCheck check = check_gradient(system, x0, steps_of(problem, problem.short_run), {},
                                             {.keep_going = keep_going});
  result.gradient_error = check.max_relative_error;
  result.gradient_ok = check.ok;
  return result;
}

}  // namespace cycloid::tour
