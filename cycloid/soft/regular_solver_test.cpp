#include "cycloid/soft/regular_solver.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::FixedNumbers;
using test::Numbers;

SolidPlan one_cell() {
  const SolidMesh mesh = box_mesh({1, 1, 1}, {1, 1, 1}, ElementKind::hex);
  return {mesh, std::vector<char>(mesh.vertices.size(), 0)};
}

// 24 by 24: a diagonal with a few negative numbers, and its neighbours.
Numbers mixed_signs(const SolidPlan& plan, double last) {
  Numbers values(static_cast<std::size_t>(plan.pattern.entries()));
  for_each_entry(plan.pattern, values, [&](std::size_t i, std::size_t j, double& value) {
    if (i == j) value = i == 23 ? last : i % 9 == 4 ? -1e-3 : 1.0 + static_cast<double>(i);
    else value = i + j == 9 ? 0.1 : 0.0;
  });
  return values;
}

}  // namespace

TEST_CASE("regular_solver: an indefinite matrix is solved with, and its transpose") {
  const SolidPlan plan = one_cell();
  const Numbers values = mixed_signs(plan, -50);
  const RegularSolver solver(plan, values, {}, 1);
  CHECK_FALSE(solver.stable());
  FixedNumbers random(3);
  const Numbers b = random.vector(24);
  for (const bool transposed : {false, true}) {
    Numbers x = b, left = b;
    REQUIRE(solver.solve(x.data(), transposed, 1));
    Numbers copy = values;
    for_each_entry(plan.pattern, copy,
                   [&](std::size_t i, std::size_t j, double& value) { left[i] -= value * x[j]; });
    for (const double r : left) CHECK(std::abs(r) < 1e-10);
  }
  CHECK(RegularSolver(plan, mixed_signs(plan, 50), {}, 1).stable() == false);
}

TEST_CASE("regular_solver: a singular matrix is noticed") {
  const SolidPlan plan = one_cell();
  const RegularSolver solver(plan, mixed_signs(plan, 0), {}, 1);
  FixedNumbers random(4);
  Numbers b = random.vector(24);
  CHECK_FALSE(solver.solve(b.data(), false, 1));
}

}  // namespace cycloid
