#include "cycloid/rigid/sense/sense.h"

#include "cycloid/rigid/sense/sense_case_test.h"

namespace cycloid::sense_test {

using test::check_sense;
using test::Numbers;
using test::SenseCase;
using test::SensorModel;

TEST_CASE("sensed_frame: places and directions pull back as dual numbers do") {
  SensorModel s;
  s.add_position_frames();
  check_sense("sensed_frame", s.model);
}

TEST_CASE("sense_one: ... velocities of frames, alone and seen from others") {
  SensorModel s;
  s.add_velocity_frames();
  check_sense("sense_one", s.model);
}

TEST_CASE("sense: ... accelerations, through the solve for them") {
  SensorModel s;
  s.add_accelerations();
  check_sense("sense", s.model);
}

TEST_CASE("sense: ... joints, tendons and actuators") {
  SensorModel s;
  s.add_rows();
  check_sense("sense", s.model);
}

TEST_CASE("sense: ... where ranges hold controls, forces, joints and tendons") {
  SensorModel s;
  s.add_rows();
  s.model.actuators[0].control_range = {true, -0.01, 0.01};
  s.model.actuators[1].force_range = {true, -0.02, 0.02};
  s.model.joints[4].actuator_force = {true, -0.05, 0.05};
  s.model.joints[1].actuator_force = {true, -50, 50};
  s.model.tendons[0].actuator_force = {true, -0.03, 0.03};
  check_sense("sense", s.model);
}

TEST_CASE("sense: ... where joints count gravity compensation, held by a limit or not") {
  SensorModel s;
  s.add_rows();
  for (Body& b : s.model.bodies) b.gravity_compensation = 0.6;
  for (const std::size_t j : {std::size_t(1), std::size_t(2), std::size_t(4)}) {
    s.model.joints[j].compensation_by_actuator = true;
  }
  const Numbers before = SenseCase(SensorModel(s).model).values();
  for (Joint& j : s.model.joints) j.compensation_by_actuator = false;
  const Numbers without = SenseCase(SensorModel(s).model).values();
  double apart = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    apart = std::max(apart, std::abs(before[i] - without[i]));
  }
  CHECK(apart > 0.1);
  for (Joint& j : s.model.joints) j.compensation_by_actuator = j.kind == JointKind::hinge;
  check_sense("sense", s.model);
  s.model.joints[1].actuator_force = {true, -0.01, 0.01};
  s.model.joints[4].actuator_force = {true, -50, 50};
  check_sense("sense", s.model);
}

TEST_CASE("sense: ... every kind at once, some of them cut off") {
  SensorModel s;
  s.add_position_frames();
  s.add_velocity_frames();
  s.add_accelerations();
  s.add_rows();
  s.add_subtrees();
  s.add(SensorKind::potential_energy, -1);
  s.add(SensorKind::kinetic_energy, -1);
  for (Sensor& sensor : s.model.sensors) {
    if (sensor.dimension < 4) sensor.cutoff = 0.25;
  }
  check_sense("sense", s.model);
  const SenseCase c(s.model);
  const Numbers y = c.values();
  CHECK(std::any_of(y.begin(), y.end(), [](double v) { return v == 0.25; }));
  CHECK(std::any_of(y.begin(), y.end(), [](double v) { return v == -0.25; }));
  CHECK(std::any_of(y.begin(), y.end(), [](double v) { return std::abs(v) < 0.2; }));
}

// Of sites, of a ball; one integrates its controls, one holds its force.
void add_servos(Model& m) {
  const auto add = [&](int target, int reference) {
    Named<Actuator> a;
    a.transmission = TransmissionKind::orientation;
    a.law = ActuatorLaw::orientation;
    a.target = target;
    a.reference_site = reference;
    a.control = m.nu;
    a.controls = 3;
    a.gain = {1.3};
    a.affine_bias = true;
    a.bias = {0.2, 0, -0.3};
    m.nu += 3;
    m.actuators.push_back(a);
  };
  add(1, 6);
  add(2, 4);
  add(3, -1);
  Actuator& held = m.actuators[m.actuators.size() - 2];
  held.force_range = {true, -0.1, 0.1};
  Actuator& last = m.actuators.back();
  last.dynamics = ActuatorDynamics::integrator;
  last.act = m.na;
  last.acts = 3;
  m.na += 3;
}

TEST_CASE("sense: ... orientation servos: turns, rates, forces, and their share at joints") {
  SensorModel s;
  add_servos(s.model);
  for (int a = static_cast<int>(s.model.actuators.size()) - 3;
       a < static_cast<int>(s.model.actuators.size()); ++a) {
    for (const SensorKind k : {SensorKind::actuator_position, SensorKind::actuator_velocity,
                               SensorKind::actuator_force}) {
      s.add(k, a);
      s.model.sensors.back().dimension = 3;
    }
  }
  for (const int joint : {1, 2, 7}) s.add(SensorKind::joint_actuator_force, joint);
  s.add(SensorKind::joint_actuation, 3);
  s.model.sensors.back().dimension = 3;
  check_sense("sense", s.model);
  s.model.joints[1].actuator_force = {true, -0.01, 0.01};
  check_sense("sense", s.model);
}

TEST_CASE("sense: ... limits of a ball, within and beyond") {
  SensorModel s;
  for (const double reach : {0.05, 2.5}) {
    s.model.joints[3].range = {true, 0, reach};
    s.model.joints[3].margin = 0.02;
    s.model.sensors.clear();
    for (const SensorKind k :
         {SensorKind::joint_limit_position, SensorKind::joint_limit_velocity}) {
      s.add(k, 3);
      s.model.sensors.back().dimension = 1;
    }
    const Numbers y = SenseCase(s.model).values();
    CHECK((y[0] < 0) == (reach < 1));
    CHECK((y[1] != 0) == (reach < 1));
    if (reach < 1) check_sense("sense", s.model);
  }
}

TEST_CASE("sense: the clock shows the time it is told, and has no gradient") {
  SensorModel s;
  s.add(SensorKind::clock, -1);
  const SenseCase c(s.model);
  CHECK(c.values()[0] == 0.7);
  Numbers bar(c.point.size(), 0.0);
  const double one = 1;
  c.pullback(c.point.data(), &one, bar.data());
  CHECK(test::largest(bar) == 0);
}

// In free fall nothing pushes on an accelerometer, wherever it sits; one that stands still shows -g
// in its own axes.
TEST_CASE("sense: accelerometers show nothing in free fall, and the ground's push at rest") {
  test::RobotBuilder builder(4);
  const int body = builder.body(0, 0);
  builder.joint(body, JointKind::free);
  builder.model.joints[0].stiffness = {};
  for (Dof& d : builder.model.dofs) d.damping = {}, d.armature = 0;
  builder.site(body);
  builder.site(0);
  SensorModel s;
  s.model = builder.model;
  s.model.sites[0].pos = s.model.bodies[1].com;  // where turning adds nothing
  s.model.options.gravity = {0.5, 1, -9};
  s.add(SensorKind::accelerometer, 0);
  s.add(SensorKind::accelerometer, 1);
  SenseCase c(s.model);
  std::fill_n(c.point.begin() + c.tangents, c.input_size, 0.0);
  const Numbers y = c.values();
  CHECK(test::largest(std::span(y).first(3)) < 1e-14);  // against 9 m/s²: rounding
  const auto& q = s.model.sites[1].quat;
  const Vec3<double> push = rotate(Quat<double>{q[0], q[1], q[2], q[3]}, load_vec3(y.data() + 3));
  CHECK(push.x == doctest::Approx(-0.5));
  CHECK(push.y == doctest::Approx(-1));
  CHECK(push.z == doctest::Approx(9));
}

}  // namespace cycloid::sense_test
