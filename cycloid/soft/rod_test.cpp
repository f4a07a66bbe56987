#include "cycloid/soft/rod.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/math/rotation.h"
#include "cycloid/soft/equilibrium.h"
#include "cycloid/soft/term/rod_laws.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

constexpr double kPi = 3.14159265358979323846;
using Group = RodBending::Group<double>;

Group curved_rod(std::uint64_t seed) {
  Group s;
  test::FixedNumbers random(seed);
  const Vec3<double> rest[3] = {{0, 0, 0}, {1, 0.2, 0.1}, {1.7, 0.9, -0.1}};
  for (int a = 0; a < 3; ++a) {
    s.rest[a] = rest[a];
    s.now[a] = rest[a] + Vec3<double>{random.next(), random.next(), random.next()} * 0.2;
  }
  for (int j = 0; j < 2; ++j) s.rest[3 + j] = {0, 0, 0}, s.now[3 + j] = {random.next(), 0, 0};
  const double numbers[] = {1e3, 0.1, 0.3, 0.02};
  std::copy_n(numbers, 4, s.number);
  for (double& c : s.constant) c = 1;
  return s;
}

// The angle of segment j of a rod that is turned by q as a whole, so that its frame is too.
double turned_angle(const Group& s, int j, const Quat<double>& q) {
  const Vec3<double> T = unit_and_norm(s.rest[j + 1] - s.rest[j]).unit,
                     t = unit_and_norm(s.now[j + 1] - s.now[j]).unit, after = rotate(q, t);
  const Vec3<double> k = unit_and_norm(cross(T, Vec3<double>{0.3, -0.5, 0.8})).unit;
  const double a = s.now[3 + j].x;
  const Vec3<double> carried = transported(T, t, k);
  const Vec3<double> frame = rotate(q, carried * std::cos(a) + cross(t, carried) * std::sin(a));
  const Vec3<double> from = transported(T, after, k);
  return std::atan2(dot(cross(from, frame), after), dot(from, frame));
}

}  // namespace

TEST_CASE("rod: energy does not change when a curved, twisted rod is turned as a whole") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Group s = curved_rod(seed);
    const double energy = RodBending::energy(s);
    CHECK(energy > 0);
    for (int k = 1; k <= 8; ++k) {
      const Quat<double> q = quaternion_exp(Vec3<double>{0.3, -0.5, 0.2} * double(k));
      Group t = s;
      for (int a = 0; a < 3; ++a) t.now[a] = rotate(q, s.now[a]);
      for (int j = 0; j < 2; ++j) t.now[3 + j].x = turned_angle(s, j, q);
      // Whole turns of the twist are the state's to count (solid_state.h): take the least.
      double least = HUGE_VAL;
      for (int whole = -2; whole <= 2; ++whole) {
        Group u = t;
        u.now[4].x += 2 * kPi * whole;
        least = std::min(least, std::abs(RodBending::energy(u) - energy));
      }
      CHECK(least < 1e-11 * energy);
    }
  }
}

TEST_CASE("rod: frames may be carried from anywhere, with angles that follow") {
  const Group s = curved_rod(2);
  Group from = s;
  from.step.befores = 1, from.step.rate = 0;
  test::FixedNumbers random(9);
  for (int a = 0; a < 3; ++a) {
    from.before[0][a] = s.rest[a] + Vec3<double>{random.next(), random.next(), random.next()} * 0.3;
  }
  for (int j = 0; j < 2; ++j) {  // (1) of solid_state.h
    from.now[3 + j].x -= turn_of_segment(s.rest + j, from.before[0] + j, s.now + j);
  }
  CHECK(RodBending::energy(from) == doctest::Approx(RodBending::energy(s)).epsilon(1e-12));
}

TEST_CASE("rod: the angle of a clamped end is shared evenly, and takes its torque") {
  constexpr int n = 12;
  std::vector<double> points;
  for (int k = 0; k < n; ++k) points.insert(points.end(), {0.1 * k, 0, 0});
  RodOptions o;
  o.young = 1e6, o.radius = 0.02, o.gravity = {0, 0, 0}, o.inputs = {"twist"};
  o.held.assign(3 * n, 0);
  std::fill_n(o.held.begin(), 6, 1), std::fill(o.held.end() - 6, o.held.end(), 1);
  const System body = rod(points, o);
  const double angle = 0.4;
  const Equilibrium rest = equilibrium(body, {}, std::vector<double>{0, angle}, {}, 1);
  REQUIRE(rest.converged);
  const double* const twist = rest.state.data() + 6 * n;
  // Between the clamps lie n - 3 segments, whose middles are half a segment from the clamps.
  for (int j = 1; j + 2 < n; ++j) {
    CHECK(twist[j] == doctest::Approx(angle * (j - 0.5) / (n - 3)).epsilon(1e-10));
  }
  // W = ½ G J φ²/L, and the cotangent of the angle is the torque's share of what it moves.
  std::vector<double> bar(rest.state.size(), 0.0);
  bar[6 * n + 4] = 1;
  const auto g = rest.pullback(bar);
  CHECK(g.controls[1] == doctest::Approx(3.5 / (n - 3)).epsilon(1e-10));
  CHECK(g.controls[0] == doctest::Approx(1 - 3.5 / (n - 3)).epsilon(1e-10));
}

TEST_CASE("rod: refuses numbers that make no sense, with the reason") {
  const std::vector<double> points = {0, 0, 0, 1, 0, 0, 2, 0, 0};
  RodOptions o;
  o.poisson = 0.6;
  CHECK_THROWS_AS(rod(points, o), ParameterError);
  o.poisson = 0.3, o.inputs = {"twist"};
  CHECK_THROWS_AS(rod(points, o), ModelError);  // nothing is clamped
}

}  // namespace cycloid
