// solid_stage: one implicit stage of a step of a solid, its pullback and its pushforward.
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

struct Stage {
  StageRule rule;
  std::vector<double> origin, momentum;  // x̃, p (numbers)
  const double* before[2] = {nullptr, nullptr};
  const double* force = nullptr;   // F, or null
  std::vector<double> target;      // of held numbers, in their order
  TermNumbers numbers = {};        // of the terms
  const double* memory = nullptr;  // likewise, of the step's start
};

// What a stage leaves for the way back.
struct StageRecord {
  std::vector<double> y;
  std::unique_ptr<StiffnessSolver> factor;
  std::vector<double> skew = {};               // minimise.h
  std::shared_ptr<const SolidPlan> plan = {};  // with the pairs that touch; null: the body's
};

Incremental incremental(const SolidNumbers& n, const Stage& stage);

struct StageBars {
  explicit StageBars(const SolidPlan& plan);
  std::vector<double> origin, momentum, before[2], force;  // (numbers), added to
  std::vector<double> held;    // (numbers): of y at held numbers, added to
  TermNumbers numbers;         // of the terms, added to
  std::vector<double> memory;  // likewise
};

// y_bar (numbers).
void stage_pullback(SolidNumbers& n, const Stage& stage, const StageRecord& record,
                    const std::vector<double>& y_bar, StageBars& bars);

struct StageTangent {
  std::vector<double> origin, momentum;  // (numbers)
  const double *before[2] = {nullptr, nullptr}, *force = nullptr;
  std::vector<double> held;        // (numbers): of y there, zero elsewhere
  TermNumbers numbers = {};        // of the terms
  const double* memory = nullptr;  // likewise; null: zero
};

// ẏ (numbers).
std::vector<double> stage_pushforward(const SolidNumbers& n, const SolidNumbersTangent& along,
                                      const Stage& stage, const StageRecord& record,
                                      const StageTangent& tangent);

// What the terms of a stage remember at its end, with pullback and pushforward: y_bar, bars and
// next_bar as in stage_pullback, next_bar (memory).
std::vector<double> stage_memory(const SolidNumbers& n, const Stage& stage,
                                 const std::vector<double>& y);
void stage_memory_pullback(SolidNumbers& n, const Stage& stage, const std::vector<double>& y,
                           const double* next_bar, std::vector<double>& y_bar, StageBars& bars);
std::vector<double> stage_memory_pushforward(const SolidNumbers& n,
                                             const SolidNumbersTangent& along, const Stage& stage,
                                             const StageTangent& tangent,
                                             const std::vector<double>& y,
                                             const std::vector<double>& y_tan);

// From where the frames of a rod are carried (rod_laws.h): only with those of x itself are forces
// on its points what they are in a step.
enum class RodFrames { from_here, from_rest };

// The forces of cells and terms at x, without damping and friction, added to f, with pullback and
// pushforward.
void elastic_force(const SolidNumbers& n, const TermNumbers& numbers, const double* x,
                   std::vector<double>& f);
// memory: of terms that have some; null: zeros. load: the share of the loads that acts.
void elastic_force_pullback(SolidNumbers& n, const TermNumbers& numbers, const double* memory,
                            const double* x, const std::vector<double>& f_bar,
                            std::vector<double>& x_bar, TermNumbers& numbers_bar,
                            RodFrames frames = RodFrames::from_here, double load = 1);
void elastic_force_pushforward(const SolidNumbers& n, const SolidNumbersTangent& along,
                               const TermNumbers& numbers, const TermNumbers& numbers_tan,
                               const double* x, const double* x_tan, std::vector<double>& f_tan);

}  // namespace cycloid::inline soft
