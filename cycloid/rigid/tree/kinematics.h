// Kinematics: where the bodies are, and how each degree of freedom moves them.
//
// All positions of a kinematic tree are relative to the tree's origin o, the place of its first
// body's frame, so that a robot far from the world's origin loses no digits; bodies that stand
// still have o = 0. World axes throughout. For each body, before its joints:
//   R = R_P R(quat),   r = r_P + R_P pos                                        (1)
// (free joint: R from its quaternion, r = 0 and o from its position; mocap body: from the inputs),
// then joint by joint, with anchor p and axis e before the joint's own motion:
//   hinge   e = R axis,   p = r + R pos,   R ← R R(axis, q - q0),   r ← p - R pos     (2)
//   slide   e = R axis,   r ← r + e (q - q0)                                         (3)
//   ball    p = r + R pos,   R ← R R(quat),   r ← p - R pos                          (4)
// Columns of motion (math/spatial.h):
//   hinge (e; p×e)    slide (0; e)    ball (R e_k; p×R e_k)    translation (0; e_k)  (5)
// A ball is the last rotation of its body, so that its R is the body's.
// Quaternion parameters arrive normalised (prepare_parameters); an axis is used as it is, and the
// hinge's rotation normalised, as MuJoCo does.
//
// The pullback is part of motion_pullback.h: a pose has a wrench for a cotangent, and the sweep
// gathers it.
#pragma once

#include <limits>

#include "cycloid/math/elementary.h"
#include "cycloid/math/rotation.h"
#include "cycloid/math/spatial.h"
#include "cycloid/rigid/tree/tree_view.h"

namespace cycloid::inline rigid {

// One array per quantity, in the caller's workspace.
template <class S>
struct Frames {
  Quat<S>* link_quat;      // (links) orientation after the link's motion
  Vec3<S>* link_anchor;    // (links) p
  S *turn_sin, *turn_cos;  // (links) of half a hinge's angle
  Quat<S>* before_quat;    // (bodies) orientation before the body's joints
  Vec3<S>* before_pos;     // (bodies) r before the body's joints
  Mat3<S>* R;              // (bodies)
  Vec3<S>* pos;            // (bodies) r
  Vec3<S>* origin;         // (bodies) o of the body's tree
  Motion<S>* column;       // (dofs)
};

// A parameter is one number for all lanes (P = Scalar<S>) or one per lane (P = S).
template <class S, class P>
CYCLOID_INLINE Vec3<S> vec3_of(const P* p) {
  return {S(p[0]), S(p[1]), S(p[2])};
}
template <class S, class P>
CYCLOID_INLINE Quat<S> quat_of(const P* p) {
  return {S(p[0]), S(p[1]), S(p[2]), S(p[3])};
}

// The parameters as a step uses them: quaternions normalised, and their lengths (one per entry of
// Tree::quaternions) for the way back.
template <class P>
void prepare_parameters(const TreeView& tree, P* p, P* length) {
  for (const int place : tree.quaternions) {
    const Quat<P> q = load_quat(p + place);
    const P square = dot(q, q);
    const Mask<P> zero = square == P(0);
    *length = select(zero, P(1), sqrt(square));
    const P inverse = P(1) / *length++;
    store(p + place,
          Quat<P>{select(zero, P(1), q.w * inverse), q.x * inverse, q.y * inverse, q.z * inverse});
  }
}

// q of nearly unit length, made unit to rounding.
template <class S>
CYCLOID_INLINE Quat<S> renormalise(const Quat<S>& q) {
  return q * (S(1.5) - S(0.5) * dot(q, q));
}

// Whether a parameter of three numbers is zero in every lane; false where lanes differ.
template <class P>
CYCLOID_INLINE bool is_zero(const P* p) {
  if constexpr (BuiltinScalar<P>) {
    return p[0] == P(0) && p[1] == P(0) && p[2] == P(0);
  } else {
    return false;
  }
}
template <class P>
CYCLOID_INLINE bool is_unit(const P* p) {
  if constexpr (BuiltinScalar<P>) {
    const P excess = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] - P(1);
    return abs(excess) < P(4) * std::numeric_limits<P>::epsilon();
  } else {
    return false;
  }
}

// 0, 1 or 2 where the axis is that of the frame, or its opposite; else -1.
template <class P>
CYCLOID_INLINE int frame_axis(const P* axis) {
  if constexpr (BuiltinScalar<P>) {
    for (int i = 0; i < 3; ++i) {
      if (abs(axis[i]) == P(1) && axis[(i + 1) % 3] == P(0) && axis[(i + 2) % 3] == P(0)) return i;
    }
  }
  return -1;
}
template <class P>
CYCLOID_INLINE bool is_identity(const P* q) {
  if constexpr (BuiltinScalar<P>) {
    return q[0] == P(1) && is_zero(q + 1);
  } else {
    return false;
  }
}

// The frame's axis I in the world, and q after a turn about it: half the angle's sine and cosine.
template <int I, class S>
CYCLOID_INLINE Vec3<S> turn_about_frame_axis(Quat<S>& q, const S& s, const S& c) {
  constexpr int J = (I + 1) % 3, K = (I + 2) % 3;
  const S w = q.w, u[3] = {q.x, q.y, q.z};
  Vec3<S> axis;
  axis[I] = S(1) - S(2) * (u[J] * u[J] + u[K] * u[K]);
  axis[J] = S(2) * (u[I] * u[J] + w * u[K]);
  axis[K] = S(2) * (u[I] * u[K] - w * u[J]);
  S out[3];
  q.w = w * c - u[I] * s;
  out[I] = u[I] * c + w * s;
  out[J] = u[J] * c + u[K] * s;
  out[K] = u[K] * c - u[J] * s;
  q.x = out[0], q.y = out[1], q.z = out[2];
  return axis;
}

// A hinge turns q about its own axis; returns the axis in the world. s, c: of half the angle.
template <class S, class P>
CYCLOID_INLINE Vec3<S> turn_hinge(const P* own, const S& angle, Quat<S>& q, S& s, S& c) {
  sin_cos(angle * S(0.5), s, c);
  const int i = frame_axis(own);
  if (i >= 0) {
    const S sign = S(own[i]), t = s * sign;
    return (i == 0   ? turn_about_frame_axis<0>(q, t, c)
            : i == 1 ? turn_about_frame_axis<1>(q, t, c)
                     : turn_about_frame_axis<2>(q, t, c)) *
           sign;
  }
  const Vec3<S> a = vec3_of<S>(own), axis = rotate(q, a);
  const Quat<S> turn = make_quaternion(c, a * s);
  q = q * (is_unit(own) ? turn : turn * (S(1) / sqrt(dot(turn, turn))));
  return axis;
}

// One link's motion; orientation q and place r of its body so far leave moved.
template <class S, class P>
CYCLOID_INLINE void move_link(const TreeView& tree, const P* p, const S* qpos, std::size_t l,
                              const Frames<S>& f, Quat<S>& q, Vec3<S>& r) {
  const Link& link = tree.links[l];
  if (link.kind == LinkKind::fixed || link.kind == LinkKind::translation) return;
  const std::size_t id = static_cast<std::size_t>(link.joint);
  const JointPlaces& at = tree.joints[id];
  const bool centred = at.pos < 0 || is_zero(p + at.pos);
  Vec3<S> anchor = r;
  if (!centred) anchor += rotate(q, vec3_of<S>(p + at.pos));
  if (link.kind == LinkKind::ball) {
    // The orientation of a free joint has been read with its place.
    if (tree.model.joints[id].kind != JointKind::free) {
      q = q * load_quat(qpos + link.qpos);  // (4)
    }
  } else {
    const S moved = qpos[link.qpos] - S(static_cast<Scalar<S>>(tree.zero[id]));
    if (link.kind == LinkKind::slide) {
      const Vec3<S> axis = rotate(q, vec3_of<S>(p + at.axis));
      f.column[link.dof].linear = axis;
      r += axis * moved;  // (3)
      f.link_anchor[l] = r;
      return;
    }
    f.column[link.dof].angular =
        turn_hinge(p + at.axis, moved, q, f.turn_sin[l], f.turn_cos[l]);  // (2)
  }
  f.link_anchor[l] = anchor;
  if (!centred) r = anchor - rotate(q, vec3_of<S>(p + at.pos));
}

// (1), or what a free joint or a mocap body has in its place.
template <class S, class P>
CYCLOID_INLINE void place_body(const TreeView& tree, const P* p, const S* qpos, const S* mocap,
                               const Link& first, const Frames<S>& f, Quat<S>& q, Vec3<S>& r) {
  const std::size_t b = static_cast<std::size_t>(first.body);
  const Body& body = tree.model.bodies[b];
  const std::size_t parent = static_cast<std::size_t>(body.parent);
  if (body.mocap >= 0) {
    r = load_vec3(mocap + 7 * body.mocap);
    q = normalise(load_quat(mocap + 7 * body.mocap + 3));
  } else if (first.kind == LinkKind::translation) {
    r = load_vec3(qpos + first.qpos);
    q = load_quat(qpos + first.qpos + 3);
  } else {
    const BodyPlaces& at = tree.bodies[b];
    r = f.pos[parent] + f.R[parent] * vec3_of<S>(p + at.pos);  // (1)
    q = f.link_quat[first.parent];
    if (!is_identity(p + at.quat)) q = q * quat_of<S>(p + at.quat);
  }
}

// (5) of one link; the angular part of a hinge and the linear part of a slide are there.
template <class S>
CYCLOID_INLINE void complete_columns(const Link& link, const Vec3<S>& anchor, const Mat3<S>& R,
                                     Motion<S>* column) {
  switch (link.kind) {
    case LinkKind::hinge: column->linear = cross(anchor, column->angular); break;
    case LinkKind::slide: column->angular = Vec3<S>{}; break;
    case LinkKind::ball:
      for (int i = 0; i < 3; ++i) column[i].angular = {R(0, i), R(1, i), R(2, i)};
      for (int i = 0; i < 3; ++i) column[i].linear = cross(anchor, column[i].angular);
      break;
    case LinkKind::translation:
      for (int i = 0; i < 3; ++i) {
        column[i] = Motion<S>{};
        column[i].linear[i] = S(1);
      }
      break;
    default: break;
  }
}

// mocap: (nmocap) rows of position and quaternion, 7 numbers each, or null.
template <class S, class P>
CYCLOID_HD void kinematics(const TreeView& tree, const P* p, const S* qpos, const S* mocap,
                           const Frames<S>& f) {
  f.R[0] = identity_matrix<S, 3>();
  f.pos[0] = f.origin[0] = f.link_anchor[0] = f.before_pos[0] = Vec3<S>{};
  f.link_quat[0] = f.before_quat[0] = identity_quaternion<S>();
  for (std::size_t l = 1; l < tree.links.size();) {
    const std::size_t first = l, b = static_cast<std::size_t>(tree.links[l].body);
    const bool root = tree.root[b];
    Quat<S> q;
    Vec3<S> r, origin = f.origin[tree.model.bodies[b].parent];
    place_body(tree, p, qpos, mocap, tree.links[l], f, q, r);
    if (root) origin = r, r = Vec3<S>{};
    f.before_quat[b] = q;
    f.before_pos[b] = r;
    for (bool last = false; !last; ++l) {
      move_link(tree, p, qpos, l, f, q, r);
      f.link_quat[l] = q;
      last = tree.links[l].last;
    }
    const Mat3<S> R = to_matrix(q);
    f.R[b] = R;
    if (root) {  // the origin goes where the body went
      for (std::size_t k = first; k < l; ++k) f.link_anchor[k] -= r;
      f.before_pos[b] -= r;
      origin += r;
      r = Vec3<S>{};
    }
    f.pos[b] = r;
    f.origin[b] = origin;
    for (std::size_t k = first; k < l; ++k) {
      const Link& link = tree.links[k];
      complete_columns(link, f.link_anchor[k], R, f.column + link.dof);  // (5)
    }
  }
}

}  // namespace cycloid::inline rigid
