// Pairs of convex shapes that have no closed form, and their pullbacks.
//
//   ellipsoid with sphere, capsule, ellipsoid, cylinder, box;  cylinder with capsule, cylinder, box
// One contact between the closest features (convex_find.h), polished to rounding; between capsule,
// cylinder and box several where faces and edges lie along each other (convex_manifold.h). MuJoCo
// solves these pairs by GJK and EPA to a tolerance; distances agree as it goes to zero. Its
// contacts within a margin, and its choice among corners of a polygon that span equal areas, may
// differ.
//
// The pullback needs the normal of the closest features, from which it polishes again; `out` are
// forward's touches. Without them it searches as forward did.
#pragma once

#include "cycloid/geometry/convex/convex_manifold.h"

namespace cycloid::inline geometry {

// Pairs that may have several contacts.
constexpr bool has_manifold(GeomKind k1, GeomKind k2) {
  return k1 != GeomKind::sphere && k1 != GeomKind::ellipsoid && k2 != GeomKind::ellipsoid;
}
constexpr int convex_touches(GeomKind k1, GeomKind k2) {
  return !has_manifold(k1, k2) ? 1 : k1 == GeomKind::capsule ? 2 : kManifoldTouches;
}

// The contacts of one lane; returns their number.
inline int find_convex(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin,
                       FoundContact* found) {
  const ConvexMeeting closest = find_meeting(k1, k2, g, margin);
  if (!closest.found) return 0;
  const int several = has_manifold(k1, k2) ? find_manifold(k1, k2, g, margin, closest, found) : 0;
  if (several > 0) return several;
  found[0] = {closest.code, closest.n};
  return 1;
}

// The contact of a code; `start` is near the normal of the closest features.
template <class T>
Touch<T> convex_pair_touch(GeomKind k1, GeomKind k2, const GeomPair<T>& g, int code,
                           const Vec3<T>& start) {
  if (code < kConvexCodes) return convex_touch(k1, k2, g, code, start);
  if (code < kEdgeBase) return cap_touch(g, k2, decode_cap(code - kConvexCodes, k2));
  const EdgeFeature f = decode_edge(code - kEdgeBase, k1, k2);
  return edge_touch(k1, k2, g, f, convex_contact(k1, k2, g, f.closest, start).n);
}

template <class T>
void convex_pair_touch_bar(GeomKind k1, GeomKind k2, const GeomPair<T>& g, int code,
                           const Vec3<T>& start, const TouchBar<T>& bar, GeomPairBar<T>& g_bar) {
  if (code < kConvexCodes) {
    convex_touch_bar(k1, k2, g, code, start, bar, g_bar);
  } else if (code < kEdgeBase) {
    cap_touch_bar(g, k2, decode_cap(code - kConvexCodes, k2), bar, g_bar);
  } else {
    const EdgeFeature f = decode_edge(code - kEdgeBase, k1, k2);
    TouchBar<T> n_bar{};
    edge_touch_bar(k1, k2, g, f, convex_contact(k1, k2, g, f.closest, start).n, bar, g_bar,
                   n_bar.normal);
    convex_touch_bar(k1, k2, g, f.closest, start, n_bar, g_bar);
  }
}

template <GeomKind k1, GeomKind k2, class S>
void collide_convex(const S* size1, const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                    const S& margin, Touch<S>* out, S* feature) {
  touches_by_lane<k1, k2, convex_touches(k1, k2)>(
      size1, x1, size2, x2, margin, out, feature,
      [](const GeomPair<double>& g, double limit, FoundContact* found) {
        return find_convex(k1, k2, g, limit, found);
      },
      []<class T>(const GeomPair<T>& g, int code, const Vec3<double>& n) {
        return convex_pair_touch(k1, k2, g, code, Vec3<T>{T(n.x), T(n.y), T(n.z)});
      });
}

// Features of this code bind the normal: it needs no start.
inline bool binds_normal(GeomKind k1, GeomKind k2, int code) {
  const Form f1 = feature_form(k1, code / kLinePairs / kFeatureCodes);
  const Form f2 = feature_form(k2, code / kLinePairs % kFeatureCodes);
  return f1 == Form::face || f2 == Form::face || (f1 == Form::line && f2 == Form::line);
}

// Where Newton's method starts on the way back: at forward's normal where it is that of the closest
// features, else at the one that is found again.
template <class T>
Vec3<T> start_again(GeomKind k1, GeomKind k2, const GeomPair<T>& g, int code,
                    const Vec3<T>* normal) {
  if (code < kConvexCodes && normal != nullptr) return *normal;
  if (code >= kConvexCodes && code < kEdgeBase) return {};
  const int closest = code < kConvexCodes ? code : decode_edge(code - kEdgeBase, k1, k2).closest;
  if (binds_normal(k1, k2, closest)) return {};
  const Vec3<double> n = find_meeting(k1, k2, primal_pair(g), kFar).n;
  return {T(n.x), T(n.y), T(n.z)};
}

template <GeomKind k1, GeomKind k2, class S>
void collide_convex_bars(const S* size1, const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                         const S* feature, const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                         PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar, const Touch<S>* out) {
  bars_by_lane<k1, k2, convex_touches(k1, k2)>(
      size1, x1, size2, x2, feature, out_bar, x1_bar, x2_bar, size1_bar, size2_bar,
      [out]<class T>(const GeomPair<T>& g, int code, int k, int l, const TouchBar<T>& bar,
                     GeomPairBar<T>& g_bar) {
        Vec3<T> normal{};
        if (out != nullptr) normal = take_lane(out[k].normal, l);
        const Vec3<T> start = start_again(k1, k2, g, code, out != nullptr ? &normal : nullptr);
        convex_pair_touch_bar(k1, k2, g, code, start, bar, g_bar);
      });
}

inline constexpr int kSphereEllipsoidTouches =
    convex_touches(GeomKind::sphere, GeomKind::ellipsoid);

template <class S>
void collide_sphere_ellipsoid(const S* size1, const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                              const std::type_identity_t<S>& margin, Touch<S>* out, S* feature) {
  collide_convex<GeomKind::sphere, GeomKind::ellipsoid>(size1, x1, size2, x2, margin, out, feature);
}

template <class S>
void collide_sphere_ellipsoid_pullback(const S* size1, const Pose<S>& x1, const S* size2,
                                       const Pose<S>& x2, const S* feature,
                                       const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                                       PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar,
                                       const Touch<S>* out = nullptr) {
  collide_convex_bars<GeomKind::sphere, GeomKind::ellipsoid>(
      size1, x1, size2, x2, feature, out_bar, x1_bar, x2_bar, size1_bar, size2_bar, out);
}

inline constexpr int kCapsuleEllipsoidTouches =
    convex_touches(GeomKind::capsule, GeomKind::ellipsoid);

template <class S>
void collide_capsule_ellipsoid(const S* size1, const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                               const std::type_identity_t<S>& margin, Touch<S>* out, S* feature) {
  collide_convex<GeomKind::capsule, GeomKind::ellipsoid>(size1, x1, size2, x2, margin, out,
                                                         feature);
}

template <class S>
void collide_capsule_ellipsoid_pullback(const S* size1, const Pose<S>& x1, const S* size2,
                                        const Pose<S>& x2, const S* feature,
                                        const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                                        PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar,
                                        const Touch<S>* out = nullptr) {
  collide_convex_bars<GeomKind::capsule, GeomKind::ellipsoid>(
      size1, x1, size2, x2, feature, out_bar, x1_bar, x2_bar, size1_bar, size2_bar, out);
}

inline constexpr int kCapsuleCylinderTouches =
    convex_touches(GeomKind::capsule, GeomKind::cylinder);

template <class S>
void collide_capsule_cylinder(const S* size1, const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                              const std::type_identity_t<S>& margin, Touch<S>* out, S* feature) {
  collide_convex<GeomKind::capsule, GeomKind::cylinder>(size1, x1, size2, x2, margin, out, feature);
}

template <class S>
void collide_capsule_cylinder_pullback(const S* size1, const Pose<S>& x1, const S* size2,
                                       const Pose<S>& x2, const S* feature,
                                       const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                                       PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar,
                                       const Touch<S>* out = nullptr) {
  collide_convex_bars<GeomKind::capsule, GeomKind::cylinder>(
      size1, x1, size2, x2, feature, out_bar, x1_bar, x2_bar, size1_bar, size2_bar, out);
}

inline constexpr int kEllipsoidEllipsoidTouches =
    convex_touches(GeomKind::ellipsoid, GeomKind::ellipsoid);

template <class S>
void collide_ellipsoid_ellipsoid(const S* size1, const Pose<S>& x1, const S* size2,
                                 const Pose<S>& x2, const std::type_identity_t<S>& margin,
                                 Touch<S>* out, S* feature) {
  collide_convex<GeomKind::ellipsoid, GeomKind::ellipsoid>(size1, x1, size2, x2, margin, out,
                                                           feature);
}

template <class S>
void collide_ellipsoid_ellipsoid_pullback(const S* size1, const Pose<S>& x1, const S* size2,
                                          const Pose<S>& x2, const S* feature,
                                          const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                                          PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar,
                                          const Touch<S>* out = nullptr) {
  collide_convex_bars<GeomKind::ellipsoid, GeomKind::ellipsoid>(
      size1, x1, size2, x2, feature, out_bar, x1_bar, x2_bar, size1_bar, size2_bar, out);
}

inline constexpr int kEllipsoidCylinderTouches =
    convex_touches(GeomKind::ellipsoid, GeomKind::cylinder);

template <class S>
void collide_ellipsoid_cylinder(const S* size1, const Pose<S>& x1, const S* size2,
                                const Pose<S>& x2, const std::type_identity_t<S>& margin,
                                Touch<S>* out, S* feature) {
  collide_convex<GeomKind::ellipsoid, GeomKind::cylinder>(size1, x1, size2, x2, margin, out,
                                                          feature);
}

template <class S>
void collide_ellipsoid_cylinder_pullback(const S* size1, const Pose<S>& x1, const S* size2,
                                         const Pose<S>& x2, const S* feature,
                                         const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                                         PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar,
                                         const Touch<S>* out = nullptr) {
  collide_convex_bars<GeomKind::ellipsoid, GeomKind::cylinder>(
      size1, x1, size2, x2, feature, out_bar, x1_bar, x2_bar, size1_bar, size2_bar, out);
}

inline constexpr int kEllipsoidBoxTouches = convex_touches(GeomKind::ellipsoid, GeomKind::box);

template <class S>
void collide_ellipsoid_box(const S* size1, const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                           const std::type_identity_t<S>& margin, Touch<S>* out, S* feature) {
  collide_convex<GeomKind::ellipsoid, GeomKind::box>(size1, x1, size2, x2, margin, out, feature);
}

template <class S>
void collide_ellipsoid_box_pullback(const S* size1, const Pose<S>& x1, const S* size2,
                                    const Pose<S>& x2, const S* feature, const TouchBar<S>* out_bar,
                                    PoseBar<S>& x1_bar, PoseBar<S>& x2_bar, S* size1_bar,
                                    S* size2_bar, const Touch<S>* out = nullptr) {
  collide_convex_bars<GeomKind::ellipsoid, GeomKind::box>(
      size1, x1, size2, x2, feature, out_bar, x1_bar, x2_bar, size1_bar, size2_bar, out);
}

inline constexpr int kCylinderCylinderTouches =
    convex_touches(GeomKind::cylinder, GeomKind::cylinder);

template <class S>
void collide_cylinder_cylinder(const S* size1, const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                               const std::type_identity_t<S>& margin, Touch<S>* out, S* feature) {
  collide_convex<GeomKind::cylinder, GeomKind::cylinder>(size1, x1, size2, x2, margin, out,
                                                         feature);
}

template <class S>
void collide_cylinder_cylinder_pullback(const S* size1, const Pose<S>& x1, const S* size2,
                                        const Pose<S>& x2, const S* feature,
                                        const TouchBar<S>* out_bar, PoseBar<S>& x1_bar,
                                        PoseBar<S>& x2_bar, S* size1_bar, S* size2_bar,
                                        const Touch<S>* out = nullptr) {
  collide_convex_bars<GeomKind::cylinder, GeomKind::cylinder>(
      size1, x1, size2, x2, feature, out_bar, x1_bar, x2_bar, size1_bar, size2_bar, out);
}

inline constexpr int kCylinderBoxTouches = convex_touches(GeomKind::cylinder, GeomKind::box);

template <class S>
void collide_cylinder_box(const S* size1, const Pose<S>& x1, const S* size2, const Pose<S>& x2,
                          const std::type_identity_t<S>& margin, Touch<S>* out, S* feature) {
  collide_convex<GeomKind::cylinder, GeomKind::box>(size1, x1, size2, x2, margin, out, feature);
}

template <class S>
void collide_cylinder_box_pullback(const S* size1, const Pose<S>& x1, const S* size2,
                                   const Pose<S>& x2, const S* feature, const TouchBar<S>* out_bar,
                                   PoseBar<S>& x1_bar, PoseBar<S>& x2_bar, S* size1_bar,
                                   S* size2_bar, const Touch<S>* out = nullptr) {
  collide_convex_bars<GeomKind::cylinder, GeomKind::box>(size1, x1, size2, x2, feature, out_bar,
                                                         x1_bar, x2_bar, size1_bar, size2_bar, out);
}

}  // namespace cycloid::inline geometry
