// A height field with a sphere, capsule, ellipsoid, cylinder, box or mesh, and the pullback.
//
// Each prism (height_field.h) that the other geom may reach gives one contact: that of the closest
// features (convex_find.h). As in MuJoCo, at most kFieldTouches of them, in the order of prisms,
// and a geom near an edge of the terrain touches the prisms on both sides of it.
//
// `feature` is the prism, `feature2` the features that meet. Cotangents of the heights are added to
// one buffer for all lanes but those left out.
#pragma once

#include "cycloid/geometry/convex/height_field.h"
#include "cycloid/geometry/convex/mesh_pair.h"

namespace cycloid::inline geometry {

inline constexpr int kFieldTouches = 50;
inline constexpr int kMostFieldCells = 1 << 22;     // prisms have room for their numbers
inline constexpr int kMostFieldMeshCorners = 8000;  // of a mesh that a field can touch

struct FoundInField {
  int prism, features;
  Vec3<double> normal;
};

// Features that meet on a prism, as one number; `room`: codes of the other geom's features.
inline int encode_in_field(const MeetingFeatures& at, int room) {
  return (at.code1 * room + at.code2) * kLinePairs + line_pair_code(at.lines);
}
inline MeetingFeatures decode_in_field(int code, int room) {
  const int pair = code / kLinePairs;
  return {pair / room, pair % room, line_pair_of(code % kLinePairs)};
}
inline int feature_room(GeomKind kind, const Hull* hull) {
  return kind == GeomKind::mesh ? hull->table->codes() : kFeatureCodes;
}

// The contacts of one lane; returns their number. g.hull1 is not looked at.
int find_in_field(const HeightField& field, GeomKind k2, const GeomPair<double>& g, double margin,
                  FoundInField* found);

// Touches are written in places with a feature only.
template <class S>
void collide_field(GeomKind k2, const S* size1, const Pose<S>& x1, const S* size2,
                   const Pose<S>& x2, const std::type_identity_t<S>& margin,
                   const HeightField& field, const Hull* hull2, Touch<S>* out, S* feature,
                   S* feature2, const PairKnown& known = {}) {
  using T = LaneScalar<S>;
  constexpr GeomKind k1 = GeomKind::hfield, prism_kind = GeomKind::mesh;
  std::fill_n(feature, kFieldTouches, S(kNoFeature));
  int places = 0;  // that some lane has used
  const S visit = near_lanes(k1, k2, size1, x1, size2, x2, margin);
  for (int l = 0; l < kLanes<S>; ++l) {
    if (!known.asks(l) || primal(take_lane(visit, l)) == 0) continue;
    GeomPair<T> g = take_mesh_pair(k1, k2, size1, x1, size2, x2, {nullptr, hull2}, l);
    FoundInField found[kFieldTouches];
    const int n = find_in_field(field, k2, primal_pair(g), primal(take_lane(margin, l)), found);
    for (; places < n; ++places) {
      clear_touch(out[places], feature[places]);
      feature2[places] = S(0);
    }
    for (int k = 0; k < n; ++k) {
      const Prism prism(field, found[k].prism);
      g.hull1 = &prism.hull;
      const MeetingFeatures at = decode_in_field(found[k].features, feature_room(k2, hull2));
      const Vec3<double>& start = found[k].normal;
      const Touch<T> t =
          convex_touch(prism_kind, k2, g, at, Vec3<T>{T(start.x), T(start.y), T(start.z)});
      put_touch(t, l, out[k]);
      put_lane(feature[k], l, T(double(found[k].prism)));
      put_lane(feature2[k], l, T(double(found[k].features)));
    }
  }
}

// The touches of these features, lane by lane, bit for bit those of collide_field where
// known_by_features (mesh_pair.h).
template <class S>
void field_touches_again(GeomKind k2, const S* size1, const Pose<S>& x1, const S* size2,
                         const Pose<S>& x2, const HeightField& field, const Hull* hull2,
                         const S* feature, const S* feature2, Touch<S>* out) {
  using T = LaneScalar<S>;
  S unused;
  int places = 0;
  for (int k = 0; k < kFieldTouches; ++k) {
    if (!any(feature[k] >= S(0))) continue;
    clear_touch(out[k], unused);
    places = k + 1;
  }
  for (int l = 0; l < kLanes<S>; ++l) {
    GeomPair<T> g;
    bool taken = false;
    for (int k = 0; k < places; ++k) {
      const int number = static_cast<int>(primal(take_lane(feature[k], l)));
      if (number < 0) continue;
      if (!taken) {
        g = take_mesh_pair(GeomKind::hfield, k2, size1, x1, size2, x2, {nullptr, hull2}, l);
      }
      taken = true;
      const Prism prism(field, number);
      g.hull1 = &prism.hull;
      const int code = static_cast<int>(primal(take_lane(feature2[k], l)));
      const MeetingFeatures at = decode_in_field(code, feature_room(k2, hull2));
      put_touch(convex_touch(GeomKind::mesh, k2, g, at, Vec3<T>{}), l, out[k]);
    }
  }
}

// out: forward's touches, or null: then it searches as forward did.
template <class S>
void collide_field_pullback(GeomKind k2, const S* size1, const Pose<S>& x1, const S* size2,
                            const Pose<S>& x2, const HeightField& field, const Hull* hull2,
                            const S* feature, const S* feature2, const TouchBar<S>* out_bar,
                            PoseBar<S>& x1_bar, PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar,
                            const HeightBar& field_bar, const HullBar& hull2_bar,
                            const bool* left_out = nullptr, const Touch<S>* out = nullptr) {
  using T = LaneScalar<S>;
  constexpr GeomKind k1 = GeomKind::hfield, prism_kind = GeomKind::mesh;
  for (int l = 0; l < kLanes<S>; ++l) {
    GeomPair<T> g;
    GeomPairBar<T> sum;
    bool any_used = false;
    const bool counts = !left_out || !left_out[l];
    for (int k = 0; k < kFieldTouches; ++k) {
      const int number = static_cast<int>(primal(take_lane(feature[k], l)));
      if (number < 0) continue;
      const TouchBar<T> bar = take_lane(out_bar[k], l);
      if constexpr (std::is_same_v<T, double>) {
        if (is_zero(bar)) continue;
      }
      if (!any_used) g = take_mesh_pair(k1, k2, size1, x1, size2, x2, {nullptr, hull2}, l);
      any_used = true;
      Prism prism(field, number);
      g.hull1 = &prism.hull;
      sum.hull1 = counts && field_bar.value ? prism.bar() : HullBar{};
      sum.hull2 = counts ? hull2_bar : HullBar{};
      const int code = static_cast<int>(primal(take_lane(feature2[k], l)));
      const MeetingFeatures at = decode_in_field(code, feature_room(k2, hull2));
      Vec3<T> start{};
      if (out != nullptr) {
        start = take_lane(out[k].normal, l);
      } else if (!known_by_features(prism_kind, k2)) {
        const Vec3<double> n = find_meeting(prism_kind, k2, primal_pair(g), kFar).n;
        start = {T(n.x), T(n.y), T(n.z)};
      }
      convex_touch_bar(prism_kind, k2, g, at, start, bar, sum);
      if (counts) prism.give(field, field_bar);
    }
    if (any_used) add_pair_bar(k1, k2, sum, l, x1_bar, x2_bar, size1_bar, size2_bar);
  }
}

}  // namespace cycloid::inline geometry
