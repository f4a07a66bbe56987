#include "cycloid/system/laws/projectile.h"

#include <cmath>

#include "cycloid/system/integrator/rk4.h"
#include "tests/support/law_steps.h"

namespace cycloid::projectile_test {

using test::Numbers;
using test::take_steps;
using test::x_dot_of;

TEST_CASE("Projectile: without drag it flies the parabola, whatever the wind") {
  const Numbers p = {2.0, 0.0, 3, -1, 2, 9.81}, x0 = {1, 2, 3, 4, -5, 6};
  // RK4 integrates a polynomial of second degree exactly, up to the rounding of ten steps.
  const Numbers x = take_steps<Rk4>(Projectile{}, x0, {}, p, 0, 1.7, 10);
  const double t = 1.7;
  const Numbers expected = {1 + 4 * t, 2 - 5 * t, 3 + 6 * t - 0.5 * 9.81 * t * t,
                            4,         -5,        6 - 9.81 * t};
  CHECK(test::relative_error(x, expected) < 1e-14);
}

TEST_CASE(
    "Projectile: at √(m g / drag) below the wind it falls steadily; with the wind drag is zero") {
  const double m = 0.4, drag = 0.02, g = 9.81, v = std::sqrt(m * g / drag);
  const Numbers p = {m, drag, 3, -1, 2, g};
  const Numbers falling = x_dot_of(Projectile{}, {0, 0, 0, 3, -1, 2 - v}, {}, p);
  CHECK(falling[0] == 3);
  CHECK(falling[2] == 2 - v);
  CHECK(std::abs(falling[5]) < 1e-14 * g);
  CHECK(falling[3] == 0);
  const Numbers carried = x_dot_of(Projectile{}, {0, 0, 0, 3, -1, 2}, {}, p);
  CHECK(carried == Numbers{3, -1, 2, 0, 0, -g});
}

TEST_CASE("Projectile: drag is quadratic, and against the motion relative to the air") {
  const Numbers p = {2.0, 0.5, 1, 0, 0, 0};
  // Relative velocity (3, 0, 4), speed 5: -0.5/2 · 5 · (3, 0, 4).
  CHECK(x_dot_of(Projectile{}, {0, 0, 0, 4, 0, 4}, {}, p) == Numbers{4, 0, 4, -3.75, 0, -5});
}

TEST_CASE("Projectile::x_dot: pullback equals dual numbers with drag, without, and at the kink") {
  test::check_law_pullback("Projectile::x_dot", Projectile{},
                           {{0, 1, 2, 3, 4, -5, 6, 2.0, 0.3, 1, -2, 0.5, 9.81},
                            {0, 0, 0, 0, 1, 1, 1, 1.0, 0.0, 0, 0, 0, 9.81},
                            {0, 0, 0, 0, 1, -2, 0.5, 2.0, 0.3, 1, -2, 0.5, 9.81},  // v = wind
                            {0, 0, 0, 0, 0, 0, 0, 0.1, 0.5, 0, 0, 0, 9.81},  // at rest in calm air
                            {0, 0, 0, 0, 1e-9, 0, 0, 0.1, 0.5, 0, 0, 0, 9.81},  // nearly
                            {0, 0, 0, 0, 300, 1, -200, 0.1, 0.5, 20, 0, 0, 9.81}});
}

TEST_CASE("Projectile: energy is kinetic plus potential, and conserved by x_dot") {
  const Numbers p = {0.7, 0, 0.1, 0.2, 0.3, 9.81}, x = {1, 2, 3, 4, 5, 6};
  CHECK(Projectile{}.energy(x.data(), p.data()) ==
        doctest::Approx(0.7 * (0.5 * 77 + 9.81 * 3)).epsilon(1e-14));
  CHECK(std::abs(test::energy_rate(Projectile{}, x, p)) < 1e-12);  // of numbers below 100
}

TEST_CASE("Projectile::energy: pullback equals dual numbers, moving and at rest") {
  test::check_energy_pullback(
      "Projectile::energy", Projectile{},
      {{1, 2, 3, 4, 5, 6, 0.7, 0.2, 0.1, 0.2, 0.3, 9.81}, {0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 9.81}});
}

}  // namespace cycloid::projectile_test
