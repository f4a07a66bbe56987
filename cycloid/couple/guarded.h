// guarded.h: a fast model that is compared with the classical solver now and then, and corrected.
//
// With F a step of the model and G one of the truth (of the same length H; the one with the shorter
// step takes several), and δ = F(x) - G(x) the model's defect where it was last compared, σ its
// slope per step, j steps ago:
//   model        x⁺ = F(x) - w (δ + j σ)                                                     (1)
//   comparison   x⁺ = G(x),  δ⁺ = F(x) - G(x),  σ⁺ = (δ⁺ - δ) / j                            (2)
// w is 1, or 0 where the last comparison would have found the model nearer without a correction.
// (δ, σ) are the block `guard` of the state, behind the truth's own numbers. A comparison costs a
// classical step, which is then the step that is taken, and shows what (1) would have missed:
//   ε = |F(x) - w (δ + j σ) - G(x)|                                                          (3)
//   g = |F(x + η v) - F(x)| / η,  v the direction that has grown most        growth of errors(4)
//   e⁺ = g e in every step, + Σ_{i<j} (i/j)² ε at a comparison      error gathered so far    (5)
//   τ = (share × bound - e)₊ H / horizon                   what a step may miss              (6)
//   m⁺ = m (3 τ / ε)^⅓, within [0.3 m, 2 m] and 1 … most              steps to the next one  (7)
// since what (1) misses grows with the third power of m; with w = 0, where it does not grow, ε is
// added j - 1 times, and m doubles while ε ≤ τ. A model that is not finite, and a budget that is
// spent, leave the classical solver alone at work (m = 1). The estimate foretells neither a growth
// that has not begun nor a defect that jumps between comparisons.
//
// Differences and corrections are those of tangents, on quaternions too (space.h). A step in which
// the model meets an event is the truth's; what was known of the defect ends there, and the next
// step begins anew, as at the start of the run. Events are those of the truth.
//
// e, m, j, v, w are carried on, not differentiated (stepper.h): the gradient is that of the steps
// that were taken, (1) or (2), through both Systems and through δ and σ. Which of them a step took
// is in its record. One environment at a time, so that classical steps are really saved. Counters:
// classical_steps (of the truth's own), comparisons, and alarms (ε > τ). When the truth stepped
// in, and why, is in guard_log.
//
// Parameters are the truth's and, behind them, the model's as `model.NAME`; one that both have with
// the same name and value is one parameter. Steps are held: `truth.timestep`, `model.timestep`.
#pragma once

#include <span>
#include <vector>

#include "cycloid/system/system.h"

namespace cycloid::inline couple {

struct GuardOptions {
  double bound = 0;     // on the Euclidean distance from the truth's state, in units of the state
  double horizon = 10;  // over which it is to be kept [s]
  double share = 0.5;   // of the bound that estimates may gather: the rest is for their growth
  int every = 0;        // > 0: comparisons so many steps apart, whatever the estimate says
  int most = 64;        // steps from one comparison to the next
};

// Throws ModelError where states or inputs differ in size, steps do not divide each other, or a
// System has no kernels of the truth's precision; ParameterError on options that make no sense.
System guarded(const System& model, const System& truth, const GuardOptions& options);

// Why the truth took a step: nothing was known of the defect; it was its turn (every > 0, or the
// estimate asked for it); the estimate has used up its share of the bound; the model's step is not
// finite, or meets an event.
enum class GuardReason { none, start, schedule, estimate, budget, not_finite, event };
const char* name(GuardReason reason);

struct GuardEntry {
  std::int64_t environment, step;
  double time;  // of the step's beginning [s]
  GuardReason reason;
  double missed, allowed;  // ε (3), τ (6); zero where nothing was compared
  double estimate, bound;  // e (5), after the step
};

// A rollout of a guarded System, as adjoint/rollout.h takes it: rows shared or one for each
// environment.
struct GuardRun {
  std::span<const double> x0, controls = {}, params = {};
  std::int64_t steps = 0, environments = 1;
  double t0 = 0;
};

// The steps that the truth took, by environment and step: the run is made again. Throws Error on a
// System that is not guarded.
std::vector<GuardEntry> guard_log(const System& system, const GuardRun& run);

}  // namespace cycloid::inline couple
