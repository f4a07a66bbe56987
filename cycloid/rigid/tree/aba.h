// Forward dynamics without a mass matrix: the articulated-body algorithm, O(n), and its pullback.
//
//   M q̈ + c = τ                                                                            (1)
// After Featherstone2008, ch. 7, in world axes about each tree's origin. a⁰ is the acceleration
// field at q̈ = 0, gravity included (rnea.h), and the links accelerate by a beyond it. A link of
// several dofs is a chain of massless links with one dof each, which is exact. From the tips to the
// base, dof by dof, with I and p of the body at the end of its links:
//   p = I a⁰ + v ×* I v                                                                    (2)
//   U_k = I S_k,   D_k = S_k·U_k + armature_k,   u_k = τ_k - S_k·p                         (3)
//   I ← I - U_k U_kᵀ/D_k,   p ← p + U_k u_k/D_k                                           (4)
//   I_P += I,   p_P += p                                                                   (5)
// and back, a = 0 at the base:
//   q̈_k = (u_k - U_k·a)/D_k,   a ← a + S_k q̈_k                                            (6)
// D > 0 for bodies with mass; where it is not, the numbers go non-finite.
//
// Pullback, given the cotangent of q̈: the same sweeps with p = 0 solve M μ = q̈̄, and then
//   τ̄ += μ,   and the gradient of Φ = -μᵀ(M q̈ + c) at fixed μ, q̈ (motion_pullback.h)       (7)
// No articulated inertia is differentiated. M holds bodies and the armature of joints; robots whose
// tendons or actuators have inertia of their own need dynamics.h.
#pragma once

#include <cstddef>

#include "cycloid/rigid/tree/motion_pullback.h"

namespace cycloid::inline rigid {

// A symmetric map from accelerations to forces.
template <class S>
struct ArticulatedInertia {
  SymMat3<S> turning, moving;
  Mat3<S> coupling;  // torque of a linear acceleration
};

template <class S>
CYCLOID_INLINE ArticulatedInertia<S> articulated(const SpatialInertia<S>& i) {
  const S &m = i.mass, zero(0);
  const Vec3<S> h = first_moment(i);
  return {inertia_at_origin(i),
          {m, m, m, zero, zero, zero},
          {zero, -h.z, h.y, h.z, zero, -h.x, -h.y, h.x, zero}};
}

// a += s x xᵀ.
template <class S>
CYCLOID_INLINE void add_square(SymMat3<S>& a, const Vec3<S>& x, const S& s) {
  const Vec3<S> y = x * s;
  a.xx += x.x * y.x, a.yy += x.y * y.y, a.zz += x.z * y.z;
  a.xy += x.x * y.y, a.xz += x.x * y.z, a.yz += x.y * y.z;
}

// I += s W Wᵀ.
template <class S>
CYCLOID_INLINE void add_square(ArticulatedInertia<S>& I, const Force<S>& W, const S& s) {
  add_square(I.turning, W.torque, s);
  add_square(I.moving, W.force, s);
  I.coupling += outer(W.torque, W.force * s);
}

template <class S>
CYCLOID_INLINE ArticulatedInertia<S>& operator+=(ArticulatedInertia<S>& a,
                                                 const ArticulatedInertia<S>& b) {
  const auto add = [](SymMat3<S>& x, const SymMat3<S>& y) {
    x.xx += y.xx, x.yy += y.yy, x.zz += y.zz, x.xy += y.xy, x.xz += y.xz, x.yz += y.yz;
  };
  add(a.turning, b.turning);
  add(a.moving, b.moving);
  a.coupling += b.coupling;
  return a;
}

template <class S>
CYCLOID_INLINE Force<S> operator*(const ArticulatedInertia<S>& i, const Motion<S>& y) {
  return {i.turning * y.angular + i.coupling * y.linear,
          transpose_vector_product(i.coupling, y.angular) + i.moving * y.linear};
}

// What the algorithm looks at, with the bodies placed.
template <class S>
struct AbaPoint {
  const Tree& tree;
  const Frames<S>& frames;
  const SpatialInertia<S>* inertia;  // (bodies)
  const Motion<S>* v;                // (links)
  const S *qpos, *qvel;
  Vec3<S> gravity;
};

template <class S>
struct AbaSpace {
  ArticulatedInertia<S>* inertia;  // (links)
  Force<S>*p, *U;                  // (links), (nv)
  S *D_inverse, *u, *mu;           // (nv)
  Motion<S>*a, *m;                 // (links)
  BodyBars<S> bars;

  void carve(const Tree& tree, Arena& arena) {
    const std::size_t links = tree.links.size(), bodies = tree.model.bodies.size(),
                      nv = static_cast<std::size_t>(tree.model.nv);
    arena.take(inertia, links);
    arena.take(p, links);
    arena.take(U, nv);
    for (S** array : {&D_inverse, &u, &mu}) arena.take(*array, nv);
    arena.take(a, links);
    arena.take(m, links);
    for (Force<S>** array : {&bars.m, &bars.a, &bars.v, &bars.pose}) arena.take(*array, bodies);
  }
};

// Whether what lies before the link stands still.
inline bool is_base(const Tree& tree, const Link& link) {
  return link.first && tree.root[static_cast<std::size_t>(link.body)];
}

// U and D of (3), and (4), (5) for I.
template <class S, class P>
void articulate(const AbaPoint<S>& at, const P* p, const AbaSpace<S>& space) {
  const Tree& tree = at.tree;
  for (std::size_t l = 0; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    const std::size_t b = static_cast<std::size_t>(link.body);
    const bool heavy = link.last && tree.model.bodies[b].tree >= 0;
    space.inertia[l] = heavy ? articulated(at.inertia[b]) : ArticulatedInertia<S>{};
  }
  for (std::size_t l = tree.links.size(); l-- > 1;) {
    const Link& link = tree.links[l];
    if (tree.model.bodies[static_cast<std::size_t>(link.body)].tree < 0) continue;
    ArticulatedInertia<S>& I = space.inertia[l];
    for (int k = link.dof + dof_numbers(link.kind); k-- > link.dof;) {
      const Motion<S>& column = at.frames.column[k];
      space.U[k] = I * column;
      space.D_inverse[k] = S(1) / (power(space.U[k], column) +
                                   S(p[tree.armature[static_cast<std::size_t>(k)]]));  // (3)
      add_square(I, space.U[k], -space.D_inverse[k]);                                  // (4)
    }
    if (!is_base(tree, link)) space.inertia[static_cast<std::size_t>(link.parent)] += I;  // (5)
  }
}

// x of M x + Σ Sᵀp = τ; space.p is used up. Leaves the field of x in space.m.
template <class S>
void articulated_solve(const AbaPoint<S>& at, const AbaSpace<S>& space, const S* tau, S* x) {
  const Tree& tree = at.tree;
  const Motion<S>* column = at.frames.column;
  for (std::size_t l = tree.links.size(); l-- > 1;) {
    const Link& link = tree.links[l];
    for (int k = link.dof + dof_numbers(link.kind); k-- > link.dof;) {
      space.u[k] = tau[k] - power(space.p[l], column[k]);            // (3)
      space.p[l] += space.U[k] * (space.u[k] * space.D_inverse[k]);  // (4)
    }
    if (!is_base(tree, link)) space.p[static_cast<std::size_t>(link.parent)] += space.p[l];  // (5)
  }
  space.m[0] = Motion<S>{};
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    Motion<S> a = space.m[link.parent];
    for (int k = link.dof; k < link.dof + dof_numbers(link.kind); ++k) {  // (6)
      x[k] = (space.u[k] - power(space.U[k], a)) * space.D_inverse[k];
      a += column[k] * x[k];
    }
    space.m[l] = a;
  }
}

// q̈ of (1). p: the parameters; tau, qacc: (nv).
template <class S, class P>
void aba(const AbaPoint<S>& at, const P* p, const S* tau, const AbaSpace<S>& space, S* qacc) {
  const Tree& tree = at.tree;
  articulate(at, p, space);
  acceleration_field(tree, at.frames.column, at.qvel, static_cast<const S*>(nullptr), at.v,
                     at.gravity, space.a);
  for (std::size_t l = 0; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    const std::size_t b = static_cast<std::size_t>(link.body);
    const bool heavy = link.last && tree.model.bodies[b].tree >= 0;
    space.p[l] = heavy ? body_force(at.inertia[b], at.v[l], space.a[l]) : Force<S>{};  // (2)
  }
  articulated_solve(at, space, tau, qacc);
}

// `space` as `aba` left it at the same point. Adds to tau_bar, q_bar and v_bar (nv), to gravity_bar
// and, unless it is null, to p_bar without gravity's share. mocap_bar: (nmocap, 6), assigned, as in
// motion_pullback.h.
template <class S, class P>
void aba_pullback(const AbaPoint<S>& at, const P* p, const S* qacc, const AbaSpace<S>& space,
                  const S* qacc_bar, S* tau_bar, S* q_bar, S* v_bar, Vec3<S>& gravity_bar, S* p_bar,
                  S* mocap_bar) {
  const Tree& tree = at.tree;
  for (std::size_t l = 0; l < tree.links.size(); ++l) space.p[l] = Force<S>{};
  articulated_solve(at, space, qacc_bar, space.mu);
  for (int k = 0; k < tree.model.nv; ++k) tau_bar[k] += space.mu[k];  // (7)
  acceleration_field(tree, at.frames.column, at.qvel, qacc, at.v, at.gravity, space.a);
  space.bars.clear(tree.model.bodies.size());
  const SweepPoint<S> point{tree,    at.frames, at.inertia, at.v, space.a,
                            space.m, at.qpos,   at.qvel,    qacc, space.mu};
  sweep_pullback(point, p, space.bars, q_bar, v_bar, p_bar, mocap_bar);
  gravity_bar -= space.bars.a[0].force;
}

}  // namespace cycloid::inline rigid
