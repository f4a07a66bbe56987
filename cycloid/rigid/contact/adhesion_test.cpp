#include "cycloid/rigid/contact/adhesion.h"

#include "cycloid/rigid/constrained_case_test.h"

namespace cycloid::adhesion_test {

using test::ConstrainedCase;
using test::StepKind;

void add_adhesion_actuator(Model& m, int body, double gear, ActuatorDynamics dynamics) {
  Named<Actuator> a;
  a.name = "sticks" + std::to_string(m.actuators.size());
  a.transmission = TransmissionKind::body;
  a.target = body;
  a.gear[0] = gear;
  a.gain = {3};
  a.control = m.nu++;
  a.dynamics = dynamics;
  a.dynamics_numbers = {0.1};
  if (dynamics != ActuatorDynamics::none) a.act = m.na++;
  m.actuators.push_back(a);
}

// Both bodies that touch the floor adhere to it, the second one twice.
Model sticky_robot(RigidIntegrator integrator) {
  Model m = test::held_robot(integrator);
  add_adhesion_actuator(m, 1, 1.5, ActuatorDynamics::none);
  add_adhesion_actuator(m, 5, 0.7, ActuatorDynamics::filter);
  add_adhesion_actuator(m, 5, 2.0, ActuatorDynamics::none);
  return m;
}

TEST_CASE("adhesion: the contacts of a body share the actuators' force, within the gap as well") {
  const Model m = sticky_robot(RigidIntegrator::rk4);
  const ConstrainedCase c(m, 0.3, StepKind{.wrenches = false});
  for (const bool in_gap : {false, true}) {
    ConstrainedCase::Memory<double> memory(c);
    test::Numbers point = c.point;
    const double* u = point.data() + c.tangents;
    test::Prepared<double> prepared(c.tree, u + c.input_size);
    const int gap = c.tree.geoms[0].gap, margin = c.tree.geoms[0].margin;
    if (in_gap) {  // from where the contacts have no force of their own
      prepared.p[static_cast<std::size_t>(gap)] = 100;
      prepared.p[static_cast<std::size_t>(margin)] = -50;
    }
    const std::vector<double> x = test::moved_state(c.tree, c.x0, point.data());
    const StepShape n(c.tree);
    const Instant<double> at{x.data(), x.data() + n.nq, x.data() + n.nq + n.nv, u};
    memory.hold.dynamics().accelerate(c.robot(prepared), at, memory.work, memory.record.data());
    const ContactSpace<double>& contacts = memory.hold.memory.contacts;
    REQUIRE(contacts.slots > 1);
    const ContactScene<double, double> s{memory.hold.plan.contacts, c.tree, prepared.p.data(),
                                         memory.work.frames};
    for (const int body : {1, 5}) {
      double total = 0, expected = 0;
      for_each_contact_of(s, contacts, body,
                          [&](int slot, bool) { total += contacts.adhesion[slot]; });
      for (std::size_t i = 0; i < m.actuators.size(); ++i) {
        const Actuator& a = m.actuators[i];
        if (adheres(a) && a.target == body) {
          expected -= memory.work.actuator_force[i];
        }
      }
      CHECK(total == doctest::Approx(expected).epsilon(1e-12));
      CHECK(std::abs(expected) > 0.01);
    }
  }
}

// The same on joints that limit their actuators to ±most.
Model limited_robot(RigidIntegrator integrator, double most) {
  Model m = sticky_robot(integrator);
  for (Joint& j : m.joints) {
    if (dof_numbers(j.kind) == 1) j.actuator_force = {true, -most, most};
  }
  return m;
}
constexpr double kTight = 1e-3, kWide = 1e3;

TEST_CASE("adhesion: joints limit what their actuators and those on contacts add up to") {
  for (const double most : {kTight, kWide}) {
    const Model m = limited_robot(RigidIntegrator::euler, most);
    const ConstrainedCase c(m, 0.3, StepKind{.wrenches = false});
    ConstrainedCase::Memory<double> memory(c);
    const double* u = c.point.data() + c.tangents;
    test::Prepared<double> prepared(c.tree, u + c.input_size);
    const std::vector<double> x = test::moved_state(c.tree, c.x0, c.point.data());
    const StepShape n(c.tree);
    const Instant<double> at{x.data(), x.data() + n.nq, x.data() + n.nq + n.nv, u};
    const Workspace<double>& w = memory.work;
    memory.hold.dynamics().accelerate(c.robot(prepared), at, w, memory.record.data());
    int pressed = 0;
    for (const Joint& j : m.joints) {
      if (!j.actuator_force.on || std::abs(w.adhesion_tau[j.dof]) < 2 * kTight) continue;
      ++pressed;
      CHECK(limit_open(c.tree, j, j.dof, w) == (most == kWide ? 1 : 0));
    }
    CHECK(pressed > 0);
  }
}

TEST_CASE("adhesion: a step's pullback equals dual numbers, under limits of joints as well") {
  for (const Model& m :
       {sticky_robot(RigidIntegrator::euler), sticky_robot(RigidIntegrator::implicitfast),
        limited_robot(RigidIntegrator::euler, kTight), limited_robot(RigidIntegrator::euler, kWide),
        limited_robot(RigidIntegrator::implicitfast, kTight),
        limited_robot(RigidIntegrator::implicitfast, kWide)}) {
    const ConstrainedCase c(m, 0.3, StepKind{.wrenches = false});
    test::Numbers high = c.point;
    for (const Joint& j : c.tree.model.joints) {
      if (j.kind == JointKind::free) high[static_cast<std::size_t>(j.dof + 2)] = 20;
    }
    // As constrained_dynamics_test.cpp.
    test::check_pullback(
        "constrained_acceleration", c.tangents,
        [&](const auto* in, auto* out) { c.value(in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
        {c.point, high}, test::PullbackOptions{.tolerance = 1e-9, .lane_tolerance = 1e-10});
  }
}

}  // namespace cycloid::adhesion_test
