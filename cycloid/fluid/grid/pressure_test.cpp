#include "cycloid/fluid/grid/pressure.h"

#include <doctest/doctest.h>

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
    factor.solve(by_factor.data(), nullptr, 1);
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

}  // namespace
}  // namespace cycloid
