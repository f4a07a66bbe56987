// One time step of a robot, and its pullback: the table of contents.
//
// euler, implicitfast:
//   (M + h B) â = τ - c (+ Jᵀ f)                       (1)  dynamics.h, constrained_instant.h
//   v⁺ = v + h â                                       (2)
//   q⁺ = q ⊕ h v⁺                                      (3)  quaternions: q ⊗ exp(h ω⁺)
//   w⁺ = the next activation                           (4)  actuator.h
// rk4, stages i = 1…4, A = (0, ½, ½, 1), W = (1, 2, 2, 1)/6 (Runge–Kutta–Munthe-Kaas):
//   d_i = h A_i k_{i-1},  q_i = q ⊕ d_i,  v_i = v + h A_i a_{i-1},  w_i = w + h A_i ẇ_{i-1}   (5)
//   M a_i = τ - c at (q_i, v_i, w_i),   k_i = J_r⁻¹(d_i) v_i                              (6)
//   q⁺ = q ⊕ h Σ W_i k_i,  v⁺ = v + h Σ W_i a_i,  w⁺ from Σ W_i ẇ_i as in (4)               (7)
// These are MuJoCo 4.0's integrators. The record keeps the accelerations. The factor of a solve is
// made again on the way back: that is cheaper than carrying it through memory.
//
// Dynamics says how (1) and (6) come about: SmoothDynamics here, or ConstrainedDynamics.
#pragma once

#include "cycloid/rigid/dynamics.h"

namespace cycloid::inline rigid {

// q ⊕ d, joint by joint. Quaternions are made unit again, which changes nothing but rounding.
template <class S>
CYCLOID_HD void retract_qpos(const TreeView& tree, const S* qpos, const S* d, S* out) {
  for (const Joint& j : tree.model.joints) {
    visit_joint(
        j,
        [&](int q, int k, int n) {
          for (int i = 0; i < n; ++i) out[q + i] = qpos[q + i] + d[k + i];
        },
        [&](int q, int k) {
          store(out + q, renormalise(retract(load_quat(qpos + q), load_vec3(d + k))));
        });
  }
}

// out_bar, q_bar, d_bar: (nv) tangents. Adds.
template <class S>
CYCLOID_HD void retract_qpos_pullback(const TreeView& tree, const S* qpos, const S* d,
                                      const S* out_bar, S* q_bar, S* d_bar) {
  for (const Joint& j : tree.model.joints) {
    visit_joint(
        j,
        [&](int, int k, int n) {
          for (int i = k; i < k + n; ++i) q_bar[i] += out_bar[i], d_bar[i] += out_bar[i];
        },
        [&](int q, int k) {
          Vec3<S> own{}, moved{};
          retract_tangent_pullback(load_quat(qpos + q), load_vec3(d + k), load_vec3(out_bar + k),
                                   own, moved);
          add_to(q_bar + k, own);
          add_to(d_bar + k, moved);
        });
  }
}

// The places of a state row.
struct StepShape {
  int nq, nv, na;
  CYCLOID_HD explicit StepShape(const TreeView& t)
      : nq(t.model.nq), nv(t.model.nv), na(t.model.na) {}
};

// A robot without constraints: its record is q̈.
struct SmoothDynamics {
  bool again = false;  // the workspace has been through a pullback of this instant

  CYCLOID_HD int record_numbers(const TreeView& tree) const { return tree.model.nv; }
  // Where the record holds what changes the velocity.
  CYCLOID_HD int moved(const TreeView&) const { return 0; }

  template <class S, class P>
  CYCLOID_HD void accelerate(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                             S* record) const {
    smooth_acceleration(r, x, w, record);
  }
  template <class S, class P>
  CYCLOID_HD void pullback(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                           const S* record, const S* act_dot_bar, const S* act_next_bar,
                           const InstantBars<S>& bar) const {
    smooth_acceleration_pullback(r, x, w, record, act_dot_bar, act_next_bar, bar, again);
  }
};

template <class S, class P, class Dynamics = SmoothDynamics>
CYCLOID_HD void euler_step(const Robot<S, P>& r, const S* x, const S* u, const Workspace<S>& w,
                           S* x_next, S* record, const Dynamics& dynamics = Dynamics()) {
  const StepShape n(r.tree);
  const Instant<S> at{x, x + n.nq, x + n.nq + n.nv, u};
  const S h = r.timestep();
  dynamics.accelerate(r, at, w, record);  // (1)
  const S* qacc = record + dynamics.moved(r.tree);
  S *v_next = x_next + n.nq, *d = w.tau;
  for (int k = 0; k < n.nv; ++k) {
    v_next[k] = at.qvel[k] + h * qacc[k];  // (2)
    d[k] = h * v_next[k];
  }
  retract_qpos(r.tree, x, static_cast<const S*>(d), x_next);               // (3)
  for (int i = 0; i < n.na; ++i) x_next[n.nq + n.nv + i] = w.act_next[i];  // (4)
}

// x_next_bar and x_bar: (2 nv + na). Adds to x_bar, u_bar, h_bar, and to p_bar unless it is null.
template <class S, class P, class Dynamics = SmoothDynamics>
CYCLOID_HD void euler_step_pullback(const Robot<S, P>& r, const S* x, const S* u, const S* record,
                                    const Workspace<S>& w, const S* x_next_bar, S* x_bar, S* u_bar,
                                    S* p_bar, S& h_bar, const Dynamics& dynamics = Dynamics()) {
  const StepShape n(r.tree);
  const Instant<S> at{x, x + n.nq, x + n.nq + n.nv, u};
  const S h = r.timestep();
  const S* qacc = record + dynamics.moved(r.tree);
  S *v_next = w.stage_state, *d = w.tau, *d_bar = w.v_bar;
  for (int k = 0; k < n.nv; ++k) {
    v_next[k] = at.qvel[k] + h * qacc[k];
    d[k] = h * v_next[k];
    d_bar[k] = S(0);
  }
  retract_qpos_pullback(r.tree, x, static_cast<const S*>(d), x_next_bar, x_bar, d_bar);  // (3)
  for (int k = 0; k < n.nv; ++k) {
    const S g = x_next_bar[n.nv + k] + h * d_bar[k];
    h_bar += d_bar[k] * v_next[k] + g * qacc[k];  // (2)
    x_bar[n.nv + k] += g;
    w.mu[k] = h * g;
  }
  dynamics.pullback(  // (1), (4)
      r, at, w, record, static_cast<const S*>(nullptr), x_next_bar + 2 * n.nv,
      InstantBars<S>{x_bar, x_bar + n.nv, x_bar + 2 * n.nv, u_bar, p_bar, h_bar});
}

}  // namespace cycloid::inline rigid
