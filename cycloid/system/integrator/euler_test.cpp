#include "cycloid/system/integrator/euler.h"

#include "tests/support/integrator_check.h"

namespace cycloid::euler_test {

TEST_CASE("Euler: x + h x_dot, with time at the start of the step") {
  const test::Numbers p = {4.0, 0.6, 1.5, 1.3};
  const test::Numbers x =
      test::take_steps<Euler>(test::DrivenOscillator{}, {0.8, -0.4}, {0.2}, p, 2.0, 2.25, 1);
  const double a = 0.2 - 4.0 * 0.8 + 0.6 * 0.4 + 1.5 * std::cos(1.3 * 2.0);
  CHECK(x[0] == doctest::Approx(0.8 - 0.25 * 0.4).epsilon(1e-15));
  CHECK(x[1] == doctest::Approx(-0.4 + 0.25 * a).epsilon(1e-14));
}

TEST_CASE("Euler: is of order 1, with quaternions too") { test::check_order<Euler>(1, 4000); }

TEST_CASE("Euler::step: pullback equals dual numbers for x, u, p, t and h on every kind of law") {
  test::check_step_pullbacks<Euler>("Euler::step");
}

}  // namespace cycloid::euler_test
