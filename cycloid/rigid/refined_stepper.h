// RefinedStepper: a robot's step divided into substeps, so that values and gradients tend to those
// of the continuous motion as the tolerance falls.
//
// Φ_h is the robot's own step of length h, which looks at contacts and limits at its beginning. A
// substep of length h is two half steps and a whole one, extrapolated: order two where Φ has one.
//   x_a = Φ_{h/2}(x),  x_b = Φ_{h/2}(x_a),  x_1 = Φ_h(x)                                       (1)
//   e   = h ((v_a + v_b)/2 - v_1)                       correction of the place                 (2)
//   Ψ_h(x):  q = q_b ⊕ e,  v = 2 v_b - v_1,  w = 2 w_b - w_1   (activations)                    (3)
//   error = max of |e|/|q|, |v_b - v_1|/|v|, |w_b - w_1|/|w|    ≤ tolerance                     (4)
// each norm the largest number of its block, and at least 1e-3 in its unit. R is what is left of
// the step at the last switch; a substep takes a share 2^-k of it, so that small changes of the
// state do not change the shares.
//   h_j = c_j R                                                                                (5)
// Where a switch (substep_stepper.h) is other at the substep's end than at its beginning, the
// shortest h* with that property is found by bisection, to rounding, and R begins anew there:
//   g(Ψ_{h*}(x)) = 0,   R⁺ = (1 - Σ c_j) R - h*                                                (6)
// g: the gap of the row that comes or goes while it pushes, the force of one that begins or ceases
// to push; the mean over those that switch at once. A row that comes or goes without a force
// changes nothing, and no substep ends there: where it ended would move with the state.
//
// Pullback, in reverse: through (5) and (3), shares held, with h̄_j adding c_j h̄_j to R̄. Through
// (6), given x̄⁺ and R̄⁺ (docs/events.md has the same for laws):
//   α = ⟨x̄⁺, ∂Ψ/∂h⟩,  β = ⟨g_x, ∂Ψ/∂h⟩,  λ = (α - R̄⁺)/β                                      (7)
//   x̄ = Ψ_xᵀ(x̄⁺ - λ g_x),  p̄ += -λ g_p                                                     (8)
// That is the saltation matrix of the discrete motion. Where β = 0 (a row that is only grazed) h*
// is held.
//
// One environment at a time: lanes would each have substeps of their own.
#pragma once

#include <memory>

#include "cycloid/rigid/substep_stepper.h"
#include "cycloid/rigid/tree/tree.h"
#include "cycloid/system/system.h"

namespace cycloid::inline rigid {

// Throws ParameterError on a tolerance that makes no sense, ModelError on an integrator (rk4) that
// looks at contacts at the end of a step too.
void check_refinement(double tolerance, RigidIntegrator integrator, Precision precision);

// Which counter of the notes has the number of substeps: the one behind the robot's own.
int substep_counter(bool constrained);

// `step`: that of one environment.
std::shared_ptr<const Stepper<float>> refined_stepper(
    std::shared_ptr<const SubstepStepper<float>> step, std::shared_ptr<const Tree> tree,
    bool constrained, double tolerance);
std::shared_ptr<const Stepper<double>> refined_stepper(
    std::shared_ptr<const SubstepStepper<double>> step, std::shared_ptr<const Tree> tree,
    bool constrained, double tolerance);

}  // namespace cycloid::inline rigid
