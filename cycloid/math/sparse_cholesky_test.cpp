#include "cycloid/math/sparse_cholesky.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid {
namespace {

// A grid of n × m points, each tied to its right and lower neighbour with a weight of its own, and
// held by a diagonal that is a little larger than the sum.
struct Grid {
  Grid(int n, int m, std::uint64_t seed = 3) {
    RandomStream random(seed);
    std::vector<double> right(static_cast<std::size_t>(n * m)), down(right);
    for (double& w : right) w = random.uniform(0.1, 2.0);
    for (double& w : down) w = random.uniform(0.1, 2.0);
    for (int i = 0; i < n * m; ++i) {
      const int r = i / m, c = i % m;
      double sum = 0.01;
      const std::size_t own = values.size();
      pattern.column.push_back(i);
      values.push_back(0);
      const auto tie = [&](int j, double w) {
        pattern.column.push_back(j);
        values.push_back(-w);
        sum += w;
      };
      if (c + 1 < m) tie(i + 1, right[static_cast<std::size_t>(i)]);
      if (c > 0) tie(i - 1, right[static_cast<std::size_t>(i - 1)]);
      if (r + 1 < n) tie(i + m, down[static_cast<std::size_t>(i)]);
      if (r > 0) tie(i - m, down[static_cast<std::size_t>(i - m)]);
      values[own] = sum;
      pattern.first.push_back(pattern.entries());
      points.push_back(r);
      points.push_back(c);
    }
  }
  std::vector<double> times(const std::vector<double>& x) const {
    std::vector<double> y(x.size(), 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (auto e = static_cast<std::size_t>(pattern.first[i]);
           e < static_cast<std::size_t>(pattern.first[i + 1]); ++e) {
        y[i] += values[e] * x[static_cast<std::size_t>(pattern.column[e])];
      }
    }
    return y;
  }
  SparsePattern pattern;
  std::vector<double> values, points;
};

std::vector<double> solution(int n) {
  RandomStream random(8);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& v : x) v = random.uniform(-1.0, 1.0);
  return x;
}

}  // namespace

TEST_CASE("CholeskyFactor: solves for what it was given, on grids of every shape") {
  for (const auto& [n, m] : {std::pair{1, 1}, {1, 7}, {6, 8}, {1, 300}, {23, 31}, {90, 60}}) {
    CAPTURE(n);
    CAPTURE(m);
    const Grid grid(n, m);
    const auto tree = std::make_shared<const Dissection>(grid.pattern, grid.points, 2);
    CholeskyFactor factor(tree);
    REQUIRE(factor.factor(grid.values, 1) == -1);
    const std::vector<double> x = solution(n * m);
    std::vector<double> b = grid.times(x);
    factor.solve(b.data(), 1);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(b[i] - x[i]));
    CHECK(worst < 1e-9);  // a condition of about 1e3, and rounding
  }
}

TEST_CASE("CholeskyFactor: no bit depends on the number of threads, or on an earlier matrix") {
  const Grid grid(70, 50), other(70, 50, 4);
  const auto tree = std::make_shared<const Dissection>(grid.pattern, grid.points, 2);
  std::vector<double> reference;
  for (const int threads : {1, 2, 5}) {
    CholeskyFactor factor(tree);
    REQUIRE(factor.factor(other.values, threads) == -1);
    REQUIRE(factor.factor(grid.values, threads) == -1);
    std::vector<double> b = solution(70 * 50);
    factor.solve(b.data(), threads);
    if (reference.empty()) reference = b;
    CHECK(std::memcmp(b.data(), reference.data(), sizeof(double) * b.size()) == 0);
  }
}

TEST_CASE("Dissection: every unknown has one place, and the factor stays sparse") {
  const Grid grid(128, 128);
  const Dissection tree(grid.pattern, grid.points, 2);
  std::vector<int> seen(128 * 128, 0);
  for (const int i : tree.order()) ++seen[static_cast<std::size_t>(i)];
  CHECK(seen == std::vector<int>(128 * 128, 1));
  // 31/4 n² log2 n for an ideal dissection of an n × n grid (George1973), and the dense leaves.
  CHECK(tree.factor_numbers() < 2 * 7.75 * 128 * 128 * 7);
}

TEST_CASE("CholeskyFactor: halves that touch their separator alone, and not each other") {
  // Two chains, each tied to a third between them and 200 points far away.
  constexpr int kEach = 60, kFar = 200, kAll = 3 * kEach + kFar;
  std::vector<std::vector<int>> ties(kAll);
  const auto tie = [&](int i, int j) {
    ties[static_cast<std::size_t>(i)].push_back(j), ties[static_cast<std::size_t>(j)].push_back(i);
  };
  for (int i = 0; i < kEach; ++i) {
    for (const int chain : {0, kEach}) {
      if (i > 0) tie(chain + i - 1, chain + i);
      tie(chain + i, 2 * kEach + i);
    }
    tie(2 * kEach + i, 3 * kEach + i);
  }
  SparsePattern pattern;
  std::vector<double> values, points, b(kAll, 0.0);
  for (int i = 0; i < kAll; ++i) {
    const auto& own = ties[static_cast<std::size_t>(i)];
    pattern.column.push_back(i), values.push_back(1 + static_cast<double>(own.size()));
    for (const int j : own) pattern.column.push_back(j), values.push_back(-1);
    pattern.first.push_back(pattern.entries());
    points.push_back(i < 2 * kEach ? 0 : i < 3 * kEach ? 0.5 : 10);
    points.push_back(i < kEach ? -1 : i < 2 * kEach ? 1 : 0);
  }
  const std::vector<double> x = solution(kAll);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (auto e = static_cast<std::size_t>(pattern.first[i]);
         e < static_cast<std::size_t>(pattern.first[i + 1]); ++e) {
      b[i] += values[e] * x[static_cast<std::size_t>(pattern.column[e])];
    }
  }
  const auto dissection = std::make_shared<const Dissection>(pattern, points, 2);
  const auto empty = [](const Dissection::Node& node) { return node.pivots == 0; };
  CHECK(std::any_of(dissection->nodes().begin(), dissection->nodes().end(), empty));
  CholeskyFactor factor(dissection);
  REQUIRE(factor.factor(values, 1) == -1);
  factor.solve(b.data(), 1);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(b[i] == doctest::Approx(x[i]).epsilon(1e-12));
}

TEST_CASE("CholeskyFactor: a matrix that is not positive definite is found out") {
  Grid grid(20, 20);
  grid.values[static_cast<std::size_t>(grid.pattern.first[137])] = -1;
  const auto tree = std::make_shared<const Dissection>(grid.pattern, grid.points, 2);
  CHECK(CholeskyFactor(tree).factor(grid.values, 2) >= 0);
}

TEST_CASE("Dissection: patterns that are not symmetric or miss their diagonal are refused") {
  const std::vector<double> points = {0, 1};
  CHECK_THROWS_AS(Dissection({{0, 2, 3}, {0, 1, 1}}, points, 1), Error);
  CHECK_THROWS_AS(Dissection({{0, 1, 2}, {1, 0}}, points, 1), Error);
  CHECK_THROWS_AS(Dissection({{0, 1, 2}, {0, 1}}, points, 2), Error);
}

}  // namespace cycloid
