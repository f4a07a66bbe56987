// Pairs with a mesh, and their pullbacks: sphere, capsule, ellipsoid, cylinder, box or mesh with
// the hull of a mesh.
//
// One contact between the closest features (convex_find.h), or several where faces and edges lie
// along each other (mesh_manifold.h). Lanes are searched one by one (by_lane.h); they share the
// points of the hulls. A place's feature is a code of 48 bits: `feature` has its lower half,
// `feature2` its upper one.
//
// Cotangents of a hull's points are added to one buffer for all lanes but those left out. The
// pullback needs the normal of the closest features, from which it polishes again; `out` are
// forward's touches. Without them it searches as forward did.
#pragma once

#include "cycloid/geometry/convex/mesh_manifold.h"

namespace cycloid::inline geometry {

// Both hulls of a pair, and where their cotangents go.
struct PairHulls {
  const Hull *one = nullptr, *two = nullptr;
};
// What is known before a pair is searched: lanes in which it is not apart, by bits, and hints
// (lanes) or null.
struct PairKnown {
  unsigned lanes = ~0u;
  ApartHint* hints = nullptr;
  bool asks(int l) const { return lanes >> l & 1; }
};
struct PairHullBars {
  HullBar one{}, two{};
  const bool* left_out = nullptr;  // (lanes), or null: none
};

template <class S>
void put_touch(const Touch<LaneScalar<S>>& t, int l, Touch<S>& out) {
  put_lane(out.dist, l, t.dist);
  put_lane(out.pos, l, t.pos);
  put_lane(out.normal, l, t.normal);
}
template <class S>
void put_code(std::int64_t code, int l, S& feature, S& feature2) {
  using T = LaneScalar<S>;
  put_lane(feature, l, T(static_cast<double>(code % kCodeHalf)));
  put_lane(feature2, l, T(static_cast<double>(code / kCodeHalf)));
}
// -1 where the place is not used.
template <class S>
std::int64_t take_code(const S& feature, const S& feature2, int l) {
  const double low = static_cast<double>(primal(take_lane(feature, l)));
  if (low < 0) return -1;
  const double high = static_cast<double>(primal(take_lane(feature2, l)));
  return static_cast<std::int64_t>(high) * kCodeHalf + static_cast<std::int64_t>(low);
}

// Both geoms of lane l.
template <class S>
GeomPair<LaneScalar<S>> take_mesh_pair(GeomKind k1, GeomKind k2, const S* size1, const Pose<S>& x1,
                                       const S* size2, const Pose<S>& x2, const PairHulls& hulls,
                                       int l) {
  GeomPair<LaneScalar<S>> g{take_lane(x1, l), {}, take_lane(x2, l), {}, hulls.one, hulls.two};
  for (int i = 0; i < size_numbers(k1); ++i) g.size1[i] = take_lane(size1[i], l);
  for (int i = 0; i < size_numbers(k2); ++i) g.size2[i] = take_lane(size2[i], l);
  return g;
}

// Bits of the lanes whose bounding spheres are near.
template <class S>
S near_lanes(GeomKind k1, GeomKind k2, const S* size1, const Pose<S>& x1, const S* size2,
             const Pose<S>& x2, const S& margin) {
  const Mask<S> near = spheres_near(k1 == GeomKind::plane, x1, bounding_radius(k1, size1), x2,
                                    bounding_radius(k2, size2), margin);
  return select(near, S(1), S(0));
}

// The contact of a code; `start` is near the normal of the closest features.
template <class T>
Touch<T> mesh_touch(GeomKind k1, GeomKind k2, const GeomPair<T>& g, std::int64_t code,
                    const Vec3<T>& start) {
  const MeshContact c = decode_mesh(code, k1, k2, g.hull1, g.hull2);
  if (c.kind == MeshContactKind::closest) return convex_touch(k1, k2, g, c.closest, start);
  if (c.kind == MeshContactKind::faces) return face_pair_touch(k1, k2, g, c.faces);
  const GeomKind owner = c.edge.on_second ? k2 : k1;
  Vec3<T> n{T(0), T(0), T(1)};
  if (owner == GeomKind::capsule || owner == GeomKind::cylinder) {
    n = convex_contact(k1, k2, g, c.edge.closest, start).n;
  }
  return edge_face_touch(k1, k2, g, c.edge, n);
}

template <class T>
void mesh_touch_bar(GeomKind k1, GeomKind k2, const GeomPair<T>& g, std::int64_t code,
                    const Vec3<T>& start, const TouchBar<T>& bar, GeomPairBar<T>& g_bar) {
  const MeshContact c = decode_mesh(code, k1, k2, g.hull1, g.hull2);
  if (c.kind == MeshContactKind::closest) {
    return convex_touch_bar(k1, k2, g, c.closest, start, bar, g_bar);
  }
  if (c.kind == MeshContactKind::faces) {
    return face_pair_touch_bar(k1, k2, g, c.faces, bar, g_bar);
  }
  const GeomKind owner = c.edge.on_second ? k2 : k1;
  const bool line = owner == GeomKind::capsule || owner == GeomKind::cylinder;
  Vec3<T> n{T(0), T(0), T(1)};
  if (line) n = convex_contact(k1, k2, g, c.edge.closest, start).n;
  TouchBar<T> n_bar{};
  edge_face_touch_bar(k1, k2, g, c.edge, n, bar, g_bar, n_bar.normal);
  if (line) convex_touch_bar(k1, k2, g, c.edge.closest, start, n_bar, g_bar);
}

// Whether a contact of these kinds is known by its features alone: then no search is needed to have
// it again. Round features need a start.
constexpr bool known_by_features(GeomKind k1, GeomKind k2) {
  const auto flat = [](GeomKind k) { return k != GeomKind::ellipsoid && k != GeomKind::cylinder; };
  return flat(k1) && flat(k2);
}

// Where Newton's method starts on the way back: at forward's normal where it is that of the closest
// features, else at the one that is found again.
template <class T>
Vec3<T> mesh_start_again(GeomKind k1, GeomKind k2, const GeomPair<T>& g, std::int64_t code,
                         const Vec3<T>* normal) {
  if (known_by_features(k1, k2)) return {};
  const MeshContact c = decode_mesh(code, k1, k2, g.hull1, g.hull2);
  if (c.kind == MeshContactKind::faces) return {};
  const bool closest = c.kind == MeshContactKind::closest;
  if (closest && normal != nullptr) return *normal;
  const GeomKind owner = c.edge.on_second ? k2 : k1;
  if (!closest && owner != GeomKind::capsule && owner != GeomKind::cylinder) return {};
  const Vec3<double> n = find_meeting(k1, k2, primal_pair(g), kFar).n;
  return {T(n.x), T(n.y), T(n.z)};
}

template <class S>
void collide_mesh(GeomKind k1, GeomKind k2, const S* size1, const Pose<S>& x1, const S* size2,
                  const Pose<S>& x2, const std::type_identity_t<S>& margin, const PairHulls& hulls,
                  Touch<S>* out, S* feature, S* feature2, const PairKnown& known = {}) {
  using T = LaneScalar<S>;
  const int places = mesh_touches(k1, k2);
  for (int k = 0; k < places; ++k) {
    clear_touch(out[k], feature[k]);
    feature2[k] = S(0);
  }
  const S visit = near_lanes(k1, k2, size1, x1, size2, x2, margin);
  for (int l = 0; l < kLanes<S>; ++l) {
    if (!known.asks(l) || primal(take_lane(visit, l)) == 0) continue;
    const GeomPair<T> g = take_mesh_pair(k1, k2, size1, x1, size2, x2, hulls, l);
    FoundContact found[kMeshTouches];
    const int n = find_mesh(k1, k2, primal_pair(g), primal(take_lane(margin, l)), found,
                            known.hints ? known.hints + l : nullptr);
    for (int k = 0; k < n; ++k) {
      const Vec3<double>& at = found[k].normal;
      const Touch<T> t = mesh_touch(k1, k2, g, found[k].code, Vec3<T>{T(at.x), T(at.y), T(at.z)});
      put_touch(t, l, out[k]);
      put_code(found[k].code, l, feature[k], feature2[k]);
    }
  }
}

// The touches of these features, lane by lane, bit for bit those of collide_mesh where
// known_by_features.
template <class S>
void mesh_touches_again(GeomKind k1, GeomKind k2, const S* size1, const Pose<S>& x1, const S* size2,
                        const Pose<S>& x2, const PairHulls& hulls, const S* feature,
                        const S* feature2, Touch<S>* out) {
  using T = LaneScalar<S>;
  const int places = mesh_touches(k1, k2);
  S unused;
  for (int k = 0; k < places; ++k) clear_touch(out[k], unused);
  for (int l = 0; l < kLanes<S>; ++l) {
    GeomPair<T> g;
    bool taken = false;
    for (int k = 0; k < places; ++k) {
      const std::int64_t code = take_code(feature[k], feature2[k], l);
      if (code < 0) continue;
      if (!taken) g = take_mesh_pair(k1, k2, size1, x1, size2, x2, hulls, l);
      taken = true;
      put_touch(mesh_touch(k1, k2, g, code, Vec3<T>{}), l, out[k]);
    }
  }
}

template <class S>
void collide_mesh_pullback(GeomKind k1, GeomKind k2, const S* size1, const Pose<S>& x1,
                           const S* size2, const Pose<S>& x2, const PairHulls& hulls,
                           const S* feature, const S* feature2, const TouchBar<S>* out_bar,
                           PoseBar<S>& x1_bar, PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar,
                           const PairHullBars& hull_bars, const Touch<S>* out = nullptr) {
  using T = LaneScalar<S>;
  const int places = mesh_touches(k1, k2);
  for (int l = 0; l < kLanes<S>; ++l) {
    GeomPair<T> g;
    GeomPairBar<T> sum;
    bool any_used = false;
    for (int k = 0; k < places; ++k) {
      const std::int64_t code = take_code(feature[k], feature2[k], l);
      if (code < 0) continue;
      const TouchBar<T> bar = take_lane(out_bar[k], l);
      if constexpr (std::is_same_v<T, double>) {
        if (is_zero(bar)) continue;
      }
      if (!any_used) {
        g = take_mesh_pair(k1, k2, size1, x1, size2, x2, hulls, l);
        if (!hull_bars.left_out || !hull_bars.left_out[l]) {
          sum.hull1 = hull_bars.one, sum.hull2 = hull_bars.two;
        }
      }
      any_used = true;
      Vec3<T> normal{};
      if (out != nullptr) normal = take_lane(out[k].normal, l);
      const Vec3<T> start = mesh_start_again(k1, k2, g, code, out != nullptr ? &normal : nullptr);
      mesh_touch_bar(k1, k2, g, code, start, bar, sum);
    }
    if (any_used) add_pair_bar(k1, k2, sum, l, x1_bar, x2_bar, size1_bar, size2_bar);
  }
}

}  // namespace cycloid::inline geometry
