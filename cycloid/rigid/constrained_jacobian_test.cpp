#include "cycloid/rigid/constrained_jacobian.h"

#include "cycloid/rigid/constrained_case_test.h"
#include "cycloid/rigid/constraint/row_case_test.h"
#include "cycloid/rigid/contact/contact_case_test.h"

namespace cycloid::constrained_jacobian_test {

using test::ConstrainedCase;
using test::Numbers;
using test::StepKind;

// Both ways start from the same record; the Hessian's condition costs five digits.
constexpr double kTolerance = 1e-10;

// A and B at the case's point.
struct Found {
  using S = double;
  explicit Found(const ConstrainedCase& c)
      : A(static_cast<std::size_t>(c.tangents * c.tangents)),
        B(static_cast<std::size_t>(c.tangents * c.input_size)) {
    typename ConstrainedCase::Memory<S> memory(c);
    const Numbers x = test::moved_state(c.tree, c.x0, c.point.data());
    Numbers next(x.size());
    const S* u = c.point.data() + c.tangents;
    const test::Prepared<S> prepared(c.tree, u + c.input_size);
    const Robot<S, S> r = c.robot(prepared);
    euler_step(r, x.data(), u, memory.work, next.data(), memory.record.data(),
               memory.hold.dynamics());
    ConstrainedJacobianSpace<S> space;
    const Arena own = carve_memory(space, c.tree, c.kit.plan, c.input_size);
    const StepJacobian<S> out(c.shape.nv, c.shape.na, c.input_size, A.data(), B.data());
    constrained_step_jacobian(r, x.data(), u, static_cast<const S*>(memory.record.data()),
                              memory.work, memory.hold.dynamics(), space, out);
    contacts = memory.hold.memory.contacts.slots;
    rows = memory.hold.memory.solver.problem.all_rows();
  }
  Numbers A, B;
  int contacts, rows;
};

// Against one pullback per row. Returns the number of contacts and rows.
std::pair<int, int> check_jacobian(const Model& m, const StepKind& kind, double spread = 0.3) {
  const ConstrainedCase c(m, spread, kind);
  const Found found(c);
  double largest = 0, worst = 0;
  for (int i = 0; i < c.tangents; ++i) {
    Numbers bar(static_cast<std::size_t>(c.tangents), 0.0), row(c.point.size(), 0.0);
    bar[static_cast<std::size_t>(i)] = 1;
    c.pullback(c.point.data(), bar.data(), row.data());
    for (int j = 0; j < c.tangents + c.input_size; ++j) {
      const double expected = row[static_cast<std::size_t>(j)];
      largest = std::max(largest, std::abs(expected));
      const bool state = j < c.tangents;
      const double got = state
                             ? found.A[static_cast<std::size_t>(i * c.tangents + j)]
                             : found.B[static_cast<std::size_t>(i * c.input_size + j - c.tangents)];
      worst = std::max(worst, std::abs(got - expected));
    }
  }
  CHECK(largest > 0.5);
  CHECK(worst < kTolerance * largest);
  return {found.contacts, found.rows};
}

// A model of test::ModelBuilder, with the configuration to start from.
Model placed(Model m, RigidIntegrator integrator) {
  m.options.integrator = integrator;
  for (const Joint& j : m.joints) {
    const bool turns = j.kind == JointKind::free || j.kind == JointKind::ball;
    if (j.kind == JointKind::free) m.qpos0.insert(m.qpos0.end(), 3, 0.0);
    m.qpos0.push_back(turns ? 1.0 : j.qpos0[0]);
    if (turns) m.qpos0.insert(m.qpos0.end(), 3, 0.0);
  }
  return m;
}

constexpr auto kIntegrators = {RigidIntegrator::euler, RigidIntegrator::implicitfast};

// Dampers, straight or curved: the integrator's matrix is then not M, and changes with velocity.
Model damped(Model m, bool curved) {
  double k = 0;
  for (Dof& d : m.dofs) {
    d.damping.linear = 0.3 + 0.01 * k++;
    if (curved) d.damping.quadratic = 0.2, d.damping.cubic = 0.1;
  }
  return m;
}

TEST_CASE("constrained_jacobian: rows equal pullbacks in contact and at limits") {
  for (const auto integrator : kIntegrators) {
    Model m = test::held_robot(integrator);
    for (Body& b : m.bodies) b.gravity_compensation = 0;
    const auto [contacts, rows] = check_jacobian(m, StepKind{.wrenches = false});
    CHECK(contacts >= 2);
    CHECK(rows > 10);
    check_jacobian(damped(m, true), StepKind{.wrenches = false});
    for (Joint& j : m.joints) {
      for (double& x : j.axis) x *= 1.3;
    }
    check_jacobian(damped(m, false), StepKind{.wrenches = false});
    check_jacobian(test::held_robot(integrator), StepKind{});  // forces on bodies too
  }
}

TEST_CASE("constrained_jacobian: rows equal pullbacks for all shapes, frictions and both cones") {
  for (const bool elliptic : {false, true}) {
    for (const auto integrator : kIntegrators) {
      const StepKind kind{.wrenches = false};
      const Model crowd = placed(test::crowd(elliptic), integrator);
      CHECK(check_jacobian(crowd, kind, 0.25).first >= 6);
      CHECK(check_jacobian(damped(crowd, true), kind, 0.2).first >= 6);
      const Model loner = placed(test::loner(elliptic), integrator);
      CHECK(check_jacobian(damped(loner, false), kind, 0.1).first >= 2);
    }
  }
}

TEST_CASE("constrained_jacobian: rows equal pullbacks for equalities, tendons and balls") {
  for (const auto integrator : kIntegrators) {
    const Model m = placed(test::RowModel().model(), integrator);
    CHECK(check_jacobian(m, StepKind{.wrenches = false}).second > 30);
    check_jacobian(damped(m, true), StepKind{});
  }
}

}  // namespace cycloid::constrained_jacobian_test
