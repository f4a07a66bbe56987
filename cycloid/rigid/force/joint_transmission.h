// Transmission of an actuator to a joint: `joint` and `joint_in_parent`.
//
//   hinge, slide   l = g₁ q,       J x = g₁ x                                                 (1)
//   ball           l = g·φ,        J x = h·x                φ = log(quat), g the first three gears
//   free           l = 0,          J x = g·x_o + h·x_ω      x_o in world axes, x_ω in body axes (2)
//   h = g_ω (joint), R(quat)ᵀ g_ω (joint_in_parent)         g_ω: gears 1-3 (ball), 4-6 (free)  (3)
// R φ = φ, so that the length of a ball is the same either way. It lies on a circle: φ jumps at
// half a turn (math/rotation.h (2)). It is not the integral of J q̇.
//
// Pullback of row.h (1), w = c_m μ_ω + c_v q̇_ω the cotangent of h, all in tangents:
//   ball       φ̄ = g l̄,  q̄ += J_r⁻ᵀ(φ) φ̄,  ḡ += φ l̄                                        (4)
//   in parent  q̄ += w × h,  ḡ_ω += R w;      else ḡ_ω += w                                     (5)
#pragma once

#include "cycloid/rigid/tree/row.h"

namespace cycloid::inline rigid {

// What (1)-(3) need of an actuator on a ball or free joint.
template <class S>
struct TurningAxis {
  int dof;   // the first of the three
  int gear;  // place of g_ω
  bool in_parent;
  Quat<S> quat;
  Vec3<S> g, axis;  // g_ω, h
};

template <class S, class P>
CYCLOID_HD TurningAxis<S> turning_axis(const TreeView& tree, const P* p, int actuator,
                                       const Joint& joint, const S* qpos) {
  const std::size_t i = static_cast<std::size_t>(actuator);
  const int turn = linear_numbers(joint.kind);
  TurningAxis<S> a;
  a.dof = joint.dof + turn;
  a.gear = tree.actuators[i].gear + turn;
  a.in_parent = tree.model.actuators[i].transmission == TransmissionKind::joint_in_parent;
  a.quat = load_quat(qpos + joint.qpos + turn);
  a.g = vec3_of<S>(p + a.gear);
  a.axis = a.in_parent ? rotate_inverse(a.quat, a.g) : a.g;  // (3)
  return a;
}

CYCLOID_HD inline const Joint& transmission_joint(const TreeView& tree, int actuator) {
  const Actuator& a = tree.model.actuators[static_cast<std::size_t>(actuator)];
  return tree.model.joints[static_cast<std::size_t>(a.target)];
}

template <class S, class P>
CYCLOID_HD S joint_transmission_length(const TreeView& tree, const P* p, int actuator,
                                       const S* qpos) {
  const Joint& joint = transmission_joint(tree, actuator);
  const P* gear = p + tree.actuators[static_cast<std::size_t>(actuator)].gear;
  switch (joint.kind) {
    case JointKind::free: return S(0);  // (2)
    case JointKind::ball:
      return dot(vec3_of<S>(gear), quaternion_log(load_quat(qpos + joint.qpos)));
    default: return S(gear[0]) * qpos[joint.qpos];  // (1)
  }
}

// J x. x: (nv).
template <class S, class P>
CYCLOID_HD S joint_transmission_rate(const TreeView& tree, const P* p, int actuator, const S* qpos,
                                     const S* x) {
  const Joint& joint = transmission_joint(tree, actuator);
  const P* gear = p + tree.actuators[static_cast<std::size_t>(actuator)].gear;
  if (dof_numbers(joint.kind) == 1) return S(gear[0]) * x[joint.dof];  // (1)
  const TurningAxis<S> a = turning_axis(tree, p, actuator, joint, qpos);
  const S turning = dot(a.axis, load_vec3(x + a.dof));
  if (joint.kind == JointKind::ball) return turning;
  return dot(vec3_of<S>(gear), load_vec3(x + joint.dof)) + turning;  // (2)
}

// Adds Jᵀ force to tau (nv).
template <class S, class P>
CYCLOID_HD void apply_joint_transmission(const TreeView& tree, const P* p, int actuator,
                                         const S* qpos, const S& force, S* tau) {
  const Joint& joint = transmission_joint(tree, actuator);
  const P* gear = p + tree.actuators[static_cast<std::size_t>(actuator)].gear;
  if (dof_numbers(joint.kind) == 1) {
    tau[joint.dof] += S(gear[0]) * force;  // (1)
    return;
  }
  const TurningAxis<S> a = turning_axis(tree, p, actuator, joint, qpos);
  add_to(tau + a.dof, a.axis * force);
  if (joint.kind == JointKind::free) add_to(tau + joint.dof, vec3_of<S>(gear) * force);  // (2)
}

template <class S, class P>
CYCLOID_HD void joint_transmission_pullback(const TreeView& tree, const P* p, int actuator,
                                            const RowPoint<S>& at, const RowBars<S>& bar,
                                            const RowSinks<S>& to) {
  const Joint& joint = transmission_joint(tree, actuator);
  const int place = tree.actuators[static_cast<std::size_t>(actuator)].gear;
  const int k = joint.dof;
  if (dof_numbers(joint.kind) == 1) {  // (1)
    const S gear = S(p[place]);
    to.q_bar[k] += gear * bar.length;
    to.v_bar[k] += gear * bar.v;
    if (to.p_bar) {
      to.p_bar[place] += bar.length * at.qpos[joint.qpos] + bar.m * at.mu[k] + bar.v * at.qvel[k];
    }
    return;
  }
  const TurningAxis<S> a = turning_axis(tree, p, actuator, joint, at.qpos);
  const Vec3<S> w = load_vec3(at.mu + a.dof) * bar.m + load_vec3(at.qvel + a.dof) * bar.v;
  add_to(to.v_bar + a.dof, a.axis * bar.v);
  if (a.in_parent) add_to(to.q_bar + a.dof, cross(w, a.axis));  // (5)
  if (to.p_bar) add_to(to.p_bar + a.gear, a.in_parent ? rotate(a.quat, w) : w);
  if (joint.kind == JointKind::ball) {
    const Vec3<S> phi = quaternion_log(a.quat);
    add_to(to.q_bar + k, right_jacobian_inverse_apply(-phi, a.g * bar.length));  // (4)
    if (to.p_bar) add_to(to.p_bar + a.gear, phi * bar.length);
  } else {
    add_to(to.v_bar + k, vec3_of<S>(p + place) * bar.v);  // (2)
    if (to.p_bar) {
      add_to(to.p_bar + place, load_vec3(at.mu + k) * bar.m + load_vec3(at.qvel + k) * bar.v);
    }
  }
}

}  // namespace cycloid::inline rigid
