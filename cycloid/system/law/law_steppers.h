// A law and an integrator in every form that a System computes in.
#pragma once

#include "cycloid/math/batch_lanes.h"
#include "cycloid/system/integrator/tolerances.h"
#include "cycloid/system/law/law_stepper.h"
#include "cycloid/system/system.h"

namespace cycloid::inline system {

// Two registers per pack: a step of a small law is a chain of dependent operations, and two of them
// side by side fill the processor's pipelines.
template <class T>
inline constexpr int kLawLanes = 2 * kNativeLanes<T>;
template <class T>
using LawLanes = BatchLanes<T, kLawLanes<T>>;

// The integrator with its settings.
template <class Scheme>
Scheme make_scheme(const Tolerances& tolerances) {
  if constexpr (requires { Scheme{tolerances}; }) return Scheme{tolerances};
  return {};
}

template <class Law, class Scheme>
Steppers<float> float32_steppers(const Law& law, const Tolerances& tolerances = {}) {
  const Scheme scheme = make_scheme<Scheme>(tolerances);
  using Lanes = LawLanes<float>;
  return {std::make_shared<LawStepper<Law, Scheme, float>>(law, scheme),
          std::make_shared<LawStepper<Law, Scheme, Lanes>>(law, scheme), nullptr};
}

template <class Law, class Scheme>
Steppers<double> float64_steppers(const Law& law, const Tolerances& tolerances = {}) {
  const Scheme scheme = make_scheme<Scheme>(tolerances);
  using Lanes = LawLanes<double>;
  Steppers<double> steppers{std::make_shared<LawStepper<Law, Scheme, double>>(law, scheme),
                            std::make_shared<LawStepper<Law, Scheme, Lanes>>(law, scheme), nullptr};
  if constexpr (!HasEvents<Law>) {
    steppers.dual = std::make_shared<LawStepper<Law, Scheme, Dual<Lanes, 1>>>(law, scheme);
  }
  return steppers;
}

}  // namespace cycloid::inline system
