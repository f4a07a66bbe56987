// Fields over the tree and the recursive Newton–Euler algorithm.
//
// From the base to the tips, P the parent link, S q̇ summed over the link's dofs:
//   v_L = v_P + S q̇                                   (1)  velocity
//   a_L = a_P + S q̈ + v_P × S q̇                       (2)  acceleration, world: (0; -g)
//   m_L = m_P + S μ                                   (3)  field of any generalised vector μ
// and back, with the bodies' forces f = I a + v ×* I v:
//   f_P += f_L,   c_k = S_k · f_L                     (4)
// With q̈ = 0, c is the bias force: Coriolis, centrifugal and gravity.
#pragma once

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/tree/inertia.h"

namespace cycloid::inline rigid {

// S_L x, x the link's share of a generalised vector.
template <class S>
CYCLOID_INLINE Motion<S> link_motion(const Link& link, const Motion<S>* column, const S* x) {
  switch (link.kind) {
    case LinkKind::hinge: return column[link.dof] * x[link.dof];
    case LinkKind::slide: return {Vec3<S>{}, column[link.dof].linear * x[link.dof]};
    case LinkKind::ball:
      return column[link.dof] * x[link.dof] + column[link.dof + 1] * x[link.dof + 1] +
             column[link.dof + 2] * x[link.dof + 2];
    case LinkKind::translation: return {Vec3<S>{}, load_vec3(x + link.dof)};
    default: return Motion<S>{};
  }
}

// y ← y + S_L x.
template <class S>
CYCLOID_INLINE void add_link_motion(const Link& link, const Motion<S>* column, const S* x,
                                    Motion<S>& y) {
  if (link.kind == LinkKind::fixed) return;
  y += link_motion(link, column, x);
}

// (1), for every link.
template <class S>
CYCLOID_STAGE void velocity_field(const TreeView& tree, const Motion<S>* column, const S* x,
                                  Motion<S>* field) {
  field[0] = Motion<S>{};
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    Motion<S> y = field[link.parent];
    add_link_motion(link, column, x, y);
    field[l] = y;  // (1), (3)
  }
}

// (3) of several vectors: x[i] (nv) has field[i].
template <class S, std::size_t n>
CYCLOID_HD void velocity_fields(const TreeView& tree, const Motion<S>* column,
                                const std::array<const S*, n>& x,
                                const std::array<Motion<S>*, n>& field) {
  for (std::size_t i = 0; i < n; ++i) field[i][0] = Motion<S>{};
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    for (std::size_t i = 0; i < n; ++i) {
      Motion<S> y = field[i][link.parent];
      add_link_motion(link, column, x[i], y);
      field[i][l] = y;
    }
  }
}

// (2). qacc may be null, which counts as zero.
template <class S>
void acceleration_field(const TreeView& tree, const Motion<S>* column, const S* qvel, const S* qacc,
                        const Motion<S>* v, const Vec3<S>& gravity, Motion<S>* a) {
  a[0] = {Vec3<S>{}, -gravity};
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    Motion<S> y = a[link.parent];
    if (qacc) add_link_motion(link, column, qacc, y);
    if (link.kind != LinkKind::fixed && link.parent != 0) {
      add_cross_motion(y, v[link.parent], link_motion(link, column, qvel));
    }
    a[l] = y;
  }
}

// (1) and (2) at once.
template <class S>
CYCLOID_HD void motion_fields(const TreeView& tree, const Motion<S>* column, const S* qvel,
                              const S* qacc, const Vec3<S>& gravity, Motion<S>* v, Motion<S>* a) {
  v[0] = Motion<S>{};
  a[0] = {Vec3<S>{}, -gravity};
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    Motion<S> v_l = v[link.parent], a_l = a[link.parent];
    if (link.kind != LinkKind::fixed) {
      const Motion<S> turn = link_motion(link, column, qvel);
      if (qacc) a_l += link_motion(link, column, qacc);
      if (link.parent != 0) add_cross_motion(a_l, v_l, turn);  // (2)
      v_l += turn;                                             // (1)
    }
    v[l] = v_l;
    a[l] = a_l;
  }
}

// (4), in place on the links' forces f: on entry those of the bodies, zero on links without one.
// Subtracts c from tau.
template <class S>
CYCLOID_HD void subtract_joint_forces(const TreeView& tree, const Motion<S>* column, Force<S>* f,
                                      S* tau) {
  for (std::size_t l = tree.links.size(); l-- > 1;) {
    const Link& link = tree.links[l];
    const int dofs = dof_numbers(link.kind);
    for (int k = link.dof; k < link.dof + dofs; ++k) tau[k] -= power(f[l], column[k]);  // (4)
    if (link.parent != 0) f[link.parent] += f[l];
  }
}

template <class S>
CYCLOID_INLINE Force<S> body_force(const SpatialInertia<S>& I, const Motion<S>& v,
                                   const Motion<S>& a) {
  Force<S> f = I * a;
  add_cross_force(f, v, I * v);
  return f;
}

// (4) for the bodies' own forces less `applied` (bodies), which may be null. total: (bodies), to
// write on. Subtracts from tau.
template <class S>
CYCLOID_HD void subtract_body_forces(const TreeView& tree, const Motion<S>* column,
                                     const SpatialInertia<S>* I, const Motion<S>* v,
                                     const Motion<S>* a, const Force<S>* applied, Force<S>* total,
                                     S* tau) {
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    const Body& body = tree.model.bodies[b];
    if (body.tree < 0) continue;
    const std::size_t last = static_cast<std::size_t>(tree.last_link[b]);
    Force<S> f = body_force(I[b], v[last], a[last]);
    if (applied) f -= applied[b];
    if (tree.has_children[b]) f += total[b];
    for (int k = body.first_dof; k < body.first_dof + body.dofs; ++k) {
      tau[k] -= power(f, column[k]);  // (4)
    }
    if (tree.root[b]) continue;
    Force<S>& above = total[body.parent];
    above = tree.last_child[b] ? f : above + f;
  }
}

}  // namespace cycloid::inline rigid
