#include "cycloid/system/laws/double_pendulum.h"

#include <cmath>
#include <numbers>

#include "tests/support/law_steps.h"

namespace cycloid::double_pendulum_test {

using std::numbers::pi;
using test::Numbers;
using test::x_dot_of;

enum { kL1, kL2, kM1, kM2, kD1, kD2, kG };
const Numbers kParams = {0.8, 1.3, 1.1, 0.6, 0.2, 0.3, 9.81};
const Numbers kTorques = {0.7, -0.4};
const std::vector<Numbers> kStates = {
    {0.3, -0.8, 1.2, 0.5}, {0, 0, 0, 0},          {pi, pi, 0.1, -0.2}, {1.5, 1.5, 2.0, 2.0},
    {2.9, -0.4, -6, 9},    {0.7, 0.7 + pi, 3, 4}, {40, -55, 1, 1}};

// Kinetic minus potential energy, from the masses' positions in the plane.
template <class S>
S lagrangian(const S* angle, const S* rate, const Numbers& p) {
  const S x1_dot = p[kL1] * cos(angle[0]) * rate[0], y1_dot = p[kL1] * sin(angle[0]) * rate[0];
  const S x2_dot = x1_dot + p[kL2] * cos(angle[1]) * rate[1];
  const S y2_dot = y1_dot + p[kL2] * sin(angle[1]) * rate[1];
  const S y1 = -p[kL1] * cos(angle[0]), y2 = y1 - p[kL2] * cos(angle[1]);
  return 0.5 * p[kM1] * (x1_dot * x1_dot + y1_dot * y1_dot) +
         0.5 * p[kM2] * (x2_dot * x2_dot + y2_dot * y2_dot) - p[kG] * (p[kM1] * y1 + p[kM2] * y2);
}

// d/dt ∂L/∂ω_i - ∂L/∂θ_i along the motion with accelerations `alpha`: the outer dual is time, the
// inner ones are θ_i and ω_i.
double lagrange_force(int i, const Numbers& x, const double* alpha, const Numbers& p) {
  using Inner = Dual<double, 2>;
  using Outer = Dual<Inner, 1>;
  Outer angle[2], rate[2];
  for (int j = 0; j < 2; ++j) {
    angle[j] = Outer(i == j ? Inner::variable(x[j], 0) : Inner(x[j]));
    rate[j] = Outer(i == j ? Inner::variable(x[2 + j], 1) : Inner(x[2 + j]));
    angle[j].tangent[0] = Inner(x[2 + j]);
    rate[j].tangent[0] = Inner(alpha[j]);
  }
  const Outer L = lagrangian(angle, rate, p);
  return L.tangent[0].tangent[1] - L.value.tangent[0];
}

TEST_CASE(
    "DoublePendulum: its accelerations satisfy Lagrange's equations, derived by dual numbers") {
  for (const Numbers& x : kStates) {
    const Numbers dx = x_dot_of(DoublePendulum{}, x, kTorques, kParams);
    CHECK(dx[0] == x[2]);
    CHECK(dx[1] == x[3]);
    // Virtual work: joint 1 turns θ₁, joint 2 turns θ₂ - θ₁.
    const double joint1 = kTorques[0] - kParams[kD1] * x[2];
    const double joint2 = kTorques[1] - kParams[kD2] * (x[3] - x[2]);
    // The terms of the equations are of order 100; they cancel.
    CHECK(std::abs(lagrange_force(0, x, &dx[2], kParams) - (joint1 - joint2)) < 1e-12);
    CHECK(std::abs(lagrange_force(1, x, &dx[2], kParams) - joint2) < 1e-12);
  }
}

TEST_CASE("DoublePendulum: its energy changes by the power of torques and dampers") {
  for (const Numbers& x : kStates) {
    const Numbers dx = x_dot_of(DoublePendulum{}, x, kTorques, kParams);
    // E = ω ∂L/∂ω - L with quadratic kinetic energy is L(θ, ω) - 2 L(θ, 0) with the sign of T
    // turned.
    using D = Dual<double, 1>;
    D angle[2], rate[2], still[2] = {D(0.0), D(0.0)};
    for (int j = 0; j < 2; ++j) {
      angle[j] = D(x[j]), rate[j] = D(x[2 + j]);
      angle[j].tangent[0] = dx[j], rate[j].tangent[0] = dx[2 + j];
    }
    const D energy = lagrangian(angle, rate, kParams) - 2.0 * lagrangian(angle, still, kParams);
    const double w1 = x[2], w21 = x[3] - x[2];
    const double power =
        kTorques[0] * w1 + kTorques[1] * w21 - kParams[kD1] * w1 * w1 - kParams[kD2] * w21 * w21;
    CHECK(std::abs(energy.tangent[0] - power) < 1e-12);
  }
}

TEST_CASE("DoublePendulum: with a vanishing second mass the first swings as a pendulum") {
  Numbers p = {0.8, 1.3, 1.1, 1e-12, 0, 0, 9.81};
  const Numbers dx = x_dot_of(DoublePendulum{}, {0.3, -0.8, 0, 0}, {0, 0}, p);
  CHECK(dx[2] == doctest::Approx(-9.81 / 0.8 * std::sin(0.3)).epsilon(1e-11));
}

TEST_CASE("DoublePendulum::x_dot: pullback equals dual numbers, damped or not, in line or folded") {
  std::vector<Numbers> points;
  for (const Numbers& x : kStates) {
    Numbers point = {0};
    point.insert(point.end(), x.begin(), x.end());
    point.insert(point.end(), kTorques.begin(), kTorques.end());
    point.insert(point.end(), kParams.begin(), kParams.end());
    points.push_back(point);
  }
  points.push_back({0, 0.3, -0.8, 1.2, 0.5, 0, 0, 1, 1, 1, 1, 0, 0, 9.81});
  points.push_back({0, 0.3, -0.8, 1.2, 0.5, 0, 0, 1, 0.1, 10, 0.1, 0, 0.5, 0});
  test::check_law_pullback("DoublePendulum::x_dot", DoublePendulum{}, points);
}

TEST_CASE("DoublePendulum: energy is kinetic plus potential, and conserved by x_dot") {
  // From the masses' positions and velocities.
  const Numbers p = {0.8, 0.9, 1.2, 2.1, 0, 0, 9.81}, x = {0.4, -1.1, 0.7, 1.3};
  const double vx = 0.8 * std::cos(0.4) * 0.7, vy = 0.8 * std::sin(0.4) * 0.7,
               wx = vx + 0.9 * std::cos(-1.1) * 1.3, wy = vy + 0.9 * std::sin(-1.1) * 1.3,
               y1 = -0.8 * std::cos(0.4), y2 = y1 - 0.9 * std::cos(-1.1);
  CHECK(DoublePendulum{}.energy(x.data(), p.data()) ==
        doctest::Approx(0.6 * (vx * vx + vy * vy) + 1.05 * (wx * wx + wy * wy) +
                        9.81 * (1.2 * y1 + 2.1 * y2))
            .epsilon(1e-14));
  CHECK(std::abs(test::energy_rate(DoublePendulum{}, x, p)) < 1e-12);  // of numbers below 100
}

TEST_CASE("DoublePendulum::energy: pullback equals dual numbers, moving and at rest") {
  test::check_energy_pullback("DoublePendulum::energy", DoublePendulum{},
                              {{0.4, -1.1, 0.7, 1.3, 0.8, 0.9, 1.2, 2.1, 0.3, 0.1, 9.81},
                               {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 9.81}});
}

}  // namespace cycloid::double_pendulum_test
