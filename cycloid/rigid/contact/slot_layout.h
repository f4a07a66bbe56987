// Which slot of the chunk each contact of a lane is in.
//
//   compact   slot k is a lane's k-th contact: the fewest slots. A lane with one contact less than
//             its neighbours has all later ones a slot earlier, so that a touch lies in two slots
//   whole     a touch lies in one slot, the first behind all that its lanes had before. A slot may
//             be empty in some lanes, a hole
// In both a lane's contacts are in its own order, and a slot adds zeros to the sums of a lane that
// has no contact there: the choice is seen in the time alone. It is the layout that costs less,
//   Σ_slots kSlotCost + Σ_groups (blocks of the Hessian that the group's pair moves)         (1)
// Robots of one tree are compact: chains to the root are shared, and so are most blocks of a slot.
#pragma once

#include "cycloid/base/bits.h"
#include "cycloid/rigid/contact/contact_space.h"

namespace cycloid::inline rigid {

// Of a slot with its rows, in blocks of the Hessian.
inline constexpr int kSlotCost = 12;

enum class SlotLayout { compact, whole };

// Blocks J ≤ I that a pair moves together.
CYCLOID_HD inline int moved_block_pairs(const ContactPlan& plan, int pair) {
  int blocks = 0;
  for (int w = 0; w < plan.block_words; ++w) {
    blocks += bit_count(plan.moved_blocks(pair).word[w]);
  }
  return blocks * (blocks + 1) / 2;
}

// Lanes and the next slot that each may use.
template <int lanes>
struct SlotWalk {
  int next[lanes] = {};

  // The first slot that is free in all these lanes.
  CYCLOID_HD int free_in(unsigned bits) const {
    int slot = 0;
    for (; bits != 0; bits &= bits - 1) slot = std::max(slot, next[lowest_bit(bits)]);
    return slot;
  }
  // visit(slot, lanes) for the slots of a touch.
  template <class Visit>
  CYCLOID_HD void place(SlotLayout layout, unsigned bits, Visit visit) {
    if (layout == SlotLayout::whole) {
      const int slot = free_in(bits);
      for (unsigned m = bits; m != 0; m &= m - 1) next[lowest_bit(m)] = slot + 1;
      return visit(slot, bits);
    }
    while (bits != 0) {
      const int slot = next[lowest_bit(bits)];
      unsigned here = 0;
      for (unsigned rest = bits; rest != 0; rest &= rest - 1) {
        const int l = lowest_bit(rest);
        if (next[l] != slot) continue;
        ++next[l];
        here |= 1u << l;
      }
      bits &= ~here;
      visit(slot, here);
    }
  }
};

// (1), or -1 where there are more slots than the plan has.
template <class S>
CYCLOID_HD int layout_cost(const ContactPlan& plan, const ContactSpace<S>& w, SlotLayout layout) {
  SlotWalk<kLanes<S>> walk;
  int slots = 0, cost = 0;
  for (int i = 0; i < w.touched_count; ++i) {
    const TouchedPair& owner = w.touched[i];
    const int blocks = moved_block_pairs(plan, owner.pair);
    for (int t = owner.first; t < owner.first + owner.count; ++t) {
      walk.place(layout, w.touch[t].lanes, [&](int slot, unsigned) {
        slots = std::max(slots, slot + 1);
        cost += blocks;
      });
    }
  }
  return slots <= plan.slots ? cost + slots * kSlotCost : -1;
}

template <class S>
CYCLOID_HD SlotLayout best_layout(const ContactPlan& plan, const ContactSpace<S>& w) {
  if (kLanes<S> == 1 || plan.one_tree) return SlotLayout::compact;
  const int whole = layout_cost(plan, w, SlotLayout::whole);
  if (whole < 0) return SlotLayout::compact;
  return whole <= layout_cost(plan, w, SlotLayout::compact) ? SlotLayout::whole
                                                            : SlotLayout::compact;
}

// Fills the slots with the touches that were found.
template <class S>
CYCLOID_HD void fill_slots(const ContactPlan& plan, ContactSpace<S>& w) {
  const SlotLayout layout = best_layout(plan, w);
  SlotWalk<kLanes<S>> walk;
  w.slots = 0;
  for (int i = 0; i < w.touched_count; ++i) {
    const TouchedPair& owner = w.touched[i];
    for (int t = owner.first; t < owner.first + owner.count; ++t) {
      walk.place(layout, w.touch[t].lanes, [&](int slot, unsigned lanes) {
        for (; w.slots <= slot; ++w.slots) {
          w.slot_id[w.slots] = S(-1);
          w.groups[w.slots] = 0;
        }
        w.groups_of(slot)[w.groups[slot]++] = {t, i, lanes};
        w.slot_id[slot] = select(lanes_of_bits<S>(lanes), S(t), w.slot_id[slot]);
      });
    }
  }
}

}  // namespace cycloid::inline rigid
