#include "cycloid/soft/term/self_contact.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::FixedNumbers;

template <class Law>
using Values = typename Law::template Group<double>;

template <class Law>
Values<Law> random_pair(FixedNumbers& random, int befores) {
  Values<Law> s{};
  const auto some = [&] { return Vec3<double>{random.next(), random.next(), 0.3 * random.next()}; };
  for (int a = 0; a < Law::kNodes; ++a) {
    s.rest[a] = some(), s.now[a] = some();
    for (auto& before : s.before) {
      before[a] =
          s.now[a] + Vec3<double>{0.1 * random.next(), 0.1 * random.next(), 0.1 * random.next()};
    }
  }
  s.step.befores = befores, s.step.rate = 50, s.step.spread = 2;
  s.step.before_weight[0] = befores > 1 ? 1.3 : 1, s.step.before_weight[1] = -0.3;
  s.number[Law::stiffness] = 30, s.number[Law::width] = 1.5;
  s.number[Law::friction] = 0.4, s.number[Law::stiction] = 0.1;
  s.number[Law::radius] = 0.03;
  return s;
}

template <class Law>
void force_is_the_slope(int befores) {
  using D = Dual<double, 1>;
  FixedNumbers random(11);
  for (int k = 0; k < 200; ++k) {
    const Values<Law> s = random_pair<Law>(random, befores);
    if (Law::distance(s.now).d < 0.07) continue;
    if (befores > 0 && Law::distance(s.before[0]).d < 0.07) continue;
    Vec3<double> f[Law::kNodes];
    Law::force(s, f);
    double largest = 1;
    for (const auto& each : f) largest = std::max(largest, norm(each));
    for (int i = 0; i < 3 * Law::kNodes; ++i) {
      typename Law::template Group<D> d;
      d.step = s.step;
      const auto still = [](const Vec3<double>& x) { return Vec3<D>{D(x.x), D(x.y), D(x.z)}; };
      for (int a = 0; a < Law::kNodes; ++a) {
        d.rest[a] = still(s.rest[a]), d.now[a] = still(s.now[a]);
        for (int b = 0; b < 2; ++b) d.before[b][a] = still(s.before[b][a]);
      }
      for (int j = 0; j < Law::kNumbers; ++j) d.number[j] = D(s.number[j]);
      d.now[i / 3][i % 3].tangent[0] = 1;
      CHECK(std::abs(Law::energy(d).tangent[0] - f[i / 3][i % 3]) <= 1e-11 * largest);
    }
  }
}

// The least distance over a net of points, refined around the best one.
template <class At>
double least(At&& at) {
  double u = 0.5, v = 0.5, best = HUGE_VAL;
  for (double size = 0.5; size > 1e-9; size *= 0.8) {
    const double u0 = u, v0 = v;
    for (int i = -4; i <= 4; ++i) {
      for (int j = -4; j <= 4; ++j) {
        const double a = std::clamp(u0 + i * size / 4, 0.0, 1.0),
                     b = std::clamp(v0 + j * size / 4, 0.0, 1.0);
        if (const double d = at(a, b); d < best) best = d, u = a, v = b;
      }
    }
  }
  return best;
}

}  // namespace

TEST_CASE("self contact: the force is the energy's slope, with friction and without") {
  for (int befores = 0; befores <= 2; ++befores) {
    force_is_the_slope<PointTriangleContact>(befores);
    force_is_the_slope<EdgeEdgeContact>(befores);
    force_is_the_slope<PointEdgeContact>(befores);
  }
}

TEST_CASE("self contact: distances are the least ones over both elements") {
  FixedNumbers random(4);
  for (int k = 0; k < 60; ++k) {
    Vec3<double> x[4];
    for (auto& each : x) each = {random.next(), random.next(), 0.5 * random.next()};
    const double to_face = least([&](double u, double v) {
      if (u + v > 1) return HUGE_VAL;
      return norm(x[0] - (x[1] * (1 - u - v) + x[2] * u + x[3] * v));
    });
    CHECK(point_triangle_distance(x).d == doctest::Approx(to_face).epsilon(1e-6));
    const double to_edge =
        least([&](double u, double) { return norm(x[0] - x[1] * (1 - u) - x[2] * u); });
    CHECK(point_edge_distance(x).d == doctest::Approx(to_edge).epsilon(1e-6));
    const double of_edges = least([&](double a, double b) {
      return norm(x[0] * (1 - a) + x[1] * a - x[2] * (1 - b) - x[3] * b);
    });
    CHECK(edge_edge_distance(x).d == doctest::Approx(of_edges).epsilon(1e-6));
  }
  // Parallel edges that overlap, and that do not.
  const Vec3<double> beside[4] = {{0, 0, 0}, {1, 0, 0}, {0.4, 0.3, 0}, {2, 0.3, 0}},
                     behind[4] = {{0, 0, 0}, {1, 0, 0}, {4, 0, 4}, {6, 0, 4}};
  CHECK(edge_edge_distance(beside).d == doctest::Approx(0.3));
  CHECK(edge_edge_distance(behind).d == doctest::Approx(5));
}

TEST_CASE("self contact: nearly parallel edges let go without a jump") {
  Values<EdgeEdgeContact> s{};
  s.number[EdgeEdgeContact::stiffness] = 1, s.number[EdgeEdgeContact::width] = 0.5;
  s.rest[1] = {1, 0, 0}, s.rest[3] = {1, 0, 0};
  const auto energy = [&](double angle) {
    s.now[0] = {0, 0, 0}, s.now[1] = {1, 0, 0};
    s.now[2] = {0.2, -angle, 0.1}, s.now[3] = {1.2, angle, 0.1};
    return EdgeEdgeContact::energy(s);
  };
  CHECK(energy(0) == 0);
  CHECK(energy(1e-4) < 1e-3 * energy(0.1));
  CHECK(energy(0.1) == doctest::Approx(barrier_energy(1.0, 0.5, 0.1)).epsilon(1e-9));
}

}  // namespace cycloid
