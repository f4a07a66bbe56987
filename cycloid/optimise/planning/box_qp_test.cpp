#include "cycloid/optimise/planning/box_qp.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "cycloid/base/random.h"

namespace cycloid::box_qp_test {

using Vector = std::vector<double>;

// MᵀM + n I/10 of random M, and a random g.
struct Case {
  Vector H, g, low, high;
};

Case random_case(std::uint64_t seed, int n) {
  RandomStream random(seed);
  Vector M(n * n), g(n), low(n), high(n);
  for (double& v : M) v = random.uniform(-1.0, 1.0);
  Case c{Vector(n * n, 0.0), g, low, high};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < n; ++k) c.H[i * n + j] += M[k * n + i] * M[k * n + j];
    }
    c.H[i * n + i] += 0.1;
    c.g[i] = random.uniform(-3.0, 3.0);
    c.low[i] = random.uniform(-1.0, 0.0);
    c.high[i] = random.uniform(0.0, 1.0);
  }
  return c;
}

TEST_CASE("box_qp: solutions satisfy the conditions of optimality, and some inputs are clamped") {
  int clamped = 0, all = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const int n = 1 + static_cast<int>(seed % 7);
    const Case c = random_case(seed, n);
    BoxQp qp(n);
    Vector d(n, 0.0);
    REQUIRE(qp.solve(c.H.data(), c.g.data(), c.low.data(), c.high.data(), d.data()));
    for (int i = 0; i < n; ++i) {
      double slope = c.g[i];
      for (int j = 0; j < n; ++j) slope += c.H[i * n + j] * d[j];
      CHECK(d[i] >= c.low[i]);
      CHECK(d[i] <= c.high[i]);
      const bool free = std::find(qp.free().begin(), qp.free().end(), i) != qp.free().end();
      if (free) CHECK(std::abs(slope) < 1e-9);
      else CHECK((d[i] == c.low[i] ? slope > 0 : slope < 0));
      clamped += !free;
      ++all;
    }
  }
  CHECK(clamped > 10);
  CHECK(clamped < all);
}

TEST_CASE("box_qp: without bounds it is one solve, and an indefinite matrix is refused") {
  const Case c = random_case(3, 4);
  BoxQp qp(4);
  Vector d(4, 0.0);
  REQUIRE(qp.solve(c.H.data(), c.g.data(), nullptr, nullptr, d.data()));
  for (int i = 0; i < 4; ++i) {
    double slope = c.g[i];
    for (int j = 0; j < 4; ++j) slope += c.H[i * 4 + j] * d[j];
    CHECK(std::abs(slope) < 1e-12);
  }
  const Vector bad{1, 0, 0, -1}, g{1, 1};
  BoxQp two(2);
  Vector e(2, 0.0);
  CHECK_FALSE(two.solve(bad.data(), g.data(), nullptr, nullptr, e.data()));
}

}  // namespace cycloid::box_qp_test
