// A Stepper that passes all on to another, to be meddled with one function at a time.
//
//   PassingStepper<T>            inherit, and override what is to be different
//   with_steppers<T>(system, w)  the same System with its steppers s replaced by w(s)
#pragma once

#include <memory>
#include <utility>

#include "cycloid/system/system.h"

namespace cycloid::test {

template <class T>
using SharedStepper = std::shared_ptr<const Stepper<T>>;

// Not reversible, and without the substeps' log, which are the inner stepper's own.
template <class T>
class PassingStepper : public Stepper<T> {
 public:
  explicit PassingStepper(SharedStepper<T> inner)
      : Stepper<T>(inner->sizes()), inner_(std::move(inner)) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return inner_->make_workspace(resources);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    inner_->begin(p, workspace);
  }
  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    return inner_->step(in, x_next, record, workspace);
  }
  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    inner_->pullback(in, record, x_next_bar, x_bar, u_bar, workspace);
  }
  bool jacobian(const StepInput<T>& in, const StepRecord& record, T* A, T* B,
                StepWorkspace& workspace) const override {
    return inner_->jacobian(in, record, A, B, workspace);
  }
  void work_keys(const StepInput<T>& in, std::uint64_t* keys,
                 StepWorkspace& workspace) const override {
    inner_->work_keys(in, keys, workspace);
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    inner_->finish(workspace, p_bar);
  }
  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return inner_->notes(workspace);
  }
  std::span<const StepEvent> events(const StepWorkspace& workspace) const override {
    return inner_->events(workspace);
  }
  StepTrouble explain(const StepInput<T>& in, int lane, StepWorkspace& workspace) const override {
    return inner_->explain(in, lane, workspace);
  }

 protected:
  const Stepper<T>& inner() const { return *inner_; }

 private:
  SharedStepper<T> inner_;
};

template <class T, class Wrap>
System with_steppers(const System& system, Wrap&& wrap) {
  SystemParts parts;
  parts.name = system.name();
  parts.precision = system.precision();
  parts.timestep = system.timestep();
  parts.states = system.states();
  parts.inputs = system.inputs();
  parts.parameters = system.parameters();
  parts.vary = system.vary();
  parts.initial_state = system.initial_state();
  parts.events = system.events();
  parts.counters = system.counters();
  if (!system.admits_every_start()) {
    parts.admit = [system](const double* p, double rounding, double* x) {
      return system.admit(p, rounding, x);
    };
  }
  const Steppers<T>& given = system.template steppers<T>();
  const Steppers<T> wrapped{wrap(given.one), wrap(given.packed), given.dual};
  if constexpr (std::is_same_v<T, float>) {
    parts.float32 = wrapped;
  } else {
    parts.float64 = wrapped;
  }
  return System(std::move(parts));
}

}  // namespace cycloid::test
