#include "cycloid/rigid/constraint/tendon_equality.h"

#include "cycloid/rigid/constraint/row_case_test.h"

namespace cycloid::tendon_equality_test {

using test::Numbers;

TEST_CASE("tendon equality: the residual is that of the stretches since qpos0") {
  const Tree tree(test::RowModel().model());
  const DofBlocks dofs(tree.parent_dof);
  const StaticRows rows(tree, dofs);
  const TendonRowPlan plan{tree, rows.last_dof.data()};
  CHECK(rows.tendon_equalities.size() == 3);
  const Numbers in = test::scene_points(tree)[1];
  const test::RowScene<double> at(tree, dofs, rows, in.data());
  for (const TendonEquality& e : rows.tendon_equalities) {
    double y2, y[2] = {};
    Coupling<double> bond;
    const RowBlock<double> block =
        tendon_equality_block(plan, e, at.scene.p.data(), at.instant(at.a.data()), y2, bond);
    for (int i = 0; i < 2 && e.tendon[i] >= 0; ++i) {
      y[i] = tendon_length(tree, at.scene.p.data(), e.tendon[i], at.scene.qpos.data(),
                           at.scene.frames) -
             e.length0[i];
    }
    const double* d = at.scene.p.data() + e.at.data;
    double expected = y[0];
    for (int k = 0; k < 5; ++k) expected -= d[k] * std::pow(y[1], k);
    CHECK(block.x[0] == doctest::Approx(expected).epsilon(1e-13));
  }
}

TEST_CASE("tendon equality: a fixed tendon at qpos0 is as long as its joints' references") {
  const Tree tree(test::RowModel().model());
  const DofBlocks dofs(tree.parent_dof);
  const StaticRows rows(tree, dofs);
  CHECK(rows.tendon_equalities[0].tendon[0] == 0);
  CHECK(rows.tendon_equalities[0].length0[0] == doctest::Approx(0.4 * 0.1).epsilon(1e-14));
}

}  // namespace cycloid::tendon_equality_test
