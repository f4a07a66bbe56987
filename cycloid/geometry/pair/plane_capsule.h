// Plane and capsule: one touch per end, and their pullback.
//
//   e± = c ± h z              ends; c the capsule's centre, z its axis, h its half-length   (1)
//   touch k                   ball of radius r at e+ (k = 0), e- (k = 1): plane_sphere.h    (2)
//   tangent = z               the frame follows the capsule's axis                          (3)
// Smooth everywhere; an upright capsule's frame is contact_frame.h's affair.
#pragma once

#include "cycloid/geometry/pair/plane_sphere.h"

namespace cycloid::inline geometry {

inline constexpr int kPlaneCapsuleTouches = 2;

template <class S>
CYCLOID_HD void collide_plane_capsule(const S*, const Pose<S>& plane, const S* size2,
                                      const Pose<S>& capsule, const std::type_identity_t<S>& margin,
                                      Touch<S>* out, S* feature) {
  const Vec3<S> n = axis(plane, 2), z = axis(capsule, 2), arm = z * size2[1];
  for (int k = 0; k < 2; ++k) {
    const Vec3<S> end = k == 0 ? capsule.p + arm : capsule.p - arm;  // (1)
    Touch<S> touch = ball_on_plane(n, plane.p, end, size2[0]);       // (2)
    touch.tangent = z;                                               // (3)
    write_touch(touch.dist <= margin, touch, S(0), out[k], feature[k]);
  }
}

template <class S>
CYCLOID_HD void collide_plane_capsule_pullback(const S*, const Pose<S>& plane, const S* size2,
                                               const Pose<S>& capsule, const S* feature,
                                               const TouchBar<S>* out_bar, PoseBar<S>& plane_bar,
                                               PoseBar<S>& capsule_bar, S*, S* size2_bar) {
  const Vec3<S> n = axis(plane, 2), z = axis(capsule, 2), arm = z * size2[1];
  Vec3<S> n_bar{}, z_bar{};
  for (int k = 0; k < 2; ++k) {
    const TouchBar<S> bar = used_bar(feature[k], out_bar[k]);
    const Vec3<S> end = k == 0 ? capsule.p + arm : capsule.p - arm;
    Vec3<S> end_bar{};
    ball_on_plane_pullback(n, plane.p, end, size2[0], bar, n_bar, plane_bar.force, end_bar,
                           size2_bar[0]);  // (2)
    capsule_bar.force += end_bar;          // (1)
    const Vec3<S> arm_bar = k == 0 ? end_bar : -end_bar;
    z_bar += bar.tangent + arm_bar * size2[1];  // (3), (1)
    size2_bar[1] += dot(z, arm_bar);
  }
  add_direction(plane_bar, n, n_bar);
  add_direction(capsule_bar, z, z_bar);
}

}  // namespace cycloid::inline geometry
