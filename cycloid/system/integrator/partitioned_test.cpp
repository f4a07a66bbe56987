#include "cycloid/system/integrator/partitioned.h"

#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/integrator/semi_implicit.h"
#include "cycloid/system/integrator/verlet.h"
#include "tests/support/integrator_check.h"

namespace cycloid::partitioned_test {

using test::Numbers;

const Numbers kOrbit = {0.9, 0.3, -0.2, 1.1};

// The error after a fixed time, with so many steps.
template <class Scheme>
double orbit_error(int steps) {
  const Numbers exact = test::take_steps<Rk4>(Kepler{}, kOrbit, {}, {1}, 0, 2, 4000);
  return test::relative_error(test::take_steps<Scheme>(Kepler{}, kOrbit, {}, {1}, 0, 2, steps),
                              exact);
}

TEST_CASE("Partitioned: of order 1 and 2, and symplectic where the Hamiltonian is separable") {
  CHECK(orbit_error<PartitionedEuler>(200) / orbit_error<PartitionedEuler>(400) ==
        doctest::Approx(2).epsilon(0.05));
  CHECK(orbit_error<PartitionedVerlet>(200) / orbit_error<PartitionedVerlet>(400) ==
        doctest::Approx(4).epsilon(0.05));
  CHECK(test::symplectic_defect(
            test::step_jacobian<PartitionedEuler>(Kepler{}, kOrbit, {}, {1}, 0.2), 4) < 1e-14);
  CHECK(test::symplectic_defect(
            test::step_jacobian<PartitionedVerlet>(Kepler{}, kOrbit, {}, {1}, 0.2), 4) < 1e-14);
}

TEST_CASE("Partitioned: for q̇ = v the same as semi-implicit Euler and velocity Verlet") {
  const Numbers a = test::take_steps<PartitionedEuler>(Kepler{}, kOrbit, {}, {1}, 0, 1, 10),
                b = test::take_steps<SemiImplicitEuler>(Kepler{}, kOrbit, {}, {1}, 0, 1, 10),
                c = test::take_steps<PartitionedVerlet>(Kepler{}, kOrbit, {}, {1}, 0, 1, 10),
                d = test::take_steps<VelocityVerlet>(Kepler{}, kOrbit, {}, {1}, 0, 1, 10);
  CHECK(test::relative_error(a, b) < 1e-14);
  CHECK(test::relative_error(c, d) < 1e-14);
}

TEST_CASE("Partitioned::step: pullback equals dual numbers for x, u, p, t and h") {
  test::check_step_pullbacks<PartitionedEuler, true>("Partitioned::step");
  test::check_step_pullbacks<PartitionedVerlet, true>("Partitioned::step");
}

}  // namespace cycloid::partitioned_test
