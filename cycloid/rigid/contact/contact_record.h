// What a chunk's contacts were, in two numbers per slot and lane, or three where there are solids.
//
//   keep_contacts     writes, for each lane's contact, its pair and place, and the touch's feature
//   recall_contacts   has the same touches and slots from it, bit for bit, without looking for near
//                     pairs, and for boxes without their search (narrow_phase.h)
// A record has room for so many slots; a chunk with more is marked, and its contacts are found
// again.
#pragma once

#include <limits>

#include "cycloid/rigid/contact/contact_slots.h"

namespace cycloid::inline rigid {

// Per slot: pair · kMostTouches + place (-1 where there is none), and the feature in one number or
// two.
template <class S>
struct ContactRecord {
  S* numbers;
  int room;       // slots
  int slots = 0;  // kept; -1: there was no room, they are to be found again
  int width = 2;  // numbers per slot

  S* at(int slot) const { return numbers + width * slot; }
};
inline int record_width(const ContactPlan& plan) { return plan.solids ? 3 : 2; }

template <class S>
void keep_contacts(const ContactSpace<S>& w, ContactRecord<S>& record) {
  record.slots = w.slots <= record.room ? w.slots : -1;
  for (int slot = 0; slot < record.slots; ++slot) {
    S &code = record.at(slot)[0], &feature = record.at(slot)[1];
    code = feature = S(-1);
    if (record.width > 2) record.at(slot)[2] = S(0);
    for_each_group(w, slot, [&](const SlotGroup<S>& group) {
      const PairTouch<S>& touch = w.touch[group.touch];
      const S number = S(w.touched[group.owner].pair * kMostTouches + touch.place);
      group.move(&number, &code, 1);
      group.move(&touch.feature, &feature, 1);
      if (record.width > 2) group.move(&touch.feature2, record.at(slot) + 2, 1);
    });
  }
}

// Lanes that walk through a record together, in the order of pairs.
template <class S>
struct RecordWalk {
  const ContactRecord<S>& record;
  int next[kLanes<S>] = {}, code[kLanes<S>];  // slot, and what is kept there; past the end: kEnd
  static constexpr int kEnd = std::numeric_limits<int>::max();

  explicit RecordWalk(const ContactRecord<S>& r) : record(r) {
    for (int l = 0; l < kLanes<S>; ++l) read(l);
  }
  void read(int l) {
    code[l] = kEnd;
    if (next[l] >= record.slots) return;
    const int kept = static_cast<int>(elements(record.at(next[l]))[l]);
    if (kept >= 0) code[l] = kept;
  }
  // The first pair that some lane has not passed, or -1. Passes it, and writes its features
  // (2, kMostTouches).
  int next_pair(S* feature) {
    int lowest = kEnd;
    for (const int c : code) lowest = std::min(lowest, c);
    if (lowest == kEnd) return -1;
    const int k = lowest / kMostTouches, end = (k + 1) * kMostTouches;
    for (int i = 0; i < kMostTouches; ++i) feature[i] = S(kNoFeature);
    for (int l = 0; l < kLanes<S>; ++l) {
      for (; code[l] < end; read(l)) {
        S *from = record.at(next[l]++), *to = feature + code[l] % kMostTouches;
        move_lane(from[1], l, to[0]);
        if (record.width > 2) move_lane(from[2], l, to[kMostTouches]);
      }
    }
    return k;
  }
};

// The contacts of a record; places the geoms that have some.
template <class S, class P>
void recall_contacts(const ContactScene<S, P>& s, const ContactRecord<S>& record,
                     ContactSpace<S>& w) {
  if (record.slots < 0) return find_contacts(s, Detection::forces, w);
  w.clear();
  std::fill_n(w.placed, s.plan.geoms.size(), false);
  RecordWalk<S> walk(record);
  Touch<S> touch[kMostTouches];
  S feature[2 * kMostTouches];
  Mask<S> used[kMostTouches];
  for (int k = walk.next_pair(feature); k >= 0; k = walk.next_pair(feature)) {
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
    add_touches(s, k, touch, static_cast<const S*>(feature),
                pair_numbers(s.plan, s.tree.model, s.p, pair), used, w);
  }
}

}  // namespace cycloid::inline rigid
