#include "cycloid/rigid/sense/adhesion_sensor.h"

#include "cycloid/rigid/constrained_case_test.h"
#include "cycloid/rigid/sense/sense_case_test.h"

namespace cycloid::adhesion_sensor_test {

using test::Numbers;
using test::SenseCase;
using test::SensorModel;

// held_robot with two adhesion actuators on bodies that touch, their rates, and the forces of all
// actuators at every joint.
struct HeldRobot : SensorModel {
  explicit HeldRobot(bool sticky) {
    model = test::held_robot(RigidIntegrator::euler);
    std::vector<bool> held(model.bodies.size(), false);
    for (Named<Geom>& g : model.geoms) {
      g.adhesion = sticky ? 0.7 : 0;
      if (g.body == 0 || held[static_cast<std::size_t>(g.body)]) continue;
      held[static_cast<std::size_t>(g.body)] = true;
      Named<Actuator> a;
      a.transmission = TransmissionKind::body;
      a.target = g.body;
      a.gain = {3};
      a.control = model.nu++;
      a.controls = 1;
      add(SensorKind::actuator_velocity, static_cast<int>(model.actuators.size()));
      model.sensors.back().dimension = 1;
      model.actuators.push_back(a);
    }
    for (int j = 0; j < static_cast<int>(model.joints.size()); ++j) {
      add(SensorKind::joint_actuation, j);
      model.sensors.back().dimension = dof_numbers(model.joints[static_cast<std::size_t>(j)].kind);
    }
  }
};

TEST_CASE("adhesion_sensor: rates and forces at joints pull back as dual numbers do") {
  for (const bool sticky : {false, true}) {
    const HeldRobot robot(sticky);
    const SenseCase c(robot.model, 0.3);
    const Numbers shown = c.values();
    int parted = 0;
    for (std::size_t n = 0; n < c.list.sensors.size(); ++n) {
      const bool rate = kind_of(c.list.sensors[n]) == SensorKind::actuator_velocity;
      parted += rate && shown[static_cast<std::size_t>(c.list.places[n])] != 0;
    }
    CHECK(parted > 1);
    // The solver stops at 1e-10 of the forces.
    test::check_pullback(
        "sense", c.list.size, [&](const auto* in, auto* out) { c.value(in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
        {c.point}, test::PullbackOptions{.tolerance = 1e-8, .lane_tolerance = 1e-9});
  }
}

}  // namespace cycloid::adhesion_sensor_test
