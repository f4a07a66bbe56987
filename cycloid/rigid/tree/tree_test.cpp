#include "cycloid/rigid/tree/tree.h"

#include <doctest/doctest.h>

#include "tests/support/robots.h"

namespace cycloid::tree_test {

TEST_CASE(
    "Tree: joints become links, a free joint two of them, a body without joints a fixed one") {
  const Tree tree(test::two_trees());
  std::vector<LinkKind> kinds;
  for (const Link& link : tree.links) kinds.push_back(link.kind);
  using enum LinkKind;
  CHECK(kinds == std::vector{fixed, translation, ball, hinge, hinge, fixed, ball, slide, slide,
                             fixed, slide, hinge, hinge});
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    CHECK(tree.links[l].parent < static_cast<int>(l));
    const bool last_of_body =
        tree.last_link[static_cast<std::size_t>(tree.links[l].body)] == static_cast<int>(l);
    CHECK(tree.links[l].last == last_of_body);
  }
  CHECK(std::vector<char>(tree.root.begin(), tree.root.end()) ==
        std::vector<char>{false, true, false, false, false, false, false, true, false});
}

TEST_CASE(
    "Tree: a row of the mass matrix has an entry per ancestor, an ancestor's row is its tail") {
  const Tree tree(test::two_trees());
  const auto length = [&](int k) {
    return tree.row[static_cast<std::size_t>(k) + 1] - tree.row[static_cast<std::size_t>(k)];
  };
  for (int k = 0; k < tree.model.nv; ++k) {
    const int parent = tree.model.dofs[static_cast<std::size_t>(k)].parent;
    CHECK(length(k) == (parent < 0 ? 1 : length(parent) + 1));
  }
  CHECK(tree.entries() == tree.row.back());
}

TEST_CASE("Tree: every parameter has a place of its own, and its default is the model's number") {
  const Model m = test::with_cables();
  const Tree tree(m);
  const std::vector<double>& p = tree.parameters.default_values();
  const auto value = [&](int place) { return p[static_cast<std::size_t>(place)]; };
  CHECK(value(tree.bodies[2].mass) == m.bodies[2].mass);
  CHECK(value(tree.bodies[2].inertia + 5) == m.bodies[2].inertia[5]);
  CHECK(value(tree.joints[1].axis + 2) == m.joints[1].axis[2]);
  CHECK(value(tree.joints[3].spring + 3) == m.joints[3].spring[3]);
  CHECK(value(tree.damping[7]) == m.dofs[7].damping.linear);
  CHECK(value(tree.armature[9]) == m.dofs[9].armature);
  CHECK(value(tree.tendons[0].coefficients + 1) == m.wraps[1].value);
  CHECK(value(tree.sites[1].quat) == m.sites[1].quat[0]);
  CHECK(value(tree.actuators[1].gain) == m.actuators[1].gain[0]);
  CHECK(value(tree.options.gravity + 1) == m.options.gravity[1]);
  // A free body stands where its state says: its frame in the model does not act.
  CHECK(tree.bodies[1].pos == -1);
  CHECK_FALSE(tree.parameters.contains("body:body1.pos"));
  CHECK(tree.parameters.find("body:body2.inertia").constraint == Constraint::inertia);
}

TEST_CASE("Tree: joints count gravity compensation only where some body has it") {
  Model m = test::two_trees();
  for (Body& b : m.bodies) b.gravity_compensation = 0;
  for (Joint& j : m.joints) j.compensation_by_actuator = true, j.actuator_force = {true, -1, 1};
  CHECK_FALSE(Tree(m).limits_compensation);  // nobody would fill in what is counted
  m.bodies[2].gravity_compensation = 0.5;
  CHECK(Tree(m).limits_compensation);
}

}  // namespace cycloid::tree_test
