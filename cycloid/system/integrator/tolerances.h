// What an adaptive integrator is allowed (step_control.h).
#pragma once

namespace cycloid::inline system {

struct Tolerances {
  double rtol = 0, atol = 0;   // relative, and absolute in the units of the state; 0: the default
  int most_substeps = 100000;  // tried within one step of the system

  template <class T>
  T relative() const {
    return static_cast<T>(rtol > 0 ? rtol : sizeof(T) == 4 ? 1e-5 : 1e-9);
  }
  template <class T>
  T absolute() const {
    return static_cast<T>(atol > 0 ? atol : sizeof(T) == 4 ? 1e-7 : 1e-11);
  }
};

}  // namespace cycloid::inline system
