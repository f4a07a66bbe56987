#include "cycloid/optimise/fit/fit_gradient.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/math/quaternion.h"
#include "cycloid/network/adam.h"
#include "cycloid/optimise/bounded_number.h"
#include "cycloid/optimise/lbfgs.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;

constexpr double kAdamTolerance = 1e-4;
constexpr int kSettled = 5;  // small falls in a row: L-BFGS learns the curvature on its way

// All that is unknown as free variables, in units of where it starts.
class FreeVariables {
 public:
  FreeVariables(const FitProblem& problem, const FitPoint& start)
      : problem_(problem), start_(start) {
    for (std::size_t j = 0; j < problem.size(); ++j) {
      const double scale = start.theta[j] != 0 ? std::abs(start.theta[j]) : 1;
      scale_.push_back(scale);
      map_.push_back({problem.low()[j] / scale, problem.high()[j] / scale});
      first_.push_back(map_.back().free_of(start.theta[j] / scale));
    }
    for (const FitStretch& s : problem.stretches()) {
      if (s.free) first_.resize(first_.size() + problem.tangents(), 0.0);
    }
  }

  const Numbers& first() const { return first_; }
  FitPoint at(std::span<const double> z) const {
    const std::size_t K = problem_.size(), nt = problem_.tangents();
    Numbers theta(K), moves(problem_.stretches().size() * nt, 0.0);
    for (std::size_t j = 0; j < K; ++j) theta[j] = scale_[j] * map_[j].value_of(z[j]);
    std::size_t from = K;
    for (std::size_t e = 0; e < problem_.stretches().size(); ++e) {
      if (!problem_.stretches()[e].free) continue;
      std::copy_n(z.data() + from, nt, moves.data() + e * nt);
      from += nt;
    }
    return problem_.moved(start_, theta, moves);
  }
  void pull(std::span<const double> z, const Numbers& theta_bar, const Numbers& starts_bar,
            std::span<double> z_bar) const {
    const std::size_t K = problem_.size(), nt = problem_.tangents();
    for (std::size_t j = 0; j < K; ++j) {
      z_bar[j] = theta_bar[j] * scale_[j] * map_[j].slope_of(z[j]);
    }
    std::size_t to = K;
    for (std::size_t e = 0; e < problem_.stretches().size(); ++e) {
      if (!problem_.stretches()[e].free) continue;
      std::copy_n(starts_bar.data() + e * nt, nt, z_bar.data() + to);
      to += nt;
    }
  }

 private:
  const FitProblem& problem_;
  const FitPoint& start_;
  Numbers scale_, first_;
  std::vector<BoundedNumber> map_;
};

}  // namespace

double FitProblem::gradient(const FitPoint& at, Loss loss, std::span<double> theta_bar,
                            std::span<double> starts_bar) const {
  std::fill(theta_bar.begin(), theta_bar.end(), 0.0);
  std::fill(starts_bar.begin(), starts_bar.end(), 0.0);
  if (!refusal(at.theta).empty()) return kInfinity;
  const Numbers p = parameters(at.theta);
  const Looks where = looks(at.theta);
  const std::size_t E = stretches_.size(), k = unknowns_.size();

  // Runs, with each time once.
  std::vector<Trajectory<double>> runs;
  std::vector<std::vector<std::size_t>> row_of(E);  // of each offset, among the run's states
  std::vector<Numbers> states(E), bars(E);
  for (std::size_t e = 0; e < E; ++e) {
    const Stretch& s = where.stretches[e];
    RolloutOptions options;
    options.t0 = s.t0;
    options.threads = running_.threads;
    options.keep_going = running_.keep_going;
    const double end = static_cast<double>(s.steps) * h_;
    for (const double offset : s.offsets) {
      const double time = s.t0 + std::min(offset, end);
      if (options.times.empty() || time > options.times.back()) options.times.push_back(time);
      row_of[e].push_back(options.times.size() - 1);
    }
    if (options.times.empty()) options.times.push_back(s.t0);
    const std::span<const double> x0 = std::span(at.starts).subspan(e * nx_, nx_);
    Numbers u = s.controls;
    if (u.empty()) u.assign(static_cast<std::size_t>(s.steps) * nu_, 0.0);
    runs.push_back(rollout(system_, x0, Controls<double>(u, s.steps), p, options));
    if (!runs.back().report().failed.empty()) return kInfinity;
    const std::span<const double> seen = runs.back().states();
    bars[e].assign(seen.size(), 0.0);
    for (const std::size_t row : row_of[e]) {
      states[e].insert(states[e].end(), seen.begin() + static_cast<std::ptrdiff_t>(row * nx_),
                       seen.begin() + static_cast<std::ptrdiff_t>((row + 1) * nx_));
    }
  }

  // (1) of the residuals, and back through what shows them.
  double F = 0;
  Numbers p_bar(p.size(), 0.0);
  for (std::size_t r = 0; r < recordings_.size(); ++r) {
    const LookedRows rows = looked_rows(r, where, states);
    const Looked seen = measured_[r].look(rows, p, running_.threads, running_.keep_going);
    Numbers values_bar(seen.values.size(), 0.0);
    F += pull_residuals(where, r, seen, at.theta, loss, values_bar, theta_bar);
    const Numbers rows_bar =
        measured_[r].pull(rows, p, values_bar, running_.threads, running_.keep_going, p_bar);
    for (std::size_t l = 0; l < where.of[r].size(); ++l) {
      const std::size_t e = static_cast<std::size_t>(where.of[r][l].stretch);
      double* to = bars[e].data() + row_of[e][where.rows[r][l]] * nx_;
      for (std::size_t i = 0; i < nx_; ++i) to[i] += rows_bar[l * nx_ + i];
    }
  }
  for (std::size_t e = 0; e < E; ++e) {  // (2)
    PullbackOptions back;
    back.controls = false;
    back.keep_going = running_.keep_going;
    const Gradient<double> g = runs[e].pullback(bars[e], back);
    for (std::size_t i = 0; i < p_bar.size(); ++i) p_bar[i] += g.params[i];
    if (!stretches_[e].free) continue;
    std::copy_n(g.x0_tangent.data(), nt_, starts_bar.data() + e * nt_);
  }
  unknowns_.pull_parameters(std::span(at.theta).first(k), p_bar, theta_bar.first(k));

  if (priors_.empty()) return F;
  const Numbers v = values(at.theta), dv = values_jacobian(at.theta);
  for (const Unknowns::Prior& prior : priors_) {
    const std::size_t row = static_cast<std::size_t>(prior.place);
    const double r = (v[row] - prior.mean) / prior.std;
    F += 0.5 * r * r;
    for (std::size_t j = 0; j < size(); ++j) theta_bar[j] += dv[row * size() + j] * r / prior.std;
  }
  return F;
}

// Σ ρ(r) of a recording; adds to the cotangents of what it shows and of its sensors' numbers.
double FitProblem::pull_residuals(const Looks& looks, std::size_t recording, const Looked& seen,
                                  std::span<const double> theta, Loss loss,
                                  std::span<double> values_bar, std::span<double> theta_bar) const {
  const Recording& rec = recordings_[recording];
  const std::size_t m = measured_[recording].columns();
  double F = 0;
  const auto residual = [&](double r, double sigma) {
    F += loss_of(loss, r);
    return weight_of(loss, r) * r / sigma;
  };
  for (std::size_t l = 0; l < looks.of[recording].size(); ++l) {
    const Look& look = looks.of[recording][l];
    const double* shown = seen.values.data() + l * m;
    double* bar = values_bar.data() + l * m;
    for (const MeasuredPiece& piece : measured_[recording].pieces()) {
      if (!look.readings || delay_of(recording, piece.output) != look.delay) continue;
      const std::size_t c = static_cast<std::size_t>(piece.column);
      const double* v = rec.values.data() + static_cast<std::size_t>(look.sample) * m + c;
      if (std::any_of(v, v + piece.columns(), [](double x) { return std::isnan(x); })) continue;
      const double sigma = sigma_[recording][c];
      if (!piece.quaternion) {
        int gain_at, offset_at;
        const double gain = sensor_value(theta, SensorUnknown::Kind::gain, recording, piece.output,
                                         piece.within, &gain_at),
                     offset = sensor_value(theta, SensorUnknown::Kind::offset, recording,
                                           piece.output, piece.within, &offset_at);
        const double r_bar = residual((gain * shown[c] + offset - v[0]) / sigma, sigma);
        bar[c] += gain * r_bar;
        if (gain_at >= 0) theta_bar[static_cast<std::size_t>(gain_at)] += shown[c] * r_bar;
        if (offset_at >= 0) theta_bar[static_cast<std::size_t>(offset_at)] += r_bar;
        continue;
      }
      double turn[3], D[9];
      turn_between(v, shown + c, turn, D);
      Vec3<double> tangent_bar{};
      for (int i = 0; i < 3; ++i) {
        const double r_bar = residual(turn[i] / sigma, sigma);
        for (int j = 0; j < 3; ++j) tangent_bar[j] += D[3 * i + j] * r_bar;
      }
      const Quat<double> q = load_quat(shown + c),
                         q_bar = ambient_from_tangent_cotangent(q, tangent_bar);
      bar[c] += q_bar.w, bar[c + 1] += q_bar.x, bar[c + 2] += q_bar.y, bar[c + 3] += q_bar.z;
    }
  }
  return F;
}

GradientDescent descend_by_gradient(const FitProblem& problem, FitEffort& effort, Loss loss,
                                    const FitPoint& start, const GradientDescentOptions& options) {
  const std::vector<FitStretch>& stretches = problem.stretches();
  if (std::any_of(stretches.begin(), stretches.end(),
                  [](const FitStretch& s) { return !s.last; })) {
    throw Error("identify: shooting=... wants method=\"lm\"; gradients fit whole recordings");
  }
  if (!problem.system().states().flat() &&
      std::any_of(stretches.begin(), stretches.end(), [](const FitStretch& s) { return s.free; })) {
    throw Error(
        "identify: states with unit quaternions want x0=\"known\" with gradients; or take "
        "method=\"lm\"");
  }
  for (const SensorUnknown& s : problem.sensors()) {
    if (s.kind != SensorUnknown::Kind::delay) continue;
    throw Error(message("identify: \"", s.name, "\" wants method=\"lm\""));
  }
  const FreeVariables free(problem, start);
  GradientDescent out;
  out.at = start;
  out.cost = kInfinity;
  Numbers theta_bar(problem.size()), starts_bar(stretches.size() * problem.tangents());
  const Objective objective = [&](std::span<const double> z, std::span<double> z_bar) {
    const FitPoint at = free.at(z);
    effort.steps += 2 * problem.steps_per_run();
    const double F = problem.gradient(at, loss, theta_bar, starts_bar);
    free.pull(z, theta_bar, starts_bar, z_bar);
    if (F < out.cost) out.cost = F, out.at = at;
    return F;
  };
  int still = 0;
  bool settled = false;
  const auto go_on = [&](int iteration) {
    const double before = out.history.empty() ? kInfinity : out.history.back();
    out.history.push_back(out.cost);
    if (iteration > 0) ++effort.iterations;
    still = before - out.cost <= options.tolerance * std::abs(out.cost) ? still + 1 : 0;
    settled = (still >= kSettled && options.method == GradientMethod::lbfgs) || out.cost == 0;
    return effort.say(out.cost, problem.parameters(out.at.theta)) && !settled;
  };
  if (options.method == GradientMethod::lbfgs) {
    LbfgsOptions how;
    how.max_iterations = options.iterations;
    how.gradient_tolerance = 0;
    how.first_move = 0.1;
    how.watch = [&](const LbfgsIterate& now) { return go_on(now.iteration); };
    out.status = lbfgs(objective, free.first(), how).status;
    if (out.status == OptimiserStatus::line_search_failed && still > 0) settled = true;
  } else {
    Numbers z = free.first(), z_bar(z.size());
    Adam<double> adam(z.size());
    out.status = OptimiserStatus::max_iterations;
    for (int i = 0; i <= options.iterations; ++i) {
      if (!std::isfinite(objective(z, z_bar))) {
        out.status = OptimiserStatus::non_finite;
        break;
      }
      if (!go_on(i)) {
        out.status = OptimiserStatus::stopped;
        break;
      }
      adam.options().rate =
          0.5 * options.learning_rate * (1 + std::cos(std::numbers::pi * i / options.iterations));
      adam.step(z_bar.data(), z.data());
    }
    // It wanders: what counts is the fall over the last tenth, in which the rate has died away.
    const std::size_t last = out.history.size() - 1;
    if (out.status == OptimiserStatus::max_iterations && last >= 10) {
      settled = out.history[last - last / 10] - out.cost <= kAdamTolerance * std::abs(out.cost);
    }
  }
  if (!std::isfinite(out.cost)) throw Error("identify: the run from the guess fails");
  if (settled) out.status = OptimiserStatus::converged_value;
  return out;
}

}  // namespace cycloid::inline optimise
