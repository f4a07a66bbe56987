#include "cycloid/optimise/levenberg_marquardt.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/optimise/qr.h"

namespace cycloid::inline optimise {
namespace {

using Vector = std::vector<double>;

constexpr double kRounding = 16 * 2.220446049250313e-16;  // of F, relative
constexpr double kLeastDamping = 1e-15;                   // below it (1) is Gauss-Newton's step
constexpr double kMostDamping = 1e30;                     // a step shorter than this allows is none

double half_square(std::span<const double> r) {
  double sum = 0;
  for (const double v : r) sum += v * v;
  return sum / 2;
}

class Fit {
 public:
  Fit(const Residuals& residuals, std::size_t m, std::span<const double> x0,
      const LmOptions& options)
      : residuals_(residuals), options_(options), m_(m), n_(x0.size()), scale_(n_, 0.0) {
    result_.x.assign(x0.begin(), x0.end());
    result_.residuals.resize(m);
    jacobian_.resize(m * n_);
    mu_ = options.first_damping;
    if (const LmMemory& from = options.from; from.damping > 0) {
      mu_ = from.damping, nu_ = from.growth, scale_ = from.scale;
    }
  }

  LmResult run() {
    const OptimiserStatus status = iterate();
    result_.status = status;
    result_.memory = {mu_, nu_, scale_, options_.from.tried + result_.iterations};
    if (status != OptimiserStatus::non_finite) estimate_covariance();
    return std::move(result_);
  }

 private:
  OptimiserStatus iterate() {
    evaluate_with_jacobian();
    result_.value = half_square(result_.residuals);
    result_.values.push_back(result_.value);
    if (!all_finite(result_.residuals) || !all_finite(jacobian_)) {
      return OptimiserStatus::non_finite;
    }
    if (!watched()) return OptimiserStatus::stopped;
    Vector trial(n_), trial_residuals(m_);
    for (int k = options_.from.tried; k < options_.max_iterations; ++k) {
      if (largest_cosine() <= options_.gradient_tolerance) {
        return OptimiserStatus::converged_gradient;
      }
      ++result_.iterations;
      const Vector h = damped_step();
      if (is_short(h)) return OptimiserStatus::converged_step;
      for (std::size_t i = 0; i < n_; ++i) trial[i] = result_.x[i] + h[i];
      residuals_(trial, trial_residuals, {});
      ++result_.evaluations;
      const double promised = promised_fall(h);
      const double value = all_finite(trial_residuals) ? half_square(trial_residuals) : INFINITY;
      if (!accept(value, promised)) continue;
      const double fall = result_.value - value;
      const bool still = fall <= options_.value_tolerance * result_.value;
      result_.x = trial;
      result_.value = value;
      result_.values.push_back(value);
      evaluate_with_jacobian();
      if (!all_finite(result_.residuals) || !all_finite(jacobian_)) {
        return OptimiserStatus::non_finite;
      }
      result_.value =
          half_square(result_.residuals);  // to the bit what a run from here begins with
      result_.values.back() = result_.value;
      if (!watched()) return OptimiserStatus::stopped;
      if (options_.value_tolerance > 0 && still) return OptimiserStatus::converged_value;
    }
    return largest_cosine() <= options_.gradient_tolerance ? OptimiserStatus::converged_gradient
                                                           : OptimiserStatus::max_iterations;
  }

  void evaluate_with_jacobian() {
    std::fill(jacobian_.begin(), jacobian_.end(), 0.0);
    residuals_(result_.x, result_.residuals, jacobian_);
    ++result_.evaluations;
    Vector squares(n_, 0.0), product(n_, 0.0);
    for (std::size_t i = 0; i < m_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        const double d = jacobian_[i * n_ + j];
        squares[j] += d * d;
        product[j] += d * result_.residuals[i];
      }
    }
    gradient_ = product;
    column_norms_.resize(n_);
    for (std::size_t j = 0; j < n_; ++j) {
      column_norms_[j] = std::sqrt(squares[j]);
      scale_[j] = std::max(scale_[j], column_norms_[j]);
    }
  }

  // A column that has been zero so far has no scale yet.
  double scale(std::size_t j) const { return scale_[j] > 0 ? scale_[j] : 1; }

  double largest_cosine() const {
    const double length = std::sqrt(2 * result_.value);
    double most = 0;
    for (std::size_t j = 0; j < n_; ++j) {
      if (length > 0 && column_norms_[j] > 0) {
        most = std::max(most, std::abs(gradient_[j]) / (column_norms_[j] * length));
      }
    }
    return most;
  }

  // (1) in the scaled variables D h.
  Vector damped_step() const {
    Vector stacked((m_ + n_) * n_, 0.0), right(m_ + n_, 0.0);
    for (std::size_t i = 0; i < m_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        stacked[i * n_ + j] = jacobian_[i * n_ + j] / scale(j);
      }
      right[i] = -result_.residuals[i];
    }
    for (std::size_t j = 0; j < n_; ++j) stacked[(m_ + j) * n_ + j] = std::sqrt(mu_);
    Vector h = Qr(m_ + n_, n_, std::move(stacked)).solve(right);
    for (std::size_t j = 0; j < n_; ++j) h[j] /= scale(j);
    return h;
  }

  bool is_short(std::span<const double> h) const {
    double step = 0, size = 0;
    for (std::size_t j = 0; j < n_; ++j) {
      step = std::hypot(step, scale(j) * h[j]);
      size = std::hypot(size, scale(j) * result_.x[j]);
    }
    return step <= options_.step_tolerance * size || mu_ > kMostDamping;
  }

  // The denominator of (2).
  double promised_fall(std::span<const double> h) const {
    double sum = 0;
    for (std::size_t j = 0; j < n_; ++j) {
      sum += h[j] * (mu_ * scale(j) * scale(j) * h[j] - gradient_[j]);
    }
    return sum / 2;
  }

  // (2) and (3).
  bool accept(double value, double promised) {
    const double fall = result_.value - value, rounding = kRounding * result_.value;
    const bool unseen = promised <= rounding && std::abs(fall) <= rounding;
    const double rho = unseen ? 1 : fall / promised;
    if (rho > 0) {
      mu_ = std::max(kLeastDamping, mu_ * std::max(1.0 / 3, 1 - std::pow(2 * rho - 1, 3)));
      nu_ = 2;
      return true;
    }
    mu_ *= nu_;
    nu_ *= 2;
    return false;
  }

  bool watched() const {
    if (!options_.watch) return true;
    return options_.watch({.iteration = static_cast<int>(result_.values.size()) - 1,
                           .value = result_.value,
                           .damping = mu_,
                           .evaluations = result_.evaluations,
                           .x = result_.x});
  }

  void estimate_covariance() {
    Vector scaled = jacobian_;
    for (std::size_t i = 0; i < m_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) scaled[i * n_ + j] /= scale(j);
    }
    const Qr qr(m_, n_, std::move(scaled));
    if (qr.rank(options_.rank_tolerance) < n_) {
      if (is_converged(result_.status)) result_.status = OptimiserStatus::rank_deficient;
      result_.undetermined = qr.null_direction(options_.rank_tolerance);
      double length = 0;
      for (std::size_t j = 0; j < n_; ++j) {
        length = std::hypot(length, result_.undetermined[j] /= scale(j));
      }
      for (double& v : result_.undetermined) v /= length;
      return;
    }
    result_.noise = options_.noise;
    if (options_.noise == 0) {
      if (m_ <= n_) return;
      result_.noise = std::sqrt(2 * result_.value / static_cast<double>(m_ - n_));
    }
    result_.covariance = qr.inverse_gram();
    for (std::size_t p = 0; p < n_; ++p) {
      for (std::size_t q = 0; q < n_; ++q) {
        result_.covariance[p * n_ + q] *=
            result_.noise * result_.noise / (scale(p) * scale(q));  // (4)
      }
    }
  }

  const Residuals& residuals_;
  const LmOptions& options_;
  std::size_t m_, n_;
  Vector jacobian_, gradient_, column_norms_, scale_;
  double mu_ = 0, nu_ = 2;
  LmResult result_;
};

}  // namespace

double LmResult::standard_error(std::size_t i) const {
  if (covariance.empty()) {
    throw Error(message("there is no covariance. ", status == OptimiserStatus::rank_deficient
                                                        ? advice(status)
                                                        : "It takes more residuals than variables, "
                                                          "or a known noise (LmOptions::noise)."));
  }
  if (i >= x.size()) throw Error(message("standard_error: no variable ", i, " of ", x.size()));
  return std::sqrt(covariance[i * x.size() + i]);
}

LmResult levenberg_marquardt(const Residuals& residuals, std::size_t residual_count,
                             std::span<const double> x0, const LmOptions& options) {
  if (!residuals) throw Error("levenberg_marquardt: the residual function is empty");
  if (x0.empty() || residual_count == 0) {
    throw Error(message("levenberg_marquardt: expected variables and residuals, got ", x0.size(),
                        " and ", residual_count));
  }
  if (!all_finite(x0)) throw Error(message("levenberg_marquardt: x0 must be finite, got ", x0));
  if (options.max_iterations < 0 || !(options.first_damping > 0) || !(options.noise >= 0) ||
      !(options.gradient_tolerance >= 0) || !(options.step_tolerance >= 0) ||
      !(options.value_tolerance >= 0) || !(options.rank_tolerance >= 0)) {
    throw Error(
        "levenberg_marquardt: tolerances, noise and max_iterations must not be negative, and "
        "first_damping must be positive");
  }
  if (options.from.damping > 0 && options.from.scale.size() != x0.size()) {
    throw Error("levenberg_marquardt: what is remembered has another number of variables than x0");
  }
  return Fit(residuals, residual_count, x0, options).run();
}

}  // namespace cycloid::inline optimise
