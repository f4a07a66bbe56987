#include "cycloid/fluid/grid/obstacle/immersed.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/operator_coverage.h"

namespace cycloid {
namespace {

constexpr std::array<SideKind, 2> kWalls = {SideKind::wall, SideKind::wall},
                                  kRing = {SideKind::periodic, SideKind::periodic};

GridBox plane_box() { return {{12, 10}, {1.2, 1.0}, {kWalls, kRing}}; }
GridBox space_box() { return {{6, 7, 8}, {0.6, 0.7, 0.8}, {kWalls, kWalls, kRing}}; }

// A number for each face that is the same every time.
double weight(std::ptrdiff_t m, int a) { return std::sin(1.7 * static_cast<double>(m) + a); }

// <D, .> + <A, .> + <E, .>, and its gradient by the obstacle's numbers, the way that it has gone
// and the angle by which it has turned.
struct Sums {
  GridBox box;
  FluidObstacle obstacle;
  double viscosity_dt = 0.003;

  double value(const std::vector<double>& p, double nu_dt) const {
    Immersed at(box, {obstacle});
    const std::vector<double> way(p.end() - box.dimensions - 1, p.end());
    at.set({{p.data()}, {way.data()}}, nu_dt);
    double sum = 0;
    for (int a = box.first; a < 3; ++a) {
      for (std::ptrdiff_t m = 0; m < box.numbers; ++m) {
        sum += weight(m, a) * at.D(a)[m] + weight(m, a + 3) * at.A(a)[m];
      }
    }
    for (int a = box.first; a < 3; ++a) {
      for (const WallTerm& t : at.wall_terms(a)) sum += weight(t.m, a + 6) * t.E * 1e-3;
    }
    return sum;
  }
  std::vector<double> gradient(const std::vector<double>& p, double& nu_dt_bar) const {
    Immersed at(box, {obstacle});
    const std::size_t ways = p.size() - static_cast<std::size_t>(box.dimensions + 1);
    const ObstacleNumbers numbers = {{p.data()}, {p.data() + ways}};
    at.set(numbers, viscosity_dt);
    std::vector<double> bars[6];
    std::array<std::vector<double>, 3> E_bar;
    const double *D[3] = {}, *A[3] = {};
    for (int a = box.first; a < 3; ++a) {
      for (std::ptrdiff_t m = 0; m < box.numbers; ++m) {
        bars[a].push_back(weight(m, a)), bars[a + 3].push_back(weight(m, a + 3));
      }
      D[a] = bars[a].data(), A[a] = bars[a + 3].data();
      for (const WallTerm& t : at.wall_terms(a)) {
        E_bar[GridBox::u(a)].push_back(weight(t.m, a + 6) * 1e-3);
      }
    }
    std::vector<double> p_bar(p.size(), 0.0);
    at.pullback(numbers, D, A, E_bar, {{p_bar.data()}, {p_bar.data() + ways}}, nu_dt_bar);
    return p_bar;
  }
  void check() const {
    std::vector<double> p = obstacle.numbers;
    for (int a = 0; a < box.dimensions; ++a) p.push_back(0.013 * (a + 1));
    p.push_back(0.7);
    double nu_dt_bar = 0;
    const std::vector<double> p_bar = gradient(p, nu_dt_bar);
    CHECK((p_bar.back() != 0) == obstacle.turns);
    const double e = 1e-6;
    double most = 0;
    for (std::size_t i = 0; i < p_bar.size(); ++i) {
      std::vector<double> up = p, down = up;
      up[i] += e, down[i] -= e;
      const double slope = (value(up, viscosity_dt) - value(down, viscosity_dt)) / (2 * e);
      CAPTURE(i);
      CHECK(p_bar[i] == doctest::Approx(slope).epsilon(1e-6).scale(10));
      most = std::max(most, std::abs(p_bar[i]));
    }
    CHECK(most > 1);
    const double slope = (value(p, viscosity_dt + e) - value(p, viscosity_dt - e)) / (2 * e);
    CHECK(nu_dt_bar == doctest::Approx(slope).epsilon(1e-6));
    CHECK(std::abs(slope) > 1);
  }
};

TEST_CASE("immersed: pullbacks equal differences, circle, box, array, ball") {
  Sums{plane_box(), {ObstacleKind::circle, {0.53, 0.47, 0.23}}}.check();
  Sums{plane_box(), {ObstacleKind::box, {0.533, 0.471, 0.41, 0.33}}}.check();
  Sums{space_box(), {ObstacleKind::circle, {0.31, 0.37, 0.42, 0.21}}}.check();
  const GridBox box = plane_box();
  FluidObstacle array{ObstacleKind::array, {}};
  for (int i = 0; i <= 12; ++i) {
    for (int j = 0; j <= 10; ++j) {
      array.numbers.push_back(std::hypot(0.1 * i - 0.57, 0.1 * j - 0.46) - 0.24);
    }
  }
  Sums{box, array}.check();
  Sums{plane_box(), {ObstacleKind::box, {0.533, 0.471, 0.41, 0.33}, true, true}}.check();
  array.turns = true;
  array.numbers.push_back(0.51), array.numbers.push_back(0.63);
  Sums{box, array}.check();
  test::mark_operator_tested("seen_from");
  test::mark_operator_tested("signed_distance");
  test::mark_operator_tested("WallPoints::friction");
}

TEST_CASE("immersed: a wall at a known distance gives the mobility of the law") {
  const GridBox box = plane_box();
  Immersed at(box, {{ObstacleKind::box, {0.6, 0.5, 0.5, 4.0}}});  // x from 0.35 to 0.85
  const std::vector<double> p = {0.6, 0.5, 0.5, 4.0};
  const double stays[3] = {};
  at.set({{p.data()}, {stays}}, 0.002);
  // The u-face at x = 0.3 is 0.05 = h/2 before the wall: c = 2 / (θ (1 + θ)) / h² - 1 / h².
  const double c = (2 / (0.5 * 1.5) - 1) / 0.01;
  CHECK(at.D(1)[box.index(0, 3, 4)] == doctest::Approx(1 / (1 + 0.002 * c)));
  CHECK(at.D(1)[box.index(0, 5, 4)] == 0);
  CHECK(at.D(1)[box.index(0, 2, 4)] == 1);
  CHECK(at.A(2)[box.index(0, 3, 4)] == doctest::Approx(0.5));  // the v-face from 0.3 to 0.4
}

TEST_CASE("open_share: the share of a square") {
  double slope[4];
  const double half[4] = {1, 1, -1, -1}, corner[4] = {1, -1, -1, -1}, all[4] = {1, 2, 3, 4};
  CHECK(open_share(4, half, slope) == doctest::Approx(0.5));
  CHECK(open_share(4, corner, slope) == doctest::Approx(0.125 / 1.0).epsilon(0.4));
  CHECK(open_share(4, all, slope) == 1);
  const double line[2] = {3, -1};
  CHECK(open_share(2, line, slope) == doctest::Approx(0.75));
}

}  // namespace
}  // namespace cycloid
