#include "cycloid/rigid/sense/limit_force.h"

#include "cycloid/rigid/constrained_case_test.h"
#include "cycloid/rigid/sense/sense_case_test.h"

namespace cycloid::limit_force_test {

using test::Numbers;
using test::SenseCase;
using test::SensorModel;

// held_robot with sensors of the limits of all joints and tendons, which hold nearly everywhere.
struct LimitedRobot : SensorModel {
  LimitedRobot() {
    model = test::held_robot(RigidIntegrator::euler);
    for (std::size_t i = 0; i < model.joints.size(); ++i) {
      Joint& j = model.joints[i];
      if (j.kind == JointKind::free) continue;
      j.range = j.kind == JointKind::ball ? Range{true, 0, 0.01} : Range{true, 1.5, 2};
      add(SensorKind::joint_limit_force, static_cast<int>(i));
      model.sensors.back().dimension = 1;
    }
    for (std::size_t i = 0; i < model.tendons.size(); ++i) {
      model.tendons[i].range = {true, 5, 6};
      add(SensorKind::tendon_limit_force, static_cast<int>(i));
      model.sensors.back().dimension = 1;
    }
  }
};

TEST_CASE("limit_force: pullback equals dual numbers for joints, balls and tendons") {
  const LimitedRobot robot;
  const SenseCase c(robot.model, 0.3);
  const Numbers shown = c.values();
  int pushing = 0;
  for (const double f : shown) {
    CHECK(f >= 0);
    pushing += f > 0;
  }
  CHECK(pushing > 3);
  // The solver stops at 1e-10 of the forces.
  test::check_pullback(
      "limit_force", c.list.size, [&](const auto* in, auto* out) { c.value(in, out); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
      {c.point}, test::PullbackOptions{.tolerance = 1e-8, .lane_tolerance = 1e-9});
}

TEST_CASE("limit_force: zero where no limit is near, or none acts") {
  LimitedRobot robot;
  for (Joint& j : robot.model.joints) {
    if (dof_numbers(j.kind) == 1) j.range = {true, -50, 50};
    if (j.kind == JointKind::ball) j.range = {true, 0, 3.1};
  }
  for (Tendon& t : robot.model.tendons) t.range.on = false;
  for (const double f : SenseCase(robot.model, 0.3).values()) CHECK(f == 0);
}

}  // namespace cycloid::limit_force_test
