// Energy of a robot, and the mass matrix by itself.
//
//   V = -Σ_b m_b g·c_b + Σ springs of joints + Σ springs of tendons            (1)  [J]
//   E = k |x|²/2 + k₂ n³/3 + k₃ n⁴/4      of one spring of passive.h           (2)
//   T = ½ q̇ᵀ M q̇                                                              (3)  [J]
// c_b in the world, of all bodies, also of those that stand still; gravity compensation has no
// part in V. n is x for hinges and slides, |x| where the displacement has three numbers. M contains
// the armature of joints, actuators and tendons (crba.h, tendon_armature.h).
//
// Pullback. dE/dx = -f of passive.h. T: v̄ = T̄ M q̇, and everything else is the sweep's
// Φ = -μᵀ M q̈ with μ = -½ T̄ q̇, q̈ = q̇, and neither velocity nor gravity (motion_pullback.h) (4)
#pragma once

#include "cycloid/rigid/dynamics.h"
#include "cycloid/rigid/tree/subtree.h"

namespace cycloid::inline rigid {

template <class S, class P>
CYCLOID_INLINE S spring_energy(const Polynomial& poly, const P& k, const S& n) {
  return n * n *
         (S(0.5) * S(k) +
          n * (number<S>(poly.quadratic / 3) + n * number<S>(poly.cubic / 4)));  // (2)
}

// The springs of all joints.
template <class S, class P>
CYCLOID_HD S joint_energy(const TreeView& tree, const P* p, const S* qpos) {
  S sum(0);
  if (!tree.model.options.acting.springs) return sum;
  for (std::size_t j = 0; j < tree.model.joints.size(); ++j) {
    const Joint& joint = tree.model.joints[j];
    const P &k = p[tree.joints[j].stiffness], *ref = p + tree.joints[j].spring;
    const S* q = qpos + joint.qpos;
    if (!may_pull(joint.stiffness, k)) continue;
    visit_joint(
        joint,
        [&](int, int, int n) {
          sum += spring_energy(joint.stiffness, k,
                               n == 1 ? q[0] - S(ref[0]) : norm(load_vec3(q) - vec3_of<S>(ref)));
        },
        [&](int place, int) {
          const int at = place - joint.qpos;
          sum += spring_energy(joint.stiffness, k,
                               norm(difference(quat_of<S>(ref + at), load_quat(q + at))));
        });
  }
  return sum;
}

// Adds to q_bar (nv), and to p_bar unless it is null; the force is -dE/dx.
template <class S, class P>
void joint_energy_pullback(const TreeView& tree, const P* p, const S* qpos, const S& energy_bar,
                           S* q_bar, S* p_bar) {
  if (!tree.model.options.acting.springs) return;
  for (std::size_t j = 0; j < tree.model.joints.size(); ++j) {
    const Joint& joint = tree.model.joints[j];
    const JointPlaces& at = tree.joints[j];
    const P &k = p[at.stiffness], *ref = p + at.spring;
    const S* q = qpos + joint.qpos;
    S k_bar(0);
    const auto pull = [&](const Vec3<S>& x) {
      k_bar += S(0.5) * energy_bar * dot(x, x);
      return spring_force(joint.stiffness, S(k), x) * -energy_bar;
    };
    visit_joint(
        joint,
        [&](int, int dof, int n) {
          if (n == 1) {
            const S x = q[0] - S(ref[0]);
            const S x_bar = -energy_bar * spring_force(joint.stiffness, k, x);
            q_bar[dof] += x_bar;
            k_bar = S(0.5) * energy_bar * x * x;
            if (p_bar) p_bar[at.spring] -= x_bar;
            return;
          }
          const Vec3<S> x_bar = pull(load_vec3(q) - vec3_of<S>(ref));
          add_to(q_bar + dof, x_bar);
          if (p_bar) add_to(p_bar + at.spring, -x_bar);
        },
        [&](int place, int dof) {
          const int turn = place - joint.qpos;
          const Vec3<S> x = difference(quat_of<S>(ref + turn), load_quat(q + turn));
          Vec3<S> ref_bar{}, own_bar{};
          difference_tangent_pullback(x, pull(x), ref_bar, own_bar);
          add_to(q_bar + dof, own_bar);
          if (p_bar) add_to(p_bar + at.spring + turn, ref_bar);
        });
    if (p_bar) p_bar[at.stiffness] += k_bar;
  }
}

// (1), with the tendons' lengths (w.tendon_length).
template <class S, class P>
CYCLOID_HD S potential_energy(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  const TreeView& tree = r.tree;
  const Vec3<S> g = r.gravity();
  S sum = joint_energy(tree, r.p, x.qpos);
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    const Vec3<S> c = w.frames.origin[b] + centre_of(tree, r.p, b, w.frames);
    sum -= mass_of<S>(tree, r.p, b) * dot(g, c);
  }
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    sum += tendon_energy(tree, r.p, static_cast<int>(t), w.tendon_length[t]);
  }
  return sum;
}

// Adds to w.bars.pose, tendon_length_bar (tendons), bar.q, and to bar.p unless it is null.
template <class S, class P>
void potential_energy_pullback(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                               const S& energy_bar, S* tendon_length_bar,
                               const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const Vec3<S> g = r.gravity();
  joint_energy_pullback(tree, r.p, x.qpos, energy_bar, bar.q, bar.p);
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    const Vec3<S> c = centre_of(tree, r.p, b, w.frames), in_world = w.frames.origin[b] + c;
    const S m = mass_of<S>(tree, r.p, b);
    const Vec3<S> c_bar = g * (-m * energy_bar);
    w.bars.pose[b] += wrench(c_bar, c, Vec3<S>{});
    if (!bar.p) continue;
    if (tree.model.options.acting.gravity) {
      add_to(bar.p + tree.options.gravity, in_world * (-m * energy_bar));
    }
    const BodyPlaces& at = tree.bodies[b];
    if (at.mass < 0) continue;
    bar.p[at.mass] -= energy_bar * dot(g, in_world);
    add_to(bar.p + at.com, transpose_vector_product(w.frames.R[b], c_bar));
  }
  for (std::size_t t = 0; t < tree.model.tendons.size(); ++t) {
    tendon_energy_pullback(tree, r.p, static_cast<int>(t), w.tendon_length[t], energy_bar,
                           tendon_length_bar[t], bar.p);
  }
}

// M x into out (nv).
template <class S>
CYCLOID_HD void multiply_matrix(const TreeView& tree, const S* M, const S* x, S* out) {
  set_zero(out, tree.model.nv);
  for (int k = 0; k < tree.model.nv; ++k) {
    out[k] += *M++ * x[k];
    for (int j = tree.model.dofs[static_cast<std::size_t>(k)].parent; j >= 0;
         j = tree.model.dofs[static_cast<std::size_t>(j)].parent) {
      out[k] += *M * x[j];
      out[j] += *M++ * x[k];
    }
  }
}

// (3), with the bodies placed. Leaves M in w.LD and M q̇ in w.tau.
template <class S, class P>
CYCLOID_HD S kinetic_energy(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w) {
  inertia_matrix(r, w, w.LD);
  multiply_matrix(r.tree, static_cast<const S*>(w.LD), x.qvel, w.tau);
  S twice(0);
  for (int k = 0; k < r.tree.model.nv; ++k) twice += x.qvel[k] * w.tau[k];
  return S(0.5) * twice;
}

// With the bodies placed; uses w.mu, the fields m and a, and w.bars up.
template <class S, class P>
void kinetic_energy_pullback(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                             const S& energy_bar, const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const FieldSweepSpace<S>& still = w.rows.form.sweep;
  kinetic_energy(r, x, w);
  for (int k = 0; k < tree.model.nv; ++k) {
    bar.v[k] += energy_bar * w.tau[k];
    w.mu[k] = S(-0.5) * energy_bar * x.qvel[k];  // (4)
  }
  velocity_field(tree, w.frames.column, static_cast<const S*>(w.mu), w.m);
  velocity_field(tree, w.frames.column, x.qvel, w.a);
  w.bars.clear(tree.model.bodies.size());
  still.clear(tree);
  set_zero(w.row_mocap_bar, 6 * tree.model.nmocap);
  if (tree.has_tendon_armature) {
    const RowPoint<S> at{w.frames, w.m, still.rest, x.qpos, w.mu, still.zeros};
    tendon_armature_pullback(tree, r.p, at, static_cast<const Motion<S>*>(w.a), x.qvel,
                             RowSinks<S>{w.bars, bar.q, still.zeros, bar.p}, w.rows,
                             w.row_mocap_bar);
  }
  for (const DofActuator& d : tree.dof_actuators) {
    const std::size_t i = static_cast<std::size_t>(d.actuator);
    const int place = tree.actuators[i].gear;
    if (!bar.p) break;
    bar.p[place] -= S(2) * S(r.p[place]) * number<S>(tree.model.actuators[i].armature) *
                    w.mu[d.dof] * x.qvel[d.dof];
  }
  still.clear(tree);
  const SweepPoint<S> at{tree, w.frames, w.inertia,   still.rest, w.a,
                         w.m,  x.qpos,   still.zeros, x.qvel,     w.mu};
  sweep_pullback(at, r.p, w.bars, bar.q, still.zeros, bar.p, w.mocap_bar);
  gather_mocap(r, w, bar.u);
}

}  // namespace cycloid::inline rigid
