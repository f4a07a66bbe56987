#include "cycloid/learn/gaussian_score.h"

#include <doctest/doctest.h>

#include <initializer_list>

namespace cycloid {

TEST_CASE("gaussian_crps: the integral of squared distribution error, and a point's distance") {
  // ∫ (Φ((x - m)/s) - 1{x ≥ y})² dx by the trapezoidal rule
  const double m = 0.3, s = 0.7, y = 1.1;
  double sum = 0;
  constexpr int kCells = 200'000;
  for (int i = 0; i <= kCells; ++i) {
    const double x = -10 + 20.0 * i / kCells;
    const double d = normal_distribution((x - m) / s) - (x >= y ? 1 : 0);
    sum += d * d * 20.0 / kCells;
  }
  CHECK(gaussian_crps(m - y, s) == doctest::Approx(sum).epsilon(1e-4));
  CHECK(gaussian_crps(m - y, 0) == doctest::Approx(0.8));
}

TEST_CASE("gaussian scores: slopes equal central differences") {
  const double h = 1e-5;
  for (const double e : {-2.1, -0.3, 0.0, 0.8}) {
    for (const double s : {0.2, 1.3}) {
      const auto check = [&](auto score, GaussianScoreGradient g) {
        CHECK(g.e == doctest::Approx((score(e + h, s) - score(e - h, s)) / (2 * h)).epsilon(1e-6));
        CHECK(g.s == doctest::Approx((score(e, s + h) - score(e, s - h)) / (2 * h)).epsilon(1e-6));
      };
      check(gaussian_crps, gaussian_crps_gradient(e, s));
      check(gaussian_likelihood, gaussian_likelihood_gradient(e, s));
    }
  }
}

TEST_CASE("gaussian scores: least in the mean at the true deviation") {
  // Means over quantiles of a normal of deviation 0.5.
  const auto mean = [](auto score, double s) {
    double sum = 0;
    for (double z = -6; z <= 6; z += 0.01) sum += normal_density(z) * score(0.5 * z, s) * 0.01;
    return sum;
  };
  for (const double other : {0.4, 0.6}) {
    CHECK(mean(gaussian_crps, 0.5) < mean(gaussian_crps, other));
    CHECK(mean(gaussian_likelihood, 0.5) < mean(gaussian_likelihood, other));
  }
}

}  // namespace cycloid
