// Events of a law: functions of the state whose passage through zero resets the state or ends the
// run.
//
//   static constexpr std::array kEvents = {
//       EventSpec{"impact", EventDirection::falling, EventEffect::reset}};
//   events(t, x, u, p, g)                                                  (1)  g: a number each
//   events_pullback(t, x, u, p, g_bar, t_bar, x_bar, u_bar, p_bar)         (2)  optional; adds
//   reset(event, t, x, u, p, x_next)                                       (3)  where one resets
//   reset_pullback(event, t, x, u, p, x_next_bar, t_bar, x_bar, u_bar, p_bar)  (4)  optional
// Event j happens when g_j passes through zero in its direction. `reset` then gives the state from
// which the motion goes on. Without (2) and (4) the pullbacks come from dual numbers, as that of
// x_dot does (law.h). A law with events lives in a flat space. How a step meets events:
// event_walk.h; the mathematics: docs/events.md.
#pragma once

#include "cycloid/system/event/event_spec.h"
#include "cycloid/system/law/law_point.h"

namespace cycloid::inline system {

template <class Law>
concept HasEvents = requires { Law::kEvents; };

template <class Law>
concept HasEventsPullback = requires(const Law& law, const double* c, double& r, double* m) {
  law.events_pullback(0.0, c, c, c, c, r, m, m, m);
};
template <class Law>
concept HasResetPullback = requires(const Law& law, const double* c, double& r, double* m) {
  law.reset_pullback(0, 0.0, c, c, c, c, r, m, m, m);
};

template <class Law>
constexpr int event_count() {
  if constexpr (HasEvents<Law>) return static_cast<int>(Law::kEvents.size());
  return 0;
}

template <class Law>
constexpr bool has_resets() {
  for (const EventSpec& e : Law::kEvents) {
    if (e.effect == EventEffect::reset) return true;
  }
  return false;
}

template <class Law>
std::vector<EventSpec> event_specs(const Law&) {
  if constexpr (HasEvents<Law>) return {Law::kEvents.begin(), Law::kEvents.end()};
  return {};
}

// (1)
template <class Law, class S>
CYCLOID_INLINE void law_events(const LawPoint<Law, S>& at, const S& t, const S* x, S* g) {
  at.law.events(t, x, at.u, at.p, g);
}

template <class Law, class S>
CYCLOID_INLINE void law_events_pullback(const LawPoint<Law, S>& at, const S& t, const S* x,
                                        const S* g_bar, S& t_bar, S* x_bar, S* u_bar, S* p_bar) {
  if constexpr (HasEventsPullback<Law>) {
    at.law.events_pullback(t, x, at.u, at.p, g_bar, t_bar, x_bar, u_bar, p_bar);
  } else {
    pull_back_by_duals<event_count<Law>()>(
        at, t, x, g_bar, t_bar, x_bar, u_bar, p_bar,
        [&](const auto& td, const auto* xd, const auto* ud, const auto* pd, auto* g) {
          at.law.events(td, xd, ud, pd, g);
        },
        event_count<Law>());
  }
}

// (1) and its rate along the motion: g_dot = g_x f + g_t, where f = x_dot(t, x).
template <class Law, class S>
CYCLOID_INLINE void law_events_rate(const LawPoint<Law, S>& at, const S& t, const S* x, const S* f,
                                    S* g, S* g_dot) {
  using D = Dual<S, 1>;
  using Shape = LawShape<Law>;
  Scratch scratch = at.scratch;
  LocalArray<D, Shape::kStates> xd(scratch, at.shape.states);
  LocalArray<D, Shape::kInputs> ud(scratch, at.shape.inputs);
  LocalArray<D, Shape::kParameters> pd(scratch, at.shape.parameters);
  for (int i = 0; i < at.shape.states; ++i) {
    xd[i] = D(x[i]);
    xd[i].tangent[0] = f[i];
  }
  for (int i = 0; i < at.shape.inputs; ++i) ud[i] = D(at.u[i]);
  for (int i = 0; i < at.shape.parameters; ++i) pd[i] = D(at.p[i]);
  D out[event_count<Law>()];
  at.law.events(D::variable(t, 0), xd.data(), ud.data(), pd.data(), out);
  for (int j = 0; j < event_count<Law>(); ++j) {
    g[j] = out[j].value;
    g_dot[j] = out[j].tangent[0];
  }
}

// (3)
template <class Law, class S>
CYCLOID_INLINE void law_reset(const LawPoint<Law, S>& at, int event, const S& t, const S* x,
                              S* x_next) {
  at.law.reset(event, t, x, at.u, at.p, x_next);
}

template <class Law, class S>
CYCLOID_INLINE void law_reset_pullback(const LawPoint<Law, S>& at, int event, const S& t,
                                       const S* x, const S* x_next_bar, S& t_bar, S* x_bar,
                                       S* u_bar, S* p_bar) {
  if constexpr (HasResetPullback<Law>) {
    at.law.reset_pullback(event, t, x, at.u, at.p, x_next_bar, t_bar, x_bar, u_bar, p_bar);
  } else {
    pull_back_by_duals(
        at, t, x, x_next_bar, t_bar, x_bar, u_bar, p_bar,
        [&](const auto& td, const auto* xd, const auto* ud, const auto* pd, auto* out) {
          at.law.reset(event, td, xd, ud, pd, out);
        },
        at.shape.states);
  }
}

}  // namespace cycloid::inline system
