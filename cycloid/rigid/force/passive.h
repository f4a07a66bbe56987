// Springs and dampers of the joints.
//
//   hinge, slide    x = q - q_ref,      f = -(k x + k₂ x² + k₃ x³)                   (1)
//   three numbers   f = -(k + k₂ |x| + k₃ |x|²) x                                    (2)
//     translation   x = q - q_ref;      ball   x = log(q_ref* q), in the body's axes
//   each dof                    f = -(d v + d₂ v|v| + d₃ v³)                         (3)
//   slope of (3)                B = d + 2 d₂ |v| + 3 d₃ v²                           (4)
//   an actuator's own damper    gear² times (3) on its joint                         (5)
// k and d are parameters, k₂, k₃, d₂, d₃ constants of the model. (2) jumps where the angle is π;
// (4) has a kink at v = 0, where the mean of both sides is taken.
#pragma once

#include "cycloid/rigid/tree/kinematics.h"

namespace cycloid::inline rigid {

inline constexpr double kPi = 3.14159265358979323846;

template <class S>
CYCLOID_INLINE S number(double x) {
  return S(static_cast<Scalar<S>>(x));
}

// (1) for one coordinate: the force of displacement x.
template <class S, class P>
CYCLOID_INLINE S spring_force(const Polynomial& poly, const P& k, const S& x) {
  if (poly.quadratic == 0 && poly.cubic == 0) return -(S(k) * x);
  return -x * (S(k) + x * (number<S>(poly.quadratic) + number<S>(poly.cubic) * x));  // (1)
}
// -df/dx.
template <class S, class P>
CYCLOID_INLINE S spring_slope(const Polynomial& poly, const P& k, const S& x) {
  return S(k) + x * (number<S>(2 * poly.quadratic) + number<S>(3 * poly.cubic) * x);
}
template <class S, class P>
CYCLOID_INLINE S damper_force(const Polynomial& poly, const P& d, const S& v) {
  if (poly.quadratic == 0 && poly.cubic == 0) return -(S(d) * v);
  return -v * (S(d) + number<S>(poly.quadratic) * abs(v) + number<S>(poly.cubic) * v * v);  // (3)
}
template <class S, class P>
CYCLOID_INLINE S damper_slope(const Polynomial& poly, const P& d, const S& v) {
  if (poly.quadratic == 0 && poly.cubic == 0) return S(d);
  return S(d) + number<S>(2 * poly.quadratic) * abs(v) + number<S>(3 * poly.cubic) * v * v;  // (4)
}
// dB/dv; 0 at the kink of |v|.
template <class S>
CYCLOID_INLINE S damper_curvature(const Polynomial& poly, const S& v) {
  const S sign = select(v == S(0), S(0), copysign(S(1), v));
  return number<S>(2 * poly.quadratic) * sign + number<S>(6 * poly.cubic) * v;
}

// (2), and its pullback: returns x_bar and adds to k_bar.
template <class S>
CYCLOID_INLINE Vec3<S> spring_force(const Polynomial& poly, const S& k, const Vec3<S>& x) {
  if (poly.quadratic == 0 && poly.cubic == 0) return x * -k;
  const S n = norm(x);
  return x * -(k + n * (number<S>(poly.quadratic) + number<S>(poly.cubic) * n));  // (2)
}
template <class S>
CYCLOID_INLINE Vec3<S> spring_bar(const Polynomial& poly, const S& k, const Vec3<S>& x,
                                  const Vec3<S>& f_bar, S& k_bar) {
  k_bar -= dot(x, f_bar);
  if (poly.quadratic == 0 && poly.cubic == 0) return f_bar * -k;
  const UnitAndNorm<S, 3> along = unit_and_norm(x);
  const S n = along.norm, b = number<S>(poly.quadratic), c = number<S>(poly.cubic);
  return f_bar * -(k + n * (b + c * n)) - x * (dot(along.unit, f_bar) * (b + S(2) * c * n));
}

// Whether a spring or damper can ever pull: its number may be changed by a parameter vector.
template <class P>
CYCLOID_INLINE bool may_pull(const Polynomial& poly, const P& k) {
  if constexpr (BuiltinScalar<P>) {
    return k != P(0) || poly.quadratic != 0 || poly.cubic != 0;
  } else {
    return true;
  }
}

// Adds the springs of all joints to tau (nv).
template <class S, class P>
CYCLOID_HD void add_springs(const TreeView& tree, const P* p, const S* qpos, S* tau) {
  if (!tree.model.options.acting.springs) return;
  for (std::size_t j = 0; j < tree.model.joints.size(); ++j) {
    const Joint& joint = tree.model.joints[j];
    const JointPlaces& at = tree.joints[j];
    const P& k = p[at.stiffness];
    if (!may_pull(joint.stiffness, k)) continue;
    const P* ref = p + at.spring;
    const S* q = qpos + joint.qpos;
    visit_joint(
        joint,
        [&](int, int dof, int n) {
          if (n == 1) {
            tau[dof] += spring_force(joint.stiffness, k, q[0] - S(ref[0]));
          } else {
            add_to(tau + dof, spring_force(joint.stiffness, S(k), load_vec3(q) - vec3_of<S>(ref)));
          }
        },
        [&](int place, int dof) {
          const int turn = place - joint.qpos;
          add_to(tau + dof, spring_force(joint.stiffness, S(k),
                                         difference(quat_of<S>(ref + turn), load_quat(q + turn))));
        });
  }
}

// tau_bar: the cotangent of tau, which is μ. Adds to q_bar (nv), and to p_bar unless it is null;
// a quaternion reference gathers tangent numbers (motion_pullback.h).
template <class S, class P>
CYCLOID_HD void add_springs_pullback(const TreeView& tree, const P* p, const S* qpos,
                                     const S* tau_bar, S* q_bar, S* p_bar) {
  if (!tree.model.options.acting.springs) return;
  for (std::size_t j = 0; j < tree.model.joints.size(); ++j) {
    const Joint& joint = tree.model.joints[j];
    const JointPlaces& at = tree.joints[j];
    const P& k = p[at.stiffness];
    if (!p_bar && !may_pull(joint.stiffness, k)) continue;
    const P* ref = p + at.spring;
    const S* q = qpos + joint.qpos;
    S k_bar(0);
    visit_joint(
        joint,
        [&](int, int dof, int n) {
          if (n == 1) {
            const S x = q[0] - S(ref[0]),
                    x_bar = -tau_bar[dof] * spring_slope(joint.stiffness, k, x);
            q_bar[dof] += x_bar;  // (1)
            k_bar -= tau_bar[dof] * x;
            if (p_bar) p_bar[at.spring] -= x_bar;
            return;
          }
          const Vec3<S> x = load_vec3(q) - vec3_of<S>(ref);
          const Vec3<S> x_bar =
              spring_bar(joint.stiffness, S(k), x, load_vec3(tau_bar + dof), k_bar);
          add_to(q_bar + dof, x_bar);  // (2)
          if (p_bar) add_to(p_bar + at.spring, -x_bar);
        },
        [&](int place, int dof) {
          const int turn = place - joint.qpos;
          const Vec3<S> x = difference(quat_of<S>(ref + turn), load_quat(q + turn));
          Vec3<S> ref_bar{}, own_bar{};
          difference_tangent_pullback(
              x, spring_bar(joint.stiffness, S(k), x, load_vec3(tau_bar + dof), k_bar), ref_bar,
              own_bar);
          add_to(q_bar + dof, own_bar);
          if (p_bar) add_to(p_bar + at.spring + turn, ref_bar);
        });
    if (p_bar) p_bar[at.stiffness] += k_bar;
  }
}

// Adds the dampers to tau (nv).
template <class S, class P>
CYCLOID_HD void add_dampers(const TreeView& tree, const P* p, const S* qvel, S* tau) {
  if (!tree.model.options.acting.dampers) return;
  for (int k = 0; k < tree.model.nv; ++k) {
    const Dof& dof = tree.model.dofs[static_cast<std::size_t>(k)];
    tau[k] += damper_force(dof.damping, p[tree.damping[static_cast<std::size_t>(k)]], qvel[k]);
  }
  for (const DofActuator& d : tree.dof_actuators) {
    const std::size_t i = static_cast<std::size_t>(d.actuator);
    const Polynomial& own = tree.model.actuators[i].damping;
    const S gear = S(p[tree.actuators[i].gear]);
    tau[d.dof] += gear * gear * damper_force(own, number<S>(own.linear), qvel[d.dof]);  // (5)
  }
}

// Adds their slopes B to `slope` (nv).
template <class S, class P>
CYCLOID_HD void add_damper_slopes(const TreeView& tree, const P* p, const S* qvel, S* slope) {
  if (!tree.model.options.acting.dampers) return;
  for (int k = 0; k < tree.model.nv; ++k) {
    const Dof& dof = tree.model.dofs[static_cast<std::size_t>(k)];
    slope[k] += damper_slope(dof.damping, p[tree.damping[static_cast<std::size_t>(k)]], qvel[k]);
  }
  for (const DofActuator& d : tree.dof_actuators) {
    const std::size_t i = static_cast<std::size_t>(d.actuator);
    const Polynomial& own = tree.model.actuators[i].damping;
    const S gear = S(p[tree.actuators[i].gear]);
    slope[d.dof] += gear * gear * damper_slope(own, number<S>(own.linear), qvel[d.dof]);
  }
}

template <class S, class P>
CYCLOID_HD void add_dampers_pullback(const TreeView& tree, const P* p, const S* qvel,
                                     const S* tau_bar, const S* slope_bar, S* v_bar, S* p_bar) {
  if (!tree.model.options.acting.dampers) return;
  for (int k = 0; k < tree.model.nv; ++k) {
    const Dof& dof = tree.model.dofs[static_cast<std::size_t>(k)];
    const int place = tree.damping[static_cast<std::size_t>(k)];
    v_bar[k] -= tau_bar[k] * damper_slope(dof.damping, p[place], qvel[k]);  // (3)
    if (dof.damping.quadratic != 0 || dof.damping.cubic != 0) {
      v_bar[k] += slope_bar[k] * damper_curvature(dof.damping, qvel[k]);  // (4)
    }
    if (p_bar) p_bar[place] += slope_bar[k] - tau_bar[k] * qvel[k];
  }
  for (const DofActuator& d : tree.dof_actuators) {
    const std::size_t i = static_cast<std::size_t>(d.actuator);
    const Polynomial& own = tree.model.actuators[i].damping;
    const S gear = S(p[tree.actuators[i].gear]), k = number<S>(own.linear), &v = qvel[d.dof];
    const S slope = damper_slope(own, k, v);
    v_bar[d.dof] -= tau_bar[d.dof] * gear * gear * slope;  // (5)
    v_bar[d.dof] += slope_bar[d.dof] * gear * gear * damper_curvature(own, v);
    if (p_bar) {
      p_bar[tree.actuators[i].gear] +=
          S(2) * gear * (tau_bar[d.dof] * damper_force(own, k, v) + slope_bar[d.dof] * slope);
    }
  }
}

}  // namespace cycloid::inline rigid
