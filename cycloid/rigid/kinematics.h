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
// The pullback is part of sweep.h: a pose has a wrench for a cotangent, and the sweep gathers it.
#pragma once

#include <limits>

#include "cycloid/math/elementary.h"
#include "cycloid/math/rotation.h"
#include "cycloid/math/spatial.h"
#include "cycloid/rigid/tree.h"

namespace cycloid::inline rigid {

// One array per quantity, in the caller's workspace.
template <class S>
struct Frames {
  Quat<S>* link_quat;    // (links) orientation after the link's motion
  Vec3<S>* link_anchor;  // (links) p
  Quat<S>* before_quat;  // (bodies) orientation before the body's joints
  Vec3<S>* before_pos;   // (bodies) r before the body's joints
  Mat3<S>* R;            // (bodies)
  Vec3<S>* pos;          // (bodies) r
  Vec3<S>* origin;       // (bodies) o of the body's tree
  Motion<S>* column;     // (dofs)
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
void prepare_parameters(const Tree& tree, P* p, P* length) {
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

// The rotation of a hinge: (cos a/2; axis sin a/2), before normalisation.
template <class S>
CYCLOID_INLINE Quat<S> hinge_quaternion(const Vec3<S>& axis, const S& angle) {
  S s, c;
  sin_cos(angle * S(0.5), s, c);
  return make_quaternion(c, axis * s);
}

// One link's motion; R and r of its body so far come in as q and r and leave moved.
template <class S, class P>
CYCLOID_INLINE void move_link(const Tree& tree, const P* p, const S* qpos, const Link& link,
                              Quat<S>& q, Vec3<S>& r, Vec3<S>& anchor, Vec3<S>& axis) {
  if (link.kind == LinkKind::fixed || link.kind == LinkKind::translation) return;
  const std::size_t id = static_cast<std::size_t>(link.joint);
  const Joint& joint = tree.model.joints[id];
  const JointPlaces& at = tree.joints[id];
  const bool centred = at.pos < 0 || is_zero(p + at.pos);
  const Vec3<S> pos = centred ? Vec3<S>{} : vec3_of<S>(p + at.pos);
  if (link.kind == LinkKind::ball) {
    if (joint.kind == JointKind::free) {
      anchor = r;
      return;
    }
    anchor = r + rotate(q, pos);  // (4)
    q = q * load_quat(qpos + link.qpos);
    r = anchor - rotate(q, pos);
    return;
  }
  const Vec3<S> own_axis = vec3_of<S>(p + at.axis);
  const S moved = qpos[link.qpos] - S(static_cast<Scalar<S>>(joint.qpos0[0]));
  axis = rotate(q, own_axis);
  if (link.kind == LinkKind::slide) {
    r += axis * moved;  // (3)
    anchor = r;
  } else {
    const Quat<S> turn = hinge_quaternion(own_axis, moved);
    anchor = centred ? r : r + rotate(q, pos);  // (2)
    q = q * (is_unit(p + at.axis) ? turn : turn * (S(1) / sqrt(dot(turn, turn))));
    r = centred ? anchor : anchor - rotate(q, pos);
  }
}

// mocap: (nmocap) rows of position and quaternion, 7 numbers each, or null.
template <class S, class P>
void kinematics(const Tree& tree, const P* p, const S* qpos, const S* mocap, const Frames<S>& f) {
  f.R[0] = identity_matrix<S, 3>();
  f.pos[0] = f.origin[0] = f.link_anchor[0] = f.before_pos[0] = Vec3<S>{};
  f.link_quat[0] = f.before_quat[0] = identity_quaternion<S>();
  Vec3<S> axis{};
  for (std::size_t l = 1; l < tree.links.size();) {
    const std::size_t first = l, b = static_cast<std::size_t>(tree.links[l].body);
    const Body& body = tree.model.bodies[b];
    const std::size_t parent = static_cast<std::size_t>(body.parent);
    const bool root = tree.root[b];
    Quat<S> q;
    Vec3<S> r;
    Vec3<S> origin = f.origin[parent];
    if (body.mocap >= 0) {
      r = load_vec3(mocap + 7 * body.mocap);
      q = normalise(load_quat(mocap + 7 * body.mocap + 3));
    } else if (tree.links[l].kind == LinkKind::translation) {
      origin = load_vec3(qpos + tree.links[l].qpos);
      r = Vec3<S>{};
      q = load_quat(qpos + tree.links[l].qpos + 3);
    } else {
      const BodyPlaces& at = tree.bodies[b];
      q = f.link_quat[static_cast<std::size_t>(tree.links[l].parent)] * quat_of<S>(p + at.quat);
      r = f.pos[parent] + f.R[parent] * vec3_of<S>(p + at.pos);  // (1)
      if (root) {
        origin = r;
        r = Vec3<S>{};
      }
    }
    f.before_quat[b] = q;
    f.before_pos[b] = r;
    Vec3<S>* const anchor = f.link_anchor;
    // The axes of the body's hinges and slides wait in the place of their columns.
    for (; l < tree.links.size() && tree.links[l].body == static_cast<int>(b); ++l) {
      const Link& link = tree.links[l];
      move_link(tree, p, qpos, link, q, r, anchor[l], axis);
      f.link_quat[l] = q;
      if (link.kind == LinkKind::hinge || link.kind == LinkKind::slide) {
        f.column[link.dof] = {axis, axis};
      }
    }
    f.R[b] = to_matrix(q);
    if (root) {  // the origin goes where the body went
      for (std::size_t k = first; k < l; ++k) anchor[k] -= r;
      f.before_pos[b] -= r;
      origin += r;
      r = Vec3<S>{};
    }
    f.pos[b] = r;
    f.origin[b] = origin;
    for (std::size_t k = first; k < l; ++k) {  // (5)
      const Link& link = tree.links[k];
      Motion<S>* column = f.column + link.dof;
      const Mat3<S>& R = f.R[b];
      switch (link.kind) {
        case LinkKind::fixed: break;
        case LinkKind::hinge: column->linear = cross(anchor[k], column->angular); break;
        case LinkKind::slide: column->angular = Vec3<S>{}; break;
        case LinkKind::ball:
          for (int i = 0; i < 3; ++i) column[i].angular = {R(0, i), R(1, i), R(2, i)};
          for (int i = 0; i < 3; ++i) column[i].linear = cross(anchor[k], column[i].angular);
          break;
        case LinkKind::translation:
          for (int i = 0; i < 3; ++i) {
            column[i] = Motion<S>{};
            column[i].linear[i] = S(1);
          }
          break;
      }
    }
  }
}

}  // namespace cycloid::inline rigid
