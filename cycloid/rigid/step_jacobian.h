// The Jacobians A and B of the step (1)-(4) of step.h, without a pullback for each row.
//
// With Φ_k the k-th equation of motion (dynamics.h (4) for μ = e_k), G_k its gradient:
//   M̂ dâ = G dθ                                             (1)  θ = (q, q̇, w, u)
//   dv⁺ = dv + h dâ                                          (2)
//   dq⁺ = Exp(-h ω⁺) dq + J_r(h ω⁺) h dv⁺  per quaternion    (3)  other dofs: dq + h dv⁺
// Where every force acts on the dofs of one joint, G is rnea_jacobian.h and a block per joint: the
// blocks of all joints are found at once, with one μ for each place in a joint. Forces that act on
// bodies (tendons, fluids, applied wrenches) couple dofs; there the sweep runs once for each k.
#pragma once

#include <algorithm>

#include "cycloid/rigid/step.h"
#include "cycloid/rigid/tree/rnea_jacobian.h"

namespace cycloid::inline rigid {

// Memory of a Jacobian, besides the step's.
template <class S>
struct JacobianSpace {
  RneaJacobianSpace<S> rnea;
  S *q_bar, *v_bar, *act_bar, *u_bar, *column, *ones;  // (nv), (nv), (na), (inputs), (nv), (na)

  void carve(const TreeView& tree, int inputs, Arena& arena) {
    const std::size_t bodies = tree.model.bodies.size(),
                      nv = static_cast<std::size_t>(tree.model.nv),
                      na = static_cast<std::size_t>(tree.model.na);
    arena.take(rnea.form, bodies);
    arena.take(rnea.force, bodies);
    arena.take(rnea.psi_dot, nv);
    arena.take(rnea.psi_ddot, nv);
    arena.take(rnea.phi_dot, nv);
    arena.take(q_bar, nv);
    arena.take(v_bar, nv);
    arena.take(act_bar, na);
    arena.take(u_bar, static_cast<std::size_t>(inputs));
    arena.take(column, nv);
    arena.take(ones, na);
  }
};

// A: (tangent, tangent), B: (tangent, inputs), row by row.
template <class S>
struct StepJacobian {
  StepJacobian(int nv_, int na_, int inputs_, S* A_, S* B_)
      : nv(nv_),
        na(na_),
        inputs(inputs_),
        A(A_),
        B(B_),
        state_stride(2 * nv_ + na_),
        input_stride(inputs_) {}

  int nv, na, inputs;
  S *A, *B;
  int state_stride, input_stride;  // from row to row
  int first = 0;                   // of the rows that are there

  int tangent() const { return 2 * nv + na; }
  S* state_row(int i) const { return A + (i - first) * state_stride; }
  S* input_row(int i) const { return B + (i - first) * input_stride; }
};

// Whether every force acts on the dofs of one joint.
template <class S, class P>
bool joints_alone(const Robot<S, P>& r) {
  return !pushes_bodies(r) && !r.tree.limits_compensation && !r.tree.has_adhesion &&
         !implicit_free_bodies(r) && !r.bias_slope() && r.inputs.mocap_pos < 0 &&
         r.inputs.mocap_quat < 0;
}

// The most dofs of a joint that feels forces of its own.
template <class S, class P>
int joint_places(const Robot<S, P>& r) {
  const ModelView& model = r.tree.model;
  const auto feels = [&](std::size_t i) {
    const Joint& j = model.joints[i];
    const auto is_target = [&](const Actuator& a) {
      return static_cast<std::size_t>(a.target) == i;
    };
    bool found = r.inputs.qfrc_applied >= 0 ||
                 may_pull(j.stiffness, r.p[r.tree.joints[i].stiffness]) ||
                 std::any_of(model.actuators.begin(), model.actuators.end(), is_target);
    for (int k = j.dof; k < j.dof + dof_numbers(j.kind); ++k) {
      const std::size_t dof = static_cast<std::size_t>(k);
      found = found || may_pull(model.dofs[dof].damping, r.p[r.tree.damping[dof]]);
    }
    return found;
  };
  int places = 1;
  for (std::size_t i = 0; i < model.joints.size(); ++i) {
    const int n = dof_numbers(model.joints[i].kind);
    if (n > places && feels(i)) places = n;
  }
  return places;
}

// What rows are of: forces and implicit slopes, or the slopes alone.
enum class BlockTerms { all, slopes };

// The rows of the joints' own forces: μ is 1 at place c of every joint that has one.
template <class S, class P>
void gather_joint_blocks(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                         const JacobianSpace<S>& space, const S* qacc, BlockTerms terms,
                         const StepJacobian<S>& out) {
  const ModelView& model = r.tree.model;
  const int nv = out.nv;
  S* const lambda = terms == BlockTerms::all ? w.mu : space.column;
  const int places = joint_places(r);
  for (int c = 0; c < places; ++c) {
    set_zero(w.mu, nv);
    set_zero(lambda, nv);
    for (const Joint& j : model.joints) {
      if (c < dof_numbers(j.kind)) lambda[j.dof + c] = S(1);
    }
    set_zero(space.q_bar, nv);
    set_zero(space.v_bar, nv);
    set_zero(space.act_bar, out.na);
    set_zero(space.u_bar, out.inputs);
    S h_bar(0);
    gather_dof_forces(
        r, x, w, SlopePoint<S>{lambda, w.m, qacc, w.bars.m}, static_cast<const S*>(nullptr),
        static_cast<const S*>(nullptr),
        InstantBars<S>{space.q_bar, space.v_bar, space.act_bar, space.u_bar, nullptr, h_bar});
    for (const Joint& j : model.joints) {
      if (c >= dof_numbers(j.kind)) continue;
      S *row = out.state_row(nv + j.dof + c), *inputs = out.input_row(nv + j.dof + c);
      for (int k = j.dof; k < j.dof + dof_numbers(j.kind); ++k) {
        row[k] += space.q_bar[k];
        row[nv + k] += space.v_bar[k];
        if (r.inputs.qfrc_applied >= 0) {
          inputs[r.inputs.qfrc_applied + k] += space.u_bar[r.inputs.qfrc_applied + k];
        }
      }
    }
    for (const Actuator& a : model.actuators) {
      const Joint& j = model.joints[static_cast<std::size_t>(a.target)];
      if (c >= dof_numbers(j.kind)) continue;
      const int k = nv + j.dof + c;
      for (int i = a.act; i < a.act + activations(a); ++i) {
        out.state_row(k)[2 * nv + i] += space.act_bar[i];
      }
      if (r.inputs.ctrl < 0) continue;
      for (int i = a.control; i < a.control + a.controls; ++i) {
        out.input_row(k)[r.inputs.ctrl + i] += space.u_bar[r.inputs.ctrl + i];
      }
    }
  }
}

// G of (1), into the rows of v⁺.
template <class S, class P>
void motion_jacobian(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                     const JacobianSpace<S>& space, const S* qacc, const StepJacobian<S>& out) {
  const int nv = out.nv;
  if (joints_alone(r)) {
    S* rows = out.state_row(nv);
    subtract_rnea_jacobian(r.tree, static_cast<const Motion<S>*>(w.frames.column),
                           static_cast<const SpatialInertia<S>*>(w.inertia), w.composite,
                           static_cast<const Motion<S>*>(w.v), w.a, space.rnea, out.state_stride,
                           rows, rows + nv);
    for_each_scaled_dof(r.tree, r.p, w.frames, [&](int dof, const S& rate) {
      for (int k = 0; k < nv; ++k) rows[k * out.state_stride + dof] *= rate;
    });
    gather_joint_blocks(r, x, w, space, qacc, BlockTerms::all, out);
    return;
  }
  for (int k = 0; k < nv; ++k) {
    set_zero(w.mu, nv);
    w.mu[k] = S(1);
    S h_bar(0), *row = out.state_row(nv + k);
    gather_motion(
        r, x, w, qacc, static_cast<const S*>(nullptr), static_cast<const S*>(nullptr),
        InstantBars<S>{row, row + nv, row + 2 * nv, out.input_row(nv + k), nullptr, h_bar});
  }
}

// The rows of a motor's next activations, one by one: they depend on length and rate.
template <class S, class P>
void motor_jacobian(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                    const JacobianSpace<S>& space, const S* qacc, const StepJacobian<S>& out) {
  const int nv = out.nv;
  for (int i = 0; i < out.na; ++i) space.ones[i] = S(0);
  for (const Actuator& a : r.tree.model.actuators) {
    if (a.law == ActuatorLaw::gain_and_bias) continue;
    for (int i = a.act; i < a.act + activations(a); ++i) {
      S h_bar(0), *row = out.state_row(2 * nv + i), *inputs = out.input_row(2 * nv + i);
      set_zero(row, 2 * nv + out.na);
      set_zero(inputs, out.inputs);
      space.ones[i] = S(1);
      gather_motion(r, x, w, qacc, static_cast<const S*>(nullptr),
                    static_cast<const S*>(space.ones),
                    InstantBars<S>{row, row + nv, row + 2 * nv, inputs, nullptr, h_bar});
      space.ones[i] = S(0);
    }
  }
}

// The rows of the next activations, which depend on activation and control alone.
template <class S, class P>
void activation_jacobian(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                         const JacobianSpace<S>& space, const S* qacc, const StepJacobian<S>& out) {
  if (out.na == 0) return;
  set_zero(w.mu, out.nv);
  velocity_field(r.tree, w.frames.column, static_cast<const S*>(w.mu), w.m);  // no force counts
  set_zero(space.q_bar, out.nv);
  set_zero(space.v_bar, out.nv);
  set_zero(space.act_bar, out.na);
  set_zero(space.u_bar, out.inputs);
  for (int i = 0; i < out.na; ++i) space.ones[i] = S(1);
  for (int k = 0; k < out.nv; ++k) w.slope_bar[k] = S(0);
  S h_bar(0);
  gather_actuation(
      r, x, w, SlopePoint<S>{w.mu, w.m, qacc, w.bars.m}, static_cast<const S*>(nullptr),
      static_cast<const S*>(space.ones),
      InstantBars<S>{space.q_bar, space.v_bar, space.act_bar, space.u_bar, nullptr, h_bar});
  for (const Actuator& a : r.tree.model.actuators) {
    if (a.act < 0 || a.law != ActuatorLaw::gain_and_bias) continue;
    const int row = 2 * out.nv + a.act;
    out.state_row(row)[row] = space.act_bar[a.act];
    if (r.inputs.ctrl >= 0) {
      out.input_row(row)[r.inputs.ctrl + a.control] = space.u_bar[r.inputs.ctrl + a.control];
    }
  }
  motor_jacobian(r, x, w, space, qacc, out);
}

// Rows k … k+n-1 become h J times those of v⁺, of `columns` numbers each.
template <class S>
void turn_rows(const S& h, const Mat3<S>& J, int nv, int k, int n, int columns, S* rows) {
  for (int i = 0; i < n; ++i) {
    for (int c = 0; c < columns; ++c) {
      S sum(0);
      for (int j = 0; j < n; ++j) sum += J(i, j) * rows[(nv + k + j) * columns + c];
      rows[(k + i) * columns + c] = h * sum;
    }
  }
}

// Exp(-φ) and J_r(φ), from their transposes' rows.
template <class S>
void turn_matrices(const Vec3<S>& phi, Mat3<S>& E, Mat3<S>& J) {
  for (int c = 0; c < 3; ++c) {
    Vec3<S> unit{}, own{}, moved{};
    unit[c] = S(1);
    retract_tangent_pullback(Quat<S>{}, phi, unit, own, moved);
    for (int i = 0; i < 3; ++i) E(c, i) = own[i], J(c, i) = moved[i];
  }
}

// (3): the rows of q⁺ from those of v⁺. v_next: (nv).
template <class S>
void position_rows(const TreeView& tree, const S& h, const S* v_next, const StepJacobian<S>& out) {
  const auto combine = [&](int n, int k, const Mat3<S>& J) {
    turn_rows(h, J, out.nv, k, n, out.tangent(), out.A);
    turn_rows(h, J, out.nv, k, n, out.inputs, out.B);
  };
  for (const Joint& j : tree.model.joints) {
    visit_joint(
        j,
        [&](int, int dof, int n) {
          for (int k = dof; k < dof + n; ++k) {
            combine(1, k, identity_matrix<S, 3>());
            out.state_row(k)[k] += S(1);
          }
        },
        [&](int, int k) {
          Mat3<S> E{}, J{};
          turn_matrices(load_vec3(v_next + k) * h, E, J);
          combine(3, k, J);
          for (int i = 0; i < 3; ++i) {
            for (int c = 0; c < 3; ++c) out.state_row(k + i)[k + c] += E(i, c);
          }
        });
  }
}

// (1): h M̂⁻¹ times nv rows of `columns` numbers, in place.
template <class S, class P>
void accelerations_jacobian(const Robot<S, P>& r, const Workspace<S>& w,
                            const JacobianSpace<S>& space, int columns, S* rows) {
  const int nv = r.tree.model.nv;
  constexpr int kTogether = 4;
  const bool symmetric = !implicit_free_bodies(r) && !r.bias_slope();
  int c = 0;
  for (; c + kTogether <= columns && symmetric; c += kTogether) {
    solve_columns<kTogether>(r.tree, static_cast<const S*>(w.LD), columns, rows + c);
  }
  for (; c < columns; ++c) {
    for (int k = 0; k < nv; ++k) space.column[k] = rows[k * columns + c];
    solve_inertia(r, w, false, space.column);
    for (int k = 0; k < nv; ++k) rows[k * columns + c] = space.column[k];
  }
  const S h = r.timestep();
  for (int i = 0; i < nv * columns; ++i) rows[i] *= h;
}

// (2) and (3), where the rows of v⁺ hold those of h q̂. qacc: q̂.
template <class S, class P>
void complete_rows(const Robot<S, P>& r, const Instant<S>& x, const S* qacc, const Workspace<S>& w,
                   const StepJacobian<S>& out) {
  const S h = r.timestep();
  for (int k = 0; k < out.nv; ++k) {
    out.state_row(out.nv + k)[out.nv + k] += S(1);  // (2)
    w.tau[k] = x.qvel[k] + h * qacc[k];
  }
  position_rows(r.tree, h, static_cast<const S*>(w.tau), out);
}

// A and B of a step of euler or implicitfast, with its record.
template <class S, class P>
void euler_step_jacobian(const Robot<S, P>& r, const S* x, const S* u, const S* record,
                         const Workspace<S>& w, const JacobianSpace<S>& space,
                         const StepJacobian<S>& out) {
  const StepShape n(r.tree);
  const Instant<S> at{x, x + n.nq, x + n.nq + n.nv, u};
  set_zero(out.A, out.tangent() * out.tangent());
  set_zero(out.B, out.tangent() * out.inputs);
  place_and_factor(r, at, w, record);
  motion_jacobian(r, at, w, space, record, out);
  activation_jacobian(r, at, w, space, record, out);
  accelerations_jacobian(r, w, space, out.tangent(), out.state_row(n.nv));
  accelerations_jacobian(r, w, space, out.inputs, out.input_row(n.nv));
  complete_rows(r, at, record, w, out);
}

}  // namespace cycloid::inline rigid
