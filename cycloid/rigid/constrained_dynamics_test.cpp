#include "cycloid/rigid/constrained_case_test.h"

using namespace cycloid;
using test::ConstrainedCase;
using test::StepKind;

namespace {

// How much a step with constraints differs from one without.
double effect(const Model& m, const ConstrainedCase& held) {
  Model free = m;
  free.options.acting.constraints = false;
  const test::StepCase c(free, 0.3, StepKind{.wrenches = false});
  double most = 0;
  for (std::size_t i = 0; i < c.next0.size(); ++i) {
    most = std::max(most, std::abs(c.next0[i] - held.next0[i]));
  }
  return most;
}

}  // namespace

TEST_CASE(
    "constrained_accelerate: a step's pullback equals dual numbers, in contact and at limits") {
  for (const auto integrator :
       {RigidIntegrator::euler, RigidIntegrator::implicitfast, RigidIntegrator::rk4}) {
    const Model m = test::held_robot(integrator);
    const ConstrainedCase c(m, 0.3, StepKind{.wrenches = false});
    REQUIRE(effect(m, c) > 0.01);
    // The solve stops at 1e-10 of the forces, and what a step has of it is multiplied by h.
    test::check_pullback(
        "constrained_accelerate", c.tangents, [&](const auto* in, auto* out) { c.value(in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
        {c.point}, test::PullbackOptions{.tolerance = 1e-9, .lane_tolerance = 1e-10});
  }
}

TEST_CASE("ConstrainedRecord: accelerations first, then so many slots, and two numbers for each") {
  const ConstrainedRecord slopes{.nv = 7, .slopes = true, .room = 24};
  CHECK(slopes.slots() == 14);
  CHECK(slopes.contacts() == 15);
  CHECK(slopes.most() == 15 + 48);
  CHECK(slopes.used(3) == 15 + 6);
  CHECK(slopes.used(-1) == 15);  // contacts that had no room are found again
  CHECK(ConstrainedRecord{.nv = 7, .slopes = false, .room = 24}.slots() == 7);
}
