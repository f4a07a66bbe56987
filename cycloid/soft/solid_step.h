// SolidStep: the formulas of a time step around its stages, in numbers or in dual numbers.
//
// Held numbers stand at their rest vertex plus the input "pinned"; at the first step of a run their
// own numbers in the state are put to that, at rest. Stages are those of solid_stage.h, h the step:
//   implicit_euler   x̃ = x, p = m v, α = 1/h, h' = h, ζ = 1/h                                (1)
//   newmark          x̃ = x + h/2 v, p = m v + h/2 (F + m g - c m v - f(x)),
//                    α = 2/h, h' = h/2, ζ = 2/h: the trapezoidal rule in x and v              (2)
//   bdf2             (2) over γ h to (x_γ, v_γ), γ = 2 - √2, then                             (3)
//                    x̃ = a x_γ - b x, p = m (a v_γ - b v), α = 1/(d h), h' = d h, ζ = α,
//                    a = 1/(γ(2 - γ)), b = (1 - γ)² a, d = (1 - γ)/(2 - γ); TR-BDF2 (BankEtAl1985)
// Damping takes its rate of strain from the strains at the ends of the stage (viscous.h), so f(x)
// in (2) is without it: for small strains that is the trapezoidal rule of the damping too. A held
// number moves evenly over the step.
//
// Of doubles the stages are solved by the stepper (solid_stepper.h). Of dual numbers they were
// solved before, and their ends have tangents (stage_end): the step gives the pushforward, and its
// pullback the second derivatives.
#pragma once

#include <algorithm>

#include "cycloid/soft/solid_stage.h"

namespace cycloid::inline soft {

template <class S>
class SolidStep {
 public:
  using Numbers = std::vector<S>;

  // x, u: state and inputs; first: of a run. n must outlive it.
  SolidStep(NumbersIn<S>& n, const S* x, const S* u, bool first);

  // Where the step starts: with held numbers as they are used.
  const Numbers& start() const { return x_; }
  const Numbers& velocity() const { return v_; }
  const Numbers& numbers_of_terms() const { return numbers_; }
  bool first() const { return first_; }

  // Calls y = solve(stage, part, from) for one stage after the other, over `part` of the step, and
  // writes the state at the end. False, with nothing written, where a y is empty.
  template <class Solve>
  bool run(Solve&& solve, S* x_next) const {
    if (integrator() != SolidIntegrator::bdf2) {
      const bool euler = integrator() == SolidIntegrator::implicit_euler;
      const StageOf<S> stage = euler ? euler_stage() : trapezoid_stage(1);
      const Numbers y = solve(stage, 1.0, x_);
      if (y.empty()) return false;
      write(stage, y, x_next);
      if (!euler) return true;
      const Numbers memory = stage_memory<S>(n_, stage, y);
      std::copy(memory.begin(), memory.end(), x_next + plan_.moving());
      return true;
    }
    const StageOf<S> first = trapezoid_stage(kGamma);
    const Numbers middle = solve(first, kGamma, x_);
    if (middle.empty()) return false;
    const Numbers v_mid = velocity(first, middle);
    const StageOf<S> second = bdf_stage(middle, v_mid);
    const Numbers y = solve(second, 1 - kGamma, middle);
    if (y.empty()) return false;
    write(second, y, x_next);
    return true;
  }
  // ends: y of each stage.
  void pullback(const std::vector<StageRecord>& stages, const std::vector<Numbers>& ends,
                const S* x_next_bar, S* x_bar, S* u_bar) const;

 private:
  struct Bars;
  static constexpr double kRoot = 1.4142135623730951, kGamma = 2 - kRoot;  // (3)
  static constexpr double kA = 1 / (kGamma * (2 - kGamma)), kB = (1 - kGamma) * (1 - kGamma) * kA,
                          kD = (1 - kGamma) / (2 - kGamma);

  SolidIntegrator integrator() const;
  const SolidBody& body() const { return values_of(n_).body; }
  Numbers rest() const;
  Numbers positions_at_end() const;
  // Calls work(segment, number among them) for a rod's segments that are held, in their order.
  template <class Work>
  void for_each_clamp(Work&& work) const {
    int clamp = 0;
    for (int j = 0; j < plan_.turns; ++j) {
      if (plan_.held[static_cast<std::size_t>(3 * (plan_.points() + j))]) work(j, clamp++);
    }
  }
  StageOf<S> euler_stage() const;
  StageOf<S> trapezoid_stage(double part) const;
  StageOf<S> bdf_stage(const Numbers& x_mid, const Numbers& v_mid) const;
  Numbers velocity(const StageOf<S>& stage, const Numbers& y) const;
  void write(const StageOf<S>& stage, const Numbers& y, S* x_next) const;
  // Of the velocity at a stage's end: what is held, then y and x̃.
  void pull_velocity(const StageOf<S>& stage, const Numbers& v_bar, Numbers& y_bar,
                     StageBarsOf<S>& own, Bars& bars) const;
  void pull_trapezoid(const StageOf<S>& stage, const StageRecord& record, const Numbers& y,
                      double part, Numbers y_bar, const Numbers& v_bar, Bars& bars) const;
  void pull_start(Bars& bars, S* x_bar, S* u_bar) const;

  NumbersIn<S>& n_;
  const SolidPlan& plan_;
  Numbers rest_, x_, v_;
  Numbers target_;             // of held numbers, in their order
  const S* force_ = nullptr;   // (numbers), or null
  Numbers own_force_;          // where `force_` is no part of the inputs
  Numbers numbers_;            // of the terms
  const S* memory_ = nullptr;  // likewise
  bool first_ = false;
};

}  // namespace cycloid::inline soft
