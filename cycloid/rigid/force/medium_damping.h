// The medium's forces in an implicit integrator: the damping matrix and its pullback.
//
// For a body, with B, c and the slopes n', f' of medium_force.h (8), and E = -B diag(f') Bᵀ:
//   D = -dW/dv = ( -B diag(n') Bᵀ - [c]×E[c]×   [c]×E ; -E[c]×   E )                      (1)
//   D^c_b = D_b + Σ_children D^c                                                          (2)
//   M_kj += h S_j·(D^c S_k),   j = k and its ancestors                                    (3)
// D is symmetric, positive semidefinite for a medium with ρ, β >= 0, and adds up like an inertia.
//
// Pullback of Φ = -h Σ_b m·(D y), m and y fields, y that of q̈ without velocity terms, whose
// cotangent has a sweep of its own (field_sweep.h). With ℓ = Bᵀm, b = Bᵀy at c,
//   n̄'_k = h ℓ_ωk b_ωk,   f̄'_k = h ℓ_uk b_uk                                              (4)
//   m̄ -= h D y,   ȳ -= h D m,   c̄ = h ((B f' b_u) × m_ω + (B f' ℓ_u) × y_ω)               (5)
//   ω̄_k = -2 n̄'_k sign(ω_k) ρ s_k (s_i⁴ + s_j⁴)/64,   ū_k = -2 f̄'_k sign(u_k) ρ s_i s_j/2  (6)
// and (9), (10) of medium_force.h. The sign of zero is zero.
#pragma once

#include "cycloid/rigid/force/medium_force.h"

namespace cycloid::inline rigid {

// A symmetric map from motions to forces.
template <class S>
struct SpatialDamping {
  SymMat3<S> turning, moving;
  Mat3<S> coupling;  // torque of a linear motion
};

template <class S>
CYCLOID_INLINE SpatialDamping<S>& operator+=(SpatialDamping<S>& a, const SpatialDamping<S>& b) {
  const auto add = [](SymMat3<S>& x, const SymMat3<S>& y) {
    x.xx += y.xx, x.yy += y.yy, x.zz += y.zz, x.xy += y.xy, x.xz += y.xz, x.yz += y.yz;
  };
  add(a.turning, b.turning);
  add(a.moving, b.moving);
  a.coupling += b.coupling;
  return a;
}

template <class S>
CYCLOID_INLINE Force<S> operator*(const SpatialDamping<S>& d, const Motion<S>& y) {
  return {d.turning * y.angular + d.coupling * y.linear,
          transpose_vector_product(d.coupling, y.angular) + d.moving * y.linear};
}

// D of a moving body. v: velocity field per link.
template <class S, class P>
CYCLOID_HD SpatialDamping<S> fluid_damping(const TreeView& tree, const P* p, int b,
                                           const Frames<S>& f, const Motion<S>* v) {
  const FluidSlope<S> slope = fluid_wrench_velocity_jacobian(tree, p, b, f, v);
  const Vec3<S>&n = slope.turning, &u = slope.moving, &c = slope.c;
  const S zero(0);
  SpatialDamping<S> d;
  d.turning = turn(slope.B, SymMat3<S>{-n.x, -n.y, -n.z, zero, zero, zero});  // (1)
  d.moving = turn(slope.B, SymMat3<S>{-u.x, -u.y, -u.z, zero, zero, zero});
  const SymMat3<S>& E = d.moving;
  const Vec3<S> column[3] = {cross(c, Vec3<S>{E.xx, E.xy, E.xz}),
                             cross(c, Vec3<S>{E.xy, E.yy, E.yz}),
                             cross(c, Vec3<S>{E.xz, E.yz, E.zz})};
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) d.coupling(i, j) = column[j][i];
  }
  // -[c]×E[c]× has for its rows c × (row of [c]×E).
  const auto row = [&](int i) {
    return cross(c, Vec3<S>{d.coupling(i, 0), d.coupling(i, 1), d.coupling(i, 2)});
  };
  const Vec3<S> x = row(0), y = row(1), z = row(2);
  d.turning.xx += x.x, d.turning.yy += y.y, d.turning.zz += z.z;
  d.turning.xy += x.y, d.turning.xz += x.z, d.turning.yz += y.z;
  return d;
}

// (2) in place and (3), for all bodies. composite: (bodies), D_b on entry. M: Tree::row storage.
template <class S>
CYCLOID_HD void add_damping_matrix(const TreeView& tree, const S& h, const Motion<S>* column,
                                   SpatialDamping<S>* composite, S* M) {
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    const Body& body = tree.model.bodies[b];
    if (body.tree >= 0 && !tree.root[b]) composite[body.parent] += composite[b];  // (2)
  }
  for (int k = 0; k < tree.model.nv; ++k) {
    const Dof& dof = tree.model.dofs[static_cast<std::size_t>(k)];
    const Force<S> F = composite[dof.body] * column[k] * h;
    for (int j = k; j >= 0; j = tree.model.dofs[static_cast<std::size_t>(j)].parent) {
      *M++ += power(F, column[j]);  // (3)
    }
  }
}

// Adds the cotangents of body b's part of Φ; returns -m·(D y), the cotangent of h.
template <class S, class P>
CYCLOID_HD S fluid_damping_pullback(const TreeView& tree, const P* p, int b, const Frames<S>& f,
                                    const Motion<S>* v, const Motion<S>* m, const Motion<S>* y,
                                    const S& h, const BodyBars<S>& bars, Force<S>& y_bar,
                                    S* p_bar) {
  const FluidBox<P> box = fluid_box(tree, p, b);
  const FluidPoint<S> at = fluid_point(tree, p, b, f, v);
  const FluidSlope<S> slope{at.B, at.c, drag_slope(box.turning, box.turning_drag, at.omega),
                            drag_slope(box.moving, box.moving_drag, at.u)};
  const std::size_t l = last_link(tree, b);
  const auto local = [&](const Vec3<S>& x) { return transpose_vector_product(at.B, x); };
  const Vec3<S> m_turn = local(m[l].angular), m_move = local(field_at(m[l], at.c));
  const Vec3<S> y_turn = local(y[l].angular), y_move = local(field_at(y[l], at.c));
  const Force<S> D_y = slope * y[l];                           // -D y
  add_turning_wrench(m[l], D_y * h, bars.m[b], bars.pose[b]);  // (5)
  add_turning_wrench(y[l], slope * m[l] * h, y_bar, bars.pose[b]);
  FluidBox<S> box_bar{};
  Vec3<S> omega_bar{}, u_bar{}, m_force{}, y_force{};
  const auto sign = [](const S& x) {
    return select(x > S(0), S(1), select(x < S(0), S(-1), S(0)));
  };
  for (int k = 0; k < 3; ++k) {
    const S n_bar = h * m_turn[k] * y_turn[k];  // (4)
    const S f_bar = h * m_move[k] * y_move[k];
    box_bar.turning -= n_bar;
    box_bar.moving -= f_bar;
    box_bar.turning_drag[k] = S(-2) * abs(at.omega[k]) * n_bar;
    box_bar.moving_drag[k] = S(-2) * abs(at.u[k]) * f_bar;
    omega_bar[k] = S(-2) * S(box.turning_drag[k]) * sign(at.omega[k]) * n_bar;  // (6)
    u_bar[k] = S(-2) * S(box.moving_drag[k]) * sign(at.u[k]) * f_bar;
    m_force[k] = h * slope.moving[k] * y_move[k];
    y_force[k] = h * slope.moving[k] * m_move[k];
  }
  const Vec3<S> c_bar = cross(at.B * m_force, m[l].angular) + cross(at.B * y_force, y[l].angular);
  fluid_point_pullback(tree, b, f, at, v[l], omega_bar, u_bar, vec3_of<S>(p + tree.options.wind),
                       c_bar, bars, p_bar);
  if (p_bar) fluid_box_pullback(tree, p, b, box, box_bar, p_bar);
  return power(D_y, m[l]);
}

}  // namespace cycloid::inline rigid
