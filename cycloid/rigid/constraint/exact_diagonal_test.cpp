#include "cycloid/rigid/constraint/exact_diagonal.h"

#include "cycloid/rigid/constrained_case_test.h"

namespace cycloid::exact_diagonal_test {

using test::ConstrainedCase;

ConstrainedCase weighed(RigidIntegrator integrator, bool elliptic) {
  Model m = test::held_robot(integrator);
  m.options.acting.exact_diagonal = true;
  m.options.elliptic = elliptic;
  return ConstrainedCase(m, 0.3, test::StepKind{.wrenches = false});
}

TEST_CASE("weigh_rows: the weight of a limit is the inverse inertia of its dof") {
  const ConstrainedCase c = weighed(RigidIntegrator::euler, false);
  ConstrainedCase::Memory<double> memory(c);
  const std::vector<double> x = test::moved_state(c.tree, c.x0, c.point.data());
  std::vector<double> next(x.size());
  const double* u = c.point.data() + c.tangents;
  const test::Prepared<double> prepared(c.tree, u + c.input_size);
  euler_step(c.robot(prepared), x.data(), u, memory.work, next.data(), memory.record.data(),
             memory.hold.dynamics());
  const ConstrainedSpace<double>& own = memory.hold.memory.solver;
  const ConstraintProblem<double>& problem = own.problem;
  REQUIRE(problem.diagonals > 0);
  const int nv = c.tree.model.nv;
  for_each_weight(problem, [&](const WeighedRows& at) {
    const double A = weigh_row<double>(c.tree, problem, at, own.weights);
    CHECK(A > 0);
    std::vector<double> y(own.weights.y, own.weights.y + nv), force(y.size());
    multiply_inertia(c.tree, static_cast<const double*>(own.M), y.data(), force.data());
    double again = 0;  // yᵀM y = J M⁻¹ Jᵀ
    for (std::size_t k = 0; k < y.size(); ++k) again += y[k] * force[k];
    CHECK(A == doctest::Approx(again).epsilon(1e-12));
    if (at.group >= 0) return;
    const int place = problem.diagonal[at.first].place;
    for (int k = 0; k < nv; ++k) {
      const bool own_dof = problem.dofs->place[static_cast<std::size_t>(k)] == place;
      CHECK(force[static_cast<std::size_t>(k)] ==
            doctest::Approx(own_dof ? problem.sign[at.first] : 0.0).epsilon(1e-9));
    }
  });
}

TEST_CASE("weigh_rows: a step's pullback equals dual numbers, in contact and at limits") {
  for (const auto integrator :
       {RigidIntegrator::euler, RigidIntegrator::implicitfast, RigidIntegrator::rk4}) {
    for (const bool elliptic : {false, true}) {
      const ConstrainedCase c = weighed(integrator, elliptic);
      test::check_pullback(
          "weigh_rows", c.tangents, [&](const auto* in, auto* out) { c.value(in, out); },
          [&](const auto* in, const auto* out_bar, auto* in_bar) {
            c.pullback(in, out_bar, in_bar);
          },
          {c.point}, test::PullbackOptions{.tolerance = 1e-9, .lane_tolerance = 1e-10});
    }
  }
}

}  // namespace cycloid::exact_diagonal_test
