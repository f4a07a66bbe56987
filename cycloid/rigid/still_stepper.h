// StillStepper: the step of a robot without degrees of freedom. It has no state, and nothing moves.
#pragma once

#include <algorithm>

#include "cycloid/system/stepper.h"

namespace cycloid::inline rigid {

template <class T>
class StillStepper final : public Stepper<T> {
 public:
  StillStepper(int inputs, int parameters, std::vector<std::int64_t> arrays = {})
      : Stepper<T>(sizes_of(inputs, parameters, std::move(arrays))) {}

  void begin(const StepParameters<T>&, StepWorkspace&) const override {}
  StepStatus step(const StepInput<T>&, T*, StepRecord*, StepWorkspace&) const override {
    return StepStatus::ok;
  }
  void pullback(const StepInput<T>&, const StepRecord&, const T*, T*, T*,
                StepWorkspace&) const override {}
  void finish(StepWorkspace&, double* p_bar) const override {
    std::fill_n(p_bar, this->sizes_.parameters, 0.0);
  }
  StepTrouble explain(const StepInput<T>&, int, StepWorkspace&) const override {
    return {"still", "model", "nothing moves"};
  }

 private:
  static StepperSizes sizes_of(int inputs, int parameters, std::vector<std::int64_t> arrays) {
    StepperSizes s;
    s.input = inputs;
    s.parameters = parameters;
    s.arrays = std::move(arrays);
    return s;
  }
};

}  // namespace cycloid::inline rigid
