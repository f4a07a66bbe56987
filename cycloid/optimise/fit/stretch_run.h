// Stretches of recordings: runs from states of their own, the states at times inside them, and
// their derivatives.
//
// Stretch e starts at x_e and takes n_e steps under its controls; y_ei is its state at offset τ_ei
// [s] after its start, as rollout(times) gives it: a state of a step, or inside a step what the
// System's integrator or the path between the step's ends says (system/integrator/interpolation.h).
//   y_ei = φ(τ_ei; x_e, p),   end_e = φ(n_e h; x_e, p)                                       (1)
// Tangents are with respect to q directions of the parameters and all directions of the start,
// unless that is known:
//   ∂y_ei/∂(p·d_1 … p·d_q, x_e)                      (tangents, q + tangents)                (2)
// Stretches that have steps and times alike run in one batch. (2) comes from dual numbers, each
// direction an environment in a lane of its own (adjoint/pushforward.h), likewise from the steps'
// own pushforward where directions are few beside the states (large worlds with known starts), or,
// of Systems that have none in lanes, from the Jacobians of their steps,
//   d_{k+1} = A_k d_k + P_k ṗ                                                                (3)
// which come from one batch of all steps where these do not depend on the time (robots, and laws
// whose steps at one time lead where the run went), else one after the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cycloid/base/interrupt.h"
#include "cycloid/system/system.h"

namespace cycloid::inline optimise {

struct Stretch {
  double t0 = 0;                 // time of its start [s]
  std::int64_t steps = 1;        // n_e
  std::vector<double> controls;  // (steps, inputs); empty: zeros
  std::vector<double> offsets;   // τ_ei [s], not falling, within 0 … n_e h
};

struct StretchStates {
  bool ok = true;  // false: a run failed, `reason` says where
  std::string reason;
  // Of each stretch: states at its offsets (offsets, states), and its end (states).
  std::vector<std::vector<double>> states, ends;
  // (2) of each: (offsets, tangents, columns), (tangents, columns). Empty if not asked.
  std::vector<std::vector<double>> states_tan, ends_tan;
};

struct StretchOptions {
  int threads = 0;
  KeepGoing keep_going = {};
  bool by_starts = true;  // false: starts are known, and (2) has q columns
};

// `starts` (stretches, states), `parameters` one flat vector, `directions` (q, parameters).
StretchStates run_stretches(const System& system, const std::vector<Stretch>& stretches,
                            std::span<const double> starts, std::span<const double> parameters,
                            const StretchOptions& options = {});
// Throws GradientError where a step has no derivative.
StretchStates run_stretches_with_tangents(const System& system,
                                          const std::vector<Stretch>& stretches,
                                          std::span<const double> starts,
                                          std::span<const double> parameters,
                                          std::span<const double> directions,
                                          const StretchOptions& options = {});

// Several parameter vectors at once, one for each stretch: (stretches, parameters). The System must
// allow them to differ (`vary`).
StretchStates run_stretches_apart(const System& system, const std::vector<Stretch>& stretches,
                                  std::span<const double> starts,
                                  std::span<const double> parameters,
                                  const StretchOptions& options = {});

// Whether steps are known not to depend on the time, so that stretches of other times may share a
// batch.
bool is_timeless(const System& system);

}  // namespace cycloid::inline optimise
