// Standalone free bodies in an implicit integrator: the slope of their gyroscopic forces.
//
// A free body without joints behind it has six dofs of its own, v = (u, ω), ω in body axes. About
// its origin, with the first moment h and inertia I of all that is fixed to it, in body axes:
//   c = ( R ω×(ω×h) - m g ;  ω × I ω - Rᵀ(h_W × g) )                                     (1)
//   C = ∂c/∂v:   C δ = ( R [δ×(ω×h) + ω×(δ×h)] ;  δ × I ω + ω × I δ ),  δ of the ω part   (2)
//   (M + h B + h C) q̈ = b   on the six dofs, instead of (3) of dynamics.h                  (3)
// C is not symmetric: the block has a factor of its own, and its transpose serves the way back.
//
// Pullback of -h μᵀ C q̈, with p = Rᵀ μ_u, δ the ω part of q̈, and pairs of motions in world axes
//   x₁ = (R (μ_ω × δ); R (p × δ)), y₁ = (R ω; 0),   x₂ = (R (μ_ω × ω); R (p × ω)), y₂ = (R δ; 0)
//   μᵀ C q̈ = x₁·I y₁ + x₂·I y₂                                                            (4)
//   ω̄ = h×(p×δ) + (δ×h)×p + I (μ_ω×δ) + Iδ × μ_ω                                           (5)
//   q̄_ω = (δ×(ω×h) + ω×(δ×h)) × p                                                         (6)
// and inertia.h (5) for the parameters; what is fixed to the body has the pose wrench
// -Σ (x ×* I y + y ×* I x).
// Source: MuJoCo's manual, Gyroscopic derivatives for free bodies.
#pragma once

#include "cycloid/rigid/tree/motion_pullback.h"

namespace cycloid::inline rigid {

// LU factors of a 6×6 block, row by row, without pivoting: its symmetric part is positive definite.
template <class S>
CYCLOID_HD void lu_factor(S* A) {
  for (int k = 0; k < 6; ++k) {
    const S inverse = S(1) / A[7 * k];
    A[7 * k] = inverse;
    for (int i = k + 1; i < 6; ++i) {
      const S ratio = A[6 * i + k] * inverse;
      A[6 * i + k] = ratio;
      for (int j = k + 1; j < 6; ++j) A[6 * i + j] -= ratio * A[6 * k + j];
    }
  }
}
template <class S>
CYCLOID_HD void lu_solve(const S* LU, S* x) {
  for (int i = 1; i < 6; ++i) {
    for (int j = 0; j < i; ++j) x[i] -= LU[6 * i + j] * x[j];
  }
  for (int i = 5; i >= 0; --i) {
    for (int j = i + 1; j < 6; ++j) x[i] -= LU[6 * i + j] * x[j];
    x[i] *= LU[7 * i];
  }
}
template <class S>
CYCLOID_HD void lu_solve_transposed(const S* LU, S* x) {
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < i; ++j) x[i] -= LU[6 * j + i] * x[j];
    x[i] *= LU[7 * i];
  }
  for (int i = 4; i >= 0; --i) {
    for (int j = i + 1; j < 6; ++j) x[i] -= LU[6 * j + i] * x[j];
  }
}

// h and I of everything fixed to the body, in its axes, from the composite inertia at its origin.
template <class S>
struct FreeBody {
  const Mat3<S>& R;
  Vec3<S> h;
  SymMat3<S> I;

  CYCLOID_HD FreeBody(const Mat3<S>& R_, const SpatialInertia<S>& composite)
      : R(R_),
        h(transpose_vector_product(R_, first_moment(composite))),
        I(turn(transpose(R_), inertia_at_origin(composite))) {}

  // (2): C δ without R on its first half.
  CYCLOID_HD Force<S> slope(const Vec3<S>& omega, const Vec3<S>& delta) const {
    return {cross(delta, I * omega) + cross(omega, I * delta),
            cross(delta, cross(omega, h)) + cross(omega, cross(delta, h))};
  }
};

// (3): the block at the dofs of `body`, from M + h B (Tree::row storage) before it is factored.
// block: 36 numbers, for lu_factor.
template <class S>
CYCLOID_HD void free_body_matrix(const TreeView& tree, std::size_t body, const Frames<S>& f,
                                 const SpatialInertia<S>& composite, const S* qvel, const S& h,
                                 const S* M, S* block) {
  const int first = tree.model.bodies[body].first_dof;
  for (int i = 0; i < 6; ++i) {
    const S* row = M + tree.row[static_cast<std::size_t>(first + i)];
    for (int j = i; j >= 0; --j) block[6 * i + j] = block[6 * j + i] = *row++;
  }
  const FreeBody<S> free(f.R[body], composite);
  const Vec3<S> omega = load_vec3(qvel + first + 3);
  for (int j = 0; j < 3; ++j) {
    Vec3<S> unit{};
    unit[j] = S(1);
    const Force<S> column = free.slope(omega, unit);
    const Vec3<S> force = free.R * column.force;
    for (int i = 0; i < 3; ++i) {
      block[6 * i + 3 + j] += h * force[i];
      block[6 * (i + 3) + 3 + j] += h * column.torque[i];
    }
  }
}

// Adds the cotangents of -h μᵀ C q̈ to q_bar, v_bar (nv), h_bar and, unless it is null, p_bar.
// wrench: (bodies), memory.
template <class S, class P>
CYCLOID_HD void free_body_pullback(const SweepPoint<S>& at, const P* p, std::size_t body,
                                   const SpatialInertia<S>& composite, const S& h, S* q_bar,
                                   S* v_bar, S& h_bar, S* p_bar, Force<S>* wrench) {
  const TreeView& tree = at.tree;
  const int first = tree.model.bodies[body].first_dof;
  const FreeBody<S> free(at.frames.R[body], composite);
  const Vec3<S> omega = load_vec3(at.qvel + first + 3), delta = load_vec3(at.qacc + first + 3);
  const Vec3<S> mu_turn = load_vec3(at.mu + first + 3);
  const Vec3<S> push = transpose_vector_product(free.R, load_vec3(at.mu + first));  // p
  const Force<S> slope = free.slope(omega, delta);
  h_bar -= dot(push, slope.force) + dot(mu_turn, slope.torque);  // (4)
  const Vec3<S> omega_bar = cross(free.h, cross(push, delta)) + cross(cross(delta, free.h), push) +
                            free.I * cross(mu_turn, delta) + cross(free.I * delta, mu_turn);  // (5)
  add_to(v_bar + first + 3, omega_bar * -h);
  add_to(q_bar + first + 3, cross(slope.force, push) * -h);  // (6)
  if (!p_bar) return;
  const auto world = [&](const Vec3<S>& v) { return free.R * v; };
  const Motion<S> x1{world(cross(mu_turn, delta)), world(cross(push, delta))};
  const Motion<S> x2{world(cross(mu_turn, omega)), world(cross(push, omega))};
  const Motion<S> y1{world(omega), Vec3<S>{}}, y2{world(delta), Vec3<S>{}};
  const int of_tree = tree.model.bodies[body].tree;
  for (std::size_t b = tree.model.bodies.size(); b-- > body;) {
    if (tree.model.bodies[b].tree != of_tree) continue;
    body_inertia_pullback(tree.bodies[b], p, at.frames.R[b], at.frames.pos[b],
                          std::array{InertiaForm<S>{&x1, &y1}, InertiaForm<S>{&x2, &y2}}, -h,
                          p_bar);
    const SpatialInertia<S>& I = at.inertia[b];
    const Force<S> own = cross_force(x1, I * y1) + cross_force(y1, I * x1) +
                         cross_force(x2, I * y2) + cross_force(y2, I * x2);
    wrench[b] += own * h;
    if (b == body) break;
    gather_body_frame<S, P>(at, b, wrench[b], p_bar);
    wrench[tree.model.bodies[b].parent] += wrench[b];
  }
}

}  // namespace cycloid::inline rigid
