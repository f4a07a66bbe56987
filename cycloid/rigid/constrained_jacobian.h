// The Jacobians A and B of a step under constraints, without a pullback for each row.
//
// a and â are those of constrained_instant.h. With every derivative ∂ at fixed a and â:
//   R = ∂(τ - c - M â - h B â) + ∂(Jᵀ f)                                                       (1)
//   C = ∂(M (a - â)) - ∂(h B â),   zero where M̂ = M                                           (2)
//   H da = (R - C) dθ,      H = M + Jᵀ K J                                                     (3)
//   M̂ dâ = M da + C dθ                                                                        (4)
//   dâ = Z (R - C) dθ + M̂⁻¹ C dθ,   Z = M̂⁻¹ M H⁻¹                                             (5)
// (3) is the derivative of M a + c = τ + Jᵀ f, and (4) that of M̂ â = M a. Then dv⁺ and dq⁺ are (2)
// and (3) of step_jacobian.h, which has the smooth part of R too. Jᵀ f of contacts is
// contact_jacobian.h. A row of one dof gives one number on the diagonal: all of them are the
// pullback of one μ, of ones. Other rows (equalities, tendons, balls) are pulled back for each dof
// that they move.
#pragma once

#include "cycloid/rigid/constrained_dynamics.h"
#include "cycloid/rigid/contact/contact_jacobian.h"
#include "cycloid/rigid/step_jacobian.h"

namespace cycloid::inline rigid {

// Memory of a Jacobian, besides the step's and the constraints'.
template <class S>
struct ConstrainedJacobianSpace {
  Wide<S>*x, *y;                   // (size) columns
  S* Z;                            // (nv, padded) h Z
  int* filled;                     // (nv)
  int padded;                      // nv, rounded up to whole registers
  S *state, *inputs;               // (nv) padded rows of R
  S *state_change, *input_change;  // ... and of C
  ContactJacobianSpace<S> contacts;
  JacobianSpace<S> step;

  void carve(const TreeView& tree, const ConstraintPlan& plan, int input_size, Arena& arena) {
    const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
    const int tangents = 2 * tree.model.nv + tree.model.na;
    padded = padded_to_wide<S>(tree.model.nv);
    for (Wide<S>** some : {&x, &y}) arena.take(*some, static_cast<std::size_t>(plan.dofs.size()));
    arena.take(Z, nv * static_cast<std::size_t>(padded));
    arena.take(filled, nv);
    const auto padded_size = [](int n) { return static_cast<std::size_t>(padded_to_wide<S>(n)); };
    for (S** rows : {&state, &state_change}) arena.take(*rows, nv * padded_size(tangents));
    for (S** rows : {&inputs, &input_change}) arena.take(*rows, nv * padded_size(input_size));
    contacts.carve(tree, arena);
    step.carve(tree, input_size, arena);
  }

  // Rows of v⁺ alone, zeros, in padded memory.
  static StepJacobian<S> padded_rows(const StepJacobian<S>& of, S* state_rows, S* input_rows) {
    StepJacobian<S> rows(of.nv, of.na, of.inputs, state_rows, input_rows);
    rows.state_stride = padded_to_wide<S>(of.tangent());
    rows.input_stride = padded_to_wide<S>(of.inputs);
    rows.first = of.nv;
    set_zero(state_rows, of.nv * rows.state_stride);
    set_zero(input_rows, of.nv * rows.input_stride);
    return rows;
  }
};

// Whether B of the integrator changes with the state.
template <class S, class P>
bool slopes_vary(const Robot<S, P>& r) {
  const auto curved = [](const Polynomial& p) { return p.quadratic != 0 || p.cubic != 0; };
  if (r.implicit != Implicit::dampers) return r.all_slopes();
  const ModelView& model = r.tree.model;
  return std::any_of(model.dofs.begin(), model.dofs.end(),
                     [&](const Dof& d) { return curved(d.damping); }) ||
         std::any_of(model.actuators.begin(), model.actuators.end(),
                     [&](const Actuator& a) { return curved(a.damping); });
}

// (2), row by row: Φ of constrained_instant.h with μ = 0.
template <class S, class P>
void gather_change_rows(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                        const ConstrainedSpace<S>& own, const S* a, const S* a_hat,
                        const StepJacobian<S>& out) {
  const TreeView& tree = r.tree;
  const std::size_t bodies = tree.model.bodies.size();
  for (int k = 0; k < out.nv; ++k) {
    own.delta[k] = a_hat[k] - a[k];
    own.lambda[k] = w.mu[k] = S(0);
  }
  velocity_field(tree, w.frames.column, static_cast<const S*>(w.mu), w.m);
  velocity_field(tree, w.frames.column, static_cast<const S*>(own.delta), own.of_delta);
  velocity_field(tree, w.frames.column, a, own.alpha);
  for (int k = 0; k < out.nv; ++k) {
    own.lambda[k] = S(1);
    velocity_field(tree, w.frames.column, static_cast<const S*>(own.lambda), own.of_lambda);
    w.bars.clear(bodies);
    for (std::size_t b = 0; b < bodies; ++b) own.alpha_bar[b] = Force<S>{};
    set_zero(w.row_mocap_bar, 6 * tree.model.nmocap);
    S h_bar(0), *row = out.state_row(out.nv + k);
    const InstantBars<S> bar{row,     row + out.nv, row + 2 * out.nv, out.input_row(out.nv + k),
                             nullptr, h_bar};
    const S* const none = nullptr;
    gather_changed_fields(r, x, w, own, a, a_hat, none, none, bar);
    own.lambda[k] = S(0);
  }
}

// C of (2).
template <class S, class P>
void change_jacobian(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                     const ConstrainedSpace<S>& own, const JacobianSpace<S>& space, const S* a,
                     const S* a_hat, const StepJacobian<S>& out) {
  const TreeView& tree = r.tree;
  const int nv = out.nv;
  const bool vary = slopes_vary(r);
  const bool by_rows = tree.has_tendon_armature || (vary && !joints_alone(r));
  if (by_rows) return gather_change_rows(r, x, w, own, a, a_hat, out);
  for (int k = 0; k < nv; ++k) own.delta[k] = a_hat[k] - a[k];
  velocity_field(tree, w.frames.column, static_cast<const S*>(own.delta), own.of_delta);
  subtract_inertia_jacobian(tree, static_cast<const Motion<S>*>(w.frames.column),
                            static_cast<const SpatialInertia<S>*>(w.inertia),
                            static_cast<const SpatialInertia<S>*>(w.composite),
                            static_cast<const Motion<S>*>(own.of_delta), space.rnea,
                            out.state_stride, out.A);
  for_each_scaled_dof(tree, r.p, w.frames, [&](int k, const S& rate) {
    for (int i = 0; i < nv; ++i) out.A[i * out.state_stride + k] *= rate;
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
  gather_diagonal_rows(
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
  const TreeView& tree = r.tree;
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
  const TreeView& tree = r.tree;
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
    gather_spread_rows(
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

// x ← M̂⁻¹ x, for as many vectors as there are lanes.
template <class S, class P>
void solve_wide(const Robot<S, P>& r, const Workspace<S>& w, Wide<S>* x) {
  if (!implicit_free_bodies(r) && !r.bias_slope())
    return solve(r.tree, static_cast<const S*>(w.LD), x);
  const int nv = r.tree.model.nv;
  for (int l = 0; l < kNativeLanes<S>; ++l) {
    for (int k = 0; k < nv; ++k) w.tau[k] = x[k][l];
    solve_inertia(r, w, false, w.tau);
    for (int k = 0; k < nv; ++k) x[k].set(l, w.tau[k]);
  }
}

// h Z of (5).
template <class S, class P>
void inverse_inertia(const Robot<S, P>& r, const Workspace<S>& w, const ConstrainedSpace<S>& own,
                     const ConstrainedJacobianSpace<S>& space) {
  const ConstraintProblem<S>& problem = own.problem;
  const DofBlocks& dofs = *problem.dofs;
  const int nv = r.tree.model.nv;
  const Wide<S> h = r.timestep();
  Wide<S>* const x = space.x;
  for (int first = 0; first < nv; first += kNativeLanes<S>) {
    for (int i = 0; i < dofs.size(); ++i) x[i] = Wide<S>(0);
    for (int k = first; k < std::min(first + kNativeLanes<S>, nv); ++k) {
      x[dofs.place[static_cast<std::size_t>(k)]].set(k - first, S(1));
    }
    solve_blocks(problem.hessian, static_cast<const S*>(own.newton.V), x);
    if (has_slopes(r)) {
      multiply_blocks(problem.mass, static_cast<const S*>(problem.M),
                      static_cast<const Wide<S>*>(x), space.y);
      unpad(dofs, static_cast<const Wide<S>*>(space.y), x);
      solve_wide(r, w, x);
    } else {
      unpad(dofs, static_cast<const Wide<S>*>(x), space.y);
      copy_items<Wide<S>>(space.y, nv, x);
    }
    for (int k = 0; k < nv; ++k) (x[k] * h).store(space.Z + k * space.padded + first);
  }
}

// C rows of Z x + y, for the rows of x that are filled.
template <int C, class S>
CYCLOID_INLINE void multiply_rows(const ConstrainedJacobianSpace<S>& space, int filled, int first,
                                  bool changes, int n, int stride, S* out) {
  Wide<S> sum[C];
  for (int i = 0; i < C; ++i) sum[i] = changes ? space.y[first + i] : Wide<S>(0);
  for (int j = 0; j < filled; ++j) {
    const int k = space.filled[j];
    const Wide<S> own = space.x[k];
    for (int i = 0; i < C; ++i) sum[i] += Wide<S>(space.Z[(first + i) * space.padded + k]) * own;
  }
  for (int i = 0; i < C; ++i) store_some(sum[i], n, out + (first + i) * stride);
}

// (5): out, nv rows of `columns` numbers `out_stride` apart, from padded rows of R and of C, which
// may be null.
template <class S, class P>
void acceleration_rows(const Robot<S, P>& r, const Workspace<S>& w,
                       const ConstrainedJacobianSpace<S>& space, int columns, const S* rows,
                       const S* change, int out_stride, S* out) {
  const int nv = r.tree.model.nv, stride = padded_to_wide<S>(columns);
  const Wide<S> h = r.timestep(), zero = Wide<S>(0);
  for (int c = 0; c < columns; c += kNativeLanes<S>) {
    const int n = std::min(kNativeLanes<S>, columns - c);
    int filled = 0;
    bool changes = false;
    for (int k = 0; k < nv; ++k) {
      Wide<S> own = Wide<S>::load(rows + k * stride + c);
      if (change) {
        space.y[k] = Wide<S>::load(change + k * stride + c);
        own -= space.y[k];
        changes = changes || any(space.y[k] != zero);
      }
      space.x[k] = own;
      if (any(own != zero)) space.filled[filled++] = k;
    }
    if (changes) solve_wide(r, w, space.y);
    for (int k = 0; changes && k < nv; ++k) space.y[k] *= h;
    constexpr int C = 9;
    int k = 0;
    for (; k + C <= nv; k += C) multiply_rows<C>(space, filled, k, changes, n, out_stride, out + c);
    for (; k < nv; ++k) multiply_rows<1>(space, filled, k, changes, n, out_stride, out + c);
  }
}

// A and B of a step of euler or implicitfast under constraints, with its record, in one
// environment. There are no inputs that move mocap bodies.
template <class S, class P>
void constrained_step_jacobian(const Robot<S, P>& r, const S* x, const S* u, const S* record,
                               const Workspace<S>& w, const ConstrainedDynamics<S>& dynamics,
                               const ConstrainedJacobianSpace<S>& space,
                               const StepJacobian<S>& out) {
  const TreeView& tree = r.tree;
  const StepShape n(tree);
  const Instant<S> at{x, x + n.nq, x + n.nq + n.nv, u};
  const ConstrainedSpace<S>& own = dynamics.memory.solver;
  const ConstraintProblem<S>& problem = own.problem;
  const ContactSpace<S>& contacts = dynamics.memory.contacts;
  const RobotRows<S> rows = dynamics.recorded_rows(tree, record);
  const S *a = record, *a_hat = record + dynamics.moved(tree);
  const bool slopes = has_slopes(r);
  const int columns = out.tangent();
  for (int i = 2 * n.nv; i < columns; ++i) {
    set_zero(out.state_row(i), columns);
    set_zero(out.input_row(i), out.inputs);
  }
  const StepJacobian<S> R = space.padded_rows(out, space.state, space.inputs);
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
  motion_jacobian(r, at, w, space.step, a_hat, R);  // (1)
  activation_jacobian(r, at, w, space.step, a_hat, out);
  if (slopes) {
    change_jacobian(r, at, w, own, space.step, a, a_hat,
                    space.padded_rows(out, space.state_change, space.input_change));  // (2)
    move_with(a);
  }
  velocity_field(tree, w.frames.column, a, own.alpha);
  RowInstant<S> rows_at = row_instant(r, at, w);
  rows_at.fields.alpha = own.alpha, rows_at.qacc = a;
  const int groups = problem.groups - contacts.slots;
  add_diagonal_jacobian(r, dynamics.plan, rows_at, dynamics.memory.places, own, space.step, R);
  if (groups > 0) {
    add_spread_jacobian(r, at, dynamics.plan, w, rows_at, dynamics.memory.places, own, groups, R);
  }
  add_contact_jacobian(rows.scene(r, rows_at), contacts, rows_at, problem, groups,
                       static_cast<const S*>(own.newton.r), own.newton.at, space.contacts,
                       R.state_stride, R.A, R.A + n.nv);

  inverse_inertia(r, w, own, space);
  acceleration_rows(r, w, space, columns, R.A, slopes ? space.state_change : nullptr,
                    out.state_stride, out.state_row(n.nv));
  acceleration_rows(r, w, space, out.inputs, R.B, slopes ? space.input_change : nullptr,
                    out.input_stride, out.input_row(n.nv));
  complete_rows(r, at, a_hat, w, out);
}

}  // namespace cycloid::inline rigid
