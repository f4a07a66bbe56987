#include "cycloid/system/integrator/rk4.h"

#include "tests/support/integrator_check.h"

namespace cycloid::rk4_test {

using test::Numbers;

Vec3<double> angular_momentum(const Numbers& x, const Numbers& p) {
  return rotate(load_quat(x.data()), Vec3<double>{p[0] * x[4], p[1] * x[5], p[2] * x[6]});
}

double kinetic_energy(const Numbers& x, const Numbers& p) {
  return 0.5 * (p[0] * x[4] * x[4] + p[1] * x[5] * x[5] + p[2] * x[6] * x[6]);
}

TEST_CASE("Rk4: integrates a cubic in time exactly, and the exponential to its fourth term") {
  // ẋ = -x over one step of ½, as the velocity of a damped mass.
  const Numbers x = test::take_steps<Rk4>(SpringChain{1}, {0.0, 1.0}, {0.0}, {1, 0, 1}, 0, 0.5, 1);
  const double h = 0.5;
  CHECK(x[1] ==
        doctest::Approx(1 - h + h * h / 2 - h * h * h / 6 + h * h * h * h / 24).epsilon(1e-15));
}

TEST_CASE("Rk4: is of order 4, with time and with quaternions too") {
  test::check_order<Rk4>(4, 60);
}

TEST_CASE("Rk4: a free rigid body keeps its energy and its angular momentum in the world") {
  const Numbers x0 = {0.5, 0.5, -0.5, 0.5, 0.1, 2.0, -0.1}, p = {1, 2, 3, 0};
  const Numbers x = test::take_steps<Rk4>(test::Dipole{}, x0, {0, 0, 0}, p, 0, 20, 4000);
  // It has turned over meanwhile: the middle axis is unstable.
  double lowest = 2;
  Numbers along = x0;
  for (int i = 0; i < 40; ++i) {
    along = test::take_steps<Rk4>(test::Dipole{}, along, {0, 0, 0}, p, 0, 0.5, 50);
    lowest = std::min(lowest, along[5]);
  }
  CHECK(lowest < -1.5);
  CHECK(kinetic_energy(x, p) == doctest::Approx(kinetic_energy(x0, p)).epsilon(1e-10));
  CHECK(norm(angular_momentum(x, p) - angular_momentum(x0, p)) < 1e-9);
  CHECK(std::abs(norm(load_vec<4>(x.data())) - 1) < 1e-13);
}

TEST_CASE("Rk4::step: pullback equals dual numbers for x, u, p, t and h on every kind of law") {
  test::check_step_pullbacks<Rk4>("Rk4::step");
}

}  // namespace cycloid::rk4_test
