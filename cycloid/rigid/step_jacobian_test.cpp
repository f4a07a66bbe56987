#include "cycloid/rigid/step_jacobian.h"

#include "cycloid/rigid/step_case_test.h"

namespace cycloid::step_jacobian_test {

using test::Numbers;
using test::StepCase;
using test::StepKind;

// The mass matrix's condition costs three digits; a wrong term is of the order of h.
constexpr double kTolerance = 1e-11;

template <class S>
struct Found {
  explicit Found(const StepCase& c)
      : A(static_cast<std::size_t>(c.tangents * c.tangents)),
        B(static_cast<std::size_t>(c.tangents * c.input_size)) {
    const test::MadeStep<S> made(c);
    JacobianSpace<S> space;
    const Arena own = carve_memory(space, c.tree, c.input_size);
    const StepJacobian<S> out(c.shape.nv, c.shape.na, c.input_size, A.data(), B.data());
    euler_step_jacobian(made.robot, made.x.data(), made.u, made.record(), made.memory.work, space,
                        out);
  }
  std::vector<S> A, B;
};

void check_jacobian(const Model& m, const StepKind& kind, bool joints_only = false) {
  const StepCase c(m, 0.4, kind);
  const test::Prepared<double> prepared(c.tree, c.point.data() + c.tangents + c.input_size);
  REQUIRE(joints_alone(c.robot(prepared)) == joints_only);
  const Found<double> found(c);
  const Found<Pack<double, 4>> lanes(c);
  double largest = 0, worst = 0, worst_lane = 0;
  for (int i = 0; i < c.tangents; ++i) {
    Numbers bar(static_cast<std::size_t>(c.tangents), 0.0), row(c.point.size(), 0.0);
    bar[static_cast<std::size_t>(i)] = 1;
    c.pullback(c.point.data(), bar.data(), row.data());
    for (int j = 0; j < c.tangents + c.input_size; ++j) {
      const bool state = j < c.tangents;
      const std::size_t entry =
          static_cast<std::size_t>(state ? i * c.tangents + j : i * c.input_size + j - c.tangents);
      const double got = state ? found.A[entry] : found.B[entry];
      const double expected = row[static_cast<std::size_t>(j)];
      const double in_lanes = lane(state ? lanes.A[entry] : lanes.B[entry], 2);
      largest = std::max(largest, std::abs(expected));
      worst = std::max(worst, std::abs(got - expected));
      worst_lane = std::max(worst_lane, std::abs(in_lanes - got));
    }
  }
  CHECK(largest > 0.5);
  CHECK(worst < kTolerance * largest);
  CHECK(worst_lane < kTolerance * largest);
}

TEST_CASE("step_jacobian: rows equal pullbacks where every force belongs to a joint") {
  for (const auto integrator : {RigidIntegrator::euler, RigidIntegrator::implicitfast}) {
    Model m = test::two_trees(integrator);
    for (Body& b : m.bodies) b.gravity_compensation = 0;
    const bool euler = integrator == RigidIntegrator::euler;
    check_jacobian(m, StepKind{.wrenches = false, .shortcut = euler}, true);
    check_jacobian(m, StepKind{.wrenches = false, .shortcut = false}, true);
    for (Joint& j : m.joints) {
      for (double& x : j.axis) x *= 1.3;
    }
    check_jacobian(m, StepKind{.wrenches = false, .shortcut = false}, true);
  }
}

TEST_CASE("step_jacobian: rows equal pullbacks where forces act on bodies") {
  for (const auto integrator : {RigidIntegrator::euler, RigidIntegrator::implicitfast}) {
    check_jacobian(test::two_trees(integrator), StepKind{});
    check_jacobian(test::with_cables(integrator), StepKind{});
    check_jacobian(test::with_cables(integrator), StepKind{.wrenches = false});
    check_jacobian(test::free_block(integrator), StepKind{.wrenches = false},
                   integrator == RigidIntegrator::euler);
  }
}

TEST_CASE(
    "step_jacobian: the activation of an actuator that pulls at a body has a row of its own") {
  Model m = test::two_trees();
  Named<Marker> site;
  site.name = "tip";
  site.body = static_cast<int>(m.bodies.size()) - 1;  // moved by the last dof
  site.pos = {0.1, 0.2, -0.3};
  m.sites.push_back(site);
  Named<Actuator> a;
  a.transmission = TransmissionKind::site;
  a.target = 0;
  a.gear = {0.7, -0.5, 0.4, 0.3, 0.2, -0.6};
  a.gain = {2, 0, 0};
  a.dynamics = ActuatorDynamics::filter;
  a.dynamics_numbers = {0.1};
  a.act = m.na++;
  a.control = m.nu++;
  m.actuators.push_back(a);
  check_jacobian(m, StepKind{.wrenches = false});
}

}  // namespace cycloid::step_jacobian_test
