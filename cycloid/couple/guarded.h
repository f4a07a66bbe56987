// guarded.h: a fast model that is compared with the classical solver now and then, and corrected.
//
// With F a step of the model and G one of the truth (of the same length H; the one with the shorter
// step takes several), and δ = F(x) - G(x) the model's defect where it was last compared, σ its
// slope per step, j steps ago:
//   model        x⁺ = F(x) - (δ + j σ)                                                       (1)
//   comparison   x⁺ = G(x),  δ⁺ = F(x) - G(x),  σ⁺ = (δ⁺ - δ) / j                            (2)
// (δ, σ) are the block `guard` of the state, behind the truth's own numbers. A comparison costs a
// classical step, which is then the step that is taken, and shows what (1) would have missed:
//   ε = |F(x) - (δ + j σ) - G(x)|                                                            (3)
//   g = |F(x + η v) - F(x)| / η,  v the direction that has grown most        growth of errors(4)
//   e⁺ = g e in every step, + Σ_{i<j} (i/j)² ε at a comparison      error gathered so far    (5)
//   τ = (share × bound - e)₊ H / horizon                   what a step may miss              (6)
//   m⁺ = m (3 τ / ε)^⅓, within [0.3 m, 2 m] and 1 … most              steps to the next one  (7)
// since what (1) misses grows with the third power of m. A model that is not finite, and a budget
// that is spent, leave the classical solver alone at work (m = 1). The estimate foretells neither a
// growth that has not begun nor a defect that jumps between comparisons.
//
// e, m, j, v are carried on, not differentiated (stepper.h): the gradient is that of the steps that
// were taken, (1) or (2), through both Systems and through δ and σ. Which of them a step took is in
// its record. One environment at a time, so that classical steps are really saved. Counters:
// classical_steps (of the truth's own), comparisons, and alarms (ε > τ).
//
// Parameters are the truth's and, behind them, the model's as `model.NAME`; one that both have with
// the same name and value is one parameter. Steps are held: `truth.timestep`, `model.timestep`.
#pragma once

#include "cycloid/system/system.h"

namespace cycloid::inline couple {

struct GuardOptions {
  double bound = 0;     // on the Euclidean distance from the truth's state, in units of the state
  double horizon = 10;  // over which it is to be kept [s]
  double share = 0.5;   // of the bound that estimates may gather: the rest is for their growth
  int every = 0;        // > 0: comparisons so many steps apart, whatever the estimate says
  int most = 64;        // steps from one comparison to the next
};

// Throws ModelError where states or inputs differ in size, steps do not divide each other, states
// have quaternions, or a System has events or no kernels of the truth's precision; ParameterError
// on options that make no sense.
System guarded(const System& model, const System& truth, const GuardOptions& options);

}  // namespace cycloid::inline couple
