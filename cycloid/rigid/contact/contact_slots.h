// From the bodies' places to the contacts of a chunk, in slots (contact_space.h).
//
//   place_geoms     poses and sizes
//   find_contacts   near pairs, their touches, and their slots (contact_record.h: again)
// A contact counts where dist < margin; `Detection::all` adds those within the gap and at the
// margin itself, which MuJoCo lists though they have no force.
//
// Which pairs are near, which touches a lane has and what their features are is decided here and
// not differentiated; the numbers of touches are (narrow_phase.h, contact_rows_pullback.h).
#pragma once

#include "cycloid/base/bits.h"
#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/contact/contact_space.h"
#include "cycloid/rigid/contact/extent.h"
#include "cycloid/rigid/contact/geom_pose.h"
#include "cycloid/rigid/contact/narrow_phase.h"
#include "cycloid/rigid/contact/slot_layout.h"
#include "cycloid/rigid/contact/solids_apart.h"
#include "cycloid/rigid/contact/sticky_contact.h"

namespace cycloid::inline rigid {

// What contacts are found from.
template <class S, class P>
struct ContactScene {
  const ContactPlan& plan;
  const TreeView& tree;
  const P* p;
  const Frames<S>& frames;

  CYCLOID_HD const TouchingGeom& geom(int g) const {
    return plan.geoms[static_cast<std::size_t>(g)];
  }
  CYCLOID_HD const ContactPair& pair(int k) const {
    return plan.pairs[static_cast<std::size_t>(k)];
  }
  CYCLOID_HD bool has_solid(int k) const {
    return plan.solids &&
           (is_solid(geom(pair(k).geom1).kind) || is_solid(geom(pair(k).geom2).kind));
  }
};

enum class Detection { forces, all };

// What adds to a geom's place about its own body's origin to give its pose's.
template <class S, class P>
CYCLOID_INLINE Vec3<S> placed_from(const ContactScene<S, P>& s, const TouchingGeom& g) {
  if (g.moves || !s.plan.one_tree) return {S(0), S(0), S(0)};
  return s.frames.origin[g.body] - s.frames.origin[s.plan.origin_body];
}

template <class S, class P>
CYCLOID_HD void place_geom(const ContactScene<S, P>& s, const ContactSpace<S>& w, int i) {
  const TouchingGeom& g = s.geom(i);
  w.pose[i] = geom_pose(g, s.p, s.frames.R[g.body], s.frames.pos[g.body] + placed_from(s, g));
  if (is_solid(g.kind)) {
    constexpr double wide = 1 + 4 * double(std::numeric_limits<Scalar<S>>::epsilon());
    const S zero = S(0), radius = S(static_cast<Scalar<S>>(w.solid[i].radius * wide));
    store(w.size + 3 * i, Vec3<S>{radius, zero, zero});
  } else {
    store(w.size + 3 * i, vec3_of<S>(s.p + g.at.size));
  }
  w.near_margin[i] = primal(S(s.p[g.at.margin] + s.p[g.at.gap]));
}
template <class S, class P>
CYCLOID_STAGE void place_geoms(const ContactScene<S, P>& s, const ContactSpace<S>& w) {
  for (int i = 0; i < static_cast<int>(s.plan.geoms.size()); ++i) place_geom(s, w, i);
}

// margin + gap of a pair.
template <class S, class P>
CYCLOID_INLINE PlainScalar<S> detection_margin(const ContactScene<S, P>& s,
                                               const ContactSpace<S>& w, const ContactPair& pair) {
  if (pair.given < 0) return w.near_margin[pair.geom1] + w.near_margin[pair.geom2];
  const GivenPair& own = s.tree.model.pairs[static_cast<std::size_t>(pair.given)];
  return constant<PlainScalar<S>>(own.margin + own.gap);
}

// A pair about its reference origin.
template <class S>
struct PlacedPair {
  GeomKind kind1, kind2;
  const S *size1, *size2;
  const Pose<S>*x1, *x2;
  Pose<S> moved;  // of the geom whose own origin is another
  PairSolids solids;

  template <class P>
  CYCLOID_HD PlacedPair(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                        const ContactPair& pair)
      : kind1(s.geom(pair.geom1).kind),
        kind2(s.geom(pair.geom2).kind),
        size1(w.size + 3 * pair.geom1),
        size2(w.size + 3 * pair.geom2),
        x1(w.pose + pair.geom1),
        x2(w.pose + pair.geom2) {
    if (is_solid(kind1)) solids.one = w.solid + pair.geom1;
    if (is_solid(kind2)) solids.two = w.solid + pair.geom2;
    if (pair.hint >= 0) solids.known.hints = w.hints + pair.hint * kLanes<S>;
    if (pair.one_origin || s.plan.one_tree) return;
    const bool second = pair.reference == pair.body2;
    const Pose<S>*& other = second ? x1 : x2;
    moved.R = other->R;
    moved.p = other->p +
              (s.frames.origin[second ? pair.body1 : pair.body2] - s.frames.origin[pair.reference]);
    other = &moved;
  }
  PlacedPair(const PlacedPair&) = delete;

  // Lanes in which boxes or balls about the geoms are apart; of solids, others are not searched.
  CYCLOID_HD Mask<S> apart(const S& margin) {
    Mask<S> out = shapes_apart(kind1, size1, *x1, kind2, size2, *x2, margin);
    if constexpr (kAllPairs) {
      if ((!solids.one && !solids.two) || all(out)) return out;
      out = out | solids_apart(kind1, size1, *x1, kind2, size2, *x2, solids, margin);
      solids.known.lanes = lane_bits(Mask<S>(!out));
    }
    return out;
  }
};

// Per geom, for the broad phase: two geoms' reaches are at least their pair's margin.
template <class S, class P>
CYCLOID_HD void find_reach(const ContactScene<S, P>& s, const ContactSpace<S>& w, Scalar<S> more) {
  for (std::size_t i = 0; i < s.plan.geoms.size(); ++i) {
    w.reach[i] = std::max(Scalar<S>(0), -lowest_lane(-w.near_margin[i])) + more;
  }
  for (const int k : s.plan.given) {
    const ContactPair& pair = s.pair(k);
    const GivenPair& own = s.tree.model.pairs[static_cast<std::size_t>(pair.given)];
    const Scalar<S> half = static_cast<Scalar<S>>(0.5 * (own.margin + own.gap)) + more;
    for (const int g : {pair.geom1, pair.geom2}) w.reach[g] = std::max(w.reach[g], half);
  }
}

// More than rounding moves a place by.
template <class S>
CYCLOID_INLINE PlainScalar<S> place_rounding(const Vec3<S>& p) {
  constexpr double wide = 32 * double(std::numeric_limits<Scalar<S>>::epsilon());
  return primal(S(wide) * (abs(p.x) + abs(p.y) + abs(p.z)));
}

// Writes w.near and w.margin of its pairs; returns their number. Bounding spheres are wide enough
// for rounding of places, so that no lane needs a neighbour's nearness to find its contacts. more:
// is added to every margin.
template <class S, class P>
CYCLOID_HD int find_near(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                         PlainScalar<S> more = PlainScalar<S>(0)) {
  using B = PlainScalar<S>;
  const ContactPlan& plan = s.plan;
  const Pose<B>* pose = w.common;
  if constexpr (std::is_same_v<S, B>) pose = plan.one_tree ? w.pose : w.common;
  for (std::size_t i = 0; i < plan.geoms.size(); ++i) {
    const TouchingGeom& g = plan.geoms[i];
    w.radius[i] = primal(bounding_radius(g.kind, static_cast<const S*>(w.size + 3 * i)));
    Vec3<S> p = w.pose[i].p;
    if (pose != w.common) {
      w.radius[i] += place_rounding(p);
      continue;
    }
    if (!plan.one_tree) p += s.frames.origin[g.body] - s.frames.origin[plan.origin_body];
    for (int k = 0; k < 9; ++k) w.common[i].R.e[k] = primal(w.pose[i].R.e[k]);
    w.common[i].p = {primal(p.x), primal(p.y), primal(p.z)};
    w.radius[i] += place_rounding(p);
  }
  const auto margin = [&](std::size_t k) {
    return w.margin[k] = detection_margin(s, w, plan.pairs[k]) + more;
  };
  if (plan.broad.selects()) find_reach(s, w, -lowest_lane(-more));
  return find_near_pairs(plan.broad, pose, static_cast<const B*>(w.radius), margin,
                         static_cast<const Scalar<S>*>(w.reach), w.scratch, w.near);
}

// Adds one place of the pair that was touched last, in the lanes that use it and have room.
template <class S>
CYCLOID_HD void add_touch(const ContactPlan& plan, const Touch<S>& touch, const S& feature,
                          const S& feature2, int place, const Mask<S>& used, ContactSpace<S>& w) {
  S kept = feature;
  unsigned lanes = lane_bits(used);
  for (unsigned bits = lanes; bits != 0; bits &= bits - 1) {
    const int l = lowest_bit(bits);
    if (w.count[l] < plan.slots) {
      ++w.count[l];
    } else {
      w.crowded |= 1u << l;
      lanes &= ~(1u << l);
      put_lane(kept, l, kNoFeature);
    }
  }
  if (lanes == 0) return;
  w.touch[w.touch_count++] = {touch, select(used, kept, S(kNoFeature)), feature2, place, lanes};
  ++w.touched[w.touched_count - 1].count;
}

// What contacts of a pair have besides pair_numbers.
template <class S, class P>
CYCLOID_HD PairNumbers<P> contact_numbers(const ContactScene<S, P>& s, const ContactPair& pair) {
  PairNumbers<P> numbers = pair_numbers(s.plan, s.tree.model, s.p, pair);
  if (s.tree.sticks) numbers.adhesion = pair_adhesion(s.plan, s.tree.model, s.p, pair);
  return numbers;
}

// Adds the touches of a pair, in the lanes of `used` (kMostTouches). feature: (2, kMostTouches).
template <class S, class P>
CYCLOID_HD void add_touches(const ContactScene<S, P>& s, int k, const Touch<S>* touch,
                            const S* feature, const PairNumbers<P>& numbers, const Mask<S>* used,
                            ContactSpace<S>& w) {
  w.touched[w.touched_count++] = {k, w.touch_count, 0};
  const bool solid = s.has_solid(k);
  for (int i = 0; i < s.pair(k).touches; ++i) {
    if (!any(used[i])) continue;
    add_touch(s.plan, touch[i], feature[i], solid ? feature[kMostTouches + i] : S(0), i, used[i],
              w);
  }
  if (w.touched[w.touched_count - 1].count == 0) {
    --w.touched_count;
  } else {
    w.template numbers<P>()[w.touched_count - 1] = numbers;
  }
}

// Places the geoms, and finds their contacts.
template <class S, class P>
CYCLOID_STAGE void find_contacts(const ContactScene<S, P>& s, Detection detection,
                                 ContactSpace<S>& w) {
  w.clear();
  if (s.plan.pairs.empty()) return;
  place_geoms(s, w);
  const int near = find_near(s, w);
  Touch<S> touch[kMostTouches];
  S feature[2 * kMostTouches];
  Mask<S> used[kMostTouches];
  for (int i = 0; i < near; ++i) {
    const int k = w.near[i];
    const ContactPair& pair = s.pair(k);
    PlacedPair<S> at(s, w, pair);
    const Mask<S> apart = at.apart(S(w.margin[k]));
    if (all(apart)) continue;
    collide(at.kind1, at.kind2, at.size1, *at.x1, at.size2, *at.x2, S(w.margin[k]), touch, feature,
            at.solids);
    Mask<S> some = Mask<S>(false);
    for (int place = 0; place < pair.touches; ++place) some = some | (feature[place] >= S(0));
    if (!any(some)) continue;
    const PairNumbers<P> numbers = contact_numbers(s, pair);
    for (int place = 0; place < pair.touches; ++place) {
      used[place] = (feature[place] >= S(0)) & Mask<S>(!apart);
      if (detection == Detection::all || !any(used[place])) continue;
      used[place] = used[place] & (touch[place].dist < S(numbers.margin));
    }
    add_touches(s, k, touch, static_cast<const S*>(feature), numbers, used, w);
  }
  fill_slots(s.plan, w);
}

}  // namespace cycloid::inline rigid
