#include "cycloid/rigid/still_stepper.h"

#include <doctest/doctest.h>

#include <vector>

#include "cycloid/rigid/forward.h"
#include "cycloid/rigid/robot.h"
#include "tests/support/robots.h"

namespace cycloid::still_stepper_test {

Model post() {
  test::RobotBuilder builder;
  builder.site(builder.body(0, -1));
  return builder.model;
}

TEST_CASE("still_stepper: a robot without joints has no state, and steps") {
  const System robot = make_robot(post());
  CHECK(robot.states().size() == 0);
  CHECK(robot.initial_state().empty());
  CHECK(robot.parameters().size() > 0);
  const Stepper<double>& stepper = *robot.steppers<double>().one;
  CHECK(stepper.sizes().state == 0);
  CHECK(stepper.sizes().parameters == robot.parameters().size());
  const auto workspace = stepper.make_workspace({});
  CHECK(stepper.step({nullptr, nullptr, 0, 0.0}, nullptr, nullptr, *workspace) == StepStatus::ok);
}

TEST_CASE("still_stepper: nothing depends on the parameters") {
  const StillStepper<double> stepper(2, 3);
  std::vector<double> p_bar(3, 7.0), u_bar(2, 5.0);
  const auto workspace = stepper.make_workspace({});
  stepper.begin({}, *workspace);
  stepper.pullback({nullptr, nullptr, 0, 0.0}, {}, nullptr, nullptr, u_bar.data(), *workspace);
  stepper.finish(*workspace, p_bar.data());
  CHECK(p_bar == std::vector<double>(3, 0.0));
  CHECK(u_bar == std::vector<double>(2, 5.0));  // added to, not assigned
}

TEST_CASE("still_stepper: what does not move still has a place") {
  const Model model = post();
  const System robot = make_robot(model);
  const Forward one = forward(robot, {}), three = forward(robot, {.states = {}, .rows = 3});
  CHECK(one.checked.rows == 1);
  CHECK(one.qacc.empty());
  REQUIRE(three.site_pos.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) CHECK(three.site_pos[i] == one.site_pos[i % 3]);
}

}  // namespace cycloid::still_stepper_test
