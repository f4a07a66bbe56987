#include "cycloid/system/integrator/unrolled_midpoint.h"

#include "cycloid/system/integrator/implicit_midpoint.h"
#include "cycloid/system/law/law_stepper.h"
#include "tests/support/integrator_check.h"
#include "tests/support/stepper_run.h"

namespace cycloid::unrolled_midpoint_test {

using test::Numbers;

// Everything that a step of the pendulum and its pullback give.
template <class Scheme>
Numbers of_pendulum() {
  const LawStepper<Pendulum, Scheme, double> stepper(Pendulum{});
  const auto out = test::run_step(stepper, {{2.0, -1.1}}, {{0.3}}, {{0.7, 1.3, 0.4, 9.81, 0.02}},
                                  {{0.6, -0.8}}, 3);
  Numbers all = out.x_next[0];
  for (const Numbers& part : {out.x_bar[0], out.u_bar[0], out.p_bar[0]}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST_CASE("UnrolledMidpoint: is of order 2 once it has iterated twice") {
  test::check_order<UnrolledMidpoint<4>, true>(2, 100);
}

TEST_CASE("UnrolledMidpoint::step: pullback equals dual numbers for x, u, p, t and h") {
  test::check_step_pullbacks<UnrolledMidpoint<3>, true>("UnrolledMidpoint::step");
}

TEST_CASE(
    "UnrolledMidpoint: its gradient goes to the implicit one, and its record grows on the way") {
  // Each iteration gains a factor of about ½ h √(g/l) = 0.04, and a little less in the gradient.
  const Numbers implicit = of_pendulum<ImplicitMidpoint>();
  CHECK(test::relative_error(of_pendulum<UnrolledMidpoint<1>>(), implicit) > 1e-4);
  CHECK(test::relative_error(of_pendulum<UnrolledMidpoint<4>>(), implicit) < 1e-4);
  CHECK(test::relative_error(of_pendulum<UnrolledMidpoint<16>>(), implicit) < 1e-13);

  const auto record = [](const auto& stepper) { return stepper.sizes().record; };
  CHECK(record(LawStepper<Pendulum, ImplicitMidpoint, double>(Pendulum{})) == 2);
  CHECK(record(LawStepper<Pendulum, UnrolledMidpoint<4>, double>(Pendulum{})) == 10);
  CHECK(record(LawStepper<Pendulum, UnrolledMidpoint<16>, double>(Pendulum{})) == 34);
}

}  // namespace cycloid::unrolled_midpoint_test
