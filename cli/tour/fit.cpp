#include "cli/tour/fit.h"

#include <algorithm>
#include <cmath>

#include "cli/tour/stop.h"
#include "cycloid/adjoint/pushforward.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/base/thread_pool.h"
#include "cycloid/optimise/levenberg_marquardt.h"
#include "cycloid/system/systems.h"

namespace cycloid::tour {
namespace {

constexpr std::size_t kUnknowns = 4;  // of (1): log l, softplus⁻¹ d, θ_0, ω_0

// One environment per unknown, all with the same values: their tangents differ.
class PendulumModel {
 public:
  explicit PendulumModel(const Recording& recording)
      : recording_(recording),
        every_(std::llround(recording.interval / kSimulationStep)),
        system_(systems::pendulum({}, {.dt = kSimulationStep, .vary = {"length", "damping"}})),
        length_(static_cast<std::size_t>(system_.parameters().find("length").offset)),
        damping_(static_cast<std::size_t>(system_.parameters().find("damping").offset)) {}

  std::vector<double> unknowns(const Swing& p) const {
    const std::vector<double> z = system_.parameters().to_free(values(p));
    return {z[length_], z[damping_], p.angle, p.velocity};
  }

  Swing pendulum(std::span<const double> z) const {
    const std::vector<double> p = system_.parameters().from_free(free(z));
    return {p[length_], p[damping_], z[2], z[3]};
  }

  // ∂l/∂z_1 and ∂d/∂z_2.
  std::array<double, 2> slopes(std::span<const double> z) const {
    const std::vector<double> ones(static_cast<std::size_t>(system_.parameters().size()), 1.0);
    const std::vector<double> d = system_.parameters().from_free_pullback(free(z), ones);
    return {d[length_], d[damping_]};
  }

  std::vector<double> values(const Swing& p) const {
    return system_.parameters().pack({{"length", {p.length}}, {"damping", {p.damping}}});
  }

  // (2) for the first `count` samples, and its Jacobian unless that is empty.
  void residuals(std::span<const double> z, std::size_t count, std::span<double> r,
                 std::span<double> jacobian) const {
    const Swing p = pendulum(z);
    const std::vector<double> row = values(p);
    const std::int64_t steps = every_ * static_cast<std::int64_t>(count - 1);
    RolloutOptions options;
    options.save = Save::every(every_);
    options.threads = 1;
    if (jacobian.empty()) {
      const auto run = rollout(system_, std::vector{p.angle, p.velocity}, steps, row, options);
      for (std::size_t k = 0; k < count; ++k) r[k] = run.states()[2 * k] - recording_.angles[k];
      return;
    }
    std::vector<double> x0, x0_tan(2 * kUnknowns, 0.0), params,
        params_tan(kUnknowns * row.size(), 0.0);
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      x0.insert(x0.end(), {p.angle, p.velocity});
      params.insert(params.end(), row.begin(), row.end());
    }
    const std::array<double, 2> slope = slopes(z);
    params_tan[length_] = slope[0];
    params_tan[row.size() + damping_] = slope[1];
    x0_tan[2 * 2] = 1;
    x0_tan[2 * 3 + 1] = 1;
    const Pushforward run =
        pushforward(system_, x0, steps, {.x0 = x0_tan, .params = params_tan}, params, options);
    for (std::size_t k = 0; k < count; ++k) {
      r[k] = run.states()[2 * k] - recording_.angles[k];
      for (std::size_t i = 0; i < kUnknowns; ++i) {
        jacobian[k * kUnknowns + i] = run.states_tan()[(i * count + k) * 2];
      }
    }
  }

  // (3)
  PendulumFit report(const LmResult& lm) const {
    const Swing p = pendulum(lm.x);
    const std::array<double, 2> slope = slopes(lm.x);
    PendulumFit fit;
    fit.status = name(lm.status);
    fit.converged = is_converged(lm.status);
    fit.noise = lm.noise;
    fit.length.value = p.length, fit.damping.value = p.damping;
    fit.angle.value = p.angle, fit.velocity.value = p.velocity;
    if (lm.covariance.empty()) return fit;
    fit.length.standard_error = std::abs(slope[0]) * lm.standard_error(0);
    fit.damping.standard_error = std::abs(slope[1]) * lm.standard_error(1);
    fit.angle.standard_error = lm.standard_error(2);
    fit.velocity.standard_error = lm.standard_error(3);
    fit.correlation = lm.covariance[1] / (lm.standard_error(0) * lm.standard_error(1));
    return fit;
  }

  const System& system() const { return system_; }
  std::int64_t every() const { return every_; }

 private:
  std::vector<double> free(std::span<const double> z) const {
    std::vector<double> all = system_.parameters().to_free(system_.parameters().default_values());
    all[length_] = z[0];
    all[damping_] = z[1];
    return all;
  }

  const Recording& recording_;
  std::int64_t every_;
  System system_;
  std::size_t length_, damping_;
};

// The number of samples in each window.
std::vector<std::size_t> windows(const Recording& recording) {
  std::vector<std::size_t> counts;
  for (double end = kFirstWindow;; end *= 2) {
    const auto count = static_cast<std::size_t>(end / recording.interval) + 1;
    // A last window that would add little is joined with the one before.
    if (static_cast<double>(count) * 1.5 >= static_cast<double>(recording.angles.size())) break;
    counts.push_back(std::max<std::size_t>(count, 2 * kUnknowns));
  }
  counts.push_back(recording.angles.size());
  return counts;
}

void check(const Recording& recording) {
  const double every = recording.interval / kSimulationStep;
  if (!(every >= 1) || std::abs(every - std::round(every)) > 1e-9 * every) {
    throw Error(message("recording: expected an interval that is a multiple of ", kSimulationStep,
                        " s, got ", recording.interval));
  }
  if (recording.angles.size() < 2 * kUnknowns) {
    throw Error(message("recording: expected at least ", 2 * kUnknowns, " samples, got ",
                        recording.angles.size()));
  }
  for (std::size_t k = 0; k < recording.angles.size(); ++k) {
    if (!std::isfinite(recording.angles[k])) {
      throw Error(message("recording: sample ", k, " is not finite"));
    }
  }
}

std::size_t count_covered(const std::vector<PendulumFit>& fits, Estimate PendulumFit::* which,
                          double truth, double k) {
  return static_cast<std::size_t>(std::count_if(
      fits.begin(), fits.end(), [&](const PendulumFit& f) { return (f.*which).covers(truth, k); }));
}

}  // namespace

std::vector<double> Recording::times() const {
  std::vector<double> t(angles.size());
  for (std::size_t k = 0; k < t.size(); ++k) t[k] = static_cast<double>(k) * interval;
  return t;
}

bool Estimate::covers(double truth, double k) const {
  return std::abs(value - truth) <= k * standard_error;
}

Recording simulate_pendulum(const Swing& pendulum, std::size_t count) {
  Recording recording;
  const PendulumModel model(recording);
  RolloutOptions options;
  options.save = Save::every(model.every());
  const std::int64_t steps = model.every() * static_cast<std::int64_t>(count - 1);
  const auto run = rollout(model.system(), std::vector{pendulum.angle, pendulum.velocity}, steps,
                           model.values(pendulum), options);
  for (std::size_t k = 0; k < count; ++k) recording.angles.push_back(run.states()[2 * k]);
  return recording;
}

Recording record_pendulum(const Swing& pendulum, std::size_t count, double noise,
                          std::uint64_t seed) {
  Recording recording = simulate_pendulum(pendulum, count);
  RandomStream random(seed);
  for (double& angle : recording.angles) angle += noise * random.normal();
  return recording;
}

PendulumFit fit_pendulum(const Recording& recording, const Swing& guess,
                         const KeepGoing& keep_going,
                         const std::function<void(double, const PendulumFit&)>& watch) {
  check(recording);
  const PendulumModel model(recording);
  const std::vector<double> first_guess = model.unknowns(guess);
  std::vector<double> z = first_guess;
  PendulumFit fit;
  int iterations = 0;
  LmOptions options;
  options.watch = [&](const LmIterate&) {
    stop_if_asked(keep_going);
    return true;
  };
  for (const std::size_t count : windows(recording)) {
    const Residuals residuals = [&](std::span<const double> at, std::span<double> r,
                                    std::span<double> jacobian) {
      model.residuals(at, count, r, jacobian);
    };
    const bool last = count == recording.angles.size();
    options.value_tolerance = last ? 0 : 1e-4;  // a start for the next window need not be exact
    const LmResult lm = levenberg_marquardt(residuals, count, z, options);
    z = lm.x;
    fit = model.report(lm);
    if (fit.damping.covers(0)) z[1] = first_guess[1];
    fit.iterations = iterations += lm.iterations;
    if (watch) watch(recording.interval * static_cast<double>(count - 1), fit);
  }
  return fit;
}

std::size_t FitResult::length_covered(double k) const {
  return count_covered(repeats, &PendulumFit::length, problem.truth.length, k);
}

std::size_t FitResult::damping_covered(double k) const {
  return count_covered(repeats, &PendulumFit::damping, problem.truth.damping, k);
}

bool FitResult::found() const {
  return fit.converged && fit.length.covers(problem.truth.length, 4) &&
         fit.damping.covers(problem.truth.damping, 4);
}

FitResult recover_pendulum(const FitProblem& problem, std::uint64_t seed,
                           const KeepGoing& keep_going,
                           const std::function<void(double, const PendulumFit&)>& watch,
                           const std::function<void(std::size_t)>& repeated) {
  FitResult result;
  result.problem = problem;
  // Streams of noise: the shown recording has the seed itself, the repeats the environments of it.
  result.recording = record_pendulum(problem.truth, problem.samples, problem.noise, seed);
  result.fit = fit_pendulum(result.recording, problem.guess, keep_going, watch);
  result.guess_curve = simulate_pendulum(problem.guess, problem.samples);
  result.fitted_curve = simulate_pendulum(result.fit.estimate(), problem.samples);
  const Recording clean = simulate_pendulum(problem.truth, problem.samples);
  result.repeats.resize(problem.repeats);
  constexpr std::size_t kAtOnce = 20;
  for (std::size_t begin = 0; begin < problem.repeats; begin += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, problem.repeats - begin);
    parallel_for(
        count, 0,
        [&](std::size_t i) {
          Recording noisy = clean;
          RandomStream random(seed, static_cast<std::uint32_t>(1 + begin + i));
          for (double& angle : noisy.angles) angle += problem.noise * random.normal();
          result.repeats[begin + i] = fit_pendulum(noisy, problem.guess);
        },
        keep_going);
    if (repeated) repeated(begin + count);
  }
  return result;
}

}  // namespace cycloid::tour
