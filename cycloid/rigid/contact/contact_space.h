// The memory of a chunk's contacts.
//
// Geometry works pair by pair, for all lanes at once. A lane's slots hold that lane's own contacts,
// in MuJoCo's order (by pair, then by touch): lanes that touch in different places share slots. A
// lane may have no contact in a slot (slot_layout.h).
//   touch  a place of a pair at which some lane has a contact; numbers for all lanes
//   slot   per lane, which touch it is
//   group  lanes of a slot that have the same touch
// A lane with more contacts than the plan has slots keeps the first, and is in `crowded`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cycloid/base/array_items.h"
#include "cycloid/base/bits.h"
#include "cycloid/rigid/contact/contact_numbers.h"
#include "cycloid/rigid/solver/lane_bits.h"

namespace cycloid::inline rigid {

template <class S>
struct PairTouch {
  Touch<S> at;  // pos about the pair's reference origin
  S feature;    // kNoFeature in lanes that do not touch here
  S feature2;   // of solids: the second half of its code
  int place;    // among the pair's
  unsigned lanes;
};

// A pair that has touches.
struct TouchedPair {
  int pair, first, count;
};

// The broad phase decides and is not differentiated: Dual numbers go without their tangents.
template <class S>
using PlainScalar = std::remove_cvref_t<decltype(primal(std::declval<S>()))>;

// Numbers as the elements that they consist of, lanes innermost; a Dual has several per lane.
template <class S>
inline constexpr int kElements = static_cast<int>(sizeof(S) / sizeof(Scalar<S>));
template <class S>
CYCLOID_INLINE Scalar<S>* elements(S* x) {
  return reinterpret_cast<Scalar<S>*>(x);
}
template <class S>
CYCLOID_INLINE const Scalar<S>* elements(const S* x) {
  return reinterpret_cast<const Scalar<S>*>(x);
}

// Lane l of a number.
template <class S>
CYCLOID_INLINE void move_lane(const S& from, int l, S& to) {
  for (int i = l; i < kElements<S>; i += kLanes<S>) elements(&to)[i] = elements(&from)[i];
}

// A struct that holds nothing but numbers of type S, as their array.
template <class S, class A>
CYCLOID_INLINE auto* numbers_in(A& a) {
  static_assert(sizeof(A) % sizeof(S) == 0 && std::is_trivially_copyable_v<A>);
  if constexpr (std::is_const_v<A>) {
    return reinterpret_cast<const S*>(&a);
  } else {
    return reinterpret_cast<S*>(&a);
  }
}

// Lanes of a slot that have the same touch.
struct LaneGroup {
  int touch, owner;  // the touch, and its pair among those that are touched
  unsigned bits;     // lanes
};

// The same, to move numbers by: those of a few lanes one by one, of many at once.
template <class S>
struct SlotGroup : LaneGroup {
  const S* ids;  // the touches of the slot's lanes

  static constexpr int kFew = 2;
  CYCLOID_HD Mask<S> lanes() const { return *ids == S(touch); }
  CYCLOID_HD bool few() const { return kLanes<S> > 1 && bit_count(bits) <= kFew; }

  // n numbers, one per lane (P = S) or one for all.
  template <class P>
  CYCLOID_INLINE void move(const P* from, S* to, int n) const {
    constexpr bool one_for_all = !std::is_same_v<P, S>;
    if ((one_for_all && !RealScalar<S>) || !few()) {
      const Mask<S> own = lanes();
      for (int i = 0; i < n; ++i) to[i] = select(own, S(from[i]), to[i]);
      return;
    }
    for (unsigned rest = bits; rest != 0; rest &= rest - 1) {
      const int l = lowest_bit(rest);
      if constexpr (one_for_all) {
        for (int i = 0; i < n; ++i) elements(to)[i * kLanes<S> + l] = from[i];
      } else {
        for (int i = l; i < n * kElements<S>; i += kLanes<S>) elements(to)[i] = elements(from)[i];
      }
    }
  }
  template <class A>
  CYCLOID_INLINE void move_all(const A& from, A& to) const {
    move(numbers_in<S>(from), numbers_in<S>(to), static_cast<int>(sizeof(A) / sizeof(S)));
  }
  // The same, added.
  CYCLOID_INLINE void add(const S* from, S* to, int n) const {
    if (!few()) {
      const Mask<S> own = lanes();
      for (int i = 0; i < n; ++i) to[i] += select(own, from[i], S(0));
      return;
    }
    for (unsigned rest = bits; rest != 0; rest &= rest - 1) {
      const int l = lowest_bit(rest);
      for (int i = l; i < n * kElements<S>; i += kLanes<S>) elements(to)[i] += elements(from)[i];
    }
  }
  template <class A>
  CYCLOID_INLINE void add_all(const A& from, A& to) const {
    add(numbers_in<S>(from), numbers_in<S>(to), static_cast<int>(sizeof(A) / sizeof(S)));
  }
};

// A slot's contacts, lane by lane. In a lane without one: rows = 0, and harmless numbers.
template <class S>
struct ContactSlot {
  S rows{}, margin{}, adhesion{};
  Touch<S> touch{S(0), {}, {S(0), S(0), S(1)}, {}};  // pos about the second body's origin, ...
  Vec3<S> x1{};                                      // ... and about the first's
  ContactNumbers<S> numbers;

  CYCLOID_HD ContactSlot() {
    const Compliance usual;
    for (std::size_t i = 0; i < 2; ++i) numbers.soft.solref[i] = constant<S>(usual.solref[i]);
    for (std::size_t i = 0; i < 5; ++i) numbers.soft.solimp[i] = constant<S>(usual.solimp[i]);
    for (S& g : numbers.friction) g = S(1);
    numbers.A = S(1);
  }
};

template <class S>
struct ContactSpace {
  using B = PlainScalar<S>;
  Pose<S>* pose;            // (geoms) about the origin of the geom's tree
  S* size;                  // (geoms, 3)
  Pose<B>* common;          // (geoms) about that of plan.origin_body
  B *radius, *near_margin;  // (geoms) bounding sphere; margin + gap
  B* margin;                // (pairs) margin + gap of the pair
  Scalar<S>* reach;         // (geoms)
  bool* placed;             // (geoms)
  SolidShape* solid;        // (geoms) of those that are meshes or height fields
  double* corners;          // (corners of all hulls, 3)
  ApartHint* hints;         // (hints of the plan, lanes)
  int* near;                // (pairs)
  TouchedPair* touched;     // in rising order of pairs
  PairTouch<S>* touch;
  std::byte* numbers_memory;    // (touched) PairNumbers<P>
  LaneGroup* group;             // (slots, lanes)
  int* groups;                  // (slots) of a slot
  S* slot_id;                   // (slots) the touch of each lane, -1 where there is none
  ContactSlot<S>* slot;         // (slots)
  S* velocity;                  // (slots, kMostRows) J q̇
  S* adhesion;                  // (slots) normal forces besides the law's, where `adheres`
  S* pressed;                   // (slots) those of actuators, where joints limit them
  unsigned *moves1, *moves2;    // (padded dofs) lanes of a slot whose first or second it moves
  TouchBar<S>* touch_bars;      // (touches)
  PairNumbers<S>* number_bars;  // (touched), or (pairs) where they wait
  bool* waiting;                // (pairs) which wait for add_waiting_numbers
  BroadPhaseScratch<B> scratch;

  int touched_count = 0, touch_count = 0, slots = 0;
  bool adheres = false;
  // Cotangents of pairs' numbers are summed over calls before they go on to the parameters, which
  // is linear in them. Only where the plan has memory for that.
  bool waits = false;
  int count[kLanes<S>];  // contacts of each lane
  unsigned crowded;      // bits: lanes with more contacts than slots

  template <class P>
  CYCLOID_HD PairNumbers<P>* numbers() const {
    return reinterpret_cast<PairNumbers<P>*>(numbers_memory);
  }
  CYCLOID_HD LaneGroup* groups_of(int k) const { return group + k * kLanes<S>; }
  // Where the cotangents of a touched pair's numbers go.
  CYCLOID_HD PairNumbers<S>& number_bars_of(int owner) const {
    return number_bars[waits ? touched[owner].pair : owner];
  }
  CYCLOID_HD void clear_number_bars() const {
    for (int i = 0; i < touched_count; ++i) {
      if (waits && std::exchange(waiting[touched[i].pair], true)) continue;
      number_bars_of(i) = PairNumbers<S>{};
    }
  }

  void carve(const ContactPlan& plan, Arena& arena);
  // To be called once in the life of the memory, before contacts are looked for.
  CYCLOID_HD void begin(const ContactPlan& plan) const {
    scratch.begin(plan.broad);
    fill_items(hints, plan.hints * kLanes<S>, ApartHint{});
    if (plan.waits) fill_items(waiting, plan.pairs.size(), false);
  }
  // To be called whenever the parameters change, before contacts are looked for.
  template <class T>
  void set_solids(const ContactPlan& plan, const Model& m, const SolidArrays<T>& arrays) const {
    if (!plan.solids) return;
    for (std::size_t i = 0; i < plan.geoms.size(); ++i) {
      const TouchingGeom& g = plan.geoms[i];
      const std::size_t data = static_cast<std::size_t>(g.data);
      if (g.kind == GeomKind::mesh) {
        solid[i] = solid_mesh(m.meshes[data], plan.hulls[data], g.array, arrays,
                              corners + 3 * plan.corners_at[data]);
      } else if (g.kind == GeomKind::hfield) {
        solid[i] = solid_field(m.height_fields[data], g.array, arrays);
      }
    }
  }
  // Forgets all contacts.
  CYCLOID_HD void clear() {
    touched_count = touch_count = slots = 0;
    adheres = false;
    for (int& n : count) n = 0;
    crowded = 0;
  }
};

template <class S>
void ContactSpace<S>::carve(const ContactPlan& plan, Arena& arena) {
  const std::size_t geoms = plan.geoms.size(), pairs = plan.pairs.size(), lanes = kLanes<S>,
                    most = static_cast<std::size_t>(plan.slots) * lanes;
  // Every touch is a contact of some lane.
  const std::size_t touches = std::min(static_cast<std::size_t>(plan.touches), most);
  const std::size_t owners = std::min(pairs, touches + 1);  // one more is looked at, and dropped
  arena.take(pose, geoms);
  arena.take(size, 3 * geoms);
  arena.take(common, geoms);
  arena.take(radius, geoms);
  arena.take(near_margin, geoms);
  arena.take(margin, pairs);
  arena.take(reach, geoms);
  arena.take(placed, geoms);
  arena.take(solid, plan.solids ? geoms : 0);
  arena.take(corners, 3 * static_cast<std::size_t>(plan.corners));
  arena.take(hints, static_cast<std::size_t>(plan.hints) * lanes);
  arena.take(near, pairs);
  arena.take(touched, owners);
  arena.take(touch, touches);
  numbers_memory = reinterpret_cast<std::byte*>(arena.take<PairNumbers<S>>(owners));
  arena.take(group, most);
  arena.take(groups, static_cast<std::size_t>(plan.slots));
  arena.take(slot, static_cast<std::size_t>(plan.slots));
  arena.take(velocity, static_cast<std::size_t>(plan.slots * kMostRows));
  arena.take(adhesion, static_cast<std::size_t>(plan.slots));
  arena.take(pressed, static_cast<std::size_t>(plan.slots));
  arena.take(moves1, static_cast<std::size_t>(plan.moves_stride));
  arena.take(moves2, static_cast<std::size_t>(plan.moves_stride));
  arena.take(slot_id, static_cast<std::size_t>(plan.slots));
  arena.take(touch_bars, touches);
  arena.take(number_bars, plan.waits ? pairs : owners);
  arena.take(waiting, plan.waits ? pairs : 0);
  scratch.carve(plan.broad, arena);
}

// visit(SlotGroup) for each touch that lanes of the slot have.
template <class S, class Visit>
CYCLOID_INLINE void for_each_group(const ContactSpace<S>& w, int slot, Visit visit) {
  const LaneGroup* const groups = w.groups_of(slot);
  for (int i = 0; i < w.groups[slot]; ++i) visit(SlotGroup<S>{groups[i], w.slot_id + slot});
}

}  // namespace cycloid::inline rigid
