// Reversible: what a Stepper also is when its steps can be run backwards.
//
// The adjoint of a run can then do with the last state alone (adjoint/engine): each state before
// it comes from the one after.
#pragma once

#include "cycloid/system/stepper.h"

namespace cycloid::inline system {

template <class T>
class Reversible {
 public:
  virtual ~Reversible() = default;
  // Writes x_before (state, W), from which step in.step led to in.x, up to rounding.
  virtual void step_back(const StepInput<T>& in, T* x_before, StepWorkspace& workspace) const = 0;
};

// In its place, for steps that cannot.
template <class T>
class Irreversible {
 public:
  virtual ~Irreversible() = default;
  virtual void step_back(const StepInput<T>& in, T* x_before, StepWorkspace& workspace) const = 0;
};

// Null where the steps cannot be run backwards.
template <class T>
const Reversible<T>* reversible(const Stepper<T>* stepper) {
  return dynamic_cast<const Reversible<T>*>(stepper);
}

}  // namespace cycloid::inline system
