// The touches of two geoms of any kinds, and their pullback: a table of room geometry's pairs.
//
// Geoms are in the order of their kinds, poses about one common origin. `margin` is that of
// detection: margin + gap of the contact.
//
// A pair that is searched lane by lane (by_lane.h) costs most of its time in the search.
// Where the features of its touches are known, `collide_again` gives the same touches, without it
// unless a cylinder or an ellipsoid is met.
#pragma once

#include "cycloid/geometry/convex/convex_pair.h"
#include "cycloid/geometry/pair/box_box.h"
#include "cycloid/geometry/pair/capsule_box.h"
#include "cycloid/geometry/pair/capsule_capsule.h"
#include "cycloid/geometry/pair/plane_box.h"
#include "cycloid/geometry/pair/plane_capsule.h"
#include "cycloid/geometry/pair/plane_cylinder.h"
#include "cycloid/geometry/pair/plane_ellipsoid.h"
#include "cycloid/geometry/pair/sphere_box.h"
#include "cycloid/geometry/pair/sphere_capsule.h"
#include "cycloid/geometry/pair/sphere_cylinder.h"
#include "cycloid/geometry/pair/sphere_sphere.h"
#include "cycloid/rigid/contact/solid_shape.h"

namespace cycloid::inline rigid {

// Whether solids and pairs of convex_pair.h are looked at: on a device they are not, and a robot
// that has such pairs is refused there (device/robot_form.h).
#if defined(__CUDA_ARCH__)
inline constexpr bool kAllPairs = false;
#else
inline constexpr bool kAllPairs = true;
#endif

constexpr int kinds_code(GeomKind k1, GeomKind k2) {
  return static_cast<int>(k1) * kGeomKinds + static_cast<int>(k2);
}

// Pairs by name, for the tables below.
enum KindPair : int {
  kPlaneSphere = kinds_code(GeomKind::plane, GeomKind::sphere),
  kPlaneCapsule = kinds_code(GeomKind::plane, GeomKind::capsule),
  kPlaneEllipsoid = kinds_code(GeomKind::plane, GeomKind::ellipsoid),
  kPlaneCylinder = kinds_code(GeomKind::plane, GeomKind::cylinder),
  kPlaneBox = kinds_code(GeomKind::plane, GeomKind::box),
  kSphereSphere = kinds_code(GeomKind::sphere, GeomKind::sphere),
  kSphereCapsule = kinds_code(GeomKind::sphere, GeomKind::capsule),
  kSphereEllipsoid = kinds_code(GeomKind::sphere, GeomKind::ellipsoid),
  kSphereCylinder = kinds_code(GeomKind::sphere, GeomKind::cylinder),
  kSphereBox = kinds_code(GeomKind::sphere, GeomKind::box),
  kCapsuleCapsule = kinds_code(GeomKind::capsule, GeomKind::capsule),
  kCapsuleEllipsoid = kinds_code(GeomKind::capsule, GeomKind::ellipsoid),
  kCapsuleCylinder = kinds_code(GeomKind::capsule, GeomKind::cylinder),
  kCapsuleBox = kinds_code(GeomKind::capsule, GeomKind::box),
  kEllipsoidEllipsoid = kinds_code(GeomKind::ellipsoid, GeomKind::ellipsoid),
  kEllipsoidCylinder = kinds_code(GeomKind::ellipsoid, GeomKind::cylinder),
  kEllipsoidBox = kinds_code(GeomKind::ellipsoid, GeomKind::box),
  kCylinderCylinder = kinds_code(GeomKind::cylinder, GeomKind::cylinder),
  kCylinderBox = kinds_code(GeomKind::cylinder, GeomKind::box),
  kBoxBox = kinds_code(GeomKind::box, GeomKind::box)
};

// Places for touches that a pair has.
constexpr int most_touches(GeomKind k1, GeomKind k2) {
  if (is_solid(k1) || is_solid(k2)) return most_solid_touches(k1, k2);
  switch (kinds_code(k1, k2)) {
    case kPlaneCapsule: return kPlaneCapsuleTouches;
    case kPlaneCylinder: return kPlaneCylinderTouches;
    case kPlaneBox: return kPlaneBoxTouches;
    case kCapsuleCapsule: return kCapsuleCapsuleTouches;
    case kCapsuleBox: return kCapsuleBoxTouches;
    case kBoxBox: return kBoxBoxTouches;
    case kCapsuleEllipsoid:
    case kCapsuleCylinder:
    case kEllipsoidEllipsoid:
    case kEllipsoidCylinder:
    case kEllipsoidBox:
    case kCylinderCylinder:
    case kCylinderBox: return convex_touches(k1, k2);
    default: return 1;
  }
}

// Whether lanes are searched one by one.
constexpr bool is_searched(GeomKind k1, GeomKind k2) {
  const int code = kinds_code(k1, k2);
  return is_solid(k1) || is_solid(k2) || code == kSphereEllipsoid || code > kCapsuleCapsule;
}

template <class S>
CYCLOID_HD void collide(GeomKind k1, GeomKind k2, const S* s1, const Pose<S>& x1, const S* s2,
                        const Pose<S>& x2, const S& margin, Touch<S>* out, S* feature,
                        const PairSolids& solids = {}) {
  if constexpr (kAllPairs) {
    if (is_solid(k1) || is_solid(k2)) {
      return collide_solids(k1, k2, s1, x1, s2, x2, margin, solids, out, feature);
    }
  }
  const auto by = [&](auto pair) { pair(s1, x1, s2, x2, margin, out, feature); };
  switch (kinds_code(k1, k2)) {
    case kPlaneSphere: return by(collide_plane_sphere<S>);
    case kPlaneCapsule: return by(collide_plane_capsule<S>);
    case kPlaneEllipsoid: return by(collide_plane_ellipsoid<S>);
    case kPlaneCylinder: return by(collide_plane_cylinder<S>);
    case kPlaneBox: return by(collide_plane_box<S>);
    case kSphereSphere: return by(collide_sphere_sphere<S>);
    case kSphereCapsule: return by(collide_sphere_capsule<S>);
    case kSphereCylinder: return by(collide_sphere_cylinder<S>);
    case kSphereBox: return by(collide_sphere_box<S>);
    case kCapsuleCapsule: return by(collide_capsule_capsule<S>);
    case kCapsuleBox: return by(collide_capsule_box<S>);
    case kBoxBox: return by(collide_box_box<S>);
    default: break;
  }
  if constexpr (kAllPairs) {
    switch (kinds_code(k1, k2)) {
      case kSphereEllipsoid: return by(collide_sphere_ellipsoid<S>);
      case kCapsuleEllipsoid: return by(collide_capsule_ellipsoid<S>);
      case kCapsuleCylinder: return by(collide_capsule_cylinder<S>);
      case kEllipsoidEllipsoid: return by(collide_ellipsoid_ellipsoid<S>);
      case kEllipsoidCylinder: return by(collide_ellipsoid_cylinder<S>);
      case kEllipsoidBox: return by(collide_ellipsoid_box<S>);
      case kCylinderCylinder: return by(collide_cylinder_cylinder<S>);
      case kCylinderBox: return by(collide_cylinder_box<S>);
      default: return;
    }
  }
}

// feature, out: forward's, of every place of the pair.
template <class S>
CYCLOID_HD void collide_pullback(GeomKind k1, GeomKind k2, const S* s1, const Pose<S>& x1,
                                 const S* s2, const Pose<S>& x2, const S* feature,
                                 const Touch<S>* out, const TouchBar<S>* out_bar,
                                 PoseBar<S>& x1_bar, PoseBar<S>& x2_bar, S* s1_bar, S* s2_bar,
                                 const PairSolids& solids = {}) {
  if constexpr (kAllPairs) {
    if (is_solid(k1) || is_solid(k2)) {
      return collide_solids_pullback(k1, k2, s1, x1, s2, x2, solids, feature, out, out_bar, x1_bar,
                                     x2_bar, s1_bar, s2_bar);
    }
  }
  const auto by = [&](auto pair) {
    pair(s1, x1, s2, x2, feature, out_bar, x1_bar, x2_bar, s1_bar, s2_bar);
  };
  const auto from = [&](auto pair) {
    pair(s1, x1, s2, x2, feature, out_bar, x1_bar, x2_bar, s1_bar, s2_bar, out);
  };
  switch (kinds_code(k1, k2)) {
    case kPlaneSphere: return by(collide_plane_sphere_pullback<S>);
    case kPlaneCapsule: return by(collide_plane_capsule_pullback<S>);
    case kPlaneEllipsoid: return by(collide_plane_ellipsoid_pullback<S>);
    case kPlaneCylinder: return by(collide_plane_cylinder_pullback<S>);
    case kPlaneBox: return by(collide_plane_box_pullback<S>);
    case kSphereSphere: return by(collide_sphere_sphere_pullback<S>);
    case kSphereCapsule: return by(collide_sphere_capsule_pullback<S>);
    case kSphereCylinder: return by(collide_sphere_cylinder_pullback<S>);
    case kSphereBox: return by(collide_sphere_box_pullback<S>);
    case kCapsuleCapsule: return by(collide_capsule_capsule_pullback<S>);
    case kCapsuleBox: return by(collide_capsule_box_pullback<S>);
    case kBoxBox: return by(collide_box_box_pullback<S>);
    default: break;
  }
  if constexpr (kAllPairs) {
    switch (kinds_code(k1, k2)) {
      case kSphereEllipsoid: return from(collide_sphere_ellipsoid_pullback<S>);
      case kCapsuleEllipsoid: return from(collide_capsule_ellipsoid_pullback<S>);
      case kCapsuleCylinder: return from(collide_capsule_cylinder_pullback<S>);
      case kEllipsoidEllipsoid: return from(collide_ellipsoid_ellipsoid_pullback<S>);
      case kEllipsoidCylinder: return from(collide_ellipsoid_cylinder_pullback<S>);
      case kEllipsoidBox: return from(collide_ellipsoid_box_pullback<S>);
      case kCylinderCylinder: return from(collide_cylinder_cylinder_pullback<S>);
      case kCylinderBox: return from(collide_cylinder_box_pullback<S>);
      default: return;
    }
  }
}

// The touches of these features, lane by lane; places without one are left as unused.
template <GeomKind k1, GeomKind k2, int kPlaces, class S, class TouchOf>
CYCLOID_HD void touches_of_features(const S* s1, const Pose<S>& x1, const S* s2, const Pose<S>& x2,
                                    const S* feature, Touch<S>* out, TouchOf touch) {
  using T = LaneScalar<S>;
  S unused;
  for (int k = 0; k < kPlaces; ++k) clear_touch(out[k], unused);
  for (int l = 0; l < kLanes<S>; ++l) {
    geometry::GeomPair<T> g;
    bool taken = false;
    for (int k = 0; k < kPlaces; ++k) {
      const int code = static_cast<int>(primal(take_lane(feature[k], l)));
      if (code < 0) continue;
      if (!taken) g = take_pair<k1, k2>(s1, x1, s2, x2, l);
      taken = true;
      const Touch<T> t = touch(g, code);
      put_lane(out[k].dist, l, t.dist);
      put_lane(out[k].pos, l, t.pos);
      put_lane(out[k].normal, l, t.normal);
    }
  }
}

// `collide` where the features that it found are known, bit for bit.
template <class S>
CYCLOID_HD void collide_again(GeomKind k1, GeomKind k2, const S* s1, const Pose<S>& x1, const S* s2,
                              const Pose<S>& x2, const S& margin, const S* feature, Touch<S>* out,
                              const PairSolids& solids = {}) {
  constexpr GeomKind capsule = GeomKind::capsule, box = GeomKind::box;
  if constexpr (kAllPairs) {
    if ((is_solid(k1) || is_solid(k2)) &&
        collide_solids_again(k1, k2, s1, x1, s2, x2, solids, feature, out)) {
      return;
    }
  }
  switch (kinds_code(k1, k2)) {
    case kCapsuleBox:
      return touches_of_features<capsule, box, kCapsuleBoxTouches>(
          s1, x1, s2, x2, feature, out,
          [](const auto& g, int code) { return capsule_box_touch(g, code); });
    case kBoxBox:
      if constexpr (RealScalar<S>) {
        return box_box_touches(widen_pair<box, box>(s1, x1, s2, x2), feature, out);
      } else {
        return touches_of_features<box, box, kBoxBoxTouches>(
            s1, x1, s2, x2, feature, out,
            [](const auto& g, int code) { return box_contact_touch(g, code); });
      }
    default: {
      S found[2 * kMostTouches];
      collide(k1, k2, s1, x1, s2, x2, margin, out, found, solids);
    }
  }
}

}  // namespace cycloid::inline rigid
