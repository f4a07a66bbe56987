#include "cycloid/system/laws/spring_chain.h"

#include <cmath>
#include <numbers>

#include "tests/support/law_steps.h"

namespace cycloid::spring_chain_test {

using std::numbers::pi;
using test::Numbers;
using test::x_dot_of;

Numbers point_of(int n, std::uint64_t seed, const Numbers& p) {
  test::FixedNumbers random(seed);
  Numbers point = {0};
  for (int i = 0; i < 3 * n; ++i) point.push_back(random.next());
  point.insert(point.end(), p.begin(), p.end());
  return point;
}

TEST_CASE("SpringChain: its modes are sines and swing at 2 √(k/m) sin(jπ / 2(n+1))") {
  const double m = 0.3, k = 7.0;
  for (const int n : {1, 2, 5, 12}) {
    for (int j = 1; j <= n; ++j) {
      Numbers x(static_cast<std::size_t>(2 * n), 0.0), u(static_cast<std::size_t>(n), 0.0);
      for (int i = 0; i < n; ++i)
        x[static_cast<std::size_t>(i)] = std::sin(j * pi * (i + 1) / (n + 1));
      const double frequency = 2 * std::sqrt(k / m) * std::sin(j * pi / (2 * (n + 1)));
      Numbers expected = x;
      for (double& e : expected) e *= -frequency * frequency;
      const Numbers dx = x_dot_of(SpringChain{n}, x, u, {m, k, 0.0});
      // Errors of the sines near multiples of π count 1e-16 of k/m.
      CHECK(test::relative_error({dx.begin() + n, dx.end()},
                                 {expected.begin(), expected.begin() + n}, k / m) < 1e-14);
    }
  }
}

TEST_CASE("SpringChain: its energy changes by the power of forces and dampers") {
  const int n = 6;
  const double m = 0.3, k = 7.0, d = 0.4;
  test::FixedNumbers random(5);
  const Numbers x = random.vector(2 * n), u = random.vector(n);
  const Numbers dx = x_dot_of(SpringChain{n}, x, u, {m, k, d});
  double energy_dot = 0, power = 0;
  for (int i = 0; i <= n; ++i) {  // spring i joins mass i-1 and mass i; the walls stand still
    const double stretch = (i < n ? x[i] : 0) - (i > 0 ? x[i - 1] : 0);
    const double rate = (i < n ? dx[i] : 0) - (i > 0 ? dx[i - 1] : 0);
    energy_dot += k * stretch * rate;
  }
  for (int i = 0; i < n; ++i) {
    energy_dot += m * x[n + i] * dx[n + i];
    power += u[i] * x[n + i] - d * x[n + i] * x[n + i];
  }
  CHECK(energy_dot == doctest::Approx(power).epsilon(1e-13));
}

TEST_CASE("SpringChain::x_dot: pullback equals dual numbers for one, two and seven masses") {
  for (const int n : {1, 2, 7}) {
    test::check_law_pullback("SpringChain::x_dot", SpringChain{n},
                             {point_of(n, 1, {0.3, 7.0, 0.4}), point_of(n, 2, {1, 1, 0}),
                              point_of(n, 3, {20, 0, 0.1}), point_of(n, 4, {1, 100, 10})});
  }
}

TEST_CASE("SpringChain: energy is kinetic plus potential, and conserved by x_dot") {
  const Numbers p = {0.7, 0.9, 0}, x = {1, 2, -3, 4, 5, 6};
  CHECK(SpringChain{3}.energy(x.data(), p.data()) ==
        doctest::Approx(0.5 * 0.7 * 77 + 0.5 * 0.9 * (1 + 1 + 25 + 9)).epsilon(1e-14));
  CHECK(std::abs(test::energy_rate(SpringChain{3}, x, p)) < 1e-12);  // of numbers below 100
}

TEST_CASE("SpringChain::energy: pullback equals dual numbers, moving and stretched") {
  test::check_energy_pullback("SpringChain::energy", SpringChain{3},
                              {{1, 2, -3, 4, 5, 6, 0.7, 0.9, 0.2}, {0, 0.1, 0, 0, 0, 0, 1, 1, 0}});
}

}  // namespace cycloid::spring_chain_test
