#include "cycloid/fluid/grid/pressure/pressure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace cycloid {
namespace {

constexpr std::array<SideKind, 2> kWalls = {SideKind::wall, SideKind::slip},
                                  kRing = {SideKind::periodic, SideKind::periodic},
                                  kThrough = {SideKind::inflow, SideKind::outflow},
                                  kOut = {SideKind::outflow, SideKind::outflow},
                                  kBack = {SideKind::outflow, SideKind::wall};

// Right-hand sides without a mean.
std::vector<double> some(int n) {
  std::vector<double> b;
  double mean = 0;
  for (int i = 0; i < n; ++i) b.push_back(std::sin(1.3 * i * i + 0.2)), mean += b.back() / n;
  for (double& x : b) x -= mean;
  return b;
}

TEST_CASE("pressure: Fourier series and factors solve the same equation, on all kinds of sides") {
  const std::vector<std::vector<std::array<SideKind, 2>>> cases = {
      {kRing, kRing},        {kWalls, kRing},         {kRing, kWalls},   {kWalls, kWalls},
      {kThrough, kWalls},    {kOut, kRing},           {kBack, kThrough}, {kWalls, kRing, kWalls},
      {kRing, kRing, kRing}, {kThrough, kWalls, kOut}};
  for (std::size_t c = 0; c < cases.size(); ++c) {
    CAPTURE(c);
    const bool space = cases[c].size() == 3;
    const GridBox box(space ? std::vector<int>{5, 4, 6} : std::vector<int>{9, 7},
                      space ? std::vector<double>{1, 0.9, 1.3} : std::vector<double>{1, 0.8},
                      cases[c]);
    std::vector<double> by_series = some(box.cells), by_factor = by_series;
    const SeriesSolver series(box);
    SeriesSolver::Room room(series, 1);
    series.solve(by_series.data(), room);
    PressureSolver factor(box, std::make_shared<const PressurePattern>(box));
    factor.set(nullptr, 1);
    factor.solve(by_factor.data(), 0, factor.make_room(1), 1);
    const double shift = factor.reaches_outflow() ? 0 : by_series[0] - by_factor[0];
    double most = 0, difference = 0;
    for (std::size_t i = 0; i < by_series.size(); ++i) {
      most = std::max(most, std::abs(by_series[i]));
      difference = std::max(difference, std::abs(by_series[i] - by_factor[i] - shift));
    }
    CHECK(difference < 1e-12 * most);
    CHECK(most > 1e-3);
  }
}

TEST_CASE("pressure: -lap u = 1 on a square with u = 0 on its sides, at second order") {
  double errors[2];
  for (int level = 0; level < 2; ++level) {
    const int n = 20 << level;
    const GridBox box({n, n}, {1, 1}, {kOut, kOut});
    std::vector<double> u(static_cast<std::size_t>(box.cells), -1.0);
    const SeriesSolver series(box);
    SeriesSolver::Room room(series, 1);
    series.solve(u.data(), room);
    // The centre, by the four cells around it.
    const std::size_t m = static_cast<std::size_t>(n) * n / 2 + n / 2;
    const std::size_t row = static_cast<std::size_t>(n);
    errors[level] = std::abs(0.25 * (u[m] + u[m - 1] + u[m - row] + u[m - row - 1]) - 0.0736713533);
  }
  CHECK(errors[1] < 3e-4);
  CHECK(errors[0] / errors[1] == doctest::Approx(4).epsilon(0.05));
}

// Face mobilities around a ball that is cut through by the grid.
std::array<std::vector<double>, 3> around_a_ball(const GridBox& box) {
  std::array<std::vector<double>, 3> k;
  for (int a = box.first; a < 3; ++a) {
    auto& of = k[static_cast<std::size_t>(a)];
    of.assign(static_cast<std::size_t>(box.numbers), 0.0);
    for (int i = 0; i < box.count(a, 0); ++i) {
      for (int j = 0; j < box.count(a, 1); ++j) {
        for (int l = 0; l < box.count(a, 2); ++l) {
          const double x[3] = {i - 0.47 * box.n[0], j - 0.52 * box.n[1], l - 0.49 * box.n[2]};
          const double gap = std::hypot(box.first ? 0 : x[0], x[1], x[2]) - 0.23 * box.n[2];
          of[static_cast<std::size_t>(box.index(i, j, l))] = std::clamp(gap, 0.0, 1.0);
        }
      }
    }
  }
  return k;
}

TEST_CASE("pressure: multigrid finds what a factor does, around obstacles, in few iterations") {
  const std::vector<std::vector<std::array<SideKind, 2>>> cases = {{kWalls, kRing},
                                                                   {kThrough, kWalls},
                                                                   {kRing, kRing, kRing},
                                                                   {kThrough, kWalls, kRing},
                                                                   {kWalls, kWalls, kWalls}};
  for (std::size_t c = 0; c < cases.size(); ++c) {
    CAPTURE(c);
    const bool space = cases[c].size() == 3;
    const GridBox box(space ? std::vector<int>{20, 17, 18} : std::vector<int>{60, 47},
                      space ? std::vector<double>{1, 0.9, 1} : std::vector<double>{1, 0.8},
                      cases[c]);
    const auto k_of = around_a_ball(box);
    const double* k[3] = {k_of[0].data(), k_of[1].data(), k_of[2].data()};
    PressureSolver factor(box, std::make_shared<const PressurePattern>(box)),
        multigrid(box, std::make_shared<const PressurePattern>(box, false));
    factor.set(k, 1), multigrid.set(k, 2);
    std::vector<double> b = some(box.cells);
    double mean = 0;
    for (int i = 0; i < box.cells; ++i) mean += factor.open(i) ? b[std::size_t(i)] : 0;
    for (double& one : b) one -= mean / factor.open_cells();
    std::vector<double> by_factor = b, by_cycles = b, again = b;
    factor.solve(by_factor.data(), 0, factor.make_room(1), 1);
    const auto room = multigrid.make_room(2);
    const SolveOutcome found = multigrid.solve(by_cycles.data(), 1e-12, room, 2);
    CHECK(found.converged);
    CHECK(found.residual <= 1e-12);
    CHECK(found.iterations > 3);
    CHECK(found.iterations < 40);
    double most = 0, difference = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
      most = std::max(most, std::abs(by_factor[i]));
      difference = std::max(difference, std::abs(by_factor[i] - by_cycles[i]));
    }
    CHECK(difference < 1e-9 * most);
    multigrid.solve(again.data(), 1e-12, room, 1);
    CHECK(again == by_cycles);  // whatever the threads
  }
}

}  // namespace
}  // namespace cycloid
