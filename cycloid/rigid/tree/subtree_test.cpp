#include "cycloid/rigid/tree/subtree.h"

#include "cycloid/rigid/sense/sense_case_test.h"

namespace cycloid::subtree_test {

using test::Numbers;

TEST_CASE("subtree_motion: pullback equals dual numbers, also over trees and bodies at rest") {
  test::SensorModel s;
  s.add_subtrees();
  test::check_sense("subtree_motion", s.model);
}

// Two balls on slides: everything by hand.
TEST_CASE("subtree_motion: centre of mass, velocity and angular momentum of two points") {
  test::RobotBuilder builder;
  for (int tree = 0; tree < 2; ++tree) {
    builder.joint(builder.body(0, tree), JointKind::slide);
    Body& b = builder.model.bodies.back();
    Joint& j = builder.model.joints.back();
    b.mass = tree == 0 ? 1 : 3;
    b.pos = tree == 0 ? std::array<double, 3>{1, 0, 0} : std::array<double, 3>{-1, 0, 0};
    b.quat = {1, 0, 0, 0};
    b.com = {};
    b.inertia = {0.1, 0.1, 0.1, 0, 0, 0};
    j.axis = {0, 1, 0};
    j.qpos0[0] = 0;
  }
  const Tree tree(builder.model);
  test::RigidMemory<double> memory(tree);
  const Numbers p = tree.parameters.default_values(), q{0.0, 0.0}, v{2.0, -1.0};
  const InputPlaces inputs;
  const Robot<double, double> r{tree, inputs, p.data(), Implicit::nothing};
  place_bodies(r, {q.data(), v.data(), nullptr, nullptr}, memory.work);
  const SubtreeMotion<double> all =
      subtree_motion(tree, p.data(), 0, memory.work.frames, memory.work.inertia, memory.work.v);
  CHECK(all.mass == 4);
  CHECK(all.com.x == doctest::Approx(-0.5));
  CHECK(all.velocity.y == doctest::Approx(-0.25));
  // reduced mass ¾ kg, 2 m apart, 3 m/s against each other
  CHECK(all.angular.z == doctest::Approx(0.75 * 2 * 3));
  CHECK(std::abs(all.angular.x) + std::abs(all.angular.y) < 1e-15);
}

TEST_CASE("subtree_motion: a subtree without mass is where its body is") {
  test::SensorModel s;
  s.model.bodies.back().mass = 0;
  s.add(SensorKind::subtree_com, 9);
  s.add(SensorKind::subtree_linear_velocity, 9);
  s.add(SensorKind::frame_position, 9, ObjectKind::body);
  const Numbers y = test::SenseCase(s.model).values();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(y[i] == doctest::Approx(y[6 + i]));
    CHECK(y[3 + i] == 0);
  }
}

}  // namespace cycloid::subtree_test
