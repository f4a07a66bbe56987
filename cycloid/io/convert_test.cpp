#include "cycloid/io/convert.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "cycloid/io/load.h"

namespace cycloid {
namespace {

// A rotated matrix: a few roundings.
constexpr double kRounding = 1e-14;
// MuJoCo finds principal axes by an iteration that stops at 1e-12.
constexpr double kPrincipalAxes = 1e-12;

constexpr const char* kEverything = R"(<mujoco model="everything">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.003" gravity="1 2 3" wind="4 5 6" density="7" viscosity="8" impratio="9"
          integrator="implicitfast" actuatorgroupdisable="2 30">
    <flag constraint="disable" spring="disable" eulerdamp="disable"/></option>
  <worldbody>
    <camera name="eye" pos="0 0 5"/>
    <site name="hook" pos="0 0 2"/>
    <body name="puppet" mocap="true" pos="3 0 0" quat="0 1 0 0"><geom name="marker" size=".1"/>
</body>
    <body name="base" pos="0 0 1" gravcomp="0.5">
      <freejoint name="root"/>
      <inertial pos=".1 .2 .3" mass="4" fullinertia="1 2 2.5 .1 .2 .3"/>
      <site name="tip" pos=".5 0 0" quat="0 0 1 0"/>
      <body name="thigh" pos="0 .5 0" quat="0 0 0 1">
        <joint name="hip" type="hinge" axis="0 3 0" pos=".01 .02 .03" ref=".4" springref=".7"
               stiffness="10 11 12" damping="1 2 3" armature=".05" frictionloss=".06"
               range="-1 1.5" actuatorfrcrange="-20 30" actuatorgravcomp="true"/>
        <joint name="slip" type="slide" axis="0 0 1" damping="7"/>
        <geom name="bone" type="box" size=".1 .2 .3" mass="2" pos="0 0 -.1"/>
        <body name="foot" pos="0 0 -.5"><joint name="ankle" type="ball" damping=".3" stiffness="2"/>
          <geom size=".1" mass="1"/></body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="sum" stiffness="3 4 5" damping="6 7 8" springlength=".1 .2" armature=".9"
           frictionloss=".4" range="-2 2" actuatorfrcrange="-5 6">
      <joint joint="hip" coef="2"/><joint joint="slip" coef="-3"/></fixed>
    <spatial name="rope"><site site="hook"/><site site="tip"/><pulley divisor="2"/>
      <site site="tip"/><site site="hook"/></spatial>
  </tendon>
  <actuator>
    <general name="servo" joint="hip" gear="3" ctrlrange="-1 2" forcerange="-7 8" gaintype="affine"
             gainprm="1 2 3" biastype="affine" biasprm="4 5 6" dyntype="filterexact" dynprm=".25"
             actrange="-4 4" actearly="true" damping="1 2 3" armature=".5" group="2"/>
    <motor name="pull" tendon="sum" gear="2"/>
    <motor name="jet" site="tip" refsite="hook" gear="1 2 3 4 5 6"/>
    <motor name="turn" jointinparent="ankle" gear="1 2 3"/>
    <intvelocity name="drift" joint="slip" kp="9" actrange="-1 1"/>
    <cylinder name="piston" joint="slip" timeconst=".7" group="30"/>
  </actuator>
  <sensor>
    <jointpos name="angle" joint="hip" cutoff="2"/>
    <framequat name="facing" objtype="body" objname="foot" reftype="site" refname="hook"/>
    <user name="far" dim="1"/>
    <gyro name="late" site="tip" nsample="4" delay=".006"/>
    <clock name="time"/>
  </sensor>
  <keyframe><key name="home" time="1.5" qvel="1 2 3 4 5 6 7 8 9 10 11" act=".1 .2 .3"
                 ctrl="1 2 3 4 5 6" mpos="7 8 9"/></keyframe>
</mujoco>)";

TEST_CASE("convert: options, flags and sizes") {
  const Model m = load_model(kEverything);
  CHECK(m.name == "everything");
  CHECK(m.options.integrator == RigidIntegrator::implicitfast);
  CHECK(m.options.timestep == 0.003);
  CHECK(m.options.gravity == std::array<double, 3>{1, 2, 3});
  CHECK(m.options.wind == std::array<double, 3>{4, 5, 6});
  CHECK(m.options.density == 7);
  CHECK(m.options.viscosity == 8);
  CHECK(m.options.impratio == 9);
  CHECK_FALSE(m.options.acting.springs);
  CHECK(m.options.acting.dampers);
  CHECK(m.options.acting.gravity);
  CHECK(m.options.acting.actuation);
  CHECK(m.options.acting.control_limits);
  CHECK_FALSE(m.options.acting.euler_damping);
  CHECK_FALSE(m.options.acting.constraints);
  CHECK(m.nq == 13);
  CHECK(m.nv == 11);
  CHECK(m.nu == 6);
  CHECK(m.na == 3);
  CHECK(m.nmocap == 1);
  CHECK(m.trees == 1);
  CHECK(m.qpos0.size() == 13);
  CHECK(m.qpos0[7] == 0.4);
}

TEST_CASE("convert: bodies, joints and dofs") {
  const Model m = load_model(kEverything);
  REQUIRE(m.bodies.size() == 5);
  const Body &puppet = m.bodies[1], &base = m.bodies[2], &thigh = m.bodies[3];
  CHECK(m.bodies[0].name == "world");
  CHECK(puppet.mocap == 0);
  CHECK(puppet.tree == -1);
  CHECK(puppet.quat == std::array<double, 4>{0, 1, 0, 0});
  CHECK(base.mocap == -1);
  CHECK(base.tree == 0);
  CHECK(base.mass == 4);
  CHECK(base.com == std::array<double, 3>{.1, .2, .3});
  CHECK(base.gravity_compensation == 0.5);
  const double expected[6] = {1, 2, 2.5, .1, .2, .3};
  for (int i = 0; i < 6; ++i) {
    CHECK(std::abs(base.inertia[static_cast<std::size_t>(i)] - expected[i]) < kPrincipalAxes);
  }
  CHECK(thigh.parent == 2);
  CHECK(thigh.first_joint == 1);
  CHECK(thigh.joints == 2);
  CHECK(thigh.first_dof == 6);
  CHECK(thigh.dofs == 2);

  REQUIRE(m.joints.size() == 4);
  const Named<Joint>& hip = m.joints[1];
  CHECK(m.joints[0].kind == JointKind::free);
  CHECK(m.joints[0].qpos0 == std::array<double, 7>{0, 0, 1, 1, 0, 0, 0});
  CHECK(hip.name == "hip");
  CHECK(hip.kind == JointKind::hinge);
  CHECK(hip.body == 3);
  CHECK(hip.qpos == 7);
  CHECK(hip.dof == 6);
  CHECK(hip.axis == std::array<double, 3>{0, 1, 0});
  CHECK(hip.pos == std::array<double, 3>{.01, .02, .03});
  CHECK(hip.stiffness == Polynomial{10, 11, 12});
  CHECK(hip.qpos0[0] == 0.4);
  CHECK(hip.spring[0] == 0.7);
  CHECK(hip.range.on);
  CHECK(hip.range.low == -1);
  CHECK(hip.range.high == 1.5);
  CHECK(hip.actuator_force.on);
  CHECK(hip.actuator_force.high == 30);
  CHECK(hip.compensation_by_actuator);
  CHECK(m.joints[2].kind == JointKind::slide);
  CHECK_FALSE(m.joints[2].range.on);
  CHECK(m.joints[3].kind == JointKind::ball);
  CHECK(m.joints[3].spring == std::array<double, 7>{1, 0, 0, 0, 0, 0, 0});

  REQUIRE(m.dofs.size() == 11);
  CHECK(m.dofs[6].joint == 1);
  CHECK(m.dofs[6].body == 3);
  CHECK(m.dofs[6].parent == 5);
  CHECK(m.dofs[0].parent == -1);
  CHECK(m.dofs[6].armature == .05);  // the actuator's own is not in it
  CHECK(m.dofs[6].damping == Polynomial{1, 2, 3});
  CHECK(m.dofs[6].frictionloss == .06);
  CHECK(m.dofs[10].damping.linear == .3);
}

TEST_CASE("convert: frames, tendons and keyframes") {
  const Model m = load_model(kEverything);
  REQUIRE(m.sites.size() == 2);
  CHECK(m.sites[1].name == "tip");
  CHECK(m.sites[1].body == 2);
  CHECK(m.sites[1].pos == std::array<double, 3>{.5, 0, 0});
  CHECK(m.sites[1].quat == std::array<double, 4>{0, 0, 1, 0});
  REQUIRE(m.geoms.size() == 3);
  CHECK(m.geoms[1].name == "bone");
  CHECK(m.geoms[1].pos == std::array<double, 3>{0, 0, -.1});
  REQUIRE(m.cameras.size() == 1);
  CHECK(m.cameras[0].name == "eye");
  CHECK(m.cameras[0].pos[2] == 5);

  REQUIRE(m.tendons.size() == 2);
  const Tendon& sum = m.tendons[0];
  CHECK(sum.kind == TendonKind::fixed);
  CHECK(sum.stiffness == Polynomial{3, 4, 5});
  CHECK(sum.damping == Polynomial{6, 7, 8});
  CHECK(sum.spring_length == std::array<double, 2>{.1, .2});
  CHECK(sum.armature == .9);
  CHECK(sum.frictionloss == .4);
  CHECK(sum.range.on);
  CHECK(sum.actuator_force.high == 6);
  REQUIRE(sum.wraps == 2);
  CHECK(m.wraps[0].kind == WrapKind::joint);
  CHECK(m.wraps[1].object == 2);
  CHECK(m.wraps[1].value == -3);
  const Tendon& rope = m.tendons[1];
  CHECK(rope.kind == TendonKind::spatial);
  CHECK(rope.first_wrap == 2);
  REQUIRE(rope.wraps == 5);
  CHECK(m.wraps[2].kind == WrapKind::site);
  CHECK(m.wraps[3].object == 1);
  CHECK(m.wraps[4].kind == WrapKind::pulley);
  CHECK(m.wraps[4].value == 2);

  REQUIRE(m.keyframes.size() == 1);
  const Keyframe& home = m.keyframes[0];
  CHECK(home.name == "home");
  CHECK(home.time == 1.5);
  CHECK(home.qpos == m.qpos0);
  CHECK(home.qvel[10] == 11);
  CHECK(home.act == std::vector<double>{.1, .2, .3});
  CHECK(home.ctrl[5] == 6);
  CHECK(home.mocap_pos == std::vector<double>{7, 8, 9});
  CHECK(home.mocap_quat.size() == 4);
}

TEST_CASE("convert: actuators") {
  const Model m = load_model(kEverything);
  REQUIRE(m.actuators.size() == 6);
  const Actuator& servo = m.actuators[0];
  CHECK(servo.transmission == TransmissionKind::joint);
  CHECK(servo.target == 1);
  CHECK(servo.gear[0] == 3);
  CHECK(servo.dynamics == ActuatorDynamics::filter_exact);
  CHECK(servo.dynamics_numbers[0] == .25);
  CHECK(servo.act == 0);
  CHECK(servo.control == 0);
  CHECK(servo.affine_gain);
  CHECK(servo.affine_bias);
  CHECK(servo.gain == std::array<double, 10>{1, 2, 3});
  CHECK(servo.bias == std::array<double, 10>{4, 5, 6});
  CHECK(servo.control_range.high == 2);
  CHECK(servo.force_range.low == -7);
  CHECK(servo.activation_range.on);
  CHECK(servo.early);
  CHECK_FALSE(servo.enabled);
  CHECK(servo.damping == Polynomial{1, 2, 3});
  CHECK(servo.armature == .5);
  CHECK(m.actuators[1].transmission == TransmissionKind::tendon);
  CHECK(m.actuators[1].enabled);
  CHECK_FALSE(m.actuators[1].affine_bias);
  CHECK(m.actuators[1].act == -1);
  const Actuator& jet = m.actuators[2];
  CHECK(jet.transmission == TransmissionKind::site);
  CHECK(jet.target == 1);
  CHECK(jet.reference_site == 0);
  CHECK(jet.gear == std::array<double, 6>{1, 2, 3, 4, 5, 6});
  CHECK(m.actuators[3].transmission == TransmissionKind::joint_in_parent);
  CHECK(m.actuators[3].reference_site == -1);
  CHECK(m.actuators[4].dynamics == ActuatorDynamics::integrator);
  CHECK(m.actuators[5].dynamics == ActuatorDynamics::filter);
  CHECK_FALSE(m.actuators[5].enabled);
}

TEST_CASE("convert: sensors keep MuJoCo's numbers, and say why they cannot be observed") {
  const Model m = load_model(kEverything);
  REQUIRE(m.sensors.size() == 5);
  CHECK(m.sensors[0].unsupported == "");
  CHECK(m.sensors[0].object == 1);
  CHECK(m.sensors[0].cutoff == 2);
  CHECK(m.sensors[1].type == mjSENS_FRAMEQUAT);
  CHECK(m.sensors[1].dimension == 4);
  CHECK(m.sensors[1].reference_type == mjOBJ_SITE);
  CHECK(m.sensors[2].unsupported == "sensors of this type are not supported");
  CHECK(m.sensors[3].unsupported.find("delay") != std::string::npos);
  CHECK(m.sensors[4].unsupported == "");
  CHECK(m.sensors[4].object == -1);
  const Model felt = load_model(
      "<mujoco><worldbody><site name='w'/><body name='b'><joint/><geom size='.1'/>"
      "<site name='s' type='capsule' size='.1 .2'/></body></worldbody><sensor>"
      "<touch site='s' cutoff='3'/><contact site='s' body2='b' num='2' data='force normal' "
      "reduce='maxforce' cutoff='3'/><torque site='w'/></sensor></mujoco>");
  for (const std::size_t i : {0u, 1u}) {
    CHECK(felt.sensors[i].unsupported == "");
    CHECK(felt.sensors[i].zone == Shape::capsule);
    CHECK(felt.sensors[i].zone_size[1] == 0.2);
  }
  CHECK(felt.sensors[0].cutoff == 3);
  CHECK(felt.sensors[1].cutoff == 0);  // MuJoCo ignores it
  CHECK(felt.sensors[1].fields == (1 << mjCONDATA_FORCE | 1 << mjCONDATA_NORMAL));
  CHECK(felt.sensors[1].reduction == 2);
  CHECK(felt.sensors[1].dimension == 12);
  CHECK(felt.sensors[2].unsupported.find("torque on the world") != std::string::npos);
  const Model tracking = load_model(
      "<mujoco><worldbody><body name='b'><joint/><geom size='.1'/><camera name='c' mode='track'/>"
      "</body></worldbody><sensor><framepos objtype='camera' objname='c'/></sensor></mujoco>");
  CHECK(tracking.sensors[0].unsupported.find("camera") != std::string::npos);
}

TEST_CASE("inertia_in_body_axes: a turn about z by 90 degrees swaps x and y; trace is kept") {
  const double h = std::sqrt(0.5);
  const auto J = inertia_in_body_axes({1, 2, 3}, {h, 0, 0, h});
  const double expected[6] = {2, 1, 3, 0, 0, 0};
  for (std::size_t i = 0; i < 6; ++i) CHECK(std::abs(J[i] - expected[i]) < kRounding);
  const auto K = inertia_in_body_axes({1, 2, 3}, {0.5, -0.5, 0.1, std::sqrt(0.49)});
  CHECK(std::abs(K[0] + K[1] + K[2] - 6) < kRounding);
  CHECK(std::abs(K[3]) > 0.1);
}

}  // namespace
}  // namespace cycloid
