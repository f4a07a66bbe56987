// The least distance between two geoms, or of two bodies' geoms, its direction and its ends
// (sensors distance, normal, fromto).
//
// Of all pairs the nearest touch, with `dist`, point and normal n from the first geom to the second
// (geometry/shape.h):
//   distance   d = dist                                                                      (1)
//   fromto     x - ½ d n,  x + ½ d n       in world coordinates                              (2)
//   normal     n where d > 0, -n where the geoms are in each other                           (3)
// and the cutoff, (0, 0, 0) and zeros where no pair is nearer than the cutoff. Pairs that contacts
// find in closed form have their touch; others, and two boxes, that of their closest features
// (convex_find.h), without what contacts add where faces lie on faces. Which pair and
// which features these are is a decision. Height fields are not measured (io refuses the sensor).
// Source: MuJoCo's manual, collision sensors.
#pragma once

#include "cycloid/rigid/contact/narrow_phase.h"
#include "cycloid/rigid/force/ellipsoid_force.h"
#include "cycloid/rigid/sense/seen_solids.h"
#include "cycloid/rigid/sense/sensed_frame.h"

namespace cycloid::inline rigid {

// Whether the touch is that of the closest features.
constexpr bool meets_by_features(GeomKind k1, GeomKind k2) {
  return k1 != GeomKind::plane && is_searched(k1, k2) && kinds_code(k1, k2) != kCapsuleBox;
}

// Two geoms in the order of their kinds, about the origin of the second one's tree.
template <class S>
struct SeenPair {
  int geom[2];
  GeomKind kind[2];
  FrameMount on[2];
  SensedFrame<S> frame[2];
  Pose<S> x[2];
  S size[2][3];
  PairSolids solids;
  bool swapped;

  template <class P>
  SeenPair(const TreeView& tree, const P* p, const SeenShapes& seen, int g1, int g2,
           const Frames<S>& f, const Motion<S>* v, const Motion<S>* a) {
    const auto kind_at = [&](int g) {
      return static_cast<GeomKind>(tree.model.geoms[static_cast<std::size_t>(g)].shape);
    };
    swapped = kind_at(g1) > kind_at(g2);
    geom[0] = swapped ? g2 : g1, geom[1] = swapped ? g1 : g2;
    const SolidShape* solid[2];
    for (int i = 0; i < 2; ++i) {
      kind[i] = kind_at(geom[i]);
      on[i] = frame_mount(tree, static_cast<int>(ObjectKind::geom), geom[i]);
      frame[i] = sensed_frame(tree, p, on[i], f, v, a);
      solid[i] = seen.at(geom[i]);
      const Vec3<S> own = geom_size<S>(tree, p, geom[i]);
      for (int k = 0; k < 3; ++k) size[i][k] = own[k];
      if (solid[i]) size[i][0] = number<S>(solid[i]->radius);
    }
    for (int i = 0; i < 2; ++i) {
      x[i] = {to_matrix(frame[i].q), (frame[i].origin - frame[1].origin) + frame[i].x};
    }
    solids.one = is_solid(kind[0]) ? solid[0] : nullptr;
    solids.two = is_solid(kind[1]) ? solid[1] : nullptr;
  }
  PairHulls hulls() const {
    return {kind[0] == GeomKind::mesh ? &solids.one->hull : nullptr,
            kind[1] == GeomKind::mesh ? &solids.two->hull : nullptr};
  }
};

// The touch of the closest features, lane by lane.
template <class S>
void closest_touch(const SeenPair<S>& at, const S& limit, Touch<S>& out) {
  using T = LaneScalar<S>;
  for (int l = 0; l < kLanes<S>; ++l) {
    const GeomPair<T> g = take_mesh_pair(at.kind[0], at.kind[1], at.size[0], at.x[0], at.size[1],
                                         at.x[1], at.hulls(), l);
    const ConvexMeeting met =
        find_meeting(at.kind[0], at.kind[1], primal_pair(g), primal(take_lane(limit, l)));
    if (!met.found) continue;
    put_touch(convex_touch(at.kind[0], at.kind[1], g, met.at,
                           Vec3<T>{T(met.n.x), T(met.n.y), T(met.n.z)}),
              l, out);
  }
}

template <class S>
void closest_touch_bar(const SeenPair<S>& at, const S& limit, const Mask<S>& asks, bool gives,
                       const TouchBar<S>& out_bar, PoseBar<S>* x_bar, S (*size_bar)[3]) {
  using T = LaneScalar<S>;
  const S visit = select(asks, S(1), S(0));
  for (int l = 0; l < kLanes<S>; ++l) {
    if (primal(take_lane(visit, l)) == 0) continue;
    const GeomPair<T> g = take_mesh_pair(at.kind[0], at.kind[1], at.size[0], at.x[0], at.size[1],
                                         at.x[1], at.hulls(), l);
    const ConvexMeeting met =
        find_meeting(at.kind[0], at.kind[1], primal_pair(g), primal(take_lane(limit, l)));
    if (!met.found) continue;
    GeomPairBar<T> sum;
    const bool* const left_out = at.solids.two ? at.solids.two->left_out : nullptr;
    if (gives && (!left_out || !left_out[l])) {
      if (at.kind[0] == GeomKind::mesh) sum.hull1 = at.solids.one->hull_bar;
      if (at.kind[1] == GeomKind::mesh) sum.hull2 = at.solids.two->hull_bar;
    }
    convex_touch_bar(at.kind[0], at.kind[1], g, met.at, Vec3<T>{T(met.n.x), T(met.n.y), T(met.n.z)},
                     take_lane(out_bar, l), sum);
    add_pair_bar(at.kind[0], at.kind[1], sum, l, x_bar[0], x_bar[1], size_bar[0], size_bar[1]);
  }
}

// The touches of a pair that contacts find: the nearest in each lane, and its place.
template <class S>
struct PairTouches {
  Touch<S> touch[kMostTouches];
  S feature[2 * kMostTouches];
  int count = 0;

  PairTouches(const SeenPair<S>& at, const S& limit) {
    count = most_touches(at.kind[0], at.kind[1]);
    collide(at.kind[0], at.kind[1], at.size[0], at.x[0], at.size[1], at.x[1], limit, touch, feature,
            at.solids);
  }
  // Returns its place, -1 in lanes without one.
  S nearest(Touch<S>& out) const {
    S place(-1);
    for (int k = 0; k < count; ++k) {
      const Mask<S> nearer = (feature[k] >= S(0)) & ((place < S(0)) | (touch[k].dist < out.dist));
      place = select(nearer, S(k), place);
      out.dist = select(nearer, touch[k].dist, out.dist);
      out.pos = select(nearer, touch[k].pos, out.pos);
      out.normal = select(nearer, touch[k].normal, out.normal);
    }
    return place;
  }
};

// The nearest touch of a pair; dist = kFar in lanes without one.
template <class S>
Touch<S> pair_touch(const SeenPair<S>& at, const S& limit) {
  Touch<S> out;
  S unused;
  clear_touch(out, unused);
  if (at.kind[1] == GeomKind::plane) return out;  // two planes
  if (meets_by_features(at.kind[0], at.kind[1])) {
    closest_touch(at, limit, out);
  } else {
    PairTouches<S>(at, limit).nearest(out);
  }
  return out;
}

// bar: zero in lanes whose nearest pair this is not.
template <class S>
void pair_touch_bar(const SeenPair<S>& at, const S& limit, const Mask<S>& own, bool gives,
                    const TouchBar<S>& bar, PoseBar<S>* x_bar, S (*size_bar)[3]) {
  if (meets_by_features(at.kind[0], at.kind[1])) {
    return closest_touch_bar(at, limit, own, gives, bar, x_bar, size_bar);
  }
  const PairTouches<S> found(at, limit);
  Touch<S> nearest;
  S unused;
  clear_touch(nearest, unused);
  const S place = found.nearest(nearest);
  TouchBar<S> bars[kMostTouches];
  for (int k = 0; k < found.count; ++k) {
    const Mask<S> here = place == S(k);
    const Vec3<S> zero{S(0), S(0), S(0)};
    bars[k] = {select(here, bar.dist, S(0)), select(here, bar.pos, zero),
               select(here, bar.normal, zero), zero};
  }
  PairSolids solids = at.solids;
  solids.gives = gives;
  collide_pullback(at.kind[0], at.kind[1], at.size[0], at.x[0], at.size[1], at.x[1],
                   static_cast<const S*>(found.feature), static_cast<const Touch<S>*>(found.touch),
                   static_cast<const TouchBar<S>*>(bars), x_bar[0], x_bar[1], size_bar[0],
                   size_bar[1], solids);
}

// The nearest of all pairs, its normal from the sensor's object to its reference, and which pair.
template <class S>
struct SeenDistance {
  Touch<S> touch;
  Vec3<S> origin{};  // of the touch's point
  S pair;            // its number, -1 where none is near
};

// visit(geom1, geom2, number) for the pairs of a sensor.
template <class Visit>
void for_each_seen_pair(const TreeView& tree, const Sensor& s, Visit visit) {
  const auto belongs = [&](int type, int id, std::size_t g) {
    return type == static_cast<int>(ObjectKind::geom) ? id == static_cast<int>(g)
                                                      : tree.model.geoms[g].body == id;
  };
  int number = 0;
  for (std::size_t g = 0; g < tree.model.geoms.size(); ++g) {
    if (!belongs(s.object_type, s.object, g)) continue;
    for (std::size_t h = 0; h < tree.model.geoms.size(); ++h) {
      if (!belongs(s.reference_type, s.reference, h)) continue;
      visit(static_cast<int>(g), static_cast<int>(h), number++);
    }
  }
}

template <class S, class P>
SeenDistance<S> seen_distance(const TreeView& tree, const P* p, const SeenShapes& seen,
                              const Sensor& s, const Frames<S>& f, const Motion<S>* v,
                              const Motion<S>* a) {
  SeenDistance<S> out;
  S unused;
  clear_touch(out.touch, unused);
  out.pair = S(-1);
  const S limit = number<S>(s.numbers[0]);
  for_each_seen_pair(tree, s, [&](int g, int h, int i) {
    const SeenPair<S> at(tree, p, seen, g, h, f, v, a);
    const Touch<S> t = pair_touch(at, limit);
    const Mask<S> nearer = (t.dist < limit) & ((out.pair < S(0)) | (t.dist < out.touch.dist));
    out.touch.dist = select(nearer, t.dist, out.touch.dist);
    out.touch.pos = select(nearer, t.pos, out.touch.pos);
    out.touch.normal = select(nearer, at.swapped ? -t.normal : t.normal, out.touch.normal);
    out.origin = select(nearer, at.frame[1].origin, out.origin);
    out.pair = select(nearer, S(i), out.pair);
  });
  return out;
}

// One of the three sensors, by its dimension.
template <class S>
void distance_sensor(const Sensor& s, const SeenDistance<S>& at, S* out) {
  const Mask<S> some = at.pair >= S(0);
  const Vec3<S> zero{S(0), S(0), S(0)}, n = at.touch.normal;
  const S d = at.touch.dist;
  if (s.dimension == 1) {
    out[0] = select(some, d, number<S>(s.numbers[0]));  // (1)
  } else if (s.dimension == 3) {
    store(out, select(some, n * select(d < S(0), S(-1), S(1)), zero));  // (3)
  } else {
    const Vec3<S> x = at.origin + at.touch.pos, half = n * (S(0.5) * d);  // (2)
    store(out, select(some, x - half, zero));
    store(out + 3, select(some, x + half, zero));
  }
}

// Adds to touch_bar.
template <class S>
void distance_sensor_bar(const Sensor& s, const SeenDistance<S>& at, const S* y_bar,
                         TouchBar<S>& touch_bar) {
  const Vec3<S>& n = at.touch.normal;
  const S d = at.touch.dist;
  if (s.dimension == 1) {
    touch_bar.dist += y_bar[0];
  } else if (s.dimension == 3) {
    touch_bar.normal += load_vec3(y_bar) * select(d < S(0), S(-1), S(1));
  } else {
    const Vec3<S> from = load_vec3(y_bar), to = load_vec3(y_bar + 3), half = (to - from) * S(0.5);
    touch_bar.pos += from + to;
    touch_bar.normal += half * d;
    touch_bar.dist += dot(half, n);
  }
}

// Adds to the bodies of the geoms, and to p_bar unless it is null.
template <class S, class P>
void seen_distance_pullback(const TreeView& tree, const P* p, const SeenShapes& seen,
                            const Sensor& s, const Frames<S>& f, const Motion<S>* v,
                            const Motion<S>* a, const S* y_bar, const BodyBars<S>& bars, S* p_bar) {
  const SeenDistance<S> found = seen_distance(tree, p, seen, s, f, v, a);
  const S limit = number<S>(s.numbers[0]), zero(0);
  const Vec3<S> zeros{zero, zero, zero};
  TouchBar<S> all{zero, zeros, zeros, zeros};
  distance_sensor_bar(s, found, y_bar, all);
  for_each_seen_pair(tree, s, [&](int g, int h, int i) {
    const Mask<S> own = found.pair == S(i);
    if (!any(own)) return;
    const SeenPair<S> at(tree, p, seen, g, h, f, v, a);
    const Vec3<S> n_bar = at.swapped ? -all.normal : all.normal;
    const TouchBar<S> bar{select(own, all.dist, zero), select(own, all.pos, zeros),
                          select(own, n_bar, zeros), zeros};
    PoseBar<S> x_bar[2] = {{zeros, zeros}, {zeros, zeros}};
    S size_bar[2][3] = {{zero, zero, zero}, {zero, zero, zero}};
    pair_touch_bar(at, limit, own, p_bar != nullptr, bar, x_bar, size_bar);
    for (int k = 0; k < 2; ++k) {
      SensedFrameBars<S> frame_bar;
      frame_bar.x = x_bar[k].force, frame_bar.turn = x_bar[k].torque;
      sensed_frame_pullback(at.on[k], f, at.frame[k], frame_bar, bars, p_bar);
      const int place = tree.geoms[static_cast<std::size_t>(at.geom[k])].size;
      if (!p_bar || place < 0) continue;
      for (int j = 0; j < size_numbers(at.kind[k]); ++j) p_bar[place + j] += size_bar[k][j];
    }
  });
}

}  // namespace cycloid::inline rigid
