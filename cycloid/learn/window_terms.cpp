#include "cycloid/learn/window_terms.h"

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
    : terms_(options.terms), threads_(options.threads) {
  for (const LossTerm& t : terms_) {
    if (t.kind != LossTerm::Kind::energy || energy_) continue;
    energy_ = std::make_unique<Observer>(system.in_double(), std::vector<std::string>{"energy"});
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

}  // namespace cycloid::inline learn
