// The rows of a model besides its contacts: listed once, then filled at every instant and pulled
// back.
//
//   diagonal rows   limits of hinges and slides (limit_rows.h), friction loss of dofs
//                   (friction_rows.h)
//   groups          connect, weld, equalities of joints (joint_equality.h) and tendons
//                   (tendon_equality.h), friction loss and limits of tendons (tendon_rows.h),
//                   limits of balls
// Which rows a model has is decided by what acts in it and by its numbers at the start: an equality
// that is not active, a limit that is off and friction loss of zero have none. A limit that counts
// in no lane is left out of the problem; since a row of zeros changes nothing, no lane notices.
#pragma once

#include <vector>

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/constraint/connect.h"
#include "cycloid/rigid/constraint/friction_rows.h"
#include "cycloid/rigid/constraint/joint_equality.h"
#include "cycloid/rigid/constraint/limit_rows.h"
#include "cycloid/rigid/constraint/tendon_equality.h"
#include "cycloid/rigid/constraint/tendon_rows.h"
#include "cycloid/rigid/constraint/weld.h"

namespace cycloid::inline rigid {

struct Tree;

struct StaticRows {
  StaticRows(const Tree& tree, const DofBlocks& dofs);

  std::vector<JointLimit> joint_limits;
  std::vector<DofFriction> dof_frictions;
  std::vector<Connect> connects;
  std::vector<Weld> welds;
  std::vector<JointEquality> joint_equalities;
  std::vector<TendonEquality> tendon_equalities;
  std::vector<TendonFriction> tendon_frictions;
  std::vector<TendonLimit> tendon_limits;
  std::vector<BallLimit> ball_limits;
  std::vector<int> last_dof;  // that moves each body, or -1

  // Entries of all lists: as many places of rows are kept between forward and pullback.
  CYCLOID_HD int count() const;
  // The most that the problem has to hold of them.
  CYCLOID_HD ConstraintCapacity capacity() const;
  // Blocks that a group's rows move; to be read only.
  CYCLOID_HD BlockSet support(int i) const {
    return {const_cast<std::uint64_t*>(support_words.data()) + i * words, words};
  }

  std::vector<std::uint64_t> support_words;
  int words = 0;
};

CYCLOID_HD inline int StaticRows::count() const {
  const ConstraintCapacity most = capacity();
  return most.diagonals + most.groups;
}

CYCLOID_HD inline ConstraintCapacity StaticRows::capacity() const {
  const std::size_t ones = joint_equalities.size() + tendon_equalities.size() +
                           tendon_frictions.size() + tendon_limits.size() + ball_limits.size();
  const std::size_t rows = ones + 3 * connects.size() + 6 * welds.size();
  return {static_cast<int>(joint_limits.size() + dof_frictions.size()),
          static_cast<int>(ones + connects.size() + welds.size()), static_cast<int>(rows)};
}

// visit(limit, i) for each limit among the static rows, i its entry.
template <class Visit>
void for_each_limit(const StaticRows& rows, Visit visit) {
  int i = 0;
  for (const auto& limit : rows.joint_limits) visit(limit, i++);
  i = rows.count() - static_cast<int>(rows.tendon_limits.size() + rows.ball_limits.size());
  for (const auto& limit : rows.tendon_limits) visit(limit, i++);
  for (const auto& limit : rows.ball_limits) visit(limit, i++);
}

// Adds the rows to a problem that has none yet. at.fields: v, and a with q̈ = 0. place: (count) the
// first row of each entry in the problem, or -1.
template <class S, class P>
CYCLOID_STAGE void add_static_rows(const StaticRows& rows, const TreeView& tree, const P* p,
                                   const RowInstant<S>& at, ConstraintProblem<S>& problem,
                                   int* place) {
  const TendonRowPlan plan{tree, rows.last_dof.data()};
  const auto moved = [&](const auto& row) { return rows.support(row.support); };
  for (const auto& r : rows.joint_limits) *place++ = add_joint_limit(r, p, at, problem);
  for (const auto& r : rows.dof_frictions) *place++ = add_dof_friction(r, p, at, problem);
  for (const auto& r : rows.connects) *place++ = add_connect(r, p, at, moved(r), problem);
  for (const auto& r : rows.welds) *place++ = add_weld(r, p, at, moved(r), problem);
  for (const auto& r : rows.joint_equalities) {
    *place++ = add_joint_equality(r, p, at, moved(r), problem);
  }
  for (const auto& r : rows.tendon_equalities) {
    *place++ = add_tendon_equality(plan, r, p, at, moved(r), problem);
  }
  for (const auto& r : rows.tendon_frictions) {
    *place++ = add_tendon_friction(plan, r, p, at, moved(r), problem);
  }
  for (const auto& r : rows.tendon_limits) {
    *place++ = add_tendon_limit(plan, r, p, at, moved(r), problem);
  }
  for (const auto& r : rows.ball_limits) *place++ = add_ball_limit(r, p, at, moved(r), problem);
}

// Adds the cotangents of the rows of single dofs. place: as add_static_rows left it. Returns the
// places of the others.
template <class S, class P>
CYCLOID_HD const int* gather_diagonal_rows(const StaticRows& rows, const P* p,
                                           const RowInstant<S>& at, const int* place,
                                           const RowResults<S>& results, const RowGradient<S>& to) {
  for (const auto& r : rows.joint_limits) {
    if (*place >= 0) joint_limit_pullback(r, p, at, *place, results, to);
    ++place;
  }
  for (const auto& r : rows.dof_frictions) dof_friction_pullback(r, at, *place++, results, to);
  return place;
}

// ... and those of the others, from their places on. at.fields: of μ, q̈ and q̇.
template <class S, class P>
CYCLOID_HD void gather_spread_rows(const StaticRows& rows, const TreeView& tree, const P* p,
                                   const RowInstant<S>& at, const int* place,
                                   const RowResults<S>& results, const RowGradient<S>& to) {
  const TendonRowPlan plan{tree, rows.last_dof.data()};
  for (const auto& r : rows.connects) connect_pullback(r, p, at, *place++, results, to);
  for (const auto& r : rows.welds) weld_pullback(r, p, at, *place++, results, to);
  for (const auto& r : rows.joint_equalities) {
    joint_equality_pullback(r, p, at, *place++, results, to);
  }
  for (const auto& r : rows.tendon_equalities) {
    tendon_equality_pullback(plan, r, p, at, *place++, results, to);
  }
  for (const auto& r : rows.tendon_frictions) {
    tendon_friction_pullback(plan, r, p, at, *place++, results, to);
  }
  for (const auto& r : rows.tendon_limits) {
    if (*place >= 0) tendon_limit_pullback(plan, r, p, at, *place, results, to);
    ++place;
  }
  for (const auto& r : rows.ball_limits) {
    if (*place >= 0) ball_limit_pullback(r, p, at, *place, results, to);
    ++place;
  }
}

template <class S, class P>
CYCLOID_STAGE void static_rows_pullback(const StaticRows& rows, const TreeView& tree, const P* p,
                                        const RowInstant<S>& at, const int* place,
                                        const RowResults<S>& results, const RowGradient<S>& to) {
  gather_spread_rows(rows, tree, p, at, gather_diagonal_rows(rows, p, at, place, results, to),
                     results, to);
}

}  // namespace cycloid::inline rigid
