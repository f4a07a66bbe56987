// The Jacobians A and B of a step under constraints, without a pullback for each row.
//
// a and â are those of constrained.h. With every derivative ∂ at fixed a and â:
//   R = ∂(τ - c - M â - h B â) + ∂(Jᵀ f)                                                       (1)
//   C = ∂(M (a - â)) - ∂(h B â),   zero where M̂ = M                                           (2)
//   H da = (R - C) dθ,      H = M + Jᵀ K J                                                     (3)
//   M̂ dâ = M da + C dθ                                                                        (4)
// (3) is the derivative of M a + c = τ + Jᵀ f, and (4) that of M̂ â = M a. Then dv⁺ and dq⁺ are (2)
// and (3) of step_jacobian.h, which has the smooth part of R too. Jᵀ f of contacts is
// contact_jacobian.h. A row of one dof gives one number on the diagonal: all of them are the
// pullback of one μ, of ones. Other rows (equalities, tendons, balls) are pulled back for each dof
// that they move.
#pragma once

#include "cycloid/rigid/constrained_dynamics.h"
#include "cycloid/rigid/contact_jacobian.h"
#include "cycloid/rigid/step_jacobian.h"

namespace cycloid::inline rigid {

// Memory of a Jacobian, besides the step's and the constraints'.
template <class S>
struct ConstrainedJacobianSpace {
  Wide<S>*x, *y;                   // (size), (nv) columns
  S *state_change, *input_change;  // (nv, tangents), (nv, inputs) C of (2)
  ContactJacobianSpace<S> contacts;
  JacobianSpace<S> step;

  // Carves the arrays out of `memory`, or, with null, only counts. Returns the bytes.
  std::size_t carve(const Tree& tree, const ConstraintPlan& plan, int inputs, std::byte* memory) {
    std::size_t used = 0;
    const auto take = [&]<class A>(A*& array, std::size_t n) {
      array = memory ? reinterpret_cast<A*>(memory + used) : nullptr;
      used += (n * sizeof(A) + alignof(Wide<S>) - 1) / alignof(Wide<S>) * alignof(Wide<S>);
    };
    const auto place = [&] { return memory ? memory + used : nullptr; };
    const std::size_t nv = static_cast<std::size_t>(tree.model.nv),
                      tangents = 2 * nv + static_cast<std::size_t>(tree.model.na);
    take(x, static_cast<std::size_t>(plan.dofs.size()));
    take(y, nv);
    take(state_change, nv * tangents);
    take(input_change, nv * static_cast<std::size_t>(inputs));
    used += contacts.carve(tree, place());
    return used + step.carve(tree, inputs, place());
  }
};

// Whether B of the integrator changes with the state.
template <class S, class P>
bool slopes_vary(const Robot<S, P>& r) {
  const auto curved = [](const Polynomial& p) { return p.quadratic != 0 || p.cubic != 0; };
  if (r.implicit != Implicit::dampers) return r.implicit == Implicit::all_slopes;
  const Model& model = r.tree.model;
  return std::any_of(model.dofs.begin(), model.dofs.end(),
                     [&](const Dof& d) { return curved(d.damping); }) ||
         std::any_of(model.actuators.begin(), model.actuators.end(),
                     [&](const Actuator& a) { return curved(a.damping); });
}

// (2), row by row: Φ of constrained.h with μ = 0.
template <class S, class P>
void gather_change_rows(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                        const ConstrainedSpace<S>& own, const S* a, const S* a_hat,
                        const StepJacobian<S>& out) {
  const Tree& tree = r.tree;
  const std::size_t bodies = tree.model.bodies.size();
  for (int k = 0; k < out.nv; ++k) {
    own.difference[k] = a_hat[k] - a[k];
    own.lambda[k] = w.mu[k] = S(0);
  }
  velocity_field(tree, w.frames.column, static_cast<const S*>(w.mu), w.m);
  for (int k = 0; k < out.nv; ++k) {
    own.lambda[k] = S(1);
    velocity_field(tree, w.frames.column, static_cast<const S*>(own.lambda), own.of_lambda);
    w.bars.clear(bodies);
    for (std::size_t b = 0; b < bodies; ++b) own.lambda_bar[b] = Force<S>{};
    set_zero(w.row_mocap_bar, 6 * tree.model.nmocap);
    S h_bar(0), *row = out.state_row(out.nv + k);
    const InstantBars<S> bar{row,     row + out.nv, row + 2 * out.nv, out.input_row(out.nv + k),
                             nullptr, h_bar};
    gather_fields(r, x, w, a, SlopePoint<S>{own.lambda, own.of_lambda, a_hat, own.lambda_bar},
                  static_cast<const S*>(nullptr), static_cast<const S*>(nullptr), true, bar);
    gather_change(r, x, w, own, bar);
    own.lambda[k] = S(0);
  }
}

// C of (2).
template <class S, class P>
void change_jacobian(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                     const ConstrainedSpace<S>& own, const JacobianSpace<S>& space, const S* a,
                     const S* a_hat, const StepJacobian<S>& out) {
  const Tree& tree = r.tree;
  const int nv = out.nv;
  set_zero(out.A, nv * out.tangent());
  set_zero(out.B, nv * out.inputs);
  const bool vary = slopes_vary(r);
  const bool by_rows = tree.has_tendon_armature || (vary && !joints_alone(r));
  if (by_rows) return gather_change_rows(r, x, w, own, a, a_hat, out);
  for (int k = 0; k < nv; ++k) own.difference[k] = a_hat[k] - a[k];
  velocity_field(tree, w.frames.column, static_cast<const S*>(own.difference), own.change);
  subtract_inertia_jacobian(tree, static_cast<const Motion<S>*>(w.frames.column),
                            static_cast<const SpatialInertia<S>*>(w.inertia),
                            static_cast<const SpatialInertia<S>*>(w.composite),
                            static_cast<const Motion<S>*>(own.change), space.rnea, out.tangent(),
                            out.A);
  for_each_scaled_dof(tree, r.p, w.frames, [&](int k, const S& rate) {
    for (int i = 0; i < nv; ++i) out.A[i * out.tangent() + k] *= rate;
  });
  if (vary) gather_joint_blocks(r, x, w, space, a_hat, BlockTerms::slopes, out);
}

// Rows of single dofs: μ is 1 on every dof.
template <class S, class P>
void add_diagonal_jacobian(const Robot<S, P>& r, const ConstraintPlan& plan,
                           const RowInstant<S>& at, const int* places,
                           const ConstrainedSpace<S>& own, const JacobianSpace<S>& space,
                           const StepJacobian<S>& out) {
  ConstraintProblem<S> alone = own.problem;
  alone.groups = alone.rows = 0;
  if (alone.diagonals == 0) return;
  const NewtonSpace<S>& newton = own.newton;
  for (int i = 0; i < alone.diagonals; ++i) {
    own.bars.D[i] = own.bars.friction[i] = newton.r_bar[i] = S(0);
    newton.w[i] = alone.sign[i];
  }
  add_row_cotangents(alone, static_cast<const S*>(newton.r), static_cast<const S*>(newton.w),
                     own.bars, newton.r_bar);
  for (int i = 0; i < alone.diagonals; ++i) own.bars.a_ref[i] = -newton.r_bar[i];
  set_zero(space.q_bar, out.nv);
  set_zero(space.v_bar, out.nv);
  ReferenceOptions<S> unused{};
  diagonal_rows_pullback(
      plan.rows, r.p, at, places,
      RowResults<S>{newton.at.f, newton.r_bar, own.bars.a_ref, own.bars.D, own.bars.friction},
      RowGradient<S>{{}, space.q_bar, space.v_bar, nullptr, unused});
  for (int k = 0; k < out.nv; ++k) {
    out.state_row(out.nv + k)[k] += space.q_bar[k];
    out.state_row(out.nv + k)[out.nv + k] += space.v_bar[k];
  }
}

// The sweeps of what rows have put on the fields of μ, q̈ and q̇, without the bodies' inertia.
template <class S, class P>
void sweep_rows(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                const ConstrainedSpace<S>& own, const S* a, S* q_bar, S* v_bar) {
  const Tree& tree = r.tree;
  const FieldSweepSpace<S>& sweep = w.rows.form.sweep;
  sweep.clear(tree);
  for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) sweep.bars.m[b] = own.alpha_bar[b];
  field_sweep_pullback(tree, r.p, w.frames, x.qpos, a, static_cast<const Motion<S>*>(own.alpha),
                       sweep, q_bar, static_cast<S*>(nullptr), w.row_mocap_bar);
  const SweepPoint<S> at{tree, w.frames, sweep.massless, w.v, w.a, w.m, x.qpos, x.qvel, a, w.mu};
  sweep_pullback(at, r.p, w.bars, q_bar, v_bar, static_cast<S*>(nullptr), w.mocap_bar);
}

// The `groups` first groups of rows, for each dof that they move.
template <class S, class P>
void add_spread_jacobian(const Robot<S, P>& r, const Instant<S>& x, const ConstraintPlan& plan,
                         const Workspace<S>& w, RowInstant<S> at, const int* places,
                         const ConstrainedSpace<S>& own, int groups, const StepJacobian<S>& out) {
  const Tree& tree = r.tree;
  const std::size_t bodies = tree.model.bodies.size();
  const NewtonSpace<S>& newton = own.newton;
  ConstraintProblem<S> some = own.problem;
  some.groups = groups;
  some.rows = groups < own.problem.groups ? own.problem.group[groups].first : some.rows;
  const int own_dofs = static_cast<int>(plan.rows.joint_limits.size()) +
                       static_cast<int>(plan.rows.dof_frictions.size());
  set_zero(own.mu, some.size());
  set_zero(w.mu, out.nv);
  at.fields.m = w.m, at.mu = w.mu;
  ReferenceOptions<S> unused{};
  for (int k = 0; k < out.nv; ++k) {
    const int place = some.dofs->place[static_cast<std::size_t>(k)];
    bool moves = false;
    for (int g = 0; g < groups; ++g) moves = moves || some.support(g).has(place / kBlock);
    if (!moves) continue;
    own.mu[place] = w.mu[k] = S(1);
    velocity_field(tree, w.frames.column, static_cast<const S*>(w.mu), w.m);
    row_products(some, static_cast<const S*>(own.mu), newton.w);
    for (int i = 0; i < some.all_rows(); ++i) {
      own.bars.D[i] = own.bars.friction[i] = newton.r_bar[i] = S(0);
    }
    add_row_cotangents(some, static_cast<const S*>(newton.r), static_cast<const S*>(newton.w),
                       own.bars, newton.r_bar);
    for (int i = 0; i < some.all_rows(); ++i) own.bars.a_ref[i] = -newton.r_bar[i];
    w.bars.clear(bodies);
    for (std::size_t b = 0; b < bodies; ++b) own.alpha_bar[b] = Force<S>{};
    S* const row = out.state_row(out.nv + k);
    spread_rows_pullback(
        plan.rows, tree, r.p, at, places + own_dofs,
        RowResults<S>{newton.at.f, newton.r_bar, own.bars.a_ref, own.bars.D, own.bars.friction},
        RowGradient<S>{{w.bars.m, own.alpha_bar, w.bars.a, w.bars.v, w.bars.pose},
                       row,
                       row + out.nv,
                       nullptr,
                       unused});
    sweep_rows(r, x, w, own, at.qacc, row, row + out.nv);
    own.mu[place] = w.mu[k] = S(0);
  }
}

// (3) and (4): nv rows of `columns` numbers become those of h â, in place. change: the rows of C,
// or null.
template <class X, class S, class P>
void constrained_columns(const Robot<S, P>& r, const Workspace<S>& w,
                         const ConstrainedSpace<S>& own, X* x, X* y, int columns, const S* change,
                         S* rows) {
  const Tree& tree = r.tree;
  const DofBlocks& dofs = *own.problem.dofs;
  const int nv = tree.model.nv;
  const S h = r.timestep();
  for (int c = 0; c < columns; c += kPer<X, S>) {
    const int n = std::min(kPer<X, S>, columns - c);
    const auto changed = [&](int k) { return load_some<X>(change + k * columns + c, n); };
    for (int k = 0; k < nv; ++k) {
      y[k] = load_some<X>(static_cast<const S*>(rows + k * columns + c), n);
      if (change) y[k] -= changed(k);
    }
    pad(dofs, static_cast<const X*>(y), x);
    solve_blocks(own.problem.hessian, static_cast<const S*>(own.newton.V), x);  // (3)
    unpad(dofs, static_cast<const X*>(x), y);
    if (change) {
      multiply_inertia(tree, static_cast<const S*>(own.M), static_cast<const X*>(y), x);
      for (int k = 0; k < nv; ++k) y[k] = x[k] + changed(k);
      if constexpr (std::is_same_v<X, S>) {
        solve_inertia(r, w, false, y);
      } else {
        solve(tree, static_cast<const S*>(w.LD), y);  // (4)
      }
    }
    // -0 becomes 0: whether a zero was added is not seen
    for (int k = 0; k < nv; ++k) store_some(y[k] * X(h) + X(0), n, rows + k * columns + c);
  }
}

// A and B of a step of euler or implicitfast under constraints, with its record. There are no
// inputs that move mocap bodies.
template <class S, class P>
void constrained_step_jacobian(const Robot<S, P>& r, const S* x, const S* u, const S* record,
                               const Workspace<S>& w, const ConstrainedDynamics<S>& dynamics,
                               const ConstrainedJacobianSpace<S>& space,
                               const StepJacobian<S>& out) {
  const Tree& tree = r.tree;
  const StepShape n(tree);
  const Instant<S> at{x, x + n.nq, x + n.nq + n.nv, u};
  const ConstrainedSpace<S>& own = dynamics.memory.solver;
  const ConstraintProblem<S>& problem = own.problem;
  const ContactSpace<S>& contacts = dynamics.memory.contacts;
  const RobotRows<S> rows = dynamics.recorded_rows(tree, record);
  const S *a = record, *a_hat = record + dynamics.moved(tree);
  const bool slopes = has_slopes(r);
  const int columns = out.tangent();
  set_zero(out.A, columns * columns);
  set_zero(out.B, columns * out.inputs);
  pose_and_factor(r, at, w, own, rows);
  pad(*problem.dofs, a, own.x);
  row_residuals(problem, static_cast<const S*>(own.x), own.newton.r);
  respond(problem, own.newton.r, own.newton.at);
  factor_hessian(problem, Mask<S>(true), own.newton);

  const auto move_with = [&](const S* qacc) {
    motion_fields(tree, static_cast<const Motion<S>*>(w.frames.column), at.qvel, qacc, r.gravity(),
                  w.v, w.a);
  };
  move_with(a_hat);
  motion_jacobian(r, at, w, space.step, a_hat, out);  // (1)
  activation_jacobian(r, at, w, space.step, a_hat, out);
  const StepJacobian<S> change{n.nv, n.na, out.inputs, space.state_change, space.input_change,
                               n.nv};
  if (slopes) {
    change_jacobian(r, at, w, own, space.step, a, a_hat, change);  // (2)
    move_with(a);
  }
  velocity_field(tree, w.frames.column, a, own.alpha);
  RowInstant<S> rows_at = row_instant(r, at, w);
  rows_at.fields.alpha = own.alpha, rows_at.qacc = a;
  const int groups = problem.groups - contacts.slots;
  S* const by_q = out.state_row(n.nv);
  add_diagonal_jacobian(r, dynamics.plan, rows_at, dynamics.memory.places, own, space.step, out);
  if (groups > 0) {
    add_spread_jacobian(r, at, dynamics.plan, w, rows_at, dynamics.memory.places, own, groups, out);
  }
  add_contact_jacobian(rows.scene(r, rows_at), contacts, rows_at, problem, groups,
                       static_cast<const S*>(own.newton.r), own.newton.at, space.contacts, columns,
                       by_q, by_q + n.nv);

  const auto solve_for = [&]<class X>(X* one, X* other) {
    const S *state = slopes ? space.state_change : nullptr,
            *input = slopes ? space.input_change : nullptr;
    constrained_columns(r, w, own, one, other, columns, state, by_q);
    constrained_columns(r, w, own, one, other, out.inputs, input, out.input_row(n.nv));
  };
  if (slopes && implicit_free_bodies(r)) {
    solve_for(reinterpret_cast<S*>(space.x), reinterpret_cast<S*>(space.y));
  } else {
    solve_for(space.x, space.y);
  }
  complete_rows(r, at, a_hat, w, out);
}

}  // namespace cycloid::inline rigid
