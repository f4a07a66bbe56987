#include "cycloid/system/laws/kepler.h"

#include <cmath>

#include "tests/support/law_steps.h"

namespace cycloid::kepler_test {

using test::Numbers;
using test::x_dot_of;

TEST_CASE("Kepler: a circular orbit has speed √(mu/r) and acceleration v²/r towards the centre") {
  const double mu = 3.7, r = 2.0, v = std::sqrt(mu / r);
  for (const double angle : {0.0, 0.9, 2.4, -1.3}) {
    const double c = std::cos(angle), s = std::sin(angle);
    const Numbers dx = x_dot_of(Kepler{}, {r * c, r * s, -v * s, v * c}, {}, {mu});
    const Numbers expected = {-v * s, v * c, -v * v / r * c, -v * v / r * s};
    CHECK(test::relative_error(dx, expected) < 1e-15);
  }
}

TEST_CASE("Kepler: energy and angular momentum do not change") {
  const Numbers x = {1.2, -0.7, 0.4, 0.9};
  const Numbers dx = x_dot_of(Kepler{}, x, {}, {1.5});
  const double r3 = std::pow(std::hypot(x[0], x[1]), 3);
  const double energy_dot = x[2] * dx[2] + x[3] * dx[3] + 1.5 * (x[0] * dx[0] + x[1] * dx[1]) / r3;
  CHECK(std::abs(energy_dot) < 1e-15);
  CHECK(std::abs(x[0] * dx[3] - x[1] * dx[2]) < 1e-15);
}

TEST_CASE("Kepler: at the centre the acceleration is not finite") {
  const Numbers dx = x_dot_of(Kepler{}, {0, 0, 1, 1}, {}, {1});
  CHECK_FALSE(std::isfinite(dx[2]));
  CHECK_FALSE(std::isfinite(dx[3]));
}

TEST_CASE("Kepler::x_dot: pullback equals dual numbers near, far and in free fall") {
  test::check_law_pullback("Kepler::x_dot", Kepler{},
                           {{0, 1, 0, 0, 1, 1},
                            {0, 0.02, -0.01, 3, 5, 1},
                            {0, -300, 40, 0.1, 0.2, 5},
                            {0, 0, 1, 0, 0, 1}});
}

TEST_CASE("Kepler: energy is kinetic plus potential, and conserved by x_dot") {
  const Numbers p = {0.7}, x = {3, -4, 1, 2};
  CHECK(Kepler{}.energy(x.data(), p.data()) == doctest::Approx(0.5 * 5 - 0.7 / 5).epsilon(1e-14));
  CHECK(std::abs(test::energy_rate(Kepler{}, x, p)) < 1e-12);  // of numbers below 100
}

TEST_CASE("Kepler::energy: pullback equals dual numbers, moving and at rest") {
  test::check_energy_pullback("Kepler::energy", Kepler{}, {{1, 2, -3, 4, 0.7}, {1, 0, 0, 1, 1}});
}

}  // namespace cycloid::kepler_test
