#include "cycloid/rigid/constraint/friction_rows.h"

#include "tests/support/pullback_check.h"

namespace cycloid::friction_rows_test {

TEST_CASE("dof friction: damps towards rest with the impedance of no violation") {
  const int parent[2] = {-1, 0};
  const DofBlocks dofs(parent);
  ConstraintProblem<double> problem;
  const ConstraintCapacity most{1, 0, 0};
  const Arena memory = carve_memory(problem, dofs, most);
  problem.clear();
  const double qvel[2] = {0.3, -0.6}, p[3] = {0, 0, 0.25};
  const Frames<double> frames{};
  const RowInstant<double> at{frames, {}, nullptr, qvel, nullptr, nullptr, {0.002, 1, true}};
  const Compliance soft{{0.05, 0.8}, {0.4, 0.9, 0.3, 0.5, 2}};
  const int row = add_dof_friction(DofFriction{1, 2, 1.5, soft}, p, at, problem);
  CHECK(row == 0);
  CHECK(problem.diagonal[0].law == RowLaw::friction_loss);
  CHECK(problem.diagonal[0].place == dofs.place[1]);
  CHECK(problem.sign[0] == 1);
  CHECK(problem.friction[0] == 0.25);
  CHECK(problem.a_ref[0] == doctest::Approx(-2 / (0.9 * 0.05) * -0.6).epsilon(1e-14));
  CHECK(problem.D[0] == doctest::Approx(0.4 / (0.6 * 1.5)).epsilon(1e-14));
}

}  // namespace cycloid::friction_rows_test
