#include "cycloid/system/integrator/implicit_midpoint.h"

#include "cycloid/system/law/law_stepper.h"
#include "tests/support/integrator_check.h"
#include "tests/support/stepper_run.h"

namespace cycloid::implicit_midpoint_test {

using test::Numbers;

double chain_energy(const Numbers& x, double mass, double stiffness) {
  const std::size_t n = x.size() / 2;
  double energy = 0, before = 0;
  for (std::size_t i = 0; i <= n; ++i) {
    const double here = i < n ? x[i] : 0;
    energy += 0.5 * stiffness * (here - before) * (here - before);
    if (i < n) energy += 0.5 * mass * x[n + i] * x[n + i];
    before = here;
  }
  return energy;
}

TEST_CASE("ImplicitMidpoint: is of order 2, with time too") {
  test::check_order<ImplicitMidpoint, true>(2, 100);
}

TEST_CASE("ImplicitMidpoint: a step is the Cayley transform of a linear law, for any length") {
  // ẋ = -λ x as the velocity of a damped mass: x⁺ = (1 - λh/2) / (1 + λh/2) x.
  for (const double lambda_h : {0.1, 10.0, 1e6}) {
    const Numbers x = test::take_steps<ImplicitMidpoint>(SpringChain{1}, {0.0, 1.0}, {0.0},
                                                         {1, 0, lambda_h}, 0, 1, 1);
    CHECK(x[1] == doctest::Approx((1 - lambda_h / 2) / (1 + lambda_h / 2)).epsilon(1e-14));
  }
}

TEST_CASE("ImplicitMidpoint: keeps a chain's energy and Kepler's angular momentum for 1e5 steps") {
  // Rounding walks: 1e5 steps of a few units in the last place each, √1e5 · 4 ε ≈ 3e-13; the bound
  // has room for a drift of the law's own rounding.
  const Numbers x0 = {1, 0, -0.5, 0, 0.3, 0}, p = {0.7, 5.0, 0.0};
  const Numbers x =
      test::take_steps<ImplicitMidpoint>(SpringChain{3}, x0, {0, 0, 0}, p, 0, 2e4, 100000);
  CHECK(std::abs(chain_energy(x, 0.7, 5) / chain_energy(x0, 0.7, 5) - 1) < 1e-11);
  CHECK(std::abs(x[0] - x0[0]) > 1e-3);  // it has moved
  const Numbers r0 = {0.7, 0, 0, 1.3};
  const Numbers r = test::take_steps<ImplicitMidpoint>(Kepler{}, r0, {}, {1}, 0, 5e3, 100000);
  CHECK(std::abs((r[0] * r[3] - r[1] * r[2]) / (0.7 * 1.3) - 1) < 1e-11);
}

TEST_CASE("ImplicitMidpoint: is symplectic, and its own inverse with the step reversed") {
  const Numbers x = {0.7, 0.1, -0.2, 1.3}, p = {1};
  CHECK(test::symplectic_defect(test::step_jacobian<ImplicitMidpoint>(Kepler{}, x, {}, p, 0.1), 4) <
        1e-13);
  const Numbers there = test::take_steps<ImplicitMidpoint>(Kepler{}, x, {}, p, 0, 0.5, 5);
  const Numbers back = test::take_steps<ImplicitMidpoint>(Kepler{}, there, {}, p, 0.5, 0, 5);
  CHECK(test::relative_error(back, x) < 1e-14);
}

TEST_CASE("ImplicitMidpoint::step: pullback equals dual numbers for x, u, p, t and h") {
  test::check_step_pullbacks<ImplicitMidpoint, true>("ImplicitMidpoint::step");
}

TEST_CASE("ImplicitMidpoint: a step that is not solved is noted, and its neighbours are not") {
  // Kepler from near the centre, with a step far beyond the time of the fall.
  using S = Pack<double, 4>;
  const LawStepper<Kepler, ImplicitMidpoint, S> stepper(Kepler{});
  const auto workspace = stepper.make_workspace({});
  test::RecordRoom record(stepper);
  test::LaneMemory<double> x(16), p(8), x_next(16);
  const test::Rows<double> states = {
      {0.7, 0, 0, 1.3}, {1e-3, 0, 1, 0.5}, {1, 0, 0, 1}, {2, 0, 0, 0.5}};
  test::to_lanes(states, 4, 4, x.data());
  test::to_lanes<double, double>({{1, 0.5}}, 2, 4, p.data());
  stepper.begin({p.data()}, *workspace);
  const StepStatus status =
      stepper.step({x.data(), nullptr, 0, 0}, x_next.data(), &record, *workspace);
  CHECK(status == StepStatus::short_of);
  const LaneNote* notes = stepper.notes(*workspace);
  CHECK(notes[0].residual == 0);
  CHECK(notes[1].residual > 1e-6);
  CHECK(notes[2].residual == 0);
  CHECK(notes[3].residual == 0);
}

}  // namespace cycloid::implicit_midpoint_test
