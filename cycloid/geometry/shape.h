// Shapes, poses and touches: the words that every pair of this room is written in.
//
// A geom is a shape (kind and size) at a pose. Size has three numbers, with MuJoCo's meaning [m]:
//   plane      none: z > 0 is free                 ellipsoid  semi-axes x, y, z
//   sphere     radius                              cylinder   radius, half-length (along z)
//   capsule    radius, half-length (along z)       box        half-lengths x, y, z
//   mesh       none: its hull has points (hull.h)  hfield     none: its data has heights
// Of a mesh or a height field the first number is the radius of a ball about its origin.
// A pair of geoms is ordered by kind; its touches are those of MuJoCo, in MuJoCo's order:
//   dist     distance of the surfaces, negative when they overlap [m]
//   pos      point midway between the surfaces [m]
//   normal   unit vector from geom 1 to geom 2
//   tangent  raw tangent of the contact frame (contact_frame.h); zero: the default one
//
// A pair has a fixed number of places for touches, of which each lane uses its own. A place that is
// not used has dist = kFar and feature = kNoFeature, and harmless numbers elsewhere. `feature`
// holds the discrete choice of forward (which corner, which side) as a small integer in S, one per
// place; it is all that the pullback needs besides the inputs. Where it is kNoFeature the pullback
// adds exact zeros, whatever the place's cotangent.
//
// The cotangent of a pose is what a body needs: the force at p and the torque about p that do the
// same work (world axes), for a motion of the geom with velocity v at p and angular velocity w:
//   point x fixed to the geom       force += x̄,     torque += (x - p) × x̄            (1)
//   direction z fixed to the geom                    torque += z × z̄                   (2)
#pragma once

#include "cycloid/math/dual.h"
#include "cycloid/math/matrix.h"
#include "cycloid/math/spatial.h"

namespace cycloid::inline geometry {

// In MuJoCo's order: the first geom of a pair has the smaller kind.
enum class GeomKind { plane, hfield, sphere, capsule, ellipsoid, cylinder, box, mesh };
inline constexpr int kGeomKinds = 8;

// The numbers of `size` that a kind has as parameters.
constexpr int size_numbers(GeomKind k) {
  constexpr int numbers[kGeomKinds] = {0, 0, 1, 2, 3, 2, 3, 0};
  return numbers[static_cast<int>(k)];
}

inline constexpr double kFar = 1e10;         // dist of a place without a contact [m]
inline constexpr double kNoFeature = -1;     // and its feature
inline constexpr double kMinLength = 1e-15;  // directions of shorter vectors are undefined

// Where two directions are nearly parallel, their common normal is lost in rounding below the first
// sine, and its derivative, which grows as 1/sine, is held at zero below the second.
template <class S>
inline constexpr double kLostSine = sizeof(Scalar<S>) == 4 ? 1e-6 : 1e-15;
template <class S>
inline constexpr double kFrozenSine = sizeof(Scalar<S>) == 4 ? 1e-4 : 1e-8;

template <class S>
struct Pose {
  Mat3<S> R;  // columns: the geom's axes
  Vec3<S> p;  // its origin [m]
};

template <class S>
struct PoseBar {
  Vec3<S> force, torque;  // at p, about p
};

template <class S>
struct Touch {
  S dist;  // [m]
  Vec3<S> pos;
  Vec3<S> normal;
  Vec3<S> tangent;
};

template <class S>
struct TouchBar {
  S dist;
  Vec3<S> pos, normal, tangent;
};

// a ∘ b.
template <class S>
CYCLOID_INLINE Vec3<S> componentwise(const Vec3<S>& a, const Vec3<S>& b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}

// Column k of R: an axis of the geom.
template <class S>
CYCLOID_INLINE Vec3<S> axis(const Pose<S>& x, int k) {
  return {x.R(0, k), x.R(1, k), x.R(2, k)};
}

// `arm` is x - p.
template <class S>
CYCLOID_INLINE void add_point(PoseBar<S>& bar, const Vec3<S>& arm, const Vec3<S>& x_bar) {
  bar.force += x_bar;  // (1)
  bar.torque += cross(arm, x_bar);
}
template <class S>
CYCLOID_INLINE void add_direction(PoseBar<S>& bar, const Vec3<S>& z, const Vec3<S>& z_bar) {
  bar.torque += cross(z, z_bar);  // (2)
}

// Writes a touch where `contact`, and an unused place elsewhere.
template <class S>
CYCLOID_INLINE void write_touch(const Mask<S>& contact, const Touch<S>& touch,
                                const std::type_identity_t<S>& feature, Touch<S>& out,
                                S& out_feature) {
  const Vec3<S> zero{S(0), S(0), S(0)};
  out.dist = select(contact, touch.dist, S(kFar));
  out.pos = select(contact, touch.pos, zero);
  out.normal = select(contact, touch.normal, Vec3<S>{S(0), S(0), S(1)});
  out.tangent = select(contact, touch.tangent, zero);
  out_feature = select(contact, feature, S(kNoFeature));
}

// An unused place in all lanes.
template <class S>
CYCLOID_INLINE void clear_touch(Touch<S>& out, S& out_feature) {
  write_touch(Mask<S>(false), Touch<S>{}, S(kNoFeature), out, out_feature);
}

// The cotangent of a touch, zero where the place is not used.
template <class S>
CYCLOID_INLINE TouchBar<S> used_bar(const S& feature, const TouchBar<S>& bar) {
  const Mask<S> used = feature >= S(0);
  const Vec3<S> zero{S(0), S(0), S(0)};
  return {select(used, bar.dist, S(0)), select(used, bar.pos, zero), select(used, bar.normal, zero),
          select(used, bar.tangent, zero)};
}

// A vector that nothing moves: Dual numbers lose their tangents.
template <class S>
CYCLOID_INLINE Vec3<S> hold(const Vec3<S>& v) {
  return {S(primal(v.x)), S(primal(v.y)), S(primal(v.z))};
}

// u = v / |v|, or `otherwise` with derivative zero where |v| < kMinLength.
//   v̄ = (ū - u (u·ū)) / |v|                                                            (3)
template <class S>
struct Direction {
  Vec3<S> u;
  S length;   // |v|, 0 where undefined
  S inverse;  // 1 / |v|, 0 where undefined
};

template <class S>
CYCLOID_INLINE Direction<S> direction(const Vec3<S>& v, const Vec3<S>& otherwise) {
  const S square = dot(v, v);
  const Mask<S> defined = square >= S(kMinLength * kMinLength);
  const S length = sqrt(select(defined, square, S(1)));
  const S inverse = select(defined, S(1) / length, S(0));
  return {select(defined, v * inverse, hold(otherwise)), select(defined, length, S(0)), inverse};
}

template <class S>
CYCLOID_INLINE Vec3<S> direction_bar(const Direction<S>& d, const Vec3<S>& u_bar) {
  return (u_bar - d.u * dot(d.u, u_bar)) * d.inverse;  // (3)
}

}  // namespace cycloid::inline geometry
