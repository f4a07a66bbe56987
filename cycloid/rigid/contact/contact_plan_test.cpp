#include "cycloid/rigid/contact/contact_plan.h"

#include "cycloid/rigid/contact/contact_case_test.h"

namespace cycloid::contact_plan_test {

using test::Numbers;

TEST_CASE("ContactPlan: reference, condim, weight and room follow from the model") {
  const Tree tree(test::crowd(true));
  const DofBlocks dofs(tree.parent_dof);
  const ContactPlan plan(tree, dofs);
  CHECK(plan.geoms.size() == 9);
  CHECK(plan.two_trees);
  CHECK_FALSE(plan.one_tree);
  CHECK(plan.most_rows == 6);
  int touches = 0, named = 0;
  for (const ContactPair& p : plan.pairs) {
    const TouchingGeom &a = plan.geoms[static_cast<std::size_t>(p.geom1)],
                       &b = plan.geoms[static_cast<std::size_t>(p.geom2)];
    CHECK(a.kind <= b.kind);
    CHECK((p.moves1 || p.moves2));
    CHECK(p.reference == (p.moves2 ? p.body2 : p.body1));
    const Table<Body>& bodies = tree.model.bodies;
    CHECK(p.weight == bodies[static_cast<std::size_t>(p.body1)].inverse_weight[0] +
                          bodies[static_cast<std::size_t>(p.body2)].inverse_weight[0]);
    if (p.given >= 0) CHECK(p.condim == 6);
    if (p.given < 0 && a.rank.priority == b.rank.priority) {
      CHECK(p.condim == std::max(a.rank.condim, b.rank.condim));
    }
    named += p.given >= 0;
    touches += p.touches;
  }
  CHECK(named == 1);
  CHECK(plan.slots == touches);
  CHECK(ContactPlan(tree, dofs, 5).slots == 5);
  CHECK(plan.capacity().rows == 6 * touches);
}

TEST_CASE("ContactPlan: the dofs that move a body are those on its way to the root") {
  const Tree tree(test::crowd(true));
  const DofBlocks dofs(tree.parent_dof);
  const ContactPlan plan(tree, dofs);
  const int hand = 3;  // behind hinge, slide and ball
  for (int k = 0; k < tree.model.nv; ++k) CHECK((plan.moving(hand)[0] >> k & 1) == (k < 5));
  CHECK(plan.moving(0)[0] == 0);
  for (std::size_t i = 0; i < plan.pairs.size(); ++i) {
    const std::uint64_t moved =
        plan.moving(plan.pairs[i].body1)[0] ^ plan.moving(plan.pairs[i].body2)[0];
    std::uint64_t blocks = 0;
    for (int k = 0; k < tree.model.nv; ++k) {
      if (moved >> k & 1)
        blocks |= std::uint64_t{1} << dofs.place[static_cast<std::size_t>(k)] / kBlock;
    }
    CHECK(plan.moved_blocks(static_cast<int>(i)).word[0] == blocks);
  }
}

TEST_CASE(
    "ContactPlan: nothing touches where contacts do not act, and shapes of other kinds never") {
  Model m = test::crowd(false);
  m.options.acting.contacts = false;
  Tree without(m);
  CHECK(ContactPlan(without, DofBlocks(without.parent_dof)).pairs.empty());
  m.options.acting.contacts = true;
  m.geoms[5].shape = Shape::other;
  Tree other(m);
  const ContactPlan plan(other, DofBlocks(other.parent_dof));
  CHECK_FALSE(plan.pairs.empty());
  for (const TouchingGeom& g : plan.geoms) CHECK(g.geom != 5);
}

TEST_CASE("ContactPlan: one tree on the floor is placed about its own origin") {
  test::CrowdBuilder b;
  b.geom("floor", 0, Shape::plane, {});
  const int body = b.free_body("ball");
  b.geom("ball", body, Shape::sphere, {0.1});
  test::complete(b.model);
  const Tree tree(b.model);
  const ContactPlan plan(tree, DofBlocks(tree.parent_dof));
  CHECK(plan.one_tree);
  CHECK(plan.origin_body == body);
  CHECK(plan.geoms[0].fixed);
  CHECK_FALSE(plan.geoms[1].fixed);
  CHECK_FALSE(plan.geoms[1].turns);
}

}  // namespace cycloid::contact_plan_test
