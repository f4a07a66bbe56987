// The coordinates of a joint, in one place: numbers that add, then a quaternion where it turns.
//
//   hinge, slide   one number                        ball   a quaternion
//   free           three numbers and a quaternion
// A quaternion's tangent has three numbers. Whoever goes through coordinates visits joints by this
// page; another kind of joint is a line of it.
#pragma once

#include "cycloid/base/host_device.h"
#include "cycloid/model/model.h"

namespace cycloid::inline rigid {

// How many numbers add.
constexpr int linear_numbers(JointKind k) {
  return k == JointKind::free ? 3 : k == JointKind::ball ? 0 : 1;
}
// Whether a quaternion follows them.
constexpr bool has_quaternion(JointKind k) { return k == JointKind::free || k == JointKind::ball; }

// add(qpos, dof, n) with the places of n numbers that add, n = 1 or 3; turn(qpos, dof) with those
// of a quaternion and its tangent.
template <class Add, class Turn>
CYCLOID_INLINE void visit_joint(const Joint& j, Add add, Turn turn) {
  const int n = linear_numbers(j.kind);
  if (n > 0) add(j.qpos, j.dof, n);
  if (has_quaternion(j.kind)) turn(j.qpos + n, j.dof + n);
}

}  // namespace cycloid::inline rigid
