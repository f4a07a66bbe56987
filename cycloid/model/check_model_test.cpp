#include "cycloid/model/check_model.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "cycloid/base/error.h"
#include "cycloid/model/model_case_test.h"

namespace cycloid {
namespace {

// "" when it passes.
std::string refusal(const std::function<void(Model&)>& change) {
  Model m = test::small_robot();
  change(m);
  try {
    check_model(m);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

// A rangefinder of the camera with four pixels, and a projection onto its picture (mjtSensor,
// mjtObj).
Sensor& camera_rays(Sensor& s) {
  s.type = 7, s.object_type = 7, s.object = 0, s.reference = -1;
  s.fields = 1, s.columns = s.rows = 2, s.dimension = 4;
  s.numbers = {3, 3, 1, 1};
  return s;
}
Sensor& projection(Sensor& s) {
  s.type = 8, s.dimension = 2, s.reference_type = 7, s.reference = 0;
  return s;
}

}  // namespace

TEST_CASE("check_model: a robot with every kind of element passes") {
  CHECK(refusal([](Model&) {}) == "");
  CHECK(refusal([](Model& m) { m = {}, m.bodies.resize(1); }) == "");
  CHECK(refusal([](Model& m) { camera_rays(m.sensors[0]); }) == "");
  CHECK(refusal([](Model& m) { projection(m.sensors[0]).numbers = {3, 3, 1, 1}; }) == "");
}

TEST_CASE("check_model: names the element whose index leads nowhere") {
  struct Case {
    const char* text;
    std::function<void(Model&)> change;
  };
  const Case cases[] = {
      {"no bodies", [](Model& m) { m = {}; }},
      {"timestep is -1; expected a positive number", [](Model& m) { m.options.timestep = -1; }},
      {"nq is 3; expected 13", [](Model& m) { m.nq = 3; }},
      {"nv is", [](Model& m) { m.nv = 2000000000; }},
      {"the number of dofs", [](Model& m) { m.dofs.pop_back(); }},
      {"the number of qpos0", [](Model& m) { m.qpos0.clear(); }},
      {"na is 2000000000, too many", [](Model& m) { m.na = 2000000000; }},
      {"nu is -1", [](Model& m) { m.nu = -1; }},
      {"nmocap is 2; expected 1", [](Model& m) { m.nmocap = 2; }},
      {"trees is 9", [](Model& m) { m.trees = 9; }},
      {"body #1: parent is 1; expected from 0 to 0", [](Model& m) { m.bodies[1].parent = 1; }},
      {"body #0: parent", [](Model& m) { m.bodies[0].parent = -1; }},
      {"body #2: welded", [](Model& m) { m.bodies[2].welded = 3; }},
      {"body #2: tree is 2", [](Model& m) { m.bodies[2].tree = 2; }},
      {"body #2: tree is -1, and the body moves", [](Model& m) { m.bodies[2].tree = -1; }},
      {"body #5: mocap", [](Model& m) { m.bodies[5].mocap = 1; }},
      {"body #3: joints has 2 elements from 3",
       [](Model& m) { m.bodies[3].joints = 2, m.bodies[3].first_joint = 3; }},
      {"body #3: dofs", [](Model& m) { m.bodies[3].dofs = -1; }},
      {"body #2: first_joint is 0; expected 1", [](Model& m) { m.bodies[2].first_joint = 0; }},
      {"body #2: first_dof is 0", [](Model& m) { m.bodies[2].first_dof = 0; }},
      {"body #1: the body of a joint is 2", [](Model& m) { m.joints[0].body = 2; }},
      {"body #4: joints has a free joint", [](Model& m) { m.bodies[4].parent = 1; }},
      {"joint #1: qpos is 5", [](Model& m) { m.joints[1].qpos = 5; }},
      {"joint #1: dof is", [](Model& m) { m.joints[1].dof = 0; }},
      {"dof #2: joint is 0; expected 2", [](Model& m) { m.dofs[2].joint = 0; }},
      {"dof #2: body", [](Model& m) { m.dofs[2].body = 0; }},
      {"dof #2: parent is 2", [](Model& m) { m.dofs[2].parent = 2; }},
      {"site #1: body is 6", [](Model& m) { m.sites[1].body = 6; }},
      {"camera #0: body", [](Model& m) { m.cameras[0].body = -1; }},
      {"geom #0: body", [](Model& m) { m.geoms[0].body = 77; }},
      {"geom #1: condim is 5", [](Model& m) { m.geoms[1].condim = 5; }},
      {"contact pair #0: geom1", [](Model& m) { m.pairs[0].geom1 = 2; }},
      {"contact pair #0: geom2", [](Model& m) { m.pairs[0].geom2 = -1; }},
      {"contact pair #0: condim", [](Model& m) { m.pairs[0].condim = 0; }},
      {"exclusion #0: body1", [](Model& m) { m.exclusions[0].body1 = 6; }},
      {"exclusion #0: body2", [](Model& m) { m.exclusions[0].body2 = 6; }},
      {"equality #0: object1 is joint #3, which", [](Model& m) { m.equalities[0].object1 = 3; }},
      {"equality #0: object2", [](Model& m) { m.equalities[0].object2 = 4; }},
      {"equality #1: object is -1", [](Model& m) { m.equalities[1].object2 = -1; }},
      {"equality #1: object is 4", [](Model& m) { m.equalities[1].on_sites = true; }},
      {"equality #1: object1", [](Model& m) { m.equalities[1].kind = EqualityKind::tendon; }},
      {"tendon #1: wraps has 2 elements from 2", [](Model& m) { m.tendons[1].first_wrap = 2; }},
      {"wrap #0: object is joint #2", [](Model& m) { m.wraps[0].object = 2; }},
      {"wrap #1: object is 2", [](Model& m) { m.wraps[1].object = 2; }},
      {"wrap #0: kind", [](Model& m) { m.tendons[0].kind = TendonKind::spatial; }},
      {"actuator #0: target", [](Model& m) { m.actuators[0].target = 4; }},
      {"actuator #1: target", [](Model& m) { m.actuators[1].target = 2; }},
      {"actuator #1: reference_site", [](Model& m) { m.actuators[1].reference_site = 2; }},
      {"actuator #0: control", [](Model& m) { m.actuators[0].control = -1; }},
      {"actuator #1: act is -1", [](Model& m) { m.actuators[1].act = -1; }},
      {"sensor #0: object is 2", [](Model& m) { m.sensors[0].object = 2; }},
      {"sensor #0: dimension is 4; expected 3", [](Model& m) { m.sensors[0].dimension = 4; }},
      {"sensor #0: object_type", [](Model& m) { m.sensors[0].object_type = 3; }},
      {"sensor #0: object_type is 6; expected 3",
       [](Model& m) { m.sensors[0].type = 9, m.sensors[0].dimension = 1; }},
      {"sensor #0: reference",
       [](Model& m) { m.sensors[0].reference_type = 1, m.sensors[0].reference = 9; }},
      {"sensor #0: fields", [](Model& m) { m.sensors[0].type = 42; }},
      {"sensor #0: numbers have no focal lengths",
       [](Model& m) { camera_rays(m.sensors[0]).numbers[1] = 0; }},
      {"sensor #0: numbers have no focal lengths",
       [](Model& m) { camera_rays(m.sensors[0]).numbers[2] = NAN; }},
      {"sensor #0: numbers have no focal lengths", [](Model& m) { projection(m.sensors[0]); }},
      {"sensor #2: dimension", [](Model& m) { m.sensors[2].dimension = 2000000000; }},
      {"keyframe #0: the number of qpos is 2", [](Model& m) { m.keyframes[0].qpos.resize(2); }},
      {"keyframe #0: the number of mocap_quat", [](Model& m) { m.keyframes[0].mocap_quat = {}; }},
  };
  for (const Case& one : cases) {
    const std::string said = refusal(one.change);
    INFO(one.text << " | " << said);
    CHECK(said.find(one.text) != said.npos);
  }
}

TEST_CASE("check_model: numbers are finite, but for bounds, keyframes, sensors and cameras") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(refusal([&](Model& m) { m.options.timestep = -kInfinity; }) ==
        "timestep is -inf; expected a finite number");
  CHECK(refusal([&](Model& m) { m.geoms[1].soft.solimp[3] = NAN; }) ==
        "geoms #1: solimp is nan; expected a finite number");
  CHECK(refusal([&](Model& m) { m.joints[1].range.high = NAN; }) ==
        "joints #1: range is nan; expected a finite number");
  CHECK(refusal([&](Model& m) { m.qpos0[2] = kInfinity; }).starts_with("qpos0 is inf"));
  CHECK(refusal([&](Model& m) {
          m.joints[1].range.high = kInfinity;
          m.keyframes[0].qpos[0] = m.sensors[0].cutoff = m.cameras[0].pos[0] = NAN;
        }) == "");
}

}  // namespace cycloid
