// What a chunk's contacts were, in two numbers per contact and lane, or three where there are
// solids.
//
//   keep_contacts     writes, for each lane's k-th contact, its pair and place, and the touch's
//                     feature
//   recall_contacts   has the same touches and slots from it, bit for bit, without looking for near
//                     pairs, and for boxes without their search (narrow_phase.h)
// A record has room for so many contacts of a lane; a chunk with more is marked, and its contacts
// are found again.
#pragma once

#include <limits>

#include "cycloid/base/array_items.h"
#include "cycloid/base/bits.h"
#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/contact/contact_slots.h"

namespace cycloid::inline rigid {

// Per contact: pair · kMostTouches + place (-1 where there is none), and the feature in one number
// or two.
template <class S>
struct ContactRecord {
  S* numbers;
  int room;       // contacts of a lane
  int slots = 0;  // kept; -1: there was no room, they are to be found again
  int width = 2;  // numbers per slot

  CYCLOID_HD S* at(int slot) const { return numbers + width * slot; }
};
CYCLOID_HD inline int record_width(const ContactPlan& plan) { return plan.solids ? 3 : 2; }

template <class S>
CYCLOID_HD void keep_contacts(const ContactSpace<S>& w, ContactRecord<S>& record) {
  const int most = *std::max_element(w.count, w.count + kLanes<S>);
  record.slots = most <= record.room ? most : -1;
  if (record.slots < 0) return;
  fill_items(record.numbers, record.width * record.slots, S(-1));
  int next[kLanes<S>] = {};
  for (int i = 0; i < w.touched_count; ++i) {
    const TouchedPair& owner = w.touched[i];
    for (int t = owner.first; t < owner.first + owner.count; ++t) {
      const PairTouch<S>& touch = w.touch[t];
      const S code = S(owner.pair * kMostTouches + touch.place);
      for (unsigned bits = touch.lanes; bits != 0; bits &= bits - 1) {
        const int l = lowest_bit(bits);
        S* const to = record.at(next[l]++);
        move_lane(code, l, to[0]);
        move_lane(touch.feature, l, to[1]);
        if (record.width > 2) move_lane(touch.feature2, l, to[2]);
      }
    }
  }
}

// Lanes that walk through a record together, in the order of pairs. A lane's contacts are in that
// order too: those of one pair lie in a few rows of the record.
template <class S>
struct RecordWalk {
  using B = PlainScalar<S>;
  static constexpr Scalar<S> kEnd = std::numeric_limits<Scalar<S>>::max();
  const ContactRecord<S>& record;
  int passed = 0;      // rows of which nothing is left in any lane
  Scalar<S> code = 0;  // the lowest that some lane has not passed, or kEnd

  CYCLOID_HD explicit RecordWalk(const ContactRecord<S>& r) : record(r) {
    code = r.slots > 0 ? lowest_lane(codes(0)) : kEnd;
  }
  CYCLOID_HD B codes(int row) const {
    const B kept = primal(*record.at(row));
    return select(kept < B(0), B(kEnd), kept);
  }
  // The first pair that some lane has not passed, or -1. Passes it, and writes its features
  // (2, kMostTouches).
  CYCLOID_HD int next_pair(const ContactPlan& plan, S* feature) {
    if (code == kEnd) return -1;
    const int k = static_cast<int>(code) / kMostTouches, first = k * kMostTouches;
    const int places = plan.pairs[static_cast<std::size_t>(k)].touches;
    for (int i = 0; i < places; ++i) feature[i] = feature[kMostTouches + i] = S(kNoFeature);
    B next(kEnd);
    for (int row = passed; row < record.slots; ++row) {
      const S* const from = record.at(row);
      const B own = codes(row);
      for (int i = 0; i < places; ++i) {
        const Mask<B> here = own == B(first + i);
        feature[i] = select(here, from[1], feature[i]);
        if (record.width > 2) {
          feature[kMostTouches + i] = select(here, from[2], feature[kMostTouches + i]);
        }
      }
      const Mask<B> later = own >= B(first + kMostTouches);
      next = select(later & (own < next), own, next);
      if (all(later)) break;
      if (!any(later)) passed = row + 1;
    }
    code = lowest_lane(next);
    return k;
  }
};

// The contacts of a record; places the geoms that have some.
template <class S, class P>
CYCLOID_STAGE void recall_contacts(const ContactScene<S, P>& s, const ContactRecord<S>& record,
                                   ContactSpace<S>& w, Detection detection = Detection::forces) {
  if (record.slots < 0) return find_contacts(s, detection, w);
  w.clear();
  fill_items(w.placed, s.plan.geoms.size(), false);
  RecordWalk<S> walk(record);
  Touch<S> touch[kMostTouches];
  S feature[2 * kMostTouches];
  Mask<S> used[kMostTouches];
  for (int k = walk.next_pair(s.plan, feature); k >= 0; k = walk.next_pair(s.plan, feature)) {
    const ContactPair& pair = s.pair(k);
    for (const int g : {pair.geom1, pair.geom2}) {
      if (!w.placed[g]) place_geom(s, w, g);
      w.placed[g] = true;
    }
    const PlacedPair<S> at(s, w, pair);
    collide_again(at.kind1, at.kind2, at.size1, *at.x1, at.size2, *at.x2,
                  S(detection_margin(s, w, pair)), static_cast<const S*>(feature), touch,
                  at.solids);
    for (int i = 0; i < pair.touches; ++i) used[i] = feature[i] >= S(0);
    add_touches(s, k, touch, static_cast<const S*>(feature), contact_numbers(s, pair), used, w);
  }
  fill_slots(s.plan, w);
}

}  // namespace cycloid::inline rigid
