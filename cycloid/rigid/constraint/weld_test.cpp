#include "cycloid/rigid/constraint/weld.h"

#include "cycloid/rigid/constraint/row_case_test.h"

namespace cycloid {
namespace {

using test::Numbers;

// At no displacement q̇ is how the displacement moves, and q̈ how q̇ does: one dual number follows
// the motion in time.
TEST_CASE("weld: rate and acceleration of the turn are the residual's time derivatives") {
  using D = Dual<double, 1>;
  const Tree tree(test::RowModel().model());
  const DofBlocks dofs(tree.parent_dof);
  const StaticRows rows(tree, dofs);
  CHECK(rows.welds.size() == 4);
  for (Numbers in : test::scene_points(tree)) {
    const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
    for (std::size_t k = 0; k < nv; ++k) in[k] = 0;
    const test::RowScene<double> at(tree, dofs, rows, in.data());
    std::vector<D> moving(in.begin(), in.end());
    for (std::size_t k = 0; k < nv; ++k) moving[k].tangent[0] = in[nv + k];
    for (std::size_t k = 0; k < nv; ++k) moving[nv + k].tangent[0] = at.acceleration.x[k];
    const test::RowScene<D> in_time(tree, dofs, rows, moving.data());
    Numbers qvel(static_cast<std::size_t>(dofs.size())),
        products(static_cast<std::size_t>(at.problem.all_rows()));
    pad(dofs, static_cast<const double*>(at.scene.qvel.data()), qvel.data());
    row_products(at.problem, static_cast<const double*>(qvel.data()), products.data());
    const std::size_t entry =
        rows.joint_limits.size() + rows.dof_frictions.size() + rows.connects.size();
    for (std::size_t w = 0; w < rows.welds.size(); ++w) {
      const WeldTurn<double> now(rows.welds[w], at.scene.p.data(), at.instant(at.a.data()));
      const WeldTurn<D> later(rows.welds[w], in_time.scene.p.data(),
                              in_time.instant(in_time.a.data()));
      const std::size_t row = static_cast<std::size_t>(at.place[entry + w]) + 3;
      for (int k = 0; k < 3; ++k) {
        CHECK(later.residual[k].tangent[0] == doctest::Approx(now.rate[k]).epsilon(1e-12));
        CHECK(later.rate[k].tangent[0] == doctest::Approx(now.acceleration[k]).epsilon(1e-12));
        CHECK(products[row + static_cast<std::size_t>(k)] ==
              doctest::Approx(now.rate[k]).epsilon(1e-12));
      }
    }
  }
}

}  // namespace
}  // namespace cycloid
