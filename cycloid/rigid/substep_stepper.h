// SubstepStepper: a robot's step of one environment as refined_stepper.h uses it, with a length of
// its own for every call, and with its switches.
//
// A switch is a row of a contact or limit that is there or not (gap = dist - margin below zero) and
// pushes or not (a force above zero). Between switches the step is a smooth function of its state
// and of its length h.
#pragma once

#include <cstdint>
#include <vector>

#include "cycloid/system/stepper.h"

namespace cycloid::inline rigid {

// A row that is there. Rows are listed in the model's order.
struct Switch {
  std::uint64_t thing = 0;  // which contact or limit (switches.h)
  bool pushes = false;
  // Who it is, whatever its place among the touches of a pair: these are numbered in order, anew
  // when one of them comes or goes. Of boxes and meshes on planes the feature is the corner.
  std::uint64_t owner = 0;
  double feature = 0;
  double gap = 0;  // of a contact [m]

  bool is_same(const Switch& b) const { return owner == b.owner && feature == b.feature; }
  bool operator==(const Switch& b) const { return is_same(b) && pushes == b.pushes; }
};

// Which number of a switch passes through zero: its gap [m, rad], or its force [N, N·m].
enum class SwitchNumber { gap, force };

template <class T>
class SubstepStepper : public Stepper<T> {
 public:
  // The length of the steps that follow [s]; `begin` sets that of the parameters.
  virtual void set_timestep(T h, StepWorkspace& workspace) const = 0;
  // The cotangent of the length of the last pullback's step.
  virtual T timestep_bar(const StepWorkspace& workspace) const = 0;
  // Writes the switches at the state from which the last step went.
  virtual void list_switches(const StepWorkspace& workspace, std::vector<Switch>& out) const = 0;
  // Adds the cotangents of the state in.x, the input and the parameters, given that of a number of
  // a switch which is there.
  virtual void switch_pullback(const StepInput<T>& in, std::uint64_t thing, SwitchNumber number,
                               T bar, T* x_bar, T* u_bar, StepWorkspace& workspace) const = 0;

 protected:
  using Stepper<T>::Stepper;
};

}  // namespace cycloid::inline rigid
