#include "cycloid/system/integrator/verlet.h"

#include "tests/support/integrator_check.h"

namespace cycloid::verlet_test {

using test::Numbers;

const Numbers kOrbit = {0.9, 0.3, -0.2, 1.1};

double orbit_energy(const Numbers& x) {
  return 0.5 * (x[2] * x[2] + x[3] * x[3]) - 1 / std::hypot(x[0], x[1]);
}

TEST_CASE("VelocityVerlet: one step of free fall is exact") {
  // Far out on a huge stiff-free chain a constant force: q = q0 + v t + ½ u/m t².
  const Numbers x = test::take_steps<VelocityVerlet>(SpringChain{1}, {1.0, 2.0}, {3.0},
                                                     {1.5, 0.0, 0.0}, 0, 0.5, 1);
  CHECK(x[0] == doctest::Approx(1.0 + 2.0 * 0.5 + 0.5 * 2.0 * 0.25).epsilon(1e-15));
  CHECK(x[1] == doctest::Approx(2.0 + 2.0 * 0.5).epsilon(1e-15));
}

TEST_CASE("VelocityVerlet: is of order 2, also with damping, with time and with quaternions") {
  test::check_order<VelocityVerlet>(2, 400);
}

TEST_CASE("VelocityVerlet: is symplectic and runs backwards when the force ignores velocity") {
  CHECK(test::symplectic_defect(test::step_jacobian<VelocityVerlet>(Kepler{}, kOrbit, {}, {1}, 0.2),
                                4) < 1e-15);
  const Numbers there = test::take_steps<VelocityVerlet>(Kepler{}, kOrbit, {}, {1}, 0, 20, 200);
  const Numbers back = test::take_steps<VelocityVerlet>(Kepler{}, there, {}, {1}, 20, 0, 200);
  // Rounding alone remains, 400 steps of it, stretched by the orbit's shear.
  CHECK(test::relative_error(back, kOrbit) < 1e-12);
  // Damping breaks both.
  const Numbers damped = {1, 1, 0.3, 9.81};
  CHECK(test::symplectic_defect(
            test::step_jacobian<VelocityVerlet>(Pendulum{}, {0.5, 0.2}, {0}, damped, 0.2), 2) >
        0.01);
}

TEST_CASE("VelocityVerlet: the energy of an orbit swings, but does not drift") {
  const double start = orbit_energy(kOrbit);
  Numbers x = kOrbit;
  double early = 0, late = 0;
  for (int i = 0; i < 400; ++i) {
    x = test::take_steps<VelocityVerlet>(Kepler{}, x, {}, {1}, 0, 5, 100);
    const double error = std::abs(orbit_energy(x) - start);
    (i < 200 ? early : late) = std::max(i < 200 ? early : late, error);
  }
  CHECK(early < 2e-3);
  CHECK(late < 1.05 * early);
}

TEST_CASE("VelocityVerlet::step: pullback equals dual numbers for x, u, p, t and h on every law") {
  test::check_step_pullbacks<VelocityVerlet>("VelocityVerlet::step");
}

}  // namespace cycloid::verlet_test
