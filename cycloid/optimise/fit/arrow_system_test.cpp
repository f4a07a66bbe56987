#include "cycloid/optimise/fit/arrow_system.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/random.h"
#include "cycloid/optimise/qr.h"

namespace cycloid::arrow_system_test {

using Numbers = std::vector<double>;

Numbers seeded(RandomStream& random, std::size_t n) {
  Numbers v(n);
  for (double& x : v) x = random.normal();
  return v;
}

// Two recordings, of three stretches and of one; two numbers of θ, two of a start.
constexpr std::size_t K = 2, nt = 2, E = 4, n = K + E * nt;

TEST_CASE("arrow system: a step is that of the dense least squares, with links and damping") {
  RandomStream random(5);
  ArrowSystem system(K, nt, {true, true, false, false});
  Numbers rows, right;
  const auto dense = [&](const Numbers& row, double r) {
    rows.insert(rows.end(), row.begin(), row.end());
    right.push_back(-r);
  };
  for (std::size_t e = 0; e < E; ++e) {
    const Numbers r = seeded(random, 5), J = seeded(random, 5 * (K + nt));
    Numbers w(5);
    for (double& x : w) x = 0.5 + random.uniform();
    system.add(e, r, J, w);
    for (std::size_t i = 0; i < 5; ++i) {
      Numbers row(n, 0.0);
      for (std::size_t j = 0; j < K + nt; ++j) {
        row[j < K ? j : K + e * nt + j - K] = std::sqrt(w[i]) * J[i * (K + nt) + j];
      }
      dense(row, std::sqrt(w[i]) * r[i]);
    }
    if (e == 0 || e == 1) {
      const Numbers a = seeded(random, nt), end = seeded(random, nt * (K + nt)), weight{3.0, 7.0};
      system.add_link(e, a, end, weight);
      for (std::size_t i = 0; i < nt; ++i) {
        Numbers row(n, 0.0);
        for (std::size_t j = 0; j < K + nt; ++j) {
          row[j < K ? j : K + e * nt + j - K] = -std::sqrt(weight[i]) * end[i * (K + nt) + j];
        }
        row[K + (e + 1) * nt + i] += std::sqrt(weight[i]);
        dense(row, std::sqrt(weight[i]) * a[i]);
      }
    }
  }
  system.add_theta(0.7, Numbers{1.5, -0.5});
  Numbers prior(n, 0.0);
  prior[0] = 1.5, prior[1] = -0.5;
  dense(prior, 0.7);
  Numbers damping(n);
  for (double& d : damping) d = random.uniform();
  for (std::size_t i = 0; i < n; ++i) {
    Numbers row(n, 0.0);
    row[i] = std::sqrt(damping[i]);
    dense(row, 0);
  }
  const Numbers wanted = Qr(right.size(), n, rows).solve(right);
  const auto step = system.solve(std::span(damping).first(K), std::span(damping).subspan(K));
  REQUIRE(step.ok);
  for (std::size_t i = 0; i < n; ++i) {
    const double got = i < K ? step.theta[i] : step.starts[i - K];
    CHECK(got == doctest::Approx(wanted[i]).epsilon(1e-9));
  }
}

TEST_CASE("arrow system: what is held does not move") {
  RandomStream random(6);
  ArrowSystem system(K, nt, {true, false});
  for (std::size_t e = 0; e < 2; ++e) {
    system.add(e, seeded(random, 6), seeded(random, 6 * (K + nt)), Numbers(6, 1.0));
  }
  system.add_link(0, Numbers{1, 2}, seeded(random, nt * (K + nt)), Numbers{1, 1});
  system.hold_theta(1);
  system.hold_start(0);
  const auto step = system.solve(Numbers(K, 0.0), Numbers(2 * nt, 0.0));
  REQUIRE(step.ok);
  CHECK(step.theta[1] == 0);
  CHECK(step.starts[0] == 0);
  CHECK(step.starts[1] == 0);
  CHECK(step.theta[0] != 0);
  CHECK(step.starts[2] != 0);
}

}  // namespace cycloid::arrow_system_test
