// Where events may be: lanes, and substeps of an adaptive integrator, that are worth a closer look.
//
// Between the ends of a step, where the rates are f and f⁺, the dense output is Hermite's cubic:
//   x_½ = (x + x⁺)/2 + h (f - f⁺)/8              (1)
//   ẋ_½ = 3 (x⁺ - x)/(2 h) - (f + f⁺)/4          (2)
#pragma once

#include "cycloid/system/event/event.h"
#include "cycloid/system/integrator/scheme.h"
#include "cycloid/system/lane_sums.h"

namespace cycloid::inline system {

// Whether an integrator divides its step into substeps (adaptive.h).
template <class Scheme>
constexpr bool divides_steps() {
  return requires { Scheme::kAdaptive; };
}

// Takes the step `at`, and calls visit(sub, since, before, after, taken) for each of its substeps:
// its point, how long after the step's beginning it begins, the states at its ends, and the lanes
// that took it. Without substeps, the step is the only one.
template <class Scheme, class Law, class S, class Visit>
void step_through(const Scheme& scheme, const LawPoint<Law, S>& at, const S* x, S* x_next,
                  S* record, Visit&& visit) {
  if constexpr (divides_steps<Scheme>()) {
    scheme.run(at, x, x_next, record, [&](const auto& lanes) {
      LawPoint<Law, S> sub = lanes.at;
      const S since = max(lanes.elapsed - lanes.h_taken, S(0));
      sub.t = lanes.at.t + since;
      sub.h = lanes.h_taken;
      visit(sub, since, lanes.x_before, lanes.x, lanes.accepted);
    });
  } else {
    scheme.step(at, x, x_next, record);
    visit(at, S(0), x, x_next, Mask<S>(true));
  }
}

// Lanes in which an event may happen between x and x_next, the ends of the step `at`: g is small at
// its beginning, against what it is later (more than rounding, event_stretch.h), changes its sign,
// or bends towards zero between two of the three places where it is looked at, so that its tangents
// there meet beyond; or something is not finite.
template <class Law, class S>
auto lanes_with_events(const LawPoint<Law, S>& at, const S* x, const S* x_next) {
  constexpr int n_events = event_count<Law>();
  const int n = at.shape.states;
  LawPoint<Law, S> here = at;
  LocalArray<S, LawShape<Law>::kStates> f0(here.scratch, n), f1(here.scratch, n),
      middle(here.scratch, n), f_middle(here.scratch, n);
  LocalArray<S, LawShape<Law>::saved> saved(here.scratch, at.shape.saved);
  law_x_dot(here, at.t, x, f0.data(), saved.data());
  law_x_dot(here, at.t + at.h, x_next, f1.data(), saved.data());
  auto near = !finite_lanes(x_next[0]);
  for (int i = 0; i < n; ++i) {
    near = near | !finite_lanes(x_next[i]);
    middle[i] = S(0.5) * (x[i] + x_next[i]) + S(0.125) * at.h * (f0[i] - f1[i]);   // (1)
    f_middle[i] = S(1.5) * (x_next[i] - x[i]) / at.h - S(0.25) * (f0[i] + f1[i]);  // (2)
  }
  const S half = S(0.5) * at.h;
  S g[3][n_events], slope[3][n_events];
  law_events_rate(here, at.t, x, f0.data(), g[0], slope[0]);
  law_events_rate(here, at.t + half, middle.data(), f_middle.data(), g[1], slope[1]);
  law_events_rate(here, at.t + at.h, x_next, f1.data(), g[2], slope[2]);
  for (int j = 0; j < n_events; ++j) {
    near = near | !(S(16) * abs(g[0][j]) > max(abs(g[1][j]), abs(g[2][j])));
    for (int i = 0; i < 2; ++i) {
      const S a = g[i][j], b = g[i + 1][j], a_dot = slope[i][j], b_dot = slope[i + 1][j];
      const S meet = (b - a - b_dot * half) / (a_dot - b_dot);
      near = near | !(a * b > S(0)) |
             ((a * a_dot < S(0)) & (a * b_dot > S(0)) & (a * (a + a_dot * meet) <= S(0)));
    }
  }
  return near;
}

}  // namespace cycloid::inline system
