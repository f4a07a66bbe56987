#include "cycloid/learn/window_terms.h"

#include <algorithm>
#include <limits>

#include "cycloid/base/error.h"

namespace cycloid::inline learn {
namespace {

// (2)
double smooth_term(const TermRuns& runs, std::span<double> x_bar) {
  if (runs.steps < 2) return 0;
  const std::span<const double> x = runs.states;
  const std::size_t rows = static_cast<std::size_t>(runs.batch * (runs.steps + 1)),
                    n = x.size() / rows, run = n * static_cast<std::size_t>(runs.steps + 1);
  const double factor = 1 / static_cast<double>(runs.batch * (runs.steps - 1));
  double sum = 0;
  for (std::size_t first = 0; first < x.size(); first += run) {
    for (std::size_t at = first + n; at < first + run - n; ++at) {
      const double bend = x[at + n] - 2 * x[at] + x[at - n];
      sum += bend * bend * factor;
      x_bar[at + n] += 2 * bend * factor, x_bar[at] -= 4 * bend * factor;
      x_bar[at - n] += 2 * bend * factor;
    }
  }
  return sum;
}

}  // namespace

WindowTerms::WindowTerms(const System& system, const LossOptions& options)
    : terms_(options.terms), scale_(options.scale), threads_(options.threads) {
  for (const LossTerm& t : terms_) {
    if (t.kind == LossTerm::Kind::energy && !energy_) {
      energy_ = std::make_unique<Observer>(system.in_double(), std::vector<std::string>{"energy"});
    }
    if (t.kind == LossTerm::Kind::residual && !plain_) {
      plain_ = std::make_unique<System>(system.in_double());
      bool some = false;
      for (int i = 0; i < system.parameters().size(); ++i) {
        of_the_network_.push_back(system.parameters().holding(i).name.starts_with("residual."));
        some = some || of_the_network_.back();
      }
      if (!some) {
        throw Error(message("system \"", system.name(),
                            "\" has no residual to keep small; add_network makes one"));
      }
    }
  }
}

double WindowTerms::value(std::span<const double> p, const TermRuns& runs, std::span<double> x_bar,
                          std::vector<double>* p_bar) const {
  double sum = 0;
  for (const LossTerm& t : terms_) {
    std::vector<double> own(runs.states.size(), 0.0);
    double value = 0;
    switch (t.kind) {
      case LossTerm::Kind::energy: value = energy(p, runs, t.weight, own, p_bar); break;
      case LossTerm::Kind::smooth: value = smooth_term(runs, own); break;
      case LossTerm::Kind::function: value = t.function(runs, own); break;  // (3)
      case LossTerm::Kind::residual: value = residual(p, runs, t.weight, own, p_bar); break;
    }
    sum += t.weight * value;
    for (std::size_t i = 0; i < own.size(); ++i) x_bar[i] += t.weight * own[i];
  }
  return sum;
}

// (1)
double WindowTerms::energy(std::span<const double> p, const TermRuns& runs, double weight,
                           std::span<double> x_bar, std::vector<double>* p_bar) const {
  ObservedRows at;
  at.states = runs.states, at.parameters = p;
  ObserveOptions options;
  options.threads = threads_;
  const Observation seen = observe(*energy_, at, options);
  const std::vector<double>& E = seen.values();
  std::vector<double> E_bar(E.size(), 0.0);
  const double factor = 1 / static_cast<double>(runs.batch * runs.steps);
  double sum = 0;
  for (std::int64_t b = 0; b < runs.batch; ++b) {
    const std::size_t first = static_cast<std::size_t>(b * (runs.steps + 1));
    for (std::int64_t t = 1; t <= runs.steps; ++t) {
      const std::size_t now = first + static_cast<std::size_t>(t);
      const double off = E[now] - E[first];
      sum += off * off * factor;
      E_bar[now] += 2 * off * factor, E_bar[first] -= 2 * off * factor;
    }
  }
  const ObservationGradient g = seen.pullback(E_bar, options);
  for (std::size_t i = 0; i < x_bar.size(); ++i) x_bar[i] += g.states[i];
  if (p_bar) {
    p_bar->resize(g.parameters.size(), 0.0);
    for (std::size_t i = 0; i < g.parameters.size(); ++i) (*p_bar)[i] += weight * g.parameters[i];
  }
  return sum;
}

// (4). Steps of all runs at one time go together: a law may depend on the time.
double WindowTerms::residual(std::span<const double> p, const TermRuns& runs, double weight,
                             std::span<double> x_bar, std::vector<double>* p_bar) const {
  const std::size_t B = static_cast<std::size_t>(runs.batch),
                    T = static_cast<std::size_t>(runs.steps),
                    n = static_cast<std::size_t>(plain_->states().size()),
                    m = static_cast<std::size_t>(plain_->inputs().size());
  std::vector<double> without(p.begin(), p.end());
  for (std::size_t i = 0; i < without.size(); ++i) {
    if (of_the_network_[i]) without[i] = 0;
  }
  if (p_bar) p_bar->resize(p.size(), 0.0);
  const double factor = 1 / static_cast<double>(B * T * n);
  double sum = 0;
  std::vector<double> x(B * n), u(B * m);
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t b = 0; b < B; ++b) {
      std::copy_n(&runs.states[(b * (T + 1) + t) * n], n, &x[b * n]);
      if (m > 0) std::copy_n(&runs.controls[(b * T + t) * m], m, &u[b * m]);
    }
    RolloutOptions options;
    options.threads = threads_, options.t0 = static_cast<double>(t) * plain_->timestep();
    const Trajectory<double> run =
        rollout(*plain_, std::span<const double>(x),
                m > 0 ? Controls<double>(std::span<const double>(u), 1) : Controls<double>(1),
                std::span<const double>(without), options);
    if (!run.report().failed.empty()) return std::numeric_limits<double>::infinity();
    std::vector<double> y_bar(run.states().size(), 0.0);
    for (std::size_t b = 0; b < B; ++b) {
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t after = (b * (T + 1) + t + 1) * n + i;
        const double scale = scale_.empty() ? 1 : scale_[i],
                     off = (runs.states[after] - run.states()[(2 * b + 1) * n + i]) / scale;
        sum += off * off * factor;  // (4)
        const double off_bar = 2 * off * factor / scale;
        x_bar[after] += off_bar, y_bar[(2 * b + 1) * n + i] = -off_bar;
      }
    }
    if (!p_bar) continue;
    PullbackOptions back;
    back.controls = false;
    const Gradient<double> g = run.pullback(std::span<const double>(y_bar), back);
    for (std::size_t b = 0; b < B; ++b) {
      for (std::size_t i = 0; i < n; ++i) x_bar[(b * (T + 1) + t) * n + i] += g.x0[b * n + i];
    }
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (!of_the_network_[i]) (*p_bar)[i] += weight * g.params[i];
    }
  }
  return sum;
}

}  // namespace cycloid::inline learn
