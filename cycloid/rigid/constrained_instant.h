// The dynamics of a robot under constraints at one instant, and their pullback.
//
//   M a + c = τ + Jᵀ f,   f = -∇s(J a - a_ref)        (1)  a minimises that of constraint_newton.h
//   M̂ â = τ - c + Jᵀ f,   M̂ = M + h B                 (2)  what the integrator makes of it
// B as in dynamics.h; where M̂ = M, â = a. Given the cotangent g of â:
//   M̂ᵀ λ = g,   ā = M λ,   H μ = ā                     (3)  λ = M⁻¹ g where M̂ = M: ā = g
//   Φ = μᵀ(τ - c - M a) + (J μ)·f(J a - a_ref) + λᵀM(a - â) - h λᵀB â       (4)
// and every cotangent is the gradient of Φ with a, â, λ and μ held fixed. Its parts are
//   μᵀ(τ - c - M a) - h λᵀB â    gather_fields of dynamics.h
//   (J μ)·f                      the rows: wrenches on the fields of μ, a and q̇
//   λᵀM(a - â)                   the fields of λ and δ = â - a, (12) of motion_pullback.h
// Rows that look at J a without J̇ q̇ push at the field α of a alone. All fields share one sweep.
// Where B is diagonal, as Euler's is, M̂ δ = -h B a and ā = g - h B λ.
// Rows' forces with a cotangent of their own: (5) of constraint_newton_pullback.h.
#pragma once

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/constraint/exact_diagonal.h"
#include "cycloid/rigid/solver/islands.h"

namespace cycloid::inline rigid {

// Memory of the solver and of the pullback, besides the step's.
template <class S>
struct ConstrainedSpace {
  ConstraintProblem<S> problem;
  NewtonSpace<S> newton;
  IslandSpace<S> islands;
  ExactDiagonalSpace<S> weights;
  S* M;                                                    // (entries) Tree::row storage
  S *x, *mu;                                               // (size) padded
  RowCotangents<S> bars;                                   // (all rows)
  S *lambda, *delta, *zeros;                               // (nv)
  Motion<S>*alpha, *of_lambda, *of_delta, *rest;           // (links) fields; zeros
  Force<S>*alpha_bar, *lambda_bar, *delta_bar, *rest_bar;  // (bodies)

  // plan: how the problem may be taken apart, or null.
  void carve(const TreeView& tree, const DofBlocks& dofs, ConstraintCapacity most,
             const IslandPlan* plan, Arena& arena) {
    const std::size_t rows = static_cast<std::size_t>(most.diagonals + most.rows),
                      size = static_cast<std::size_t>(dofs.size()), links = tree.links.size(),
                      bodies = tree.model.bodies.size(),
                      nv = static_cast<std::size_t>(tree.model.nv);
    problem.carve(dofs, most, arena);
    newton.carve(dofs, most, arena);
    if (plan) islands.carve(*plan, dofs, most, newton, arena);
    weights.carve(tree, dofs, rows, arena);
    arena.take(M, static_cast<std::size_t>(tree.entries()));
    for (S** vector : {&x, &mu}) arena.take(*vector, size);
    for (S** of_rows : {&bars.a_ref, &bars.D, &bars.friction}) arena.take(*of_rows, rows);
    for (S** vector : {&lambda, &delta, &zeros}) arena.take(*vector, nv);
    for (Motion<S>** field : {&alpha, &of_lambda, &of_delta, &rest}) arena.take(*field, links);
    for (Force<S>** bar : {&alpha_bar, &lambda_bar, &delta_bar, &rest_bar})
      arena.take(*bar, bodies);
  }
};

// Whether the integrator's matrix is not M itself.
template <class S, class P>
CYCLOID_HD bool has_slopes(const Robot<S, P>& r) {
  return r.implicit != Implicit::nothing;
}

template <class S, class P>
CYCLOID_HD CompliantOptions<S> compliant_options(const Robot<S, P>& r) {
  const CompliantPlaces& at = r.tree.compliant;
  CompliantOptions<S> out{at.acts, at.stiffness < 0, at.exponent, at.depth_factor, {}, {}, {}};
  if (!at.acts) return out;
  if (at.stiffness >= 0) out.stiffness = S(r.p[at.stiffness]);
  out.dissipation = S(r.p[at.dissipation]);
  out.stiction = S(r.p[at.stiction]);
  return out;
}

// Hands the cotangents of the numbers that all rows share to the parameters.
template <class S>
CYCLOID_HD void add_row_options(const TreeView& tree, const ReferenceOptions<S>& bar, S* p_bar) {
  if (!p_bar) return;
  if (tree.options.impratio >= 0) p_bar[tree.options.impratio] += bar.impratio;
  const CompliantPlaces& at = tree.compliant;
  if (!at.acts) return;
  if (at.stiffness >= 0) p_bar[at.stiffness] += bar.compliant.stiffness;
  p_bar[at.dissipation] += bar.compliant.dissipation;
  p_bar[at.stiction] += bar.compliant.stiction;
}

template <class S, class P>
CYCLOID_HD RowInstant<S> row_instant(const Robot<S, P>& r, const Instant<S>& x,
                                     const Workspace<S>& w) {
  const int impratio = r.tree.options.impratio;
  return {
      w.frames,
      {nullptr, nullptr, w.a, w.v},
      x.qpos,
      x.qvel,
      nullptr,
      nullptr,
      {r.timestep(), impratio < 0 ? S(1) : S(r.p[impratio]), r.tree.model.options.acting.refsafe,
       r.tree.model.options.acting.exact_diagonal, compliant_options(r)}};
}

// M and the rows of the problem, where the bodies have been placed and w.a is without q̈. It is to
// be closed, or solved in islands, which rows.fill may know.
template <class S, class P, class Rows>
CYCLOID_HD void pose_problem(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                             const ConstrainedSpace<S>& own, const Rows& rows) {
  ConstraintProblem<S>& problem = const_cast<ConstrainedSpace<S>&>(own).problem;
  inertia_matrix(r, w, own.M);
  spread_mass_matrix(problem, static_cast<const S*>(own.M));
  problem.clear();
  const_cast<ConstrainedSpace<S>&>(own).islands.clear();
  rows.fill(r, row_instant(r, x, w), problem);
  if (r.tree.model.options.acting.exact_diagonal) {
    weigh_rows(r.tree, static_cast<const S*>(own.M), own.weights, problem);
    if constexpr (requires { rows.stick(r, problem); }) rows.stick(r, problem);
  }
}

// y = M x, from the storage of Tree::row.
template <class S>
CYCLOID_HD void multiply_inertia(const TreeView& tree, const S* M, const S* x, S* y) {
  set_zero(y, tree.model.nv);
  for (int k = 0; k < tree.model.nv; ++k) {
    y[k] += *M++ * x[k];
    for (int j = tree.parent_dof[static_cast<std::size_t>(k)]; j >= 0;
         j = tree.parent_dof[static_cast<std::size_t>(j)], ++M) {
      y[k] += *M * x[j];
      y[j] += *M * x[k];
    }
  }
}

// (1) and (2): a and â, (nv) each; â is not written where M̂ = M. Returns how the solver fared.
template <class S, class P, class Rows>
CYCLOID_STAGE NewtonResult<S> constrained_acceleration(const Robot<S, P>& r, const Instant<S>& x,
                                                       const Workspace<S>& w,
                                                       const ConstrainedSpace<S>& own,
                                                       const Rows& rows,
                                                       const NewtonOptions& options, S* a,
                                                       S* a_hat) {
  const TreeView& tree = r.tree;
  const int nv = tree.model.nv;
  const ConstraintProblem<S>& problem = own.problem;
  const DofBlocks& dofs = *problem.dofs;
  smooth_forces(r, x, w);
  pose_problem(r, x, w, own, rows);
  if constexpr (requires { rows.adhere(r, w, problem); }) rows.adhere(r, w, problem);
  for (int i = 0; i < tree.entries(); ++i) w.LD[i] = own.M[i];
  factor(tree, w.LD);
  for (int k = 0; k < nv; ++k) a[k] = w.tau[k];
  solve(tree, static_cast<const S*>(w.LD), a);
  pad(dofs, static_cast<const S*>(a), problem.a0);
  ConstrainedSpace<S>& space = const_cast<ConstrainedSpace<S>&>(own);
  const NewtonResult<S> result =
      solve_islands(space.problem, options, space.islands, own.newton, own.x);  // (1)
  unpad(dofs, static_cast<const S*>(own.x), a);
  if (!has_slopes(r)) return result;

  for (int i = 0; i < tree.entries(); ++i) w.LD[i] = own.M[i];  // (2)
  factor_with_slopes(r, x, w);
  if (r.implicit == Implicit::dampers) {
    const S h = r.timestep();
    for (int k = 0; k < nv; ++k) own.delta[k] = -h * w.slope[k] * a[k];
    solve_inertia(r, w, false, own.delta);
    for (int k = 0; k < nv; ++k) a_hat[k] = a[k] + own.delta[k];
  } else {
    multiply_inertia(tree, static_cast<const S*>(own.M), static_cast<const S*>(a), a_hat);
    solve_inertia(r, w, false, a_hat);
  }
  return result;
}

// What the derivatives of (1) and (2) look at besides a: places, the problem, and the factor of M̂
// where it is not M.
template <class S, class P, class Rows>
CYCLOID_HD void pose_and_factor(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                                const ConstrainedSpace<S>& own, const Rows& rows) {
  const TreeView& tree = r.tree;
  place_bodies(r, x, w);
  set_zero(w.adhesion_rate, static_cast<int>(tree.model.actuators.size()));
  if (tree.limits_compensation) {
    for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) w.wrench[b] = Force<S>{};
    compensate_gravity(r, w);
  }
  pose_problem(r, x, w, own, rows);
  const_cast<ConstrainedSpace<S>&>(own).problem.close();
  set_zero(w.adhesion_tau, tree.model.nv);
  if constexpr (requires { rows.press_limits(r, x, w, own.problem); }) {
    rows.press_limits(r, x, w, own.problem);
  }
  set_zero(w.slope, tree.model.nv);
  if (!has_slopes(r)) return;
  for (int i = 0; i < tree.entries(); ++i) w.LD[i] = own.M[i];
  factor_with_slopes(r, x, w);
}

// λᵀM(a - â) of (4), but for what the sweep adds: armatures of tendons and of actuators.
template <class S, class P>
CYCLOID_HD void gather_change(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                              const ConstrainedSpace<S>& own, const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const S *lambda = own.lambda, *delta = own.delta;
  if (tree.has_tendon_armature) {
    set_zero(own.zeros, tree.model.nv);
    for (std::size_t l = 0; l < tree.links.size(); ++l) own.rest[l] = Motion<S>{};
    for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) own.rest_bar[b] = Force<S>{};
    const BodyBars<S> bars{own.lambda_bar, own.delta_bar, own.rest_bar, w.bars.pose};
    tendon_armature_pullback(
        tree, r.p, RowPoint<S>{w.frames, own.of_lambda, own.rest, x.qpos, lambda, own.zeros},
        static_cast<const Motion<S>*>(own.of_delta), delta,
        RowSinks<S>{bars, bar.q, own.zeros, bar.p}, w.rows, w.row_mocap_bar);
  }
  for (const DofActuator& d : tree.dof_actuators) {
    if (!bar.p) break;
    const std::size_t i = static_cast<std::size_t>(d.actuator);
    const int place = tree.actuators[i].gear;
    bar.p[place] -= S(2) * S(r.p[place]) * number<S>(tree.model.actuators[i].armature) *
                    lambda[d.dof] * delta[d.dof];
  }
}

// (4) but for the rows, where M̂ is not M: for μ in w.mu, λ, δ and the fields of all.
// own.alpha_bar and w.bars: what rows push at.
template <class S, class P>
CYCLOID_STAGE void gather_changed_fields(const Robot<S, P>& r, const Instant<S>& x,
                                         const Workspace<S>& w, const ConstrainedSpace<S>& own,
                                         const S* a, const S* a_hat, const S* act_dot_bar,
                                         const S* act_next_bar, const InstantBars<S>& bar) {
  const bool pushed = r.tree.has_tendon_armature || r.all_slopes();
  for (std::size_t b = 0; pushed && b < r.tree.model.bodies.size(); ++b) {
    own.lambda_bar[b] = own.delta_bar[b] = Force<S>{};
  }
  gather_change(r, x, w, own, bar);
  gather_fields(r, x, w, a, SlopePoint<S>{own.lambda, own.of_lambda, a_hat, own.lambda_bar},
                MoreFields<S, 3>{FixedField<S>{a, own.alpha, own.alpha_bar},
                                 FixedField<S>{own.lambda, own.of_lambda, own.lambda_bar, pushed},
                                 FixedField<S>{own.delta, own.of_delta, own.delta_bar, pushed}},
                act_dot_bar, act_next_bar, true, bar);
}

// λ and ā of (3) from g in w.mu, which becomes ā. w.LD: the factor of M̂.
template <class S, class P>
CYCLOID_HD void through_slopes(const Robot<S, P>& r, const Workspace<S>& w,
                               const ConstrainedSpace<S>& own) {
  const TreeView& tree = r.tree;
  for (int k = 0; k < tree.model.nv; ++k) own.lambda[k] = w.mu[k];
  if (!has_slopes(r)) return;
  solve_inertia(r, w, true, own.lambda);
  if (r.implicit == Implicit::dampers) {
    const S h = r.timestep();
    for (int k = 0; k < tree.model.nv; ++k) w.mu[k] -= h * w.slope[k] * own.lambda[k];
  } else {
    multiply_inertia(tree, static_cast<const S*>(own.M), static_cast<const S*>(own.lambda), w.mu);
  }
}

// (4) of exact_diagonal.h, weight by weight, after weigh_rows_pullback: uses the fields of λ and δ
// and the memory of cotangents.
template <class S, class P, class Rows>
CYCLOID_STAGE void gather_weights(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                                  const ConstrainedSpace<S>& own, const Rows& rows,
                                  const InstantBars<S>& bar) {
  const TreeView& tree = r.tree;
  const ConstraintProblem<S>& problem = own.problem;
  const ExactDiagonalSpace<S>& weights = own.weights;
  const int nv = tree.model.nv, all = problem.all_rows();
  const std::size_t bodies = tree.model.bodies.size();
  ConstrainedSpace<S> form = own;  // Ā yᵀM y as λᵀM δ
  form.lambda = weights.y, form.delta = weights.Ay;
  form.lambda_bar = w.bars.m, form.delta_bar = w.bars.a;
  for (int i = 0; i < all; ++i) weights.force[i] = weights.zeros[i] = S(0);
  set_zero(own.zeros, nv);
  set_zero(weights.no_v_bar, nv);
  for (std::size_t l = 0; l < tree.links.size(); ++l) own.rest[l] = Motion<S>{};
  ReferenceOptions<S> unused{};
  RowInstant<S> at = row_instant(r, x, w);
  at.fields.m = own.of_lambda, at.fields.alpha = own.rest;
  at.mu = weights.y, at.qacc = own.zeros;
  for_each_weight(problem, [&](const WeighedRows& row) {
    const S A_bar = weights.A_bar[row.first];
    if (!any(A_bar != S(0))) return;
    weigh_row(tree, problem, row, weights);
    for (int k = 0; k < nv; ++k) weights.Ay[k] = A_bar * weights.y[k];
    velocity_field(tree, w.frames.column, static_cast<const S*>(weights.y), own.of_lambda);
    velocity_field(tree, w.frames.column, static_cast<const S*>(weights.Ay), own.of_delta);
    w.bars.clear(bodies);
    for (std::size_t b = 0; b < bodies; ++b) own.alpha_bar[b] = Force<S>{};
    weights.force[row.first] = S(2) * A_bar;
    if (row.edge) {
      weights.force[row.first + 1] = S(2) * A_bar * problem.friction[row.first + 1];
    }
    rows.pull(r, at, problem,
              RowResults<S>{weights.force, weights.zeros, weights.zeros, weights.zeros,
                            weights.zeros, true},
              RowGradient<S>{{w.bars.m, own.alpha_bar, own.alpha_bar, own.alpha_bar, w.bars.pose},
                             bar.q,
                             weights.no_v_bar,
                             bar.p,
                             unused});
    weights.force[row.first] = S(0);
    if (row.edge) weights.force[row.first + 1] = S(0);
    gather_change(r, x, w, form, bar);
    const SweepPoint<S> still{tree,          w.frames, w.inertia, own.rest,   own.of_delta,
                              own.of_lambda, x.qpos,   own.zeros, weights.Ay, weights.y};
    sweep_pullback(still, r.p, w.bars, bar.q, weights.no_v_bar, bar.p, w.mocap_bar);
    for (int i = 0; i < 6 * tree.model.nmocap; ++i) w.row_mocap_bar[i] += w.mocap_bar[i];
  });
}

// Whether a second pullback of one instant may take what the first has placed and factored.
CYCLOID_HD inline bool may_pull_again(const TreeView& tree) {
  return !tree.model.options.acting.exact_diagonal && !tree.has_adhesion &&
         !tree.limits_compensation;
}

// The pullback of â, whose cotangent is in w.mu on entry; a and a_hat: those of forward. Where
// M̂ = M, a_hat is not looked at. act_dot_bar and act_next_bar (na) may be null, and so may f_bar
// (all rows), the cotangent of the rows' forces. again: this instant has been pulled back before,
// and nothing but w.mu has changed; not where places and factors are not all that is kept
// (`may_pull_again`).
template <class S, class P, class Rows>
CYCLOID_STAGE void constrained_acceleration_pullback(const Robot<S, P>& r, const Instant<S>& x,
                                                     const Workspace<S>& w,
                                                     const ConstrainedSpace<S>& own,
                                                     const Rows& rows, const S* a, const S* a_hat,
                                                     const S* act_dot_bar, const S* act_next_bar,
                                                     const InstantBars<S>& bar,
                                                     const S* f_bar = nullptr, bool again = false) {
  const TreeView& tree = r.tree;
  const int nv = tree.model.nv;
  const std::size_t bodies = tree.model.bodies.size();
  const ConstraintProblem<S>& problem = own.problem;
  const DofBlocks& dofs = *problem.dofs;
  if (!again) pose_and_factor(r, x, w, own, rows);
  through_slopes(r, w, own);  // (3)
  for (int i = 0; i < problem.all_rows(); ++i) {
    own.bars.a_ref[i] = own.bars.D[i] = own.bars.friction[i] = S(0);
  }
  pad(dofs, a, own.x);
  if constexpr (requires { rows.settle(problem, own.x, own.newton.r); }) {
    rows.settle(problem, own.x, own.newton.r);
  }
  pad(dofs, static_cast<const S*>(w.mu), own.newton.g);
  solve_newton_pullback(problem, static_cast<const S*>(own.x), static_cast<const S*>(own.newton.g),
                        own.newton, own.mu, own.bars, f_bar, again);
  unpad(dofs, static_cast<const S*>(own.mu), w.mu);
  if constexpr (requires { rows.adhere_back(r, x, w, problem, own.mu); }) {
    rows.adhere_back(r, x, w, problem, static_cast<const S*>(own.mu));
  }

  set_zero(w.row_mocap_bar, 6 * tree.model.nmocap);
  if (tree.model.options.acting.exact_diagonal) {
    if constexpr (requires { rows.stick_back(r, problem, own.bars); }) {
      rows.stick_back(r, problem, own.bars);
    }
    weigh_rows_pullback(tree, problem, own.weights, own.bars);
    gather_weights(r, x, w, own, rows, bar);
  }
  if (has_slopes(r)) {
    for (int k = 0; k < nv; ++k) own.delta[k] = a_hat[k] - a[k];
    velocity_fields<S, 4>(tree, w.frames.column, {w.mu, a, own.lambda, own.delta},
                          {w.m, own.alpha, own.of_lambda, own.of_delta});
  } else {
    velocity_fields<S, 2>(tree, w.frames.column, {w.mu, a}, {w.m, own.alpha});
  }
  w.bars.clear(bodies);
  for (std::size_t b = 0; b < bodies; ++b) own.alpha_bar[b] = Force<S>{};
  RowInstant<S> at = row_instant(r, x, w);
  for (std::size_t l = 0; !again && l < tree.links.size(); ++l) {
    w.a[l] += own.alpha[l];  // now with q̈
  }
  at.fields.m = w.m, at.fields.alpha = own.alpha;
  at.mu = w.mu, at.qacc = a;
  ReferenceOptions<S> options_bar{};
  rows.pull(r, at, problem,
            RowResults<S>{own.newton.at.f, own.newton.r_bar, own.bars.a_ref, own.bars.D,
                          own.bars.friction},
            RowGradient<S>{{w.bars.m, own.alpha_bar, w.bars.a, w.bars.v, w.bars.pose},
                           bar.q,
                           bar.v,
                           bar.p,
                           options_bar});
  bar.h += options_bar.timestep;
  add_row_options(tree, options_bar, bar.p);
  if constexpr (requires { rows.pull_pressed(r, x, w, problem, own.bars.D, bar); }) {
    rows.pull_pressed(r, x, w, problem, own.bars.D, bar);
  }

  const FixedField<S> alpha{a, own.alpha, own.alpha_bar};
  if (!has_slopes(r)) {
    return gather_fields(r, x, w, a, SlopePoint<S>{w.mu, w.m, a, w.bars.m}, MoreFields<S, 1>{alpha},
                         act_dot_bar, act_next_bar, true, bar);
  }
  gather_changed_fields(r, x, w, own, a, a_hat, act_dot_bar, act_next_bar, bar);
}

}  // namespace cycloid::inline rigid
