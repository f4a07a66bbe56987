#include "cycloid/evaluate/forecast_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "cycloid/base/error.h"

namespace cycloid::inline evaluate {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kSinkhornSweeps = 100;
constexpr double kSinkhornTolerance = 1e-5;

// The entropic transport cost of uniform measures: alternating updates of the potentials f and g in
// the logarithmic domain until the marginals hold.
double transport_cost(std::span<const double> a, std::span<const double> b, std::size_t n,
                      double epsilon) {
  const std::size_t na = a.size() / n, nb = b.size() / n;
  std::vector<double> cost(na * nb), f(na, 0.0), g(nb, 0.0);
  for (std::size_t i = 0; i < na; ++i) {
    for (std::size_t j = 0; j < nb; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const double d = a[i * n + k] - b[j * n + k];
        sum += d * d;
      }
      cost[i * nb + j] = sum;
    }
  }
  // -ε log mean exp((g_j - c_j) / ε)
  const auto softmin = [&](const std::vector<double>& other, const auto& c) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t j = 0; j < other.size(); ++j) top = std::max(top, other[j] - c(j));
    for (std::size_t j = 0; j < other.size(); ++j)
      sum += std::exp((other[j] - c(j) - top) / epsilon);
    return -top - epsilon * std::log(sum / static_cast<double>(other.size()));
  };
  for (int sweep = 0; sweep < kSinkhornSweeps; ++sweep) {
    double change = 0;
    for (std::size_t i = 0; i < na; ++i) {
      const double next = softmin(g, [&](std::size_t j) { return cost[i * nb + j]; });
      change = std::max(change, std::abs(next - f[i]));
      f[i] = next;
    }
    for (std::size_t j = 0; j < nb; ++j) {
      g[j] = softmin(f, [&](std::size_t i) { return cost[i * nb + j]; });
    }
    if (change < kSinkhornTolerance * epsilon) break;
  }
  // The dual value; g is exact for f, so that the marginal of b holds.
  return std::accumulate(f.begin(), f.end(), 0.0) / static_cast<double>(na) +
         std::accumulate(g.begin(), g.end(), 0.0) / static_cast<double>(nb);
}

}  // namespace

double rms(std::span<const double> errors) {
  double sum = 0;
  std::size_t count = 0;
  for (const double e : errors) {
    if (std::isnan(e)) continue;
    sum += e * e, ++count;
  }
  return count ? std::sqrt(sum / static_cast<double>(count)) : kNaN;  // (1)
}

std::vector<std::int64_t> first_beyond(const RunRows& errors, double bound) {
  std::vector<std::int64_t> out;
  for (std::int64_t r = 0; r < errors.runs; ++r) {
    std::int64_t s = 0;
    while (s < errors.samples &&
           !(rms({errors.at(r, s), static_cast<std::size_t>(errors.numbers)}) > bound)) {
      ++s;
    }
    out.push_back(s);
  }
  return out;
}

double normal_quantile(double p) {
  if (!(p > 0 && p < 1)) throw Error(message("a share must lie between 0 and 1; got ", p));
  double low = -40, high = 40;
  for (int halving = 0; halving < 80; ++halving) {
    const double middle = 0.5 * (low + high);
    (normal_distribution(middle) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double coverage(std::span<const double> errors, std::span<const double> spread, double level) {
  const double z = normal_quantile(0.5 * (1 + level));
  std::size_t inside = 0, count = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (std::isnan(errors[i])) continue;
    inside += std::abs(errors[i]) <= z * spread[i], ++count;  // (3)
  }
  return count ? static_cast<double>(inside) / static_cast<double>(count) : kNaN;
}

double spread_over_skill(std::span<const double> errors, std::span<const double> spread) {
  return rms(spread) / rms(errors);  // (4)
}

double auroc(std::span<const double> negatives, std::span<const double> positives) {
  if (negatives.empty() || positives.empty()) return kNaN;
  std::vector<double> sorted(negatives.begin(), negatives.end());
  std::sort(sorted.begin(), sorted.end());
  double wins = 0;
  for (const double p : positives) {
    const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), p);
    wins += static_cast<double>(low - sorted.begin()) + 0.5 * static_cast<double>(high - low);
  }
  return wins /
         (static_cast<double>(positives.size()) * static_cast<double>(sorted.size()));  // (5)
}

std::vector<double> power_spectra(const RunRows& rows) {
  const std::int64_t S = rows.samples, half = S / 2;
  std::vector<double> out(static_cast<std::size_t>(rows.runs * half), 0.0), wave;
  std::vector<double> cosine(static_cast<std::size_t>(S)), sine(cosine);
  for (std::int64_t s = 0; s < S; ++s) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(s) / static_cast<double>(S);
    cosine[static_cast<std::size_t>(s)] = std::cos(angle);
    sine[static_cast<std::size_t>(s)] = std::sin(angle);
  }
  for (std::int64_t r = 0; r < rows.runs; ++r) {
    for (std::int64_t k = 0; k < rows.numbers; ++k) {
      double mean = 0;
      for (std::int64_t s = 0; s < S; ++s) mean += rows.at(r, s)[k] / static_cast<double>(S);
      wave.clear();
      for (std::int64_t s = 0; s < S; ++s) {
        const double window = 0.5 * (1 - cosine[static_cast<std::size_t>(s)]);
        wave.push_back(window * (rows.at(r, s)[k] - mean));
      }
      for (std::int64_t f = 1; f <= half; ++f) {
        double re = 0, im = 0;
        for (std::int64_t s = 0; s < S; ++s) {
          const std::size_t turn = static_cast<std::size_t>(s * f % S);
          re += wave[static_cast<std::size_t>(s)] * cosine[turn];
          im += wave[static_cast<std::size_t>(s)] * sine[turn];
        }
        out[static_cast<std::size_t>(r * half + f - 1)] += re * re + im * im;
      }
    }
  }
  return out;
}

double spectrum_error(std::span<const double> power, std::span<const double> truth) {
  double difference = 0, size = 0;
  for (std::size_t f = 0; f < truth.size(); ++f) {
    const double d = std::sqrt(power[f]) - std::sqrt(truth[f]);
    difference += d * d, size += truth[f];
  }
  return std::sqrt(difference / size);  // (6)
}

double sinkhorn_distance(std::span<const double> a, std::span<const double> b, std::int64_t n,
                         double regularisation) {
  const std::size_t width = static_cast<std::size_t>(n);
  if (width == 0 || a.empty() || b.empty()) return kNaN;
  const double epsilon = regularisation * static_cast<double>(n);
  const double s = transport_cost(a, b, width, epsilon) -
                   0.5 * transport_cost(a, a, width, epsilon) -
                   0.5 * transport_cost(b, b, width, epsilon);  // (7)
  return std::sqrt(std::max(0.0, s));
}

}  // namespace cycloid::inline evaluate
