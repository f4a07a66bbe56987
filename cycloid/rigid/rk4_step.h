// The Runge–Kutta step of step.h, (5)-(7), and its pullback.
//
// Record: for each stage a_i and ẇ_i. Stage states and k_i are made again.
#pragma once

#include "cycloid/rigid/step.h"

namespace cycloid::inline rigid {

// A and W of stage i; functions, since a device reaches no table of the host's.
constexpr double stage_A(int i) { return i == 0 ? 0.0 : i == 3 ? 1.0 : 0.5; }
constexpr double stage_W(int i) { return i == 0 || i == 3 ? 1.0 / 6 : 1.0 / 3; }

// Numbers of a stage's record: that of the dynamics, then ẇ.
template <class Dynamics = SmoothDynamics>
CYCLOID_HD int rk4_record_per_stage(const TreeView& tree, const Dynamics& dynamics = Dynamics()) {
  return dynamics.record_numbers(tree) + tree.model.na;
}

// k = J_r⁻¹(d) v on quaternions, v elsewhere.
template <class S>
CYCLOID_HD void chart_velocity(const TreeView& tree, const S* d, const S* v, S* k) {
  for (const Joint& j : tree.model.joints) {
    visit_joint(
        j,
        [&](int, int dof, int n) {
          for (int i = dof; i < dof + n; ++i) k[i] = v[i];
        },
        [&](int, int i) {
          store(k + i, right_jacobian_inverse_apply(load_vec3(d + i), load_vec3(v + i)));
        });
  }
}

template <class S>
CYCLOID_HD void chart_velocity_pullback(const TreeView& tree, const S* d, const S* v,
                                        const S* k_bar, S* d_bar, S* v_bar) {
  for (const Joint& j : tree.model.joints) {
    visit_joint(
        j,
        [&](int, int dof, int n) {
          for (int i = dof; i < dof + n; ++i) v_bar[i] += k_bar[i];
        },
        [&](int, int i) {
          Vec3<S> own_d{}, own_v{};
          right_jacobian_inverse_apply_pullback(load_vec3(d + i), load_vec3(v + i),
                                                load_vec3(k_bar + i), own_d, own_v);
          add_to(d_bar + i, own_d);
          add_to(v_bar + i, own_v);
        });
  }
}

// The arrays of the four stages within the workspace, and where a stage's record has a and ẇ.
template <class S>
struct Rk4Stages {
  S *d, *state, *k, *k_bar, *a_bar, *w_bar, *d_bar;
  int stride, a, act_dot;

  template <class Dynamics>
  CYCLOID_HD Rk4Stages(const TreeView& tree, const Workspace<S>& w, const StepShape& n,
                       const Dynamics& dynamics)
      : d(w.stage_rate),
        state(w.stage_state),
        k(d + n.nv),
        k_bar(k + 4 * n.nv),
        a_bar(k_bar + 4 * n.nv),
        w_bar(a_bar + 4 * n.nv),
        d_bar(w_bar + 4 * n.na),
        stride(rk4_record_per_stage(tree, dynamics)),
        a(dynamics.moved(tree)),
        act_dot(dynamics.record_numbers(tree)) {}
};

// (5): the state of stage i, and its displacement d, from k and the records of the stage before.
template <class S, class P>
CYCLOID_HD void rk4_stage_state(const Robot<S, P>& r, const S* x, int i, const S* record,
                                const Rk4Stages<S>& s) {
  const StepShape n(r.tree);
  const S a_h = number<S>(stage_A(i)) * r.timestep();
  const S* before = record + (i - 1) * s.stride;
  const S* k = s.k + (i - 1) * n.nv;
  S *v = s.state + n.nq, *act = v + n.nv;
  for (int j = 0; j < n.nv; ++j) s.d[j] = i == 0 ? S(0) : a_h * k[j];
  if (i == 0) {
    for (int j = 0; j < n.nq + n.nv + n.na; ++j) s.state[j] = x[j];
  } else {
    retract_qpos(r.tree, x, static_cast<const S*>(s.d), s.state);
    for (int j = 0; j < n.nv; ++j) v[j] = x[n.nq + j] + a_h * before[s.a + j];
    const S* act_dot = before + s.act_dot;
    for (int j = 0; j < n.na; ++j) act[j] = x[n.nq + n.nv + j] + a_h * act_dot[j];
  }
  chart_velocity(r.tree, static_cast<const S*>(s.d), static_cast<const S*>(v), s.k + i * n.nv);
}

// visit(place in act) for the bristles of motors, which the first stage alone moves, all the way.
template <class Visit>
CYCLOID_HD void for_each_first_stage_state(const TreeView& tree, Visit visit) {
  if (!tree.has_bristles) return;
  for (const Actuator& a : tree.model.actuators) {
    if (!is_motor(a)) continue;
    for_each_activation(a, [&](int j, int state) {
      if (state == kBristle) visit(j);
    });
  }
}

template <class S, class P, class Dynamics = SmoothDynamics>
CYCLOID_HD void rk4_step(const Robot<S, P>& r, const S* x, const S* u, const Workspace<S>& w,
                         S* x_next, S* record, const Dynamics& dynamics = Dynamics()) {
  const StepShape n(r.tree);
  const Rk4Stages<S> s(r.tree, w, n, dynamics);
  const int stride = s.stride;
  const S h = r.timestep();
  S *v_next = x_next + n.nq, *act_next = v_next + n.nv;
  for (int i = 0; i < 4; ++i) {
    rk4_stage_state(r, x, i, record, s);  // (5)
    S* own = record + i * stride;
    dynamics.accelerate(r, Instant<S>{s.state, s.state + n.nq, s.state + n.nq + n.nv, u}, w,
                        own);  // (6)
    for (int j = 0; j < n.na; ++j) own[s.act_dot + j] = w.act_dot[j];
    if (i > 0) continue;
    for_each_first_stage_state(r.tree, [&](int j) { act_next[j] = w.act_next[j]; });
  }
  const auto mean = [&](const S* values, int step, int j) {
    return number<S>(stage_W(0)) * values[j] + number<S>(stage_W(1)) * values[step + j] +
           number<S>(stage_W(2)) * values[2 * step + j] +
           number<S>(stage_W(3)) * values[3 * step + j];
  };
  for (int j = 0; j < n.nv; ++j) {  // (7)
    s.d[j] = h * mean(s.k, n.nv, j);
    v_next[j] = x[n.nq + j] + h * mean(record + s.a, stride, j);
  }
  retract_qpos(r.tree, x, static_cast<const S*>(s.d), x_next);
  for (std::size_t i = 0; i < r.tree.model.actuators.size(); ++i) {
    const Actuator& a = r.tree.model.actuators[i];
    for_each_activation(a, [&](int j, int state) {
      if (is_motor(a) && state == kBristle) return;
      const S &act = x[n.nq + n.nv + j], rate = mean(record + s.act_dot, stride, j);
      act_next[j] = is_motor(a) ? motor_state_step(r.tree, r.p, i, state, h, act, rate)
                                : activation_step(r.tree, r.p, i, h, act, rate);
    });
  }
}

template <class S, class P, class Dynamics = SmoothDynamics>
CYCLOID_HD void rk4_step_pullback(const Robot<S, P>& r, const S* x, const S* u, const S* record,
                                  const Workspace<S>& w, const S* x_next_bar, S* x_bar, S* u_bar,
                                  S* p_bar, S& h_bar, const Dynamics& dynamics = Dynamics()) {
  const StepShape n(r.tree);
  const Rk4Stages<S> s(r.tree, w, n, dynamics);
  const int stride = s.stride;
  const S h = r.timestep();
  S *v_bar = x_bar + n.nv, *act_bar = x_bar + 2 * n.nv;
  for (int i = 0; i < 4; ++i) rk4_stage_state(r, x, i, record, s);  // every k_i

  // (7)
  S* sum = s.state;
  for (int j = 0; j < n.nv; ++j) {
    sum[j] = S(0);
    for (int i = 0; i < 4; ++i) sum[j] += number<S>(stage_W(i)) * s.k[i * n.nv + j];
    s.d[j] = h * sum[j];
    s.d_bar[j] = S(0);
  }
  retract_qpos_pullback(r.tree, x, static_cast<const S*>(s.d), x_next_bar, x_bar, s.d_bar);
  for (int j = 0; j < n.nv; ++j) {
    const S g = x_next_bar[n.nv + j];
    S acceleration(0);
    for (int i = 0; i < 4; ++i) {
      const S weight = number<S>(stage_W(i)) * h;
      acceleration += number<S>(stage_W(i)) * record[i * stride + s.a + j];
      s.k_bar[i * n.nv + j] = weight * s.d_bar[j];
      s.a_bar[i * n.nv + j] = weight * g;
    }
    v_bar[j] += g;
    h_bar += s.d_bar[j] * sum[j] + g * acceleration;
  }
  for (std::size_t a = 0; a < r.tree.model.actuators.size(); ++a) {
    for_each_activation(r.tree.model.actuators[a], [&](int j, int state) {
      const bool first = is_motor(r.tree.model.actuators[a]) && state == kBristle;
      if (first) {
        for (int i = 0; i < 4; ++i) s.w_bar[i * n.na + j] = S(0);
        return;
      }
      S rate(0), rate_bar(0);
      for (int i = 0; i < 4; ++i) {
        rate += number<S>(stage_W(i)) * record[i * stride + s.act_dot + j];
      }
      const S &act = x[n.nq + n.nv + j], &next_bar = x_next_bar[2 * n.nv + j];
      if (is_motor(r.tree.model.actuators[a])) {
        motor_state_step_pullback(r.tree, r.p, a, state, h, act, rate, next_bar, act_bar[j],
                                  rate_bar, h_bar, p_bar);
      } else {
        activation_step_pullback(r.tree, r.p, a, h, act, rate, next_bar, act_bar[j], rate_bar,
                                 h_bar, p_bar);
      }
      for (int i = 0; i < 4; ++i) s.w_bar[i * n.na + j] = number<S>(stage_W(i)) * rate_bar;
    });
  }

  for (int i = 3; i >= 0; --i) {
    rk4_stage_state(r, x, i, record, s);
    const S *own = record + i * stride, *v = s.state + n.nq;
    for (int j = 0; j < n.nv; ++j) {
      w.q_bar[j] = w.v_bar[j] = s.d_bar[j] = S(0);
      w.mu[j] = s.a_bar[i * n.nv + j];
    }
    for (int j = 0; j < n.na; ++j) w.act_bar[j] = S(0);
    chart_velocity_pullback(r.tree, static_cast<const S*>(s.d), v,
                            static_cast<const S*>(s.k_bar + i * n.nv), s.d_bar, w.v_bar);
    S* next_bar = nullptr;
    if (i == 0 && r.tree.has_bristles) {
      next_bar = s.w_bar + 3 * n.na;  // whose own have been used
      set_zero(next_bar, n.na);
      for_each_first_stage_state(r.tree, [&](int j) { next_bar[j] = x_next_bar[2 * n.nv + j]; });
    }
    dynamics.pullback(r, Instant<S>{s.state, v, v + n.nv, u}, w, own,
                      static_cast<const S*>(s.w_bar + i * n.na), static_cast<const S*>(next_bar),
                      InstantBars<S>{w.q_bar, w.v_bar, w.act_bar, u_bar, p_bar, h_bar});  // (6)
    // (5)
    if (i == 0) {
      for (int j = 0; j < n.nv; ++j) x_bar[j] += w.q_bar[j];
    } else {
      retract_qpos_pullback(r.tree, x, static_cast<const S*>(s.d), static_cast<const S*>(w.q_bar),
                            x_bar, s.d_bar);
    }
    for (int j = 0; j < n.nv; ++j) v_bar[j] += w.v_bar[j];
    for (int j = 0; j < n.na; ++j) act_bar[j] += w.act_bar[j];
    if (i == 0) break;
    const S a = number<S>(stage_A(i)), a_h = a * h;
    const S* before = record + (i - 1) * stride;
    for (int j = 0; j < n.nv; ++j) {
      s.k_bar[(i - 1) * n.nv + j] += a_h * s.d_bar[j];
      s.a_bar[(i - 1) * n.nv + j] += a_h * w.v_bar[j];
      h_bar += a * (s.d_bar[j] * s.k[(i - 1) * n.nv + j] + w.v_bar[j] * before[s.a + j]);
    }
    for (int j = 0; j < n.na; ++j) {
      s.w_bar[(i - 1) * n.na + j] += a_h * w.act_bar[j];
      h_bar += a * w.act_bar[j] * before[s.act_dot + j];
    }
  }
}

}  // namespace cycloid::inline rigid
