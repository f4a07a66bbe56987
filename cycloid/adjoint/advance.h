// advance: many environments a few steps ahead under inputs that are held, with what is observed
// there. Nothing is kept for a gradient: this is for environments of learners.
//
//   const Observer observer(robot, {{"qpos", "xpos:torso"}});
//   const Advanced<float> next = advance(robot, x, u, 5, {}, {}, &observer);
//   next.states, next.values
//
// Rows as in rollout.h; u has one input for each row, or none for zeros. A chunk goes through all
// its steps and is observed while it is in cache. An environment that fails stands still at its
// last finite state, is observed there, and is in the report.
#pragma once

#include <span>
#include <vector>

#include "cycloid/adjoint/observe.h"
#include "cycloid/adjoint/report.h"

namespace cycloid::inline adjoint {

struct AdvanceOptions {
  int threads = 0;  // 0: as many as the machine offers
  double t0 = 0;    // time of the first state [s]
  // What is observed is what the last step leaves behind (system/observer.h), as in mjData after
  // mj_step, but for the state itself; else that of the new state.
  bool lagging = false;
  KeepGoing keep_going = {};
};

template <class T>
struct Advanced {
  std::vector<T> states;  // (batch, states)
  std::vector<T> values;  // (batch, observer.size)
  Report report;
};

// Throws as rollout does. observer: of this System, or null.
Advanced<double> advance(const System& system, std::span<const double> x, std::span<const double> u,
                         std::int64_t steps, std::span<const double> params,
                         const AdvanceOptions& options, const Observer* observer);
Advanced<float> advance(const System& system, std::span<const float> x, std::span<const float> u,
                        std::int64_t steps, std::span<const double> params,
                        const AdvanceOptions& options, const Observer* observer);

}  // namespace cycloid::inline adjoint
