#include "cycloid/evaluate/forecast_scores.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/random.h"

using namespace cycloid;

namespace {

std::vector<double> normals(int count, std::uint64_t seed, double shift = 0, double scale = 1) {
  RandomStream random(seed);
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(shift + scale * random.normal());
  return out;
}

}  // namespace

TEST_CASE("rms: of 3 and 4, without what was not measured") {
  CHECK(rms(std::vector<double>{3, NAN, 4}) == doctest::Approx(std::sqrt(12.5)));
  CHECK(std::isnan(rms(std::vector<double>{NAN})));
}

TEST_CASE("first_beyond: the first sample whose error is too large, else their number") {
  const RunRows e{2, 3, 2, {0, 0, 0.3, 0.3, 1, 1, 0, 0, 0.1, 0.1, 0.2, 0.2}};
  CHECK(first_beyond(e, 0.4) == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("normal_quantile: the tables' values, and the inverse of the distribution") {
  CHECK(normal_quantile(0.975) == doctest::Approx(1.959963984540054).epsilon(1e-12));
  CHECK(normal_quantile(0.95) == doctest::Approx(1.6448536269514722).epsilon(1e-12));
  CHECK(normal_quantile(0.75) == doctest::Approx(0.6744897501960817).epsilon(1e-12));
  for (const double p : {1e-6, 0.2, 0.5, 0.999}) {
    CHECK(normal_distribution(normal_quantile(p)) == doctest::Approx(p).epsilon(1e-10));
  }
}

TEST_CASE("coverage, spread over skill: right for calibrated noise, wrong for over-confidence") {
  const std::vector<double> e = normals(20'000, 3), right(e.size(), 1.0), narrow(e.size(), 0.25);
  CHECK(coverage(e, right, 0.9) == doctest::Approx(0.9).epsilon(0.01));
  CHECK(coverage(e, right, 0.5) == doctest::Approx(0.5).epsilon(0.03));
  CHECK(coverage(e, narrow, 0.9) < 0.4);
  CHECK(spread_over_skill(e, right) == doctest::Approx(1).epsilon(0.02));
  CHECK(spread_over_skill(e, narrow) == doctest::Approx(0.25).epsilon(0.02));
}

TEST_CASE("auroc: counted by hand, ties half, and that of two shifted normals") {
  CHECK(auroc(std::vector<double>{1, 2, 3}, std::vector<double>{2, 4}) ==
        doctest::Approx((1.5 + 3) / 6));
  CHECK(auroc(std::vector<double>{1}, std::vector<double>{1}) == 0.5);
  const double expected = normal_distribution(1 / std::sqrt(2.0));
  CHECK(auroc(normals(4000, 1), normals(4000, 2, 1.0)) == doctest::Approx(expected).epsilon(0.02));
}

TEST_CASE("spectrum_error: zero for a shift in time, large for another frequency") {
  constexpr int kSamples = 128;
  const auto wave = [](double cycles, double phase) {
    RunRows r{1, kSamples, 1, {}};
    for (int s = 0; s < kSamples; ++s) {
      r.values.push_back(std::sin(2 * M_PI * cycles * s / kSamples + phase));
    }
    return power_spectra(r);
  };
  const std::vector<double> truth = wave(10, 0);
  CHECK(spectrum_error(wave(10, 1), truth) < 1e-6);
  CHECK(spectrum_error(wave(20, 0), truth) > 1.2);
  // Parseval, with the mean square of Hann's window, 3/8, and half of it at positive frequencies.
  double total = 0;
  for (const double p : truth) total += p;
  CHECK(total == doctest::Approx(0.5 * 3.0 / 8 * kSamples * kSamples / 2).epsilon(1e-3));
}

TEST_CASE("sinkhorn_distance: a shift is its length, equal clouds are near, other ones far") {
  const std::vector<double> a = normals(200, 5);
  std::vector<double> shifted = a;
  for (std::size_t i = 0; i < a.size(); i += 2) shifted[i] += 0.6, shifted[i + 1] += 0.8;
  CHECK(sinkhorn_distance(a, shifted, 2) == doctest::Approx(1).epsilon(1e-4));
  CHECK(sinkhorn_distance(a, a, 2) < 1e-5);
  const double same = sinkhorn_distance(a, normals(200, 6), 2);
  const double wider = sinkhorn_distance(a, normals(200, 6, 0, 3), 2);
  CHECK(same < 0.5);
  CHECK(wider > 1.5);
}
