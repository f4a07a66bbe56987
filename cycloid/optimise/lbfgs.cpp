#include "cycloid/optimise/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "cycloid/base/error.h"

namespace cycloid::inline optimise {
namespace {

using Vector = std::vector<double>;

constexpr double kLeastCurvature = 1e-14;  // of sᵀy, relative to |s| |y|

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double norm(std::span<const double> a) { return std::sqrt(dot(a, a)); }

double largest(std::span<const double> a) {
  double most = 0;
  for (const double v : a) most = std::max(most, std::abs(v));
  return most;
}

struct Point {
  Vector x, gradient;
  double value = 0;
  bool finite() const { return std::isfinite(value) && all_finite(gradient); }
};

// The last m pairs (3), and H applied to a vector.
class InverseHessian {
 public:
  explicit InverseHessian(int memory) : memory_(static_cast<std::size_t>(memory)) {}

  bool empty() const { return pairs_.empty(); }
  void clear() { pairs_.clear(); }

  void update(const Point& from, const Point& to) {
    Pair pair;
    for (std::size_t i = 0; i < to.x.size(); ++i) {
      pair.s.push_back(to.x[i] - from.x[i]);  // (3)
      pair.y.push_back(to.gradient[i] - from.gradient[i]);
    }
    add(std::move(pair));
  }

  void remember(const LbfgsMemory& memory) {
    for (std::size_t k = 0; k < memory.s.size(); ++k) add({memory.s[k], memory.y[k]});
  }
  LbfgsMemory memory() const {
    LbfgsMemory all;
    for (const Pair& p : pairs_) all.s.push_back(p.s), all.y.push_back(p.y);
    return all;
  }

  // Two loops: g becomes H g.
  void apply(Vector& g) const {
    Vector alphas(pairs_.size());
    for (std::size_t k = pairs_.size(); k-- > 0;) {
      const Pair& p = pairs_[k];
      alphas[k] = p.inverse_sy * dot(p.s, g);
      for (std::size_t i = 0; i < g.size(); ++i) g[i] -= alphas[k] * p.y[i];
    }
    const Pair& newest = pairs_.back();
    const double scale = 1 / (newest.inverse_sy * dot(newest.y, newest.y));  // (4)
    for (double& v : g) v *= scale;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const Pair& p = pairs_[k];
      const double beta = p.inverse_sy * dot(p.y, g);
      for (std::size_t i = 0; i < g.size(); ++i) g[i] += (alphas[k] - beta) * p.s[i];
    }
  }

 private:
  struct Pair {
    Vector s, y;
    double inverse_sy = 0;
  };
  void add(Pair pair) {
    const double sy = dot(pair.s, pair.y);
    if (!(sy > kLeastCurvature * norm(pair.s) * norm(pair.y))) return;
    pair.inverse_sy = 1 / sy;
    if (pairs_.size() == memory_) pairs_.pop_front();
    pairs_.push_back(std::move(pair));
  }

  std::size_t memory_;
  std::deque<Pair> pairs_;
};

class Minimiser {
 public:
  Minimiser(const Objective& objective, std::span<const double> x0, const LbfgsOptions& options)
      : objective_(objective), options_(options), hessian_(options.memory) {
    here_.x.assign(x0.begin(), x0.end());
    hessian_.remember(options.from);
  }

  LbfgsResult run() {
    evaluate(here_);
    result_.values.push_back(here_.value);
    if (!here_.finite()) return finished(OptimiserStatus::non_finite);
    if (!watched(0, LineStatus::wolfe)) return finished(OptimiserStatus::stopped);
    while (largest(here_.gradient) > options_.gradient_tolerance) {
      if (result_.iterations == options_.max_iterations) {
        return finished(OptimiserStatus::max_iterations);
      }
      const LineResult line = move();
      if (line.status == LineStatus::failed) {
        if (hessian_.empty()) return finished(OptimiserStatus::line_search_failed);
        hessian_.clear();
        continue;
      }
      ++result_.iterations;
      hessian_.update(here_, there_);
      const double moved = distance();
      std::swap(here_, there_);
      result_.values.push_back(here_.value);
      if (!watched(line.point.a, line.status)) return finished(OptimiserStatus::stopped);
      if (moved <= options_.step_tolerance * largest(here_.x) &&
          largest(here_.gradient) > options_.gradient_tolerance) {
        return finished(OptimiserStatus::converged_step);
      }
    }
    return finished(OptimiserStatus::converged_gradient);
  }

 private:
  void evaluate(Point& p) {
    p.gradient.assign(p.x.size(), 0.0);
    p.value = objective_(p.x, p.gradient);
    ++result_.evaluations;
  }

  // From here_ along (1) to there_, (2).
  LineResult move() {
    Vector d = here_.gradient;
    if (!hessian_.empty()) hessian_.apply(d);
    for (double& v : d) v = -v;  // (1)
    if (const double slope = dot(d, here_.gradient); !(slope < 0) || !all_finite(d)) {
      return {};  // rounding has spoilt the pairs
    }
    const auto phi = [&](double a) {
      there_.x.resize(d.size());
      for (std::size_t i = 0; i < d.size(); ++i) there_.x[i] = here_.x[i] + a * d[i];  // (2)
      evaluate(there_);
      const double value = there_.finite() ? there_.value : INFINITY;
      return LinePoint{a, value, dot(there_.gradient, d)};
    };
    const double first = hessian_.empty() ? std::min(1.0, options_.first_move / norm(d)) : 1.0;
    const LinePoint start{0, here_.value, dot(d, here_.gradient)};
    LineResult line = wolfe_search(phi, start, first, options_.line);
    // Without (2) the lowest point need not be the last that was looked at.
    if (line.status == LineStatus::decrease) phi(line.point.a);
    return line;
  }

  double distance() const {
    double most = 0;
    for (std::size_t i = 0; i < here_.x.size(); ++i) {
      most = std::max(most, std::abs(there_.x[i] - here_.x[i]));
    }
    return most;
  }

  bool watched(double step, LineStatus line) const {
    if (!options_.watch) return true;
    return options_.watch({.iteration = result_.iterations,
                           .value = here_.value,
                           .gradient_norm = largest(here_.gradient),
                           .step = step,
                           .evaluations = result_.evaluations,
                           .line = line,
                           .x = here_.x,
                           .gradient = here_.gradient});
  }

  LbfgsResult finished(OptimiserStatus status) {
    result_.status = status;
    result_.x = here_.x;
    result_.gradient = here_.gradient;
    result_.value = here_.value;
    result_.gradient_norm = largest(here_.gradient);
    result_.memory = hessian_.memory();
    return std::move(result_);
  }

  const Objective& objective_;
  const LbfgsOptions& options_;
  InverseHessian hessian_;
  Point here_, there_;
  LbfgsResult result_;
};

}  // namespace

LbfgsResult lbfgs(const Objective& objective, std::span<const double> x0,
                  const LbfgsOptions& options) {
  if (!objective) throw Error("lbfgs: the objective is empty");
  if (x0.empty()) throw Error("lbfgs: x0 is empty; expected at least one variable");
  if (!all_finite(x0)) throw Error(message("lbfgs: x0 must be finite, got ", x0));
  if (options.memory < 1 || options.max_iterations < 0) {
    throw Error(message("lbfgs: memory must be at least 1 and max_iterations at least 0, got ",
                        options.memory, " and ", options.max_iterations));
  }
  if (!(options.gradient_tolerance >= 0 && options.step_tolerance >= 0 && options.first_move > 0)) {
    throw Error("lbfgs: tolerances must not be negative, and first_move must be positive");
  }
  const auto fits = [&](const Vector& v) { return v.size() == x0.size(); };
  const LbfgsMemory& from = options.from;
  if (from.s.size() != from.y.size() || !std::all_of(from.s.begin(), from.s.end(), fits) ||
      !std::all_of(from.y.begin(), from.y.end(), fits)) {
    throw Error("lbfgs: what is remembered has another number of variables than x0");
  }
  return Minimiser(objective, x0, options).run();
}

}  // namespace cycloid::inline optimise
