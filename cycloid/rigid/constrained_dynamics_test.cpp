#include "cycloid/rigid/constrained_case_test.h"

namespace cycloid::constrained_dynamics_test {

using test::ConstrainedCase;
using test::StepKind;

// How much a step with constraints differs from one without.
double effect(const Model& m, const ConstrainedCase& held) {
  Model free = m;
  free.options.acting.constraints = false;
  const test::StepCase c(free, 0.3, StepKind{.wrenches = false});
  double most = 0;
  for (std::size_t i = 0; i < c.next0.size(); ++i) {
    most = std::max(most, std::abs(c.next0[i] - held.next0[i]));
  }
  return most;
}

// The case's own point, two that are elsewhere, with other forces and other parameters, and one
// high above the floor. Each lane is another: a sum over lanes, or a neighbour's number, is seen.
std::vector<test::Numbers> different_points(const ConstrainedCase& c) {
  std::vector<test::Numbers> points(4, c.point);
  test::FixedNumbers draw(7);
  const Tree& tree = c.tree;
  const auto nv = static_cast<std::size_t>(tree.model.nv);
  const auto first = static_cast<std::size_t>(c.tangents + c.input_size);
  std::vector<bool> is_quaternion(static_cast<std::size_t>(tree.parameters.size()), false);
  for (const int q : tree.quaternions) {
    for (int k = 0; k < 4; ++k) is_quaternion[static_cast<std::size_t>(q + k)] = true;
  }
  for (const std::size_t lane : {1u, 2u}) {
    test::Numbers& x = points[lane];
    for (std::size_t i = 0; i < first; ++i) {
      x[i] += (i < nv ? 0.05 : i < 2 * nv ? 0.3 : 0.5) * draw.next();
    }
    for (std::size_t i = first; i < x.size(); ++i) {
      if (!is_quaternion[i - first]) x[i] *= 1 + 0.02 * draw.next();
    }
  }
  for (const Joint& j : tree.model.joints) {
    if (j.kind == JointKind::free) points[3][static_cast<std::size_t>(j.dof + 2)] = 20;
  }
  return points;
}

// The contacts that a step from this point finds.
int contacts_at(const ConstrainedCase& c, const test::Numbers& point) {
  ConstrainedCase::Memory<double> memory(c);
  const std::vector<double> x = test::moved_state(c.tree, c.x0, point.data());
  std::vector<double> next(x.size());
  const double* u = point.data() + c.tangents;
  const test::Prepared<double> prepared(c.tree, u + c.input_size);
  euler_step(c.robot(prepared), x.data(), u, memory.work, next.data(), memory.record.data(),
             memory.hold.dynamics());
  return memory.hold.memory.contacts.count[0];
}

TEST_CASE(
    "constrained_acceleration: a step's pullback equals dual numbers, in contact and at limits") {
  for (const auto integrator :
       {RigidIntegrator::euler, RigidIntegrator::implicitfast, RigidIntegrator::rk4}) {
    const Model m = test::held_robot(integrator);
    const ConstrainedCase c(m, 0.3, StepKind{.wrenches = false});
    REQUIRE(effect(m, c) > 0.01);
    const std::vector<test::Numbers> points = different_points(c);
    if (!c.rk4()) {
      for (const std::size_t lane : {0u, 1u, 2u}) REQUIRE(contacts_at(c, points[lane]) > 0);
      REQUIRE(contacts_at(c, points[3]) < contacts_at(c, points[0]));
    }
    // The solve stops at 1e-10 of the forces, and what a step has of it is multiplied by h.
    test::check_pullback(
        "constrained_acceleration", c.tangents,
        [&](const auto* in, auto* out) { c.value(in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
        points, test::PullbackOptions{.tolerance = 1e-9, .lane_tolerance = 1e-10});
  }
}

TEST_CASE(
    "compliant_force: a step's pullback equals dual numbers, with limits that are solved for") {
  for (const auto integrator :
       {RigidIntegrator::euler, RigidIntegrator::implicitfast, RigidIntegrator::rk4}) {
    for (const bool of_pair : {false, true}) {
      HuntCrossley law{.exponent = 1.5, .dissipation = 0.02, .stiction = 0.3};
      if (!of_pair) law.stiffness = 20;
      Model m = test::held_robot(integrator);
      // As deep as these points are, the usual stiffness gives forces of 1e6 N.
      for (Geom& g : m.geoms) g.soft.solref = {0.5, 1};
      const ConstrainedCase c(m, 0.3, StepKind{.wrenches = false, .contact = law});
      REQUIRE(effect(m, c) > 0.01);
      test::check_pullback(
          "compliant_force", c.tangents, [&](const auto* in, auto* out) { c.value(in, out); },
          [&](const auto* in, const auto* out_bar, auto* in_bar) {
            c.pullback(in, out_bar, in_bar);
          },
          different_points(c), test::PullbackOptions{.tolerance = 1e-9, .lane_tolerance = 1e-10});
    }
  }
}

TEST_CASE("ConstrainedRecord: accelerations first, then so many slots, and two numbers for each") {
  const ConstrainedRecord slopes{.nv = 7, .slopes = true, .room = 24, .width = 2};
  CHECK(slopes.slots() == 14);
  CHECK(slopes.contacts() == 15);
  CHECK(slopes.most() == 15 + 48);
  CHECK(slopes.used(3) == 15 + 6);
  CHECK(slopes.used(-1) == 15);  // contacts that had no room are found again
  CHECK(ConstrainedRecord{.nv = 7, .slopes = false, .room = 24, .width = 2}.slots() == 7);
}

}  // namespace cycloid::constrained_dynamics_test
