#include "cycloid/optimise/qr.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::qr_test {

using Vector = std::vector<double>;

constexpr double kTolerance = 1e-12;  // a few hundred roundings of well-conditioned problems

Vector random_matrix(std::uint64_t seed, std::size_t count) {
  RandomStream random(seed);
  Vector a(count);
  for (double& v : a) v = random.uniform(-1.0, 1.0);
  return a;
}

TEST_CASE("qr: solves square systems, and least squares by their normal equations") {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{1, 1}, {4, 4}, {9, 4}, {40, 7}}) {
    const Vector a = random_matrix(m * 100 + n, m * n), b = random_matrix(7, m);
    const Vector x = Qr(m, n, a).solve(b);
    REQUIRE(x.size() == n);
    for (std::size_t j = 0; j < n; ++j) {  // Aᵀ (A x - b) = 0
      double sum = 0;
      for (std::size_t i = 0; i < m; ++i) {
        double r = -b[i];
        for (std::size_t k = 0; k < n; ++k) r += a[i * n + k] * x[k];
        if (m == n) CHECK(std::abs(r) < kTolerance);
        sum += a[i * n + j] * r;
      }
      CHECK(std::abs(sum) < kTolerance);
    }
  }
}

TEST_CASE("qr: numbers whose squares are near the ends of what doubles hold") {
  const std::size_t m = 11, n = 6;
  const Vector a = random_matrix(11, m * n), b = random_matrix(12, m);
  const Vector expected = Qr(m, n, a).solve(b);
  for (const double unit : {1e-145, 1e145}) {
    Vector scaled = a;
    for (double& v : scaled) v *= unit;
    const Vector x = Qr(m, n, scaled).solve(b);
    for (std::size_t j = 0; j < n; ++j) {
      CHECK(x[j] * unit == doctest::Approx(expected[j]).epsilon(1e-10));
    }
  }
}

TEST_CASE("qr: inverse_gram times AᵀA is the identity") {
  const std::size_t m = 12, n = 5;
  const Vector a = random_matrix(3, m * n), inverse = Qr(m, n, a).inverse_gram();
  for (std::size_t p = 0; p < n; ++p) {
    for (std::size_t q = 0; q < n; ++q) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) {
        double gram = 0;
        for (std::size_t i = 0; i < m; ++i) gram += a[i * n + k] * a[i * n + q];
        sum += inverse[p * n + k] * gram;
      }
      CHECK(std::abs(sum - (p == q)) < kTolerance);
    }
  }
}

TEST_CASE("qr: rank and null direction of dependent, zero and too few rows") {
  const std::size_t m = 10, n = 4;
  Vector a = random_matrix(5, m * n);
  CHECK(Qr(m, n, a).rank(1e-10) == 4);
  CHECK(Qr(m, n, a).null_direction(1e-10).empty());
  for (std::size_t i = 0; i < m; ++i) a[i * n + 2] = 3 * a[i * n] - 0.5 * a[i * n + 3];
  const Qr dependent(m, n, a);
  CHECK(dependent.rank(1e-10) == 3);
  const Vector v = dependent.null_direction(1e-10);
  double length = 0;
  for (const double e : v) length += e * e;
  CHECK(length == doctest::Approx(1));
  for (std::size_t i = 0; i < m; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += a[i * n + k] * v[k];
    CHECK(std::abs(sum) < kTolerance);
  }
  CHECK(Qr(2, 2, Vector(4, 0.0)).rank(1e-10) == 0);
  CHECK(Qr(2, 3, random_matrix(8, 6)).rank(1e-10) == 2);
  CHECK(Qr(2, 3, random_matrix(8, 6)).null_direction(1e-10).size() == 3);
}

TEST_CASE("qr: refuses wrong sizes and numbers that are not finite, checks the rank it needs") {
  CHECK_THROWS_AS(Qr(2, 2, Vector(3, 1.0)), Error);
  CHECK_THROWS_AS(Qr(0, 2, Vector()), Error);
  CHECK_THROWS_AS(Qr(1, 1, Vector{std::nan("")}), Error);
  CHECK_THROWS_AS(Qr(1, 1, Vector{1e-170}), Error);
  CHECK_THROWS_AS(Qr(1, 1, Vector{1e200}), Error);
  CHECK_THROWS_AS(Qr(2, 2, Vector(4, 0.0)).solve(Vector{1, 1}), InternalError);
  CHECK_THROWS_AS(Qr(2, 2, Vector(4, 0.0)).inverse_gram(), InternalError);
}

}  // namespace cycloid::qr_test
