#include "cycloid/rigid/tree/joint_coordinates.h"

#include <doctest/doctest.h>

namespace cycloid::joint_coordinates_test {

TEST_CASE("visit_joint: goes through every number of qpos and every dof of a joint once") {
  for (const JointKind kind :
       {JointKind::free, JointKind::ball, JointKind::slide, JointKind::hinge}) {
    Joint j;
    j.kind = kind;
    j.qpos = 11;
    j.dof = 5;
    int qpos = j.qpos, dof = j.dof, turns = 0;
    visit_joint(
        j,
        [&](int q, int k, int n) {
          CHECK(q == qpos);
          CHECK(k == dof);
          CHECK((n == 1 || n == 3));
          qpos += n, dof += n;
        },
        [&](int q, int k) {
          CHECK(q == qpos);
          CHECK(k == dof);
          qpos += 4, dof += 3, ++turns;
        });
    CHECK(qpos == j.qpos + qpos_numbers(kind));
    CHECK(dof == j.dof + dof_numbers(kind));
    CHECK(turns == (has_quaternion(kind) ? 1 : 0));
  }
}

}  // namespace cycloid::joint_coordinates_test
