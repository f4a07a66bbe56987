// A Stepper that passes all on to another, counts calls, and may be slow or call itself costly.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "cycloid/system/make_system.h"

namespace cycloid::test {

struct Watch {
  std::atomic<std::int64_t> steps{0}, pullbacks{0};
  std::chrono::microseconds pause{0};  // before every step and every pullback
};

template <class T>
class WatchedStepper final : public Stepper<T> {
 public:
  WatchedStepper(std::shared_ptr<const Stepper<T>> inner, Watch& watch, bool costly)
      : Stepper<T>(inner->sizes()), inner_(std::move(inner)), watch_(watch) {
    this->sizes_.record_is_costly = costly;
  }
  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return inner_->make_workspace(resources);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    inner_->begin(p, workspace);
  }
  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    ++watch_.steps;
    if (watch_.pause.count() > 0) std::this_thread::sleep_for(watch_.pause);
    return inner_->step(in, x_next, record, workspace);
  }
  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    ++watch_.pullbacks;
    if (watch_.pause.count() > 0) std::this_thread::sleep_for(watch_.pause);
    inner_->pullback(in, record, x_next_bar, x_bar, u_bar, workspace);
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    inner_->finish(workspace, p_bar);
  }
  StepTrouble explain(const StepInput<T>& in, int lane, StepWorkspace& workspace) const override {
    return inner_->explain(in, lane, workspace);
  }

 private:
  std::shared_ptr<const Stepper<T>> inner_;
  Watch& watch_;
};

// A law as a System in double, watched. The Watch must outlive it.
template <class Scheme = Rk4, class Law>
System watched_system(const Law& law, Watch& watch, bool costly, const LawSettings& settings = {}) {
  SystemParts parts = law_parts(law, settings);
  const Steppers<double> inner = float64_steppers<Law, Scheme>(law);
  const auto watched = [&](const std::shared_ptr<const Stepper<double>>& stepper) {
    return std::make_shared<WatchedStepper<double>>(stepper, watch, costly);
  };
  parts.float64 = {watched(inner.one), watched(inner.packed), watched(inner.dual)};
  return System(std::move(parts));
}

}  // namespace cycloid::test
