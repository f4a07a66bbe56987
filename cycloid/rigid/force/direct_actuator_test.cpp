#include "cycloid/rigid/force/direct_actuator.h"

#include "cycloid/rigid/step_case_test.h"

namespace cycloid::direct_actuator_test {

using test::StepCase;
using test::StepKind;

// Motors and servos on every hinge and slide, plain, affine and held by their range, beside
// actuators of other kinds.
Model driven_robot() {
  Model m = test::two_trees();
  for (std::size_t j = 0; j < m.joints.size(); ++j) {
    if (dof_numbers(m.joints[j].kind) != 1) continue;
    Named<Actuator> a;
    a.target = static_cast<int>(j);
    a.gear[0] = 1.3;
    a.gain = {2, 0.3, -0.2};
    a.bias = {0.1, -0.4, -0.3};
    a.affine_gain = j % 2 == 0;
    a.affine_bias = j % 3 == 0;
    if (j % 4 == 1) a.force_range = {true, -1e-3, 1e-3};
    if (j % 4 == 2) a.control_range = {true, -1e-3, 1e-3};
    a.control = m.nu++;
    m.actuators.push_back(a);
  }
  return m;
}

TEST_CASE("direct_actuators: a step with their short form is the step with the general law") {
  const Model m = driven_robot();
  const StepCase general(m, 0.4, StepKind{.wrenches = false, .shortcut = false});
  const StepCase shortened(m, 0.4, StepKind{.wrenches = false, .shortcut = true});
  REQUIRE(shortened.tree.direct_actuators.size() > 1);
  REQUIRE(general.next0.size() == shortened.next0.size());
  for (std::size_t i = 0; i < general.next0.size(); ++i) {
    CHECK(shortened.next0[i] == doctest::Approx(general.next0[i]).epsilon(1e-13));
  }
}

TEST_CASE("direct_actuators: pullback equals dual numbers, affine and limited ones among them") {
  const Model m = driven_robot();
  int direct = 0, affine = 0, held = 0;
  const StepCase c(m, 0.4, StepKind{.wrenches = false, .shortcut = true});
  for (const DirectActuator& d : c.tree.direct_actuators) {
    ++direct;
    affine += d.affine_gain || d.affine_bias;
    held += m.actuators[static_cast<std::size_t>(d.actuator)].force_range.on;
  }
  REQUIRE(direct > affine);
  REQUIRE(affine > 0);
  REQUIRE(held > 0);
  // The step's own tolerance (step_test.cpp): a solve with the mass matrix is part of it.
  test::check_pullback(
      "add_direct_actuators", c.tangents, [&](const auto* in, auto* out) { c.value(in, out); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
      {c.point}, test::PullbackOptions{.tolerance = 1e-10, .lane_tolerance = 1e-11});
}

}  // namespace cycloid::direct_actuator_test
