// solid_stage: one implicit stage of a step of a solid, and its pullback, in numbers or in dual
// numbers.
//
// With m the masses, drag c, gravity g, input force F, momentum p, α and h' of the scheme, the new
// positions y and velocities w of a stage satisfy
//   w = α (y - x̃)                                                                (1)
//   m w = p + h' (F + m g - c m w - f(y))                                         (2)
// with f the forces of cells and terms, those of damping included (viscous.h, z = damping · ζ). (2)
// over h' is minimise.h's condition with
//   a = m α (1/h' + c),   b = p/h' + F + m g                                      (3)
// Given the cotangent ȳ (with what comes through (1)), H of minimise.h:
//   H λ = ȳ, of numbers that are not held                                         (4)
//   x̃̄ += a λ,  p̄ += λ/h',  F̄ += λ,  ḡ += Σ m λ,  c̄ -= Σ m α λ·(y - x̃)           (5)
//   m̄ += λ·(g - α (1/h' + c)(y - x̃))                                             (6)
//   and of f with cotangent -λ: to y of held numbers, to positions before, and to parameters   (7)
// and the tangent:  H ẏ = a x̃̇ + ḃ - ȧ (y - x̃) - ḟ                                 (8)
//
// Second derivatives are the tangent of (4) to (7), forward over reverse. H depends on y and on
// the parameters, so that λ has a tangent by one more solve with the same factor:
//   H λ̇ = ȳ̇ - Ḣᵀ λ,   Ḣᵀ λ = ȧ λ + d/dt (∂f/∂y)ᵀ λ                               (9)
// The last is what the pullback of f, with λ held, changes by along (ẏ, parameters): third
// derivatives of the energy, which the kernels' force_pullback_tangent has from dual numbers.
#pragma once

#include "cycloid/soft/minimise.h"
#include "cycloid/soft/solid_numbers.h"

namespace cycloid::inline soft {

struct StageRule {
  double alpha, step, zeta;  // α [1/s], h' [s], ζ [1/s]
  int befores = 1;
  double before_weight[2] = {1, 0};
  double spread = 1;  // of the stage's time over h'
};

template <class S>
struct StageOf {
  StageRule rule;
  std::vector<S> origin, momentum;  // x̃, p (numbers)
  const S* before[2] = {nullptr, nullptr};
  const S* force = nullptr;     // F, or null
  std::vector<S> target;        // of held numbers, in their order
  std::vector<S> numbers = {};  // of the terms
  const S* memory = nullptr;    // likewise, of the step's start
};
using Stage = StageOf<double>;

// What a stage leaves for the way back.
struct StageRecord {
  std::vector<double> y;
  std::unique_ptr<StiffnessSolver> factor;
  std::vector<double> skew = {};               // minimise.h
  std::shared_ptr<const SolidPlan> plan = {};  // with the pairs that touch; null: the body's
};

Incremental incremental(const SolidNumbers& n, const Stage& stage);

template <class S>
struct StageBarsOf {
  explicit StageBarsOf(const SolidPlan& plan);
  std::vector<S> origin, momentum, before[2], force;  // (numbers), added to
  std::vector<S> held;                                // (numbers): of y at held numbers, added to
  std::vector<S> numbers;                             // of the terms, added to
  std::vector<S> memory;                              // likewise
};
using StageBars = StageBarsOf<double>;

// y of a stage that was solved: of dual numbers, with its tangent (8).
template <class S>
std::vector<S> stage_end(const NumbersIn<S>& n, const StageOf<S>& stage, const StageRecord& record);

// y, y_bar (numbers).
template <class S>
void stage_pullback(NumbersIn<S>& n, const StageOf<S>& stage, const StageRecord& record,
                    const std::vector<S>& y, const std::vector<S>& y_bar, StageBarsOf<S>& bars);

// What the terms of a stage remember at its end, and its pullback: y_bar, bars and next_bar as in
// stage_pullback, next_bar (memory).
template <class S>
std::vector<S> stage_memory(const NumbersIn<S>& n, const StageOf<S>& stage,
                            const std::vector<S>& y);
template <class S>
void stage_memory_pullback(NumbersIn<S>& n, const StageOf<S>& stage, const std::vector<S>& y,
                           const S* next_bar, std::vector<S>& y_bar, StageBarsOf<S>& bars);

// From where the frames of a rod are carried (rod_laws.h): only with those of x itself are forces
// on its points what they are in a step.
enum class RodFrames { from_here, from_rest };

// The forces of cells and terms at x, without damping and friction, added to f, and the pullback.
template <class S>
void elastic_force(const NumbersIn<S>& n, const std::vector<S>& numbers, const S* x,
                   std::vector<S>& f);
// memory: of terms that have some; null: zeros. load: the share of the loads that acts.
template <class S>
void elastic_force_pullback(NumbersIn<S>& n, const std::vector<S>& numbers, const double* memory,
                            const S* x, const std::vector<S>& f_bar, std::vector<S>& x_bar,
                            std::vector<S>& numbers_bar, RodFrames frames = RodFrames::from_here,
                            double load = 1);

}  // namespace cycloid::inline soft
