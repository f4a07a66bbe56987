#include "cycloid/optimise/fit/fit_descent.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;

constexpr double kFirstDamping = 1e-3;  // μ, in units of D²
constexpr double kLeastFitDamping = 1e-15, kMostFitDamping = 1e20;
constexpr double kStepTolerance = 1e-10;  // of D (θ, s), relative

std::vector<bool> chained(const FitProblem& problem) {
  std::vector<bool> out;
  for (const FitStretch& s : problem.stretches()) out.push_back(!s.last);
  return out;
}

double scale(double s) { return s > 0 ? s : 1; }

}  // namespace

double FitEffort::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool FitEffort::say(double cost, std::span<const double> numbers) {
  best = std::min(best, cost);
  return !watch || watch({iterations, most, best, seconds(), steps, numbers});
}

FitDescent::FitDescent(const FitProblem& problem, FitEffort& effort, Loss loss, FitPoint start)
    : problem_(problem),
      effort_(effort),
      loss_(loss),
      K_(problem.size()),
      nt_(problem.start_columns()),
      E_(problem.stretches().size()),
      at_(std::move(start)),
      mu_(kFirstDamping),
      theta_scale_(K_, 0.0),
      start_scale_(E_ * nt_, 0.0),
      system_(K_, nt_, chained(problem)) {
  links_.weight.assign(nt_, 0.0);
  links_.lambda.assign(E_, Numbers(nt_, 0.0));
}

bool FitDescent::begin() {
  if (evaluated_) return true;
  Evaluated e;
  try {
    e = evaluate(at_, true);
  } catch (const GradientError&) {
    e = evaluate(at_, false);
    if (e.ok) throw;  // the run is sound, its slope is not
  }
  reason_ = e.reason;
  if (!e.ok) return false;
  take(std::move(e));
  history_.push_back(cost_);
  return true;
}

OptimiserStatus FitDescent::descend(double value_tolerance, int most) {
  build();
  for (int k = 0; k < most; ++k) {
    if (cost_ == 0) return OptimiserStatus::converged_value;
    const std::optional<OptimiserStatus> over = iterate(value_tolerance);
    if (over) return *over;
  }
  return OptimiserStatus::max_iterations;
}

void FitDescent::weigh_links(double factor) {
  build();
  const Numbers diagonal = system_.start_diagonal();
  Numbers mean(nt_, 0.0);
  double all = 0;
  for (std::size_t e = 0; e < E_; ++e) {
    for (std::size_t i = 0; i < nt_; ++i) {
      mean[i] += diagonal[e * nt_ + i] / static_cast<double>(E_);
      all = std::max(all, diagonal[e * nt_ + i]);
    }
  }
  for (std::size_t i = 0; i < nt_; ++i) {
    links_.weight[i] = factor * std::max(mean[i], 1e-6 * std::max(all, 1e-12));
  }
  refresh();
}

void FitDescent::tighten(double factor) {
  for (std::size_t e = 0; e < E_; ++e) {
    const Numbers& gap = evaluated_->stretches[e].gap;
    for (std::size_t i = 0; i < gap.size(); ++i) {
      links_.lambda[e][i] = (links_.lambda[e][i] + gap[i]) / factor;  // λ w stays
    }
  }
  for (double& w : links_.weight) w *= factor;
  refresh();
}

double FitDescent::largest_gap() const {
  double most = 0;
  for (const StretchResiduals& s : evaluated_->stretches) {
    for (const double g : s.gap) most = std::max(most, std::abs(g));
  }
  return most;
}

void FitDescent::rescale() {
  take(evaluate(at_, true));
  mu_ = kFirstDamping;
  std::fill(theta_scale_.begin(), theta_scale_.end(), 0.0);
  std::fill(start_scale_.begin(), start_scale_.end(), 0.0);
}

Evaluated FitDescent::evaluate(const FitPoint& at, bool jacobian) {
  effort_.steps += problem_.steps_per_run() * (jacobian ? 2 : 1);
  return problem_.evaluate(at, jacobian);
}

void FitDescent::take(Evaluated e) {
  evaluated_ = std::move(e);
  cost_ = cost_of(*evaluated_, at_.theta);
}

void FitDescent::refresh() {
  cost_ = cost_of(*evaluated_, at_.theta);
  mu_ = std::min(mu_, kFirstDamping);
}

// (1)
double FitDescent::cost_of(const Evaluated& e, std::span<const double> theta) const {
  if (!e.ok) return kInfinity;
  double sum = 0;
  for (std::size_t s = 0; s < E_; ++s) {
    for (const double r : e.stretches[s].r) sum += loss_of(loss_, r);
    const Numbers& gap = e.stretches[s].gap;
    for (std::size_t i = 0; i < gap.size(); ++i) {
      const double a = gap[i] + links_.lambda[s][i];
      sum += 0.5 * links_.weight[i] * a * a;
    }
  }
  const Numbers v = problem_.values(theta);
  for (const Unknowns::Prior& p : problem_.priors()) {
    const double r = (v[static_cast<std::size_t>(p.place)] - p.mean) / p.std;
    sum += 0.5 * r * r;
  }
  return sum;
}

// The normal equations where the search stands.
void FitDescent::build() {
  system_.clear();
  for (std::size_t e = 0; e < E_; ++e) {
    const StretchResiduals& s = evaluated_->stretches[e];
    Numbers w(s.r.size());
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = weight_of(loss_, s.r[i]);
    system_.add(e, s.r, s.J, w);
    if (!problem_.stretches()[e].free) system_.hold_start(e);
    if (s.gap.empty()) continue;
    Numbers a = s.gap;
    for (std::size_t i = 0; i < nt_; ++i) a[i] += links_.lambda[e][i];
    system_.add_link(e, a, s.end_tan, links_.weight);
  }
  const Numbers v = problem_.values(at_.theta), dv = problem_.values_jacobian(at_.theta);
  for (const Unknowns::Prior& p : problem_.priors()) {
    const std::size_t row = static_cast<std::size_t>(p.place);
    Numbers J(K_);
    for (std::size_t j = 0; j < K_; ++j) J[j] = dv[row * K_ + j] / p.std;
    system_.add_theta((v[row] - p.mean) / p.std, J);
  }
  // At a bound, and drawn beyond it.
  for (std::size_t i = 0; i < K_; ++i) {
    const double g = system_.theta_gradient()[i];
    const bool low = at_.theta[i] <= problem_.low()[i], high = at_.theta[i] >= problem_.high()[i];
    if ((low && high) || (low && g > 0) || (high && g < 0)) system_.hold_theta(i);
  }
  const Numbers theta = system_.theta_diagonal(), starts = system_.start_diagonal();
  for (std::size_t i = 0; i < K_; ++i) {
    theta_scale_[i] = std::max(theta_scale_[i], std::sqrt(theta[i]));
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    start_scale_[i] = std::max(start_scale_[i], std::sqrt(starts[i]));
  }
}

std::optional<OptimiserStatus> FitDescent::iterate(double value_tolerance) {
  Numbers theta_damping(K_), start_damping(E_ * nt_);
  for (std::size_t i = 0; i < K_; ++i) {
    theta_damping[i] = mu_ * scale(theta_scale_[i]) * scale(theta_scale_[i]);
  }
  for (std::size_t i = 0; i < start_damping.size(); ++i) {
    start_damping[i] = mu_ * scale(start_scale_[i]) * scale(start_scale_[i]);
  }
  ArrowSystem::Step step = system_.solve(theta_damping, start_damping);
  if (!step.ok) {
    return refuse() ? std::nullopt : std::optional(OptimiserStatus::non_finite);
  }
  Numbers theta = at_.theta;
  for (std::size_t i = 0; i < K_; ++i) theta[i] += step.theta[i];
  problem_.project(at_.theta, theta);
  double length = 0, size = 0;
  for (std::size_t i = 0; i < K_; ++i) {
    step.theta[i] = theta[i] - at_.theta[i];
    length = std::hypot(length, scale(theta_scale_[i]) * step.theta[i]);
    size = std::hypot(size, scale(theta_scale_[i]) * at_.theta[i]);
  }
  for (std::size_t i = 0; i < step.starts.size(); ++i) {
    length = std::hypot(length, scale(start_scale_[i]) * step.starts[i]);
  }
  const double promised = promised_fall(step);
  const double near = std::sqrt(2 * cost_) + size;
  if (length <= kStepTolerance * near) return OptimiserStatus::converged_step;
  if (promised < 0) {  // bounds have bent the step: a shorter one goes down
    return refuse() ? std::nullopt : std::optional(OptimiserStatus::converged_step);
  }
  if (promised <= value_tolerance * cost_ && mu_ <= 1) return OptimiserStatus::converged_value;
  ++effort_.iterations;
  FitPoint trial = problem_.moved(at_, theta, step.starts);
  Evaluated seen;
  bool sloped = taken_;
  try {
    seen = evaluate(trial, sloped);
  } catch (const GradientError&) {
    if (!sloped) throw;
    sloped = false;
    seen = evaluate(trial, false);
  }
  const double cost = cost_of(seen, trial.theta);
  const double fall = cost_ - cost, rho = promised > 0 ? fall / promised : -1;
  if (!(rho > 0) || !std::isfinite(cost)) {
    if (!effort_.say(cost_, problem_.parameters(at_.theta))) return OptimiserStatus::stopped;
    // A fall that is lost in the rounding of F is none.
    if (promised <= 1e-13 * cost_) return OptimiserStatus::converged_value;
    return refuse() ? std::nullopt : std::optional(OptimiserStatus::converged_step);
  }
  if (!sloped) {
    try {
      seen = evaluate(trial, true);
    } catch (const GradientError&) {
      return refuse() ? std::nullopt : std::optional(OptimiserStatus::non_finite);
    }
    if (!seen.ok) return refuse() ? std::nullopt : std::optional(OptimiserStatus::non_finite);
  }
  taken_ = true;
  at_ = std::move(trial);
  take(std::move(seen));
  history_.push_back(cost_);
  mu_ = std::max(kLeastFitDamping, mu_ * std::max(1.0 / 3, 1 - std::pow(2 * rho - 1, 3)));
  nu_ = 2;
  build();
  if (!effort_.say(cost_, problem_.parameters(at_.theta))) return OptimiserStatus::stopped;
  return std::nullopt;
}

// False where the damping cannot grow any more.
bool FitDescent::refuse() {
  taken_ = false;
  mu_ *= nu_;
  nu_ *= 2;
  return mu_ <= kMostFitDamping;
}

// The fall of the quadratic model of F along a step.
double FitDescent::promised_fall(const ArrowSystem::Step& step) const {
  double fall = 0;
  const std::size_t c = K_ + nt_;
  const auto along = [&](const double* row, std::size_t e) {
    double sum = 0;
    for (std::size_t j = 0; j < K_; ++j) sum += row[j] * step.theta[j];
    for (std::size_t j = 0; j < nt_; ++j) sum += row[K_ + j] * step.starts[e * nt_ + j];
    return sum;
  };
  for (std::size_t e = 0; e < E_; ++e) {
    const StretchResiduals& s = evaluated_->stretches[e];
    for (std::size_t i = 0; i < s.r.size(); ++i) {
      const double d = along(s.J.data() + i * c, e), r = s.r[i];
      fall -= weight_of(loss_, r) * (r * d + 0.5 * d * d);
    }
    for (std::size_t i = 0; i < s.gap.size(); ++i) {
      const double a = s.gap[i] + links_.lambda[e][i],
                   d = step.starts[(e + 1) * nt_ + i] - along(s.end_tan.data() + i * c, e);
      fall -= links_.weight[i] * (a * d + 0.5 * d * d);
    }
  }
  const Numbers v = problem_.values(at_.theta), dv = problem_.values_jacobian(at_.theta);
  for (const Unknowns::Prior& p : problem_.priors()) {
    const std::size_t row = static_cast<std::size_t>(p.place);
    double d = 0;
    for (std::size_t j = 0; j < K_; ++j) d += dv[row * K_ + j] * step.theta[j] / p.std;
    const double r = (v[row] - p.mean) / p.std;
    fall -= r * d + 0.5 * d * d;
  }
  return fall;
}

}  // namespace cycloid::inline optimise
