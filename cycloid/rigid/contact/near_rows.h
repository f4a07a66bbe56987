// Rows of pairs that do not touch yet, for the way back alone (system/gradient_mode.h,
// FromDistance): a loss that depends on touching has a gradient before the touch.
//
// A touch at 0 < dist < width, of a pair that has no contact in its lane, is one row along the
// normal, as it will be when the pair touches:
//   r = J a - a_ref,  a_ref = -b (J q̇) - k d x,  x = 0,  stiffness w D,  w = (1 - dist/width)² (1)
// b, k, d and D as in reference.h. It acts on both sides of r, and its force is zero: a_ref is
// shifted so that r = 0 at forward's a. Of it the pullback sees ∂r: what a small change of J, of q̇
// and of dist would do to the force. w is held fixed.
#pragma once

#include "cycloid/base/array_items.h"
#include "cycloid/rigid/contact/contact_rows_pullback.h"

namespace cycloid::inline rigid {

// Lanes in which pair k has a contact. `from`: the first of w.touched not looked at yet; pairs are
// asked for in rising order.
template <class S>
CYCLOID_HD Mask<S> touching_lanes(const ContactSpace<S>& w, int k, int& from) {
  Mask<S> lanes(false);
  while (from < w.touched_count && w.touched[from].pair < k) ++from;
  if (from == w.touched_count || w.touched[from].pair != k) return lanes;
  const TouchedPair& pair = w.touched[from];
  for (int t = pair.first; t < pair.first + pair.count; ++t) {
    lanes = lanes | (w.touch[t].feature >= S(0));
  }
  return lanes;
}

// contacts: those of the lanes, which are left out.
template <class S, class P>
CYCLOID_HD void find_near_touches(const ContactScene<S, P>& s, const ContactSpace<S>& contacts,
                                  Scalar<S> width, ContactSpace<S>& w) {
  w.clear();
  if (s.plan.pairs.empty()) return;
  place_geoms(s, w);
  const int near = find_near(s, w, PlainScalar<S>(width));
  Touch<S> touch[kMostTouches];
  S feature[2 * kMostTouches];
  Mask<S> used[kMostTouches];
  for (int i = 0, from = 0; i < near; ++i) {
    const int k = w.near[i];
    const ContactPair& pair = s.pair(k);
    PlacedPair<S> at(s, w, pair);
    const Mask<S> apart = at.apart(S(width));
    const Mask<S> asked = Mask<S>(!apart) & Mask<S>(!touching_lanes(contacts, k, from));
    if (!any(asked)) continue;
    collide(at.kind1, at.kind2, at.size1, *at.x1, at.size2, *at.x2, S(width), touch, feature,
            at.solids);
    Mask<S> some(false);
    for (int place = 0; place < pair.touches; ++place) {
      used[place] = asked & (feature[place] >= S(0));
      if (!any(used[place])) continue;
      const S& dist = touch[place].dist;
      used[place] = used[place] & (dist > S(0)) & (dist < S(width));
      some = some | used[place];
    }
    if (!any(some)) continue;
    add_touches(s, k, touch, static_cast<const S*>(feature),
                pair_numbers(s.plan, s.tree.model, s.p, pair), used, w);
  }
  fill_slots(s.plan, w);
}

// Adds one group for each slot.
template <class S, class P>
CYCLOID_HD void add_near_rows(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                              Scalar<S> width, const RowInstant<S>& at,
                              ConstraintProblem<S>& problem) {
  for (int slot = 0; slot < w.slots; ++slot) {
    const int g = problem.groups, row = problem.add_group(RowLaw::equality, 1);
    ContactSlot<S>& c = w.slot[slot] = gather_slot(s, w, slot);
    const S left = S(1) - c.touch.dist / S(width);
    c.rows = select(w.slot_id[slot] >= S(0), S(1), S(0));
    c.margin = c.touch.dist;  // x = 0
    find_movers(s, w, slot, problem, g);
    S* const velocity = w.velocity + slot * kMostRows;
    fill_contact_jacobian<1>(s.plan, static_cast<const Motion<S>*>(s.frames.column), c, w, at.qvel,
                             problem, g, velocity);
    contact_reference(RowLaw::equality, 1, at.options, c.numbers, c.rows, S(0),
                      static_cast<const S*>(velocity), problem.D + row, problem.a_ref + row,
                      problem.friction + row);
    problem.D[row] *= left * left;  // (1)
  }
}

// r = 0 at a (padded), for the last groups of the problem. scratch: (all rows).
template <class S>
CYCLOID_HD void settle_near_rows(const ContactSpace<S>& w, const S* a,
                                 const ConstraintProblem<S>& problem, S* scratch) {
  if (w.slots == 0) return;
  row_products(problem, a, scratch);
  for (int g = problem.groups - w.slots; g < problem.groups; ++g) {
    const int row = problem.group_row(g);
    problem.a_ref[row] = scratch[row];
  }
}

template <class S, class P>
CYCLOID_HD void pull_near_rows(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                               const RowInstant<S>& at, const ConstraintProblem<S>& problem,
                               const RowResults<S>& results, const RowGradient<S>& sink) {
  fill_items(w.touch_bars, w.touch_count, TouchBar<S>{});
  if (sink.p_bar) fill_items(w.number_bars, w.touched_count, PairNumbers<S>{});
  const int first = problem.groups - w.slots;
  for (int slot = 0; slot < w.slots; ++slot) {
    gather_slot_bars(s, w, slot, first + slot, at, problem, results, sink);
  }
  for (int i = 0; i < w.touched_count; ++i) {
    gather_shapes(s, w, w.touched[i], sink);
    if (!sink.p_bar) continue;
    w.number_bars[i].margin = S(0);  // x = 0 whatever it is
    pair_numbers_pullback(s.plan, s.p, s.pair(w.touched[i].pair),
                          static_cast<const PairNumbers<S>&>(w.number_bars[i]), sink.p_bar);
  }
}

}  // namespace cycloid::inline rigid
