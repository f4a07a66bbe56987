#include "cycloid/soft/stiffness_solver.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/soft/minimise.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::FixedNumbers;
using test::Numbers;

// Numbers of a pattern: symmetric, dominated by the diagonal.
Numbers dominated(const SolidPlan& plan) {
  Numbers values(static_cast<std::size_t>(plan.pattern.entries()));
  const auto& p = plan.pattern;
  for (std::size_t i = 0; i + 1 < p.first.size(); ++i) {
    for (auto e = static_cast<std::size_t>(p.first[i]);
         e < static_cast<std::size_t>(p.first[i + 1]); ++e) {
      const auto j = static_cast<std::size_t>(p.column[e]);
      values[e] = i == j ? 20.0 + static_cast<double>(i % 7)
                         : 0.3 * std::sin(static_cast<double>((i + 1) * (j + 1)));
    }
  }
  return values;
}

SolidPlan plan_of(LinearSolver solver) {
  const SolidMesh mesh = box_mesh({6, 6, 6}, {1, 1, 1}, ElementKind::hex);
  return {mesh, std::vector<char>(mesh.vertices.size(), 0), {}, 0, solver};
}

}  // namespace

TEST_CASE("stiffness_solver: conjugate gradients find what a factor finds, on any threads") {
  const SolidPlan direct_plan = plan_of(LinearSolver::direct),
                  plan = plan_of(LinearSolver::iterative);
  REQUIRE(direct_plan.dissection);
  REQUIRE_FALSE(plan.dissection);
  FixedNumbers random(5);
  const Numbers b = random.vector(static_cast<std::size_t>(plan.numbers()));
  StiffnessSolver direct(direct_plan), iterative(plan);
  Numbers values = dominated(plan), same = values;
  REQUIRE(direct.factor(values, 1));
  REQUIRE(iterative.factor(same, 1));
  Numbers expected = b, found = b, threaded = b;
  CHECK(direct.solve(expected.data(), 1).iterations == 0);
  const SolveEnd end = iterative.solve(found.data(), 1);
  CHECK(end.positive);
  CHECK(end.residual <= kGradientTolerance);
  CHECK(end.iterations > 3);
  iterative.solve(threaded.data(), 2);
  CHECK(found == threaded);
  for (std::size_t i = 0; i < b.size(); ++i) {
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-11).scale(1e-2));
  }
}

TEST_CASE("stiffness_solver: sums of many chunks do not depend on threads") {
  const SolidMesh mesh = box_mesh({17, 17, 17}, {1, 1, 1}, ElementKind::hex);  // three chunks
  const SolidPlan plan(mesh, std::vector<char>(mesh.vertices.size(), 0), {}, 0,
                       LinearSolver::iterative);
  StiffnessSolver solver(plan);
  Numbers values = dominated(plan);
  REQUIRE(solver.factor(values, 2));
  FixedNumbers random(7);
  Numbers one = random.vector(static_cast<std::size_t>(plan.numbers())), two = one;
  CHECK(solver.solve(one.data(), 1).iterations > 3);
  solver.solve(two.data(), 2);
  CHECK(one == two);
}

TEST_CASE("stiffness_solver: conjugate gradients notice a direction of negative stiffness") {
  const SolidPlan plan = plan_of(LinearSolver::iterative);
  Numbers values = dominated(plan);
  for_each_entry(plan.pattern, values, [](std::size_t i, std::size_t j, double& value) {
    if (i != j) value = i % 3 == j % 3 ? 10.0 : 0.0;  // far from dominated by the diagonal
  });
  StiffnessSolver solver(plan);
  REQUIRE(solver.factor(values, 1));  // its blocks are positive
  FixedNumbers random(6);
  Numbers b = random.vector(static_cast<std::size_t>(plan.numbers()));
  const SolveEnd end = solver.solve(b.data(), 1);
  CHECK_FALSE(end.positive);
  CHECK(describe(end, 1e-12).find("without stiffness") != std::string::npos);
}

}  // namespace cycloid
