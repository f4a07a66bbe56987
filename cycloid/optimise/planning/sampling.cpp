#include "cycloid/optimise/planning/sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::inline optimise {
namespace {

constexpr double kForgets = 0.4;      // of the last spread in (2)
constexpr double kSettled = 1e-4;     // CEM ends when its spread is this share of the first
constexpr double kSlower = 0.98;      // MPPI's noise, per iteration
constexpr std::int64_t kRows = 1024;  // of one batch of rollouts
constexpr int kPatience = 20;         // MPPI ends after so many iterations without a better sample

class Sampler {
 public:
  explicit Sampler(Planner& p)
      : p_(p),
        knots_(p.options.knots > 0 ? p.options.knots
                                   : static_cast<int>(std::max<std::int64_t>(4, p.T / 10))) {
    const PlanOptions& o = p.options;
    if (o.samples < 2) throw Error("plan: samples must be at least 2");
    if (!(o.elite > 0 && o.elite <= 1)) throw Error("plan: elite must be within 0 and 1");
    if (!(o.noise > 0) || !(o.temperature > 0)) {
      throw Error("plan: noise and temperature must be positive");
    }
    if (p.cost.has_constraints()) {
      throw Error(message("plan: method \"", o.method,
                          "\" does not hold Keep; take \"ilqr\" or \"multiple_shooting\""));
    }
    for (int i = 0; i < p.nu; ++i) {
      const double half = 0.5 * (p.high(i) - p.low(i));
      sigma_.push_back(o.noise * (std::isfinite(half) && half > 0 ? half : 1.0));
    }
  }

  // update(samples, costs, iteration) moves the mean and the spread; true: it has settled.
  using Update = std::function<bool(const std::vector<double>&, const std::vector<double>&)>;

  Plan run(const Update& update) {
    p_.begin_with_start();
    mean = p_.best.controls;
    spread.resize(mean.size());
    for (std::size_t i = 0; i < spread.size(); ++i) spread[i] = sigma_[i % sigma_.size()];
    std::string words;
    OptimiserStatus status = OptimiserStatus::stopped;
    try {
      if (p_.report(p_.best.cost)) status = iterate(update, words);
    } catch (const Interrupted&) {
    }
    p_.best.gains.assign(p_.T * p_.nu * p_.nt, 0.0);
    return p_.finish(status, words);
  }

  std::vector<double> mean, spread;  // (T, inputs)
  const std::vector<double>& first_spread() const { return sigma_; }

 private:
  OptimiserStatus iterate(const Update& update, std::string& words) {
    const std::int64_t numbers = p_.T * p_.nu, samples = p_.options.samples;
    std::vector<double> u(samples * numbers), costs(samples), states;
    while (p_.best.iterations < p_.options.iterations) {
      if (p_.out_of_time()) {
        words = message("Stopped at the time limit of ", *p_.options.time_limit, " s.");
        return OptimiserStatus::stopped;
      }
      for (std::int64_t s = 0; s < samples; ++s) {
        std::copy(mean.begin(), mean.end(), u.begin() + s * numbers);
        if (s == 0) continue;
        const std::vector<double> noise =
            knotted_noise(p_.options.seed, p_.best.iterations, s, p_.T, p_.nu, knots_);
        for (std::int64_t i = 0; i < numbers; ++i) u[s * numbers + i] += spread[i] * noise[i];
      }
      p_.clamp(u);
      for (std::int64_t first = 0; first < samples; first += kRows) {
        const std::int64_t rows = std::min(kRows, samples - first);
        const std::vector<double> some(u.begin() + first * numbers,
                                       u.begin() + (first + rows) * numbers);
        const std::vector<double> found = p_.roll_out_many(some, rows, states);
        std::copy(found.begin(), found.end(), costs.begin() + first);
      }
      const std::int64_t least = std::min_element(costs.begin(), costs.end()) - costs.begin();
      if (costs[least] < p_.best.cost) {
        p_.best.cost = costs[least];
        p_.best.controls.assign(u.begin() + least * numbers, u.begin() + (least + 1) * numbers);
      }
      const bool settled = update(u, costs);
      if (!p_.report(p_.best.cost)) return OptimiserStatus::stopped;
      if (settled) return OptimiserStatus::converged_step;
    }
    return OptimiserStatus::max_iterations;
  }

  Planner& p_;
  int knots_;
  std::vector<double> sigma_;
};

}  // namespace

std::vector<double> knotted_noise(std::uint64_t seed, int iteration, std::int64_t sample,
                                  std::int64_t T, int inputs, int knots) {
  RandomStream random(seed, static_cast<std::uint32_t>(sample),
                      static_cast<std::uint64_t>(iteration));
  const std::int64_t K = std::min<std::int64_t>(knots, T);
  std::vector<double> at(K * inputs), out(T * inputs);
  for (double& v : at) v = random.normal();
  for (std::int64_t t = 0; t < T; ++t) {
    const double place = T == 1 || K == 1 ? 0.0 : double(t) * double(K - 1) / double(T - 1);
    const std::int64_t left = std::min<std::int64_t>(static_cast<std::int64_t>(place), K - 1),
                       right = std::min(left + 1, K - 1);
    const double share = place - double(left);
    for (int i = 0; i < inputs; ++i) {
      out[t * inputs + i] = (1 - share) * at[left * inputs + i] + share * at[right * inputs + i];
    }
  }
  return out;
}

std::vector<double> mppi_weights(const std::vector<double>& costs, double temperature) {
  const double least = *std::min_element(costs.begin(), costs.end());
  std::vector<double> w(costs.size(), 0.0);
  if (!std::isfinite(least)) return w;
  double above = 0;
  int finite = 0;
  for (const double c : costs) {
    if (!std::isfinite(c)) continue;
    above += c - least;
    ++finite;
  }
  const double scale = temperature * above / finite;
  double sum = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (!std::isfinite(costs[i])) continue;
    w[i] = scale > 0 ? std::exp(-(costs[i] - least) / scale) : 1.0;  // (1)
    sum += w[i];
  }
  for (double& v : w) v /= sum;
  return w;
}

Plan plan_mppi(Planner& p) {
  Sampler sampler(p);
  double best = INFINITY;
  int still = 0;
  return sampler.run([&](const std::vector<double>& u, const std::vector<double>& costs) {
    const std::vector<double> w = mppi_weights(costs, p.options.temperature);
    const std::size_t numbers = sampler.mean.size();
    if (std::accumulate(w.begin(), w.end(), 0.0) > 0) {
      std::fill(sampler.mean.begin(), sampler.mean.end(), 0.0);
      for (std::size_t s = 0; s < w.size(); ++s) {
        for (std::size_t i = 0; i < numbers; ++i) sampler.mean[i] += w[s] * u[s * numbers + i];
      }
    }
    for (double& v : sampler.spread) v *= kSlower;
    still = p.best.cost < best ? 0 : still + 1;
    best = p.best.cost;
    return still >= kPatience;
  });
}

Plan plan_cem(Planner& p) {
  Sampler sampler(p);
  return sampler.run([&](const std::vector<double>& u, const std::vector<double>& costs) {
    std::vector<std::size_t> order(costs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
    const double share = p.options.elite * static_cast<double>(order.size());
    std::size_t elite = std::max<std::size_t>(2, static_cast<std::size_t>(std::lround(share)));
    while (elite > 0 && !std::isfinite(costs[order[elite - 1]])) --elite;
    const std::size_t numbers = sampler.mean.size();
    double widest = 0;
    for (std::size_t i = 0; i < numbers && elite > 0; ++i) {
      double mean = 0, square = 0;
      for (std::size_t e = 0; e < elite; ++e) mean += u[order[e] * numbers + i];
      mean /= static_cast<double>(elite);
      for (std::size_t e = 0; e < elite; ++e) {
        square += std::pow(u[order[e] * numbers + i] - mean, 2);
      }
      sampler.mean[i] = mean;  // (2)
      sampler.spread[i] = kForgets * sampler.spread[i] +
                          (1 - kForgets) * std::sqrt(square / static_cast<double>(elite));
      const std::vector<double>& first = sampler.first_spread();
      widest = std::max(widest, sampler.spread[i] / first[i % first.size()]);
    }
    return elite > 0 && widest < kSettled;
  });
}

}  // namespace cycloid::inline optimise
