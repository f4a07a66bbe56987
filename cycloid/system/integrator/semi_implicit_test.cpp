#include "cycloid/system/integrator/semi_implicit.h"

#include "tests/support/integrator_check.h"

namespace cycloid::semi_implicit_test {

using test::Numbers;

TEST_CASE("SemiImplicitEuler: the new velocity moves the position") {
  const Numbers x = test::take_steps<SemiImplicitEuler>(Pendulum{}, {0.5, 0.2}, {0.3},
                                                        {2.0, 1.0, 0.1, 9.81}, 0, 0.25, 1);
  const double v = 0.2 + 0.25 * ((0.3 - 0.1 * 0.2) / 4.0 - 9.81 / 2.0 * std::sin(0.5));
  CHECK(x[1] == doctest::Approx(v).epsilon(1e-14));
  CHECK(x[0] == doctest::Approx(0.5 + 0.25 * v).epsilon(1e-14));
}

TEST_CASE("SemiImplicitEuler: is of order 1, with quaternions too") {
  test::check_order<SemiImplicitEuler>(1, 4000);
}

TEST_CASE("SemiImplicitEuler: is symplectic when the force does not depend on velocity") {
  const Numbers orbit = {0.9, 0.3, -0.2, 1.1};
  const double defect = test::symplectic_defect(
      test::step_jacobian<SemiImplicitEuler>(Kepler{}, orbit, {}, {1}, 0.2), 4);
  CHECK(defect < 1e-15);
  // With damping it is not: the measure above can fail.
  const double damped = test::symplectic_defect(
      test::step_jacobian<SemiImplicitEuler>(Pendulum{}, {0.5, 0.2}, {0}, {1, 1, 0.3, 9.81}, 0.2),
      2);
  CHECK(damped > 0.01);
}

TEST_CASE(
    "SemiImplicitEuler::step: pullback equals dual numbers for x, u, p, t and h on every law") {
  test::check_step_pullbacks<SemiImplicitEuler>("SemiImplicitEuler::step");
}

}  // namespace cycloid::semi_implicit_test
