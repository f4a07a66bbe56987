// The Jacobian of the equations of motion, τ = M q̈ + c, with respect to q and q̇, on the tree's
// own sparsity: O(n · depth) numbers, without a sweep for each row.
//
// P(j) is the parent link of dof j, L(j) its own; composites ᶜ are sums over what dof j moves.
//   Ψ̇_j = v_P × S_j,   Ψ̈_j = a_P × S_j + v_P × Ψ̇_j,   Φ̇_j = (v_L + v_P) × S_j        (1)
//   D y  = I (y × v) - y ×* (I v) + v ×* (I y)                                         (2)
//        = (Y y_ω + L × y_ω + 2 p × y_o ; 0)                                           (3)
//   Y = [ω]× I_o + ([ω]× I_o)ᵀ + 2 (h·v_o) 1 - v_o hᵀ - h v_oᵀ,   (L; p) = I v         (4)
//   Dᵀ y = (Y y_ω - L × y_ω ; -2 p × y_ω)                                              (5)
// D gathers all that is bilinear in velocity. Y, L and p add up over bodies, so Dᶜ is twelve
// numbers. With F_j the force that all behind dof j needs (rnea.h (4)):
// k behind j, or beside it on the same link:
//   dτ_k/dq_j = Iᶜ_k S_k · Ψ̈_j + Dᶜ_k S_k · Ψ̇_j                                          (6)
//   dτ_k/dq̇_j = Iᶜ_k S_k · Φ̇_j + Dᶜ_k S_k · S_j                                          (7)
// j behind k:
//   dτ_k/dq_j = S_k · (S_j ×* F_j + Iᶜ_j Ψ̈_j + Dᶜ_jᵀ Ψ̇_j)                                (8)
//   dτ_k/dq̇_j = S_k · (Iᶜ_j Φ̇_j + Dᶜ_jᵀ S_j)                                             (9)
// q in tangent coordinates. (6)-(9) are the sweep of motion_pullback.h for μ = e_k, with its sums
// done once; compare Singh, Russell & Wensing 2022.
#pragma once

#include "cycloid/rigid/tree/rnea.h"

namespace cycloid::inline rigid {

// (3) of a body or of a composite.
template <class S>
struct VelocityForm {
  SymMat3<S> Y;
  Force<S> momentum;  // (L; p)
};

template <class S>
CYCLOID_INLINE VelocityForm<S> velocity_form(const SpatialInertia<S>& I, const Motion<S>& v) {
  const Vec3<S>&w = v.angular, &o = v.linear;
  const Vec3<S> h = first_moment(I);
  const SymMat3<S> J = inertia_at_origin(I);
  // rows of [ω]× I_o
  const Vec3<S> x{J.xx, J.xy, J.xz}, y{J.xy, J.yy, J.yz}, z{J.xz, J.yz, J.zz};
  const Vec3<S> X = z * w.y - y * w.z, Y = x * w.z - z * w.x, Z = y * w.x - x * w.y;
  const S twice = S(2) * dot(h, o);
  VelocityForm<S> form;
  form.Y = {S(2) * (X.x - o.x * h.x) + twice,  S(2) * (Y.y - o.y * h.y) + twice,
            S(2) * (Z.z - o.z * h.z) + twice,  X.y + Y.x - o.x * h.y - o.y * h.x,
            X.z + Z.x - o.x * h.z - o.z * h.x, Y.z + Z.y - o.y * h.z - o.z * h.y};  // (4)
  form.momentum = I * v;
  return form;
}

template <class S>
CYCLOID_INLINE VelocityForm<S>& operator+=(VelocityForm<S>& a, const VelocityForm<S>& b) {
  a.Y.xx += b.Y.xx, a.Y.yy += b.Y.yy, a.Y.zz += b.Y.zz;
  a.Y.xy += b.Y.xy, a.Y.xz += b.Y.xz, a.Y.yz += b.Y.yz;
  a.momentum += b.momentum;
  return a;
}

// D y, which is a torque.
template <class S>
CYCLOID_INLINE Vec3<S> apply(const VelocityForm<S>& D, const Motion<S>& y) {
  Vec3<S> torque = D.Y * y.angular;
  add_cross(torque, D.momentum.torque, y.angular);
  add_cross(torque, D.momentum.force, y.linear * S(2));  // (3)
  return torque;
}

template <class S>
CYCLOID_INLINE Force<S> apply_transposed(const VelocityForm<S>& D, const Motion<S>& y) {
  Force<S> out{D.Y * y.angular, cross(y.angular, D.momentum.force * S(2))};
  subtract_cross(out.torque, D.momentum.torque, y.angular);  // (5)
  return out;
}

template <class S>
struct RneaJacobianSpace {
  VelocityForm<S>* form;                   // (bodies) composites
  Force<S>* force;                         // (bodies) F
  Motion<S>*psi_dot, *psi_ddot, *phi_dot;  // (dofs) of (1)
};

// Composites of D and of the bodies' forces, from the tips to the base.
template <class S>
void composite_forms(const TreeView& tree, const SpatialInertia<S>* inertia, const Motion<S>* v,
                     const Motion<S>* a, const RneaJacobianSpace<S>& space) {
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    const std::size_t l = static_cast<std::size_t>(tree.last_link[b]);
    space.form[b] = velocity_form(inertia[b], v[l]);
    space.force[b] = inertia[b] * a[l];
    add_cross_force(space.force[b], v[l], space.form[b].momentum);
  }
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    if (tree.model.bodies[b].tree < 0 || tree.root[b]) continue;
    const std::size_t parent = static_cast<std::size_t>(tree.model.bodies[b].parent);
    space.form[parent] += space.form[b];
    space.force[parent] += space.force[b];
  }
}

// (1) for every dof.
template <class S>
void moving_columns(const TreeView& tree, const Motion<S>* column, const Motion<S>* v,
                    const Motion<S>* a, const RneaJacobianSpace<S>& space) {
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    const Motion<S>&v_P = v[link.parent], &a_P = a[link.parent];
    for (int j = link.dof; j < link.dof + dof_numbers(link.kind); ++j) {
      const Motion<S> rate = cross_motion(v_P, column[j]);
      space.psi_dot[j] = rate;
      space.phi_dot[j] = cross_motion(v[l] + v_P, column[j]);
      Motion<S> second = cross_motion(a_P, column[j]);
      add_cross_motion(second, v_P, rate);
      space.psi_ddot[j] = second;
    }
  }
}

// Subtracts dτ/dq and dτ/dq̇ from dq and dv, nv rows of nv numbers each, `stride` apart. a: with
// q̈. composite: crba.h (1).
template <class S>
void subtract_rnea_jacobian(const TreeView& tree, const Motion<S>* column,
                            const SpatialInertia<S>* inertia, const SpatialInertia<S>* composite,
                            const Motion<S>* v, const Motion<S>* a,
                            const RneaJacobianSpace<S>& space, int stride, S* dq, S* dv) {
  composite_forms(tree, inertia, v, a, space);
  moving_columns(tree, column, v, a, space);
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    const int first = link.dof, end = first + dof_numbers(link.kind);
    const SpatialInertia<S>& I = composite[link.body];
    const VelocityForm<S>& D = space.form[link.body];
    for (int i = first; i < end; ++i) {
      const Force<S> U = I * column[i];
      const Vec3<S> W = apply(D, column[i]);
      const auto behind = [&](int j) {
        dq[i * stride + j] -=
            power(U, space.psi_ddot[j]) + dot(W, space.psi_dot[j].angular);            // (6)
        dv[i * stride + j] -= power(U, space.phi_dot[j]) + dot(W, column[j].angular);  // (7)
      };
      Force<S> by_q = I * space.psi_ddot[i], by_v = I * space.phi_dot[i];
      by_q += apply_transposed(D, space.psi_dot[i]);
      add_cross_force(by_q, column[i], space.force[link.body]);
      by_v += apply_transposed(D, column[i]);
      for (int j = first; j < end; ++j) behind(j);
      for (int j = tree.parent_dof[static_cast<std::size_t>(first)]; j >= 0;
           j = tree.parent_dof[static_cast<std::size_t>(j)]) {
        behind(j);
        dq[j * stride + i] -= power(by_q, column[j]);  // (8)
        dv[j * stride + i] -= power(by_v, column[j]);  // (9)
      }
    }
  }
}

// Subtracts d(M x)/dq, x held fixed, from dq: (6) and (8) at rest and without gravity. y: (links)
// the field of x. Writes space.force and space.psi_ddot.
template <class S>
void subtract_inertia_jacobian(const TreeView& tree, const Motion<S>* column,
                               const SpatialInertia<S>* inertia, const SpatialInertia<S>* composite,
                               const Motion<S>* y, const RneaJacobianSpace<S>& space, int stride,
                               S* dq) {
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree >= 0) space.force[b] = inertia[b] * y[tree.last_link[b]];
  }
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    if (tree.model.bodies[b].tree < 0 || tree.root[b]) continue;
    space.force[tree.model.bodies[b].parent] += space.force[b];
  }
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    const int first = link.dof, end = first + dof_numbers(link.kind);
    const SpatialInertia<S>& I = composite[link.body];
    for (int i = first; i < end; ++i) {
      space.psi_ddot[i] = cross_motion(y[link.parent], column[i]);
    }
    for (int i = first; i < end; ++i) {
      const Force<S> U = I * column[i];
      Force<S> by_q = I * space.psi_ddot[i];
      add_cross_force(by_q, column[i], space.force[link.body]);
      for (int j = first; j < end; ++j) dq[i * stride + j] -= power(U, space.psi_ddot[j]);
      for (int j = tree.parent_dof[static_cast<std::size_t>(first)]; j >= 0;
           j = tree.parent_dof[static_cast<std::size_t>(j)]) {
        dq[i * stride + j] -= power(U, space.psi_ddot[j]);  // (6)
        dq[j * stride + i] -= power(by_q, column[j]);       // (8)
      }
    }
  }
}

}  // namespace cycloid::inline rigid
