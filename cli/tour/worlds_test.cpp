#include "cli/tour/worlds.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"

namespace cycloid::tour {
namespace {

TEST_CASE("worlds: a humanoid's gradient agrees with differences, and its fall is drawn") {
  const HumanoidResult r = drop_humanoid();
  if (!r.reason.empty()) {  // without MuJoCo's compiler it is left out
    CHECK(r.ok());
    return;
  }
  CHECK(r.gradient_ok);
  CHECK(r.gradient_error > 0);
  CHECK(r.dofs > 20);
  CHECK(r.parameters > 500);
  CHECK(r.mujoco_differences_us > r.mujoco_step_us);
  REQUIRE(r.scene.frames() == 101);
  CHECK(r.scene.poses.back()[9] < 0.7 * r.scene.poses.front()[9]);  // the torso's height
}

TEST_CASE("worlds: a block is pushed to its goal, and arrows point there") {
  const PushResult r = push_block();
  if (!r.reason.empty()) return;
  CHECK(r.ok());
  CHECK(r.silent == 0);  // the exact gradient before anything touches
  REQUIRE(r.scene.arrows.size() == r.scene.frames());
  CHECK(r.scene.arrows.front()[6] > 0);  // the finger is wanted ahead, from a distance
  CHECK(r.scene.arrows.front()[3] > 0);
}

TEST_CASE("worlds: a finger's stiffness is found by its gradient") {
  const FingerResult r = bend_finger();
  CHECK(r.ok());
  CHECK(r.young > 1e4);
  CHECK(r.scene.frames() == 41);
  double top = 0;
  for (const double s : r.scene.stress.back()) top = std::max(top, s);
  CHECK(top > 0.5);
}

TEST_CASE("worlds: the drag's derivative by the radius agrees with differences") {
  const StreamResult r = follow_stream();
  CHECK(r.ok());
  CHECK(r.slope > 0);
  CHECK(r.scene.frames() == 51);
}

TEST_CASE("worlds: a network learns a pendulum and gets a verdict") {
  const PupilResult r = teach_pendulum();
  CHECK(r.ok());
  CHECK(!r.verdict.empty());
  CHECK(r.scene.frames() == 161);
}

TEST_CASE("worlds: a story stops when it is asked to") {
  CHECK_THROWS_AS(follow_stream([] { return false; }), Interrupted);
}

TEST_CASE("worlds: a scene goes to the page in whole numbers") {
  MovingScene scene;
  scene.poses = {{0.12345, 0, 1, 1, 0, 0, 0}};
  scene.field = {{-1, 0, 1}};
  const nlohmann::ordered_json json = to_json(scene);
  CHECK(json["poses"][0][0] == 1235);  // [0.1 mm]
  CHECK(json["field"][0] == "0080ff");
  CHECK(json["frames"] == 1);
}

}  // namespace
}  // namespace cycloid::tour
