#include "cycloid/system/integrator/reversible.h"

#include <doctest/doctest.h>

#include "cycloid/system/integrator/implicit_midpoint.h"
#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/integrator/verlet.h"
#include "cycloid/system/law/law_stepper.h"
#include "cycloid/system/laws/spring_chain.h"
#include "tests/support/pullback_check.h"
#include "tests/support/stepper_run.h"

namespace cycloid::reversible_test {

// A driven chain, one step there and back: what is left.
template <class Scheme>
double left_over(double damping) {
  const LawStepper<SpringChain, Scheme, double> stepper(SpringChain{2});
  const auto workspace = stepper.make_workspace({});
  test::RecordRoom record(stepper);
  const test::Numbers x = {1, -0.3, 0.5, 2}, u = {0.3, -0.2}, p = {0.7, 5.0, damping, 0.05};
  test::Numbers next(4), back(4);
  stepper.begin({p.data()}, *workspace);
  stepper.step({x.data(), u.data(), 7, 0.1}, next.data(), &record, *workspace);
  CHECK(test::relative_error(next, x) > 1e-3);
  const Reversible<double>* backwards = reversible<double>(&stepper);
  REQUIRE(backwards != nullptr);
  backwards->step_back({next.data(), u.data(), 7, 0.1}, back.data(), *workspace);
  return test::relative_error(back, x);
}

TEST_CASE("Reversible: verlet without damping and implicit midpoint undo their steps to rounding") {
  CHECK(left_over<VelocityVerlet>(0) < 1e-15);
  CHECK(left_over<ImplicitMidpoint>(0) < 1e-15);
  CHECK(left_over<ImplicitMidpoint>(2) < 1e-15);
  CHECK(left_over<VelocityVerlet>(2) > 1e-6);
}

TEST_CASE("Reversible: other integrators are not") {
  const LawStepper<SpringChain, Rk4, double> stepper(SpringChain{2});
  CHECK(reversible<double>(&stepper) == nullptr);
}

}  // namespace cycloid::reversible_test
