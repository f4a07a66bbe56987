#include "cycloid/system/laws/pendulum.h"

#include <cmath>
#include <numbers>

#include "tests/support/law_steps.h"

namespace cycloid::pendulum_test {

using test::Numbers;
using test::x_dot_of;

constexpr double kRounding = 1e-14;  // a handful of operations on numbers of order ten

const Numbers kParams = {0.7, 1.3, 0.4, 9.81};  // length, mass, damping, gravity

TEST_CASE("Pendulum: small oscillations have frequency √(g/l), about hanging and about upright") {
  const Numbers p = {0.7, 1.3, 0.0, 9.81};
  const double square = 9.81 / 0.7, small = 1e-7;  // sin θ = θ to small²/6
  CHECK(x_dot_of(Pendulum{}, {small, 0}, {0}, p)[1] / small ==
        doctest::Approx(-square).epsilon(1e-13));
  // π in double is exact to 1e-16 only, which is 1e-9 of `small`.
  CHECK(x_dot_of(Pendulum{}, {std::numbers::pi + small, 0}, {0}, p)[1] / small ==
        doctest::Approx(square).epsilon(1e-8));
}

TEST_CASE("Pendulum: a torque m g l holds it level, and gravity turns it at g/l without") {
  const double holding = 1.3 * 9.81 * 0.7;
  const Numbers level = {std::numbers::pi / 2, 0};
  CHECK(std::abs(x_dot_of(Pendulum{}, level, {holding}, kParams)[1]) < kRounding);
  CHECK(x_dot_of(Pendulum{}, level, {0}, kParams)[1] ==
        doctest::Approx(-9.81 / 0.7).epsilon(kRounding));
}

TEST_CASE("Pendulum: its energy changes by the power of torque and damper") {
  const auto [l, m, d, g] = std::array{0.7, 1.3, 0.4, 9.81};
  for (const double angle : {0.0, 0.3, 2.0, -7.0}) {
    const double w = 1.7, torque = 0.9;
    const Numbers dx = x_dot_of(Pendulum{}, {angle, w}, {torque}, kParams);
    const double energy_dot = m * l * l * w * dx[1] + m * g * l * std::sin(angle) * dx[0];
    CHECK(energy_dot == doctest::Approx((torque - d * w) * w).epsilon(1e-13));
  }
}

TEST_CASE("Pendulum::x_dot: pullback equals dual numbers, hanging, upright, damped, driven, far") {
  test::check_law_pullback("Pendulum::x_dot", Pendulum{},
                           {{0, 0.4, -1.1, 0.3, 0.7, 1.3, 0.4, 9.81},
                            {0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 9.81},
                            {0, std::numbers::pi, 0.0, 0.0, 1.0, 2.0, 0.1, 9.81},
                            {0, 2.5, 8.0, -3.0, 0.2, 0.1, 0.0, 1.62},
                            {0, 1000.0, 30.0, 5.0, 3.0, 4.0, 2.0, 0.0}});
}

TEST_CASE("Pendulum: energy is kinetic plus potential, and conserved by x_dot") {
  const Numbers p = {0.7, 1.3, 0.0, 9.81}, x = {0.4, -1.1};
  const double kinetic = 0.5 * 1.3 * 0.49 * 1.21, height = -0.7 * std::cos(0.4);
  CHECK(Pendulum{}.energy(x.data(), p.data()) ==
        doctest::Approx(kinetic + 1.3 * 9.81 * height).epsilon(1e-14));
  CHECK(std::abs(test::energy_rate(Pendulum{}, x, p)) < 1e-12);  // of numbers below 100
}

TEST_CASE("Pendulum::energy: pullback equals dual numbers, moving and at rest") {
  test::check_energy_pullback("Pendulum::energy", Pendulum{},
                              {{0.4, -1.1, 0.7, 1.3, 0.4, 9.81},
                               {std::numbers::pi, 0.0, 1.0, 2.0, 0.1, 9.81},
                               {0.0, 0.0, 1.0, 1.0, 0.0, 9.81}});
}

}  // namespace cycloid::pendulum_test
