// An orientation servo: the torque that turns a frame to a target along the shortest way.
//
// q is the frame's orientation relative to its reference, ω its rate in its own axes. Controls are
// a rotation vector or a quaternion, each number clamped to its range; an integrator adds them up:
//   ẇ = u,   w⁺ = clamp(w + h u);   the vector is u, with an integrator w, with `early` w⁺     (1)
//   q_d = exp(vector),   or u/|u|, of zero the identity                                        (2)
//   e   = log(q* q_d)                                                                          (3)
//   f   = k_p e + b₀ + b₂ ω                                                                    (4)
//   p   = f min(1, f_max/|f|)   where the force is limited                                     (5)
// k_p is a number of the gain, b₀ and b₂ of the bias. Implicit integrators take b₂ for dp/dω, and
// zero where (5) holds. (3) jumps at half a turn; a quaternion of zero has no derivative: 0.
// Source: MuJoCo's manual, actuator/orientation.
#pragma once

#include "cycloid/rigid/force/actuator.h"

namespace cycloid::inline rigid {

inline constexpr int kQuaternionChart = 2;  // of mjtCtrlChart

template <class S>
struct OrientationPoint {
  S u[4]{};  // controls as given; three, or four of a quaternion
  Vec3<S> w{};
  Quat<S> q{};
  Vec3<S> rate{};  // ω
};

// p and what becomes of w; also their cotangents, with that of the slope dp/dω.
template <class S>
struct OrientationForce {
  Vec3<S> force{}, w_dot{}, w_next{};
  S slope{};
};

// What the pullback needs again.
template <class S>
struct OrientationValues {
  Vec3<S> vector{}, error{}, unclamped{};
  Quat<S> target{};
  S norm{}, scale{};  // |f|; 1/|u| of a quaternion
};

CYCLOID_HD inline bool integrates(const Actuator& a) {
  return a.dynamics == ActuatorDynamics::integrator;
}

// The target and its pullback: (1) and (2).
template <class S>
CYCLOID_HD void orientation_target(const TreeView& tree, const Actuator& a, const S& h,
                                   const OrientationPoint<S>& at, OrientationForce<S>& out,
                                   OrientationValues<S>& kept) {
  S u[4];
  for (int k = 0; k < 4; ++k) {
    const bool limits = tree.model.options.acting.control_limits && k < a.controls;
    u[k] = limits ? clamp(control_range(a, k), at.u[k]) : at.u[k];
  }
  if (a.signature == kQuaternionChart) {
    const S square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2] + u[3] * u[3];
    const Mask<S> none = square == S(0);
    kept.scale = select(none, S(0), S(1) / sqrt(select(none, S(1), square)));
    kept.target = Quat<S>{select(none, S(1), u[0] * kept.scale), u[1] * kept.scale,
                          u[2] * kept.scale, u[3] * kept.scale};  // (2)
    return;
  }
  kept.vector = {u[0], u[1], u[2]};
  if (integrates(a)) {
    out.w_dot = kept.vector;  // (1)
    for (int k = 0; k < 3; ++k) {
      out.w_next[k] = clamp(a.activation_range, at.w[k] + h * u[k]);
    }
    kept.vector = a.early ? out.w_next : at.w;
  }
  kept.target = quaternion_exp(kept.vector);  // (2)
}

template <class S, class P>
CYCLOID_HD OrientationForce<S> orientation_force(const TreeView& tree, const P* p, std::size_t i,
                                                 const S& h, const OrientationPoint<S>& at,
                                                 OrientationValues<S>& kept) {
  const Actuator& a = tree.model.actuators[i];
  const ActuatorPlaces& place = tree.actuators[i];
  OrientationForce<S> out;
  if (!acts(tree, a)) {
    for (int k = 0; k < 3; ++k) out.w_next[k] = clamp(held_range(tree, a), at.w[k]);
    return out;
  }
  orientation_target(tree, a, h, at, out, kept);
  kept.error = difference(at.q, kept.target);  // (3)
  const S b0 = S(p[place.bias]), b2 = S(p[place.bias + 2]);
  kept.unclamped = kept.error * S(p[place.gain]) + Vec3<S>{b0, b0, b0} + at.rate * b2;  // (4)
  out.force = kept.unclamped;
  out.slope = b2;
  if (a.force_range.on) {
    const S most(static_cast<Scalar<S>>(a.force_range.high));
    kept.norm = norm(kept.unclamped);
    const Mask<S> over = kept.norm > most;
    out.force = kept.unclamped * select(over, most / select(over, kept.norm, S(1)), S(1));  // (5)
    out.slope = select(over, S(0), b2);
  }
  return out;
}

// Adds to at_bar, to q_bar, that of q in tangents, to h_bar, and to p_bar unless it is null.
template <class S, class P>
CYCLOID_HD void orientation_force_pullback(const TreeView& tree, const P* p, std::size_t i,
                                           const S& h, const OrientationPoint<S>& at,
                                           const OrientationForce<S>& out,
                                           const OrientationValues<S>& kept,
                                           const OrientationForce<S>& bar,
                                           OrientationPoint<S>& at_bar, Vec3<S>& q_bar, S& h_bar,
                                           S* p_bar) {
  const Actuator& a = tree.model.actuators[i];
  const ActuatorPlaces& place = tree.actuators[i];
  if (!acts(tree, a)) {
    for (int k = 0; k < 3; ++k) {
      at_bar.w[k] += bar.w_next[k] * inside(held_range(tree, a), at.w[k]);
    }
    return;
  }
  Vec3<S> f_bar = bar.force;
  S slope_bar = bar.slope;
  if (a.force_range.on) {  // (5)
    const S most(static_cast<Scalar<S>>(a.force_range.high));
    const Mask<S> over = kept.norm > most;
    const S scale = select(over, most / select(over, kept.norm, S(1)), S(1));
    const Vec3<S> unit = kept.unclamped * select(over, S(1) / kept.norm, S(0));
    f_bar = (f_bar - unit * dot(unit, f_bar)) * scale;
    slope_bar = select(over, S(0), slope_bar);
  }
  const Vec3<S> e_bar = f_bar * S(p[place.gain]);  // (4)
  at_bar.rate += f_bar * S(p[place.bias + 2]);
  if (p_bar) {
    p_bar[place.gain] += dot(f_bar, kept.error);
    p_bar[place.bias] += f_bar.x + f_bar.y + f_bar.z;
    p_bar[place.bias + 2] += dot(f_bar, at.rate) + slope_bar;
  }
  Vec3<S> target_bar{};
  difference_tangent_pullback(kept.error, e_bar, q_bar, target_bar);  // (3)
  S u_bar[4]{};
  if (a.signature == kQuaternionChart) {
    const Quat<S> ambient = ambient_from_tangent_cotangent(kept.target, target_bar);  // (2)
    const S own[4] = {ambient.w, ambient.x, ambient.y, ambient.z};
    for (int k = 0; k < 4; ++k) u_bar[k] = own[k] * kept.scale;
  } else {
    Vec3<S> vector_bar = right_jacobian_apply(-kept.vector, target_bar);
    if (integrates(a)) {
      Vec3<S> next_bar = bar.w_next;  // (1)
      if (a.early) {
        next_bar += vector_bar;
      } else {
        at_bar.w += vector_bar;
      }
      for (int k = 0; k < 3; ++k) {
        const S u = out.w_dot[k];
        const S open = next_bar[k] * inside(a.activation_range, at.w[k] + h * u);
        at_bar.w[k] += open;
        h_bar += open * u;
        vector_bar[k] = open * h + bar.w_dot[k];
      }
    }
    for (int k = 0; k < 3; ++k) u_bar[k] = vector_bar[k];
  }
  for (int k = 0; k < a.controls; ++k) {
    const bool limits = tree.model.options.acting.control_limits;
    at_bar.u[k] += limits ? u_bar[k] * inside(control_range(a, k), at.u[k]) : u_bar[k];
  }
}

}  // namespace cycloid::inline rigid
