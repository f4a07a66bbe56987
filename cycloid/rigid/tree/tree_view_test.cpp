#include "cycloid/rigid/tree/tree_view.h"

#include <cstring>

#include "cycloid/rigid/constrained_case_test.h"

namespace cycloid::tree_view_test {

using test::ConstrainedCase;
using test::Numbers;

static_assert(std::is_trivially_copyable_v<TreeView> && std::is_trivially_copyable_v<ModelView>);
static_assert(!std::is_copy_constructible_v<Tree> && std::is_move_constructible_v<Tree>);

// A step of the case and its pullback, read through a view: the new state, then all cotangents.
Numbers stepped(const ConstrainedCase& c, const TreeView& view) {
  ConstrainedCase::Memory<double> memory(c);
  const Numbers x = test::moved_state(c.tree, c.x0, c.point.data());
  const double* const u = c.point.data() + c.tangents;
  const test::Prepared<double> prepared(c.tree, u + c.input_size);
  const Robot<double, double> r{view, c.inputs, prepared.p.data(), c.implicit()};
  Numbers next(x.size());
  euler_step(r, x.data(), u, memory.work, next.data(), memory.record.data(),
             memory.hold.dynamics());
  const Numbers seed(static_cast<std::size_t>(c.tangents), 1.0);
  Numbers x_bar(seed.size(), 0.0), u_bar(static_cast<std::size_t>(c.input_size), 0.0);
  Numbers p_bar(prepared.p.size(), 0.0);
  double h_bar = 0;
  const double* const record = memory.record.data();
  euler_step_pullback(r, x.data(), u, record, memory.work, seed.data(), x_bar.data(), u_bar.data(),
                      p_bar.data(), h_bar, memory.hold.dynamics());
  for (const Numbers* part : {&x_bar, &u_bar, &p_bar}) {
    next.insert(next.end(), part->begin(), part->end());
  }
  next.push_back(h_bar);
  return next;
}

TEST_CASE("TreeView: moved to a copy of its block, it steps a constrained robot to the same bits") {
  for (const auto integrator : {RigidIntegrator::euler, RigidIntegrator::implicitfast}) {
    const Model m = test::held_robot(integrator);
    const ConstrainedCase c(m);
    const Numbers expected = stepped(c, c.tree);
    std::vector<std::byte> copy;
    TreeView view;
    {
      const Tree original(m);
      const TableBlock& block = original.block();
      copy.assign(block.data(), block.data() + block.size());
      view = moved_tables<TreeView>(original, block.data(), copy.data());
      std::memset(const_cast<std::byte*>(block.data()), 0xA5, block.size());
    }
    const Numbers moved = stepped(c, view);
    REQUIRE(moved.size() == expected.size());
    CHECK(std::memcmp(moved.data(), expected.data(), moved.size() * sizeof(double)) == 0);
    CHECK(std::any_of(moved.begin(), moved.end(), [](double x) { return x != 0; }));
  }
}

TEST_CASE(
    "TreeView: every list is visited, and every table lies in the block, one behind another") {
  const Tree tree(test::held_robot(RigidIntegrator::euler));
  const std::byte* at = tree.block().data();
  std::size_t lists = 0, filled = 0;
  TreeView::each_table(
      [&](const auto& table) {
        ++lists;
        if (table.empty()) return;
        ++filled;
        CHECK(reinterpret_cast<const std::byte*>(table.data()) == at);
        at += table_bytes(table);
      },
      tree);
  CHECK(at == tree.block().data() + tree.block().size());
  // The two structs hold nothing but lists, so that one left out would show here.
  CHECK(lists * sizeof(Table<int>) == sizeof(TreeLists<Table>) + sizeof(ModelLists<Table>));
  CHECK(filled > 20);
}

TEST_CASE("TreeView: the model's elements are those of the model, without their names") {
  const Model m = test::held_robot(RigidIntegrator::euler);
  const Tree tree(m);
  CHECK(tree.source.bodies[1].name == m.bodies[1].name);
  REQUIRE(tree.model.bodies.size() == m.bodies.size());
  for (std::size_t b = 0; b < m.bodies.size(); ++b) {
    CHECK(tree.model.bodies[b].parent == m.bodies[b].parent);
    CHECK(tree.model.bodies[b].mass == m.bodies[b].mass);
    CHECK(tree.model.bodies[b].quat == m.bodies[b].quat);
  }
  REQUIRE(tree.model.geoms.size() == m.geoms.size());
  CHECK(tree.model.geoms.back().size == m.geoms.back().size);
  CHECK(tree.model.nq == m.nq);
  CHECK(tree.model.nv == m.nv);
  CHECK(tree.model.nu == m.nu);
  CHECK(tree.model.options.gravity == m.options.gravity);
}

TEST_CASE("Tree: a moved tree leaves its tables where they are") {
  Tree first(test::held_robot(RigidIntegrator::euler));
  const Link* const links = first.links.data();
  const std::byte* const block = first.block().data();
  const Tree second = std::move(first);
  CHECK(second.links.data() == links);
  CHECK(second.block().data() == block);
}

}  // namespace cycloid::tree_view_test
