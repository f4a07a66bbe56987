// The rows of contacts: a slot becomes a group of the constraint problem.
//
// Contact of bodies 1 and 2 at the point x, with frame F = (n; t₁; t₂) by rows, n from 1 to 2. A
// row is linear in the fields y of the two bodies:
//   Δ_o = y₂(x) - y₁(x),   Δ_ω = y₂ω - y₁ω;   the first `condim` of (F Δ_o ; F Δ_ω)             (1)
//   column k of J: (1) for y = S_k, of the bodies that dof k moves                            (2)
//   D, a_ref, friction: contact_reference (reference.h) of x = dist - margin and (J q̇); where
//   contacts are compliant D is their force (hunt_crossley.h)                               (3)
// Lanes of a slot may have different bodies: a dof counts with sign +1 where it moves the second
// alone, -1 where it moves the first alone, else 0. The group has the rows of the largest condim.
// Elliptic or pyramid, as the model says; one-sided where all lanes have condim 1; given where
// contacts are compliant.
#pragma once

#include "cycloid/base/array_items.h"
#include "cycloid/base/bits.h"
#include "cycloid/base/device_stage.h"
#include "cycloid/geometry/contact_frame.h"
#include "cycloid/rigid/constraint/row_fields.h"
#include "cycloid/rigid/contact/contact_slots.h"
#include "cycloid/rigid/contact/hunt_crossley.h"
#include "cycloid/rigid/contact/surface_motion.h"
#include "cycloid/rigid/solver/constraint_response.h"

namespace cycloid::inline rigid {

template <class S, class P>
CYCLOID_INLINE void move_numbers(const SlotGroup<S>& group, const PairNumbers<P>& from,
                                 ContactSlot<S>& to) {
  ContactNumbers<S>& n = to.numbers;
  group.move(from.law.friction, n.friction, 5);
  group.move(from.law.soft.solimp, n.soft.solimp, 5);
  group.move(from.law.soft.solref, n.soft.solref, 2);
  group.move(from.law.solref_friction, n.solref_friction, 2);
  group.move(&from.law.A, &n.A, 1);
  group.move(&from.margin, &to.margin, 1);
  group.move(&from.adhesion, &to.adhesion, 1);
}

// Where the first body alone moves, both points are about its origin.
template <class S, class P>
CYCLOID_HD ContactSlot<S> gather_slot(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                                      int slot) {
  ContactSlot<S> c;
  Vec3<S> to_first{};
  S condim = S(0);
  for_each_group(w, slot, [&](const SlotGroup<S>& group) {
    const ContactPair& pair = s.pair(w.touched[group.owner].pair);
    const Touch<S>& touch = w.touch[group.touch].at;
    group.move_all(touch, c.touch);
    move_numbers(group, w.template numbers<P>()[group.owner], c);
    condim = select(group.lanes(), S(pair.condim), condim);
    if (pair.moves1 && pair.moves2 && !pair.one_origin) {
      const Vec3<S> between = s.frames.origin[pair.body2] - s.frames.origin[pair.body1];
      to_first = select(group.lanes(), between, to_first);
    }
  });
  c.x1 = c.touch.pos + to_first;
  const S in_gap = s.tree.sticks ? select(c.adhesion != S(0), min(condim, S(1)), S(0)) : S(0);
  c.rows = select(c.touch.dist < c.margin, condim, in_gap);
  return c;
}

// The largest condim of a slot.
template <class S, class P>
CYCLOID_HD int slot_rows(const ContactScene<S, P>& s, const ContactSpace<S>& w, int slot) {
  int rows = 1;
  for_each_group(w, slot, [&](const SlotGroup<S>& group) {
    rows = std::max(rows, s.pair(w.touched[group.owner].pair).condim);
  });
  return rows;
}

// visit(pair, lanes) for the contacts of a slot, those of the same two bodies together.
template <class S, class P, class Visit>
CYCLOID_INLINE void for_each_couple(const ContactScene<S, P>& s, const ContactSpace<S>& w, int slot,
                                    Visit visit) {
  const LaneGroup* const groups = w.groups_of(slot);
  for (int i = 0; i < w.groups[slot];) {
    const int k = w.touched[groups[i].owner].pair;
    const ContactPair& pair = s.pair(k);
    unsigned lanes = 0;
    for (; i < w.groups[slot]; ++i) {
      const ContactPair& next = s.pair(w.touched[groups[i].owner].pair);
      if (next.body1 != pair.body1 || next.body2 != pair.body2) break;
      lanes |= groups[i].bits;
    }
    visit(k, lanes);
  }
}

// Tells the problem which blocks the slot's lanes move, and sets w.moves1 and w.moves2.
template <class S, class P>
CYCLOID_HD void find_movers(const ContactScene<S, P>& s, const ContactSpace<S>& w, int slot,
                            const ConstraintProblem<S>& problem, int g) {
  const int size = s.plan.moves_stride;
  unsigned* const __restrict__ moves1 = w.moves1;
  unsigned* const __restrict__ moves2 = w.moves2;
  fill_items(moves1, size, 0u);
  fill_items(moves2, size, 0u);
  for_each_couple(s, w, slot, [&](int k, unsigned lanes) {
    const ContactPair& pair = s.pair(k);
    problem.touch(g, s.plan.moved_blocks(k));
    const unsigned* const first = s.plan.moving_places(pair.body1);
    const unsigned* const second = s.plan.moving_places(pair.body2);
    for (int i = 0; i < size; i += ContactPlan::kPlacesAtOnce) {
#pragma GCC ivdep
      for (int j = i; j < i + ContactPlan::kPlacesAtOnce; ++j) {
        moves1[j] |= lanes & first[j] & ~second[j];
        moves2[j] |= lanes & second[j] & ~first[j];
      }
    }
  });
}

// (2), and J q̇ into `velocity` (n).
template <int n, class S>
CYCLOID_HD void fill_contact_jacobian(const ContactPlan& plan, const Motion<S>* column,
                                      const ContactSlot<S>& c, const ContactSpace<S>& w,
                                      const S* qvel, const ConstraintProblem<S>& problem, int g,
                                      S* velocity) {
  const ContactFrame<S> F = contact_frame(c.touch.normal, c.touch.tangent);
  const Vec3<S>* const axis = &F.n;
  const std::ptrdiff_t size = problem.size();
  S* const J = problem.jacobian(g);
  for (int i = 0; i < n; ++i) velocity[i] = S(0);
  const auto put = [&](int row, int place, int dof, const S& entry) {
    J[row * size + place] = entry;
    velocity[row] += entry * qvel[dof];
  };
  for_each(problem.support(g), [&](int I) {
    for (int place = I * kBlock; place < (I + 1) * kBlock; ++place) {
      const int dof = plan.dof_at[static_cast<std::size_t>(place)];
      if (dof < 0) {
        for (int i = 0; i < n; ++i) J[i * size + place] = S(0);
        continue;
      }
      S side = select(lanes_of_bits<S>(w.moves2[place]), S(1), S(0));
      if (w.moves1[place] != 0) side = select(lanes_of_bits<S>(w.moves1[place]), S(-1), side);
      const Vec3<S> x = plan.two_trees ? select(side < S(0), c.x1, c.touch.pos) : c.touch.pos;
      const Vec3<S> moved = field_at(column[dof], x) * side;
#pragma GCC unroll 3
      for (int i = 0; i < (n < 3 ? n : 3); ++i) put(i, place, dof, dot(axis[i], moved));  // (1)
      if constexpr (n > 3) {
        const Vec3<S> turned = column[dof].angular * side;
#pragma GCC unroll 3
        for (int i = 3; i < n; ++i) put(i, place, dof, dot(axis[i - 3], turned));
      }
    }
  });
}

CYCLOID_HD inline RowLaw contact_law(const ModelView& model, bool compliant, int rows) {
  if (compliant) return RowLaw::given;
  if (rows == 1) return RowLaw::one_sided;
  return model.options.elliptic ? RowLaw::elliptic : RowLaw::pyramid;
}

// (3) of one contact.
template <class S>
CYCLOID_INLINE void put_contact_rows(RowLaw law, int n, const ReferenceOptions<S>& options,
                                     bool sticks, const ContactSlot<S>& c, const S* velocity,
                                     int row, ConstraintProblem<S>& problem) {
  const S x = c.touch.dist - c.margin;
  if (law != RowLaw::given) {
    contact_reference(law, n, options, c.numbers, c.rows, x, velocity, problem.D + row,
                      problem.a_ref + row, problem.friction + row);
    if (sticks && !options.unit_weights) {  // else when the weights are known
      stick(law, n, c.rows, c.adhesion, static_cast<const S*>(problem.D + row),
            problem.a_ref + row);
    }
    return;
  }
  compliant_force(n, options, c.numbers, c.rows, x, velocity, problem.D + row);
  for (int k = row; k < row + n; ++k) problem.a_ref[k] = problem.friction[k] = S(0);
}

// Adds one group for each slot, in order. Returns the first.
template <class S, class P>
CYCLOID_STAGE int add_contact_rows(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                                   const RowInstant<S>& at, ConstraintProblem<S>& problem) {
  const int first = problem.groups;
  for (int slot = 0; slot < w.slots; ++slot) {
    const int rows = slot_rows(s, w, slot), g = problem.groups;
    const RowLaw law = contact_law(s.tree.model, at.options.compliant.acts, rows);
    const int row = problem.add_group(law, rows);
    const ContactSlot<S>& c = w.slot[slot] = gather_slot(s, w, slot);
    find_movers(s, w, slot, problem, g);
    S* const velocity = w.velocity + slot * kMostRows;
    with_row_count(rows, [&]<int n>(RowCount<n>) {
      fill_contact_jacobian<n>(s.plan, static_cast<const Motion<S>*>(s.frames.column), c, w,
                               at.qvel, problem, g, velocity);
      if (s.tree.surfaces_move) {
        add_surface_motion(contact_frame(c.touch.normal, c.touch.tangent),
                           surface_motion(s, w, slot), n, velocity);
      }
      put_contact_rows(law, n, at.options, s.tree.sticks, c, static_cast<const S*>(velocity), row,
                       problem);
    });
  }
  return first;
}

// (2) of sticky_contact.h where rows have been weighed (exact_diagonal.h), and its pullback to D:
// visit(slot, law, row count, row).
template <class S, class Visit>
CYCLOID_HD void for_each_sticky_slot(const ContactSpace<S>& w, const ConstraintProblem<S>& problem,
                                     int first, Visit visit) {
  for (int slot = 0; slot < w.slots; ++slot) {
    const RowGroup& group = problem.group[first + slot];
    if (group.law == RowLaw::given) continue;
    visit(w.slot[slot], group.law, group.rows, problem.group_row(first + slot));
  }
}
template <class S>
CYCLOID_HD void stick_weighed_rows(const ContactSpace<S>& w, int first,
                                   const ConstraintProblem<S>& problem) {
  for_each_sticky_slot(w, problem, first, [&](const ContactSlot<S>& c, RowLaw law, int n, int row) {
    stick(law, n, c.rows, c.adhesion, static_cast<const S*>(problem.D + row), problem.a_ref + row);
  });
}
// a_ref_bar, D_bar: (all rows); the adhesion's own cotangent comes with the other rows'.
template <class S>
CYCLOID_HD void gather_weighed_rows(const ContactSpace<S>& w, int first,
                                    const ConstraintProblem<S>& problem, const S* a_ref_bar,
                                    S* D_bar) {
  for_each_sticky_slot(w, problem, first, [&](const ContactSlot<S>& c, RowLaw law, int n, int row) {
    S unused(0);
    stick_pullback(law, n, c.rows, c.adhesion, static_cast<const S*>(problem.D + row),
                   a_ref_bar + row, unused, D_bar + row);
  });
}

}  // namespace cycloid::inline rigid
