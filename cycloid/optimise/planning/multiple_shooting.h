// multiple_shooting.h: plans whose states are unknowns too, with gaps that close on the way.
//
//   d_t = step(s_t, u_t) ⊖ s_{t+1}                      gaps                                   (1)
//   the backward pass (riccati.h) on A, B and d gives du = k + K dx, and then
//   dx_0 = 0,  dx_{t+1} = A dx + B du + d               the Newton direction                   (2)
//   s ← s ⊕ a dx,  u ← clamp(u + a du)                  candidates a = 1, ½, ¼, …              (3)
//   accepted by a filter [Waechter2006]: against every point before, J or Σ |d| must fall      (4)
// All steps of all candidates are one batch: nothing is rolled out, and an unstable system's errors
// do not grow along the horizon. A step of a = 1 closes linear gaps. Gauss–Newton in the cost, as
// ilqr.h, and Keep likewise. Where the filter finds no step while gaps are open, iterations go on
// as ilqr's, from the best trajectory that gains have made of the way so far. States that a start
// brings need not belong to its controls. When gaps are closed to rounding, the plan is the rollout
// of its controls.
#pragma once

#include "cycloid/optimise/planning/ilqr.h"

namespace cycloid::inline optimise {

// (1) of trajectories (rows, T+1, states), (rows, T, inputs): (rows, T, tangents). Rows whose steps
// fail are named.
struct Gaps {
  std::vector<double> d;
  std::vector<bool> failed;
};
Gaps gaps_of(Planner& planner, const std::vector<double>& states,
             const std::vector<double>& controls, std::int64_t rows);

}  // namespace cycloid::inline optimise
