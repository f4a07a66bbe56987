#include "cycloid/rigid/constraint/tendon_rows.h"

#include "cycloid/rigid/constraint/row_case_test.h"

namespace cycloid::tendon_rows_test {

using test::Numbers;

TEST_CASE("tendon rows: J times a vector is the tendon's rate, fixed, spatial and with a pulley") {
  const Tree tree(test::RowModel().model());
  const DofBlocks dofs(tree.parent_dof);
  const StaticRows rows(tree, dofs);
  for (const Numbers& in : test::scene_points(tree)) {
    const test::Scene<double> at(tree, in.data());
    Numbers mu(static_cast<std::size_t>(dofs.size()));
    pad(dofs, static_cast<const double*>(at.mu.data()), mu.data());
    for (int t = 0; t < 3; ++t) {
      Numbers J(mu.size(), 0.0);
      add_tendon_row(tree, at.p.data(), t, at.frames, -2.0, dofs, rows.last_dof.data(), J.data());
      const double rate = tendon_rate(tree, at.p.data(), t, at.frames, at.m.data(), at.mu.data());
      CHECK(test::dot(J, mu) == doctest::Approx(-2 * rate).epsilon(1e-13));
      std::vector<std::uint64_t> word(static_cast<std::size_t>(dofs.words));
      const BlockSet moved{word.data(), dofs.words};
      add_tendon_blocks(tree, t, dofs, rows.last_dof.data(), moved);
      for (std::size_t k = 0; k < J.size(); ++k) {
        CHECK((J[k] == 0 || moved.has(static_cast<int>(k) / kBlock)));
      }
    }
  }
}

TEST_CASE("tendon rows: dofs that move both ends of a piece alike are left out") {
  test::TwoTrees t = test::TwoTrees::make();
  test::ModelBuilder b;
  b.model = t.model;
  b.tendon(TendonKind::spatial, {{WrapKind::site, t.on_drone, 0}, {WrapKind::site, t.on_rotor, 0}});
  const Tree tree(b.model);
  const DofBlocks dofs(tree.parent_dof);
  const StaticRows rows(tree, dofs);
  const Numbers in = test::scene_points(tree)[0];
  const test::Scene<double> at(tree, in.data());
  Numbers J(static_cast<std::size_t>(dofs.size()), 0.0);
  add_tendon_row(tree, at.p.data(), 0, at.frames, 1.0, dofs, rows.last_dof.data(), J.data());
  const int free = b.model.joints[static_cast<std::size_t>(t.free)].dof;
  for (int k = 0; k < tree.model.nv; ++k) {
    const bool rotor = k >= free + 6;
    CHECK((J[static_cast<std::size_t>(dofs.place[static_cast<std::size_t>(k)])] != 0) == rotor);
  }
}

}  // namespace cycloid::tendon_rows_test
