// Where a geom is, and the way back to its body and its own numbers.
//
// pos and quat are the geom's place in its body, R and r the body's (kinematics.h):
//   R_g = R R(quat),    p = r + R pos            from the origin of the body's tree          (1)
// A geom that nobody looks at from the side gets its z axis alone, a sphere none: the other columns
// are zero (TouchingGeom).
//
// The cotangent of a pose is a force at p and a torque about it (geometry/shape.h):
//   Γ += wrench(force, p, torque),   pos̄ += Rᵀ force,   quat̄ += R_gᵀ torque  (tangents)      (2)
// Bodies that stand still have a pose wrench as others do; the sweep brings it to their frames.
#pragma once

#include "cycloid/rigid/contact/contact_plan.h"
#include "cycloid/rigid/tree/kinematics.h"

namespace cycloid::inline rigid {

// The last column of R(quat).
template <class P>
CYCLOID_INLINE Vec3<P> quaternion_z_axis(const Quat<P>& q) {
  const P two = P(2);
  return {two * (q.x * q.z + q.w * q.y), two * (q.y * q.z - q.w * q.x),
          P(1) - two * (q.x * q.x + q.y * q.y)};
}

template <class S, class P>
CYCLOID_HD Pose<S> geom_pose(const TouchingGeom& g, const P* p, const Mat3<S>& R,
                             const Vec3<S>& r) {
  Pose<S> pose{Mat3<S>{}, r};
  if (!is_zero(p + g.at.pos)) pose.p += R * vec3_of<S>(p + g.at.pos);  // (1)
  if (!g.turns) return pose;
  const P* quat = p + g.at.quat;
  if (is_identity(quat)) {
    pose.R = R;
  } else if (g.whole_frame) {
    const Mat3<P> own = to_matrix(load_quat(quat));
    for (int j = 0; j < 3; ++j) {
      const Vec3<S> column = R * Vec3<S>{S(own(0, j)), S(own(1, j)), S(own(2, j))};
      for (int i = 0; i < 3; ++i) pose.R(i, j) = column[i];
    }
  } else {
    const Vec3<P> own = quaternion_z_axis(load_quat(quat));
    const Vec3<S> z = R * Vec3<S>{S(own.x), S(own.y), S(own.z)};
    for (int i = 0; i < 3; ++i) pose.R(i, 2) = z[i];
  }
  return pose;
}

// at: p; body_pose: Γ of the geom's body. p_bar may be null.
template <class S, class P>
CYCLOID_HD void geom_pose_pullback(const TouchingGeom& g, const P* p, const Mat3<S>& R,
                                   const Vec3<S>& at, const PoseBar<S>& bar, Force<S>& body_pose,
                                   S* p_bar) {
  body_pose += wrench(bar.force, at, bar.torque);  // (2)
  if (!p_bar) return;
  add_to(p_bar + g.at.pos, transpose_vector_product(R, bar.force));
  add_to(p_bar + g.at.quat,
         rotate_inverse(quat_of<S>(p + g.at.quat), transpose_vector_product(R, bar.torque)));
}

}  // namespace cycloid::inline rigid
