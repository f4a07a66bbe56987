// What a System shows besides its state: an energy, a robot's sensors, a field. By name, with
// gradients.
//
//   y = observe(x, u, p, t)
//   (x̄, ū, p̄) += observe_pullback(x, u, p, t, ȳ)
// A System offers Observables (SystemParts), which know the names and make observers of those that
// are wanted, in chunks of lanes as a Stepper's (stepper.h). The blocks of the state are numbers of
// the state itself: every System has them, and no observer is asked.
//
// The life of a chunk, driven by room adjoint (observe.h, advance.h):
//   make_workspace(resources)       once for each worker
//   begin(p)                        once: reads the chunk's parameters, clears their cotangents
//   observe(x, u, t) -> y
//   observe_behind(step) -> y       what a step leaves behind, as MuJoCo's mjData after mj_step
//   pullback(x, u, t, ȳ)            adds to x̄, ū, and to p̄ in the workspace
//   finish() -> p̄                   per lane
// Values come in the precision of the System's steps; gradients in double, also where it steps in
// float: an observation is one evaluation, and its gradient is not worth losing digits for.
#pragma once

#include <optional>

#include "cycloid/system/system.h"

namespace cycloid::inline system {

// Numbers of a row of states.
struct StateNumbers {
  int from, count;
};

// What goes by one name.
struct Observable {
  std::string name, unit;
  std::vector<int> shape;                   // of its numbers, as the user sees them
  std::vector<StateNumbers> of_state = {};  // where they are; empty: they are computed

  int size() const {
    int n = 1;
    for (const int d : shape) n *= d;
    return n;
  }
};

// Where a chunk is observed: x (state, W), u (input, W).
template <class T>
struct ObservedPoint {
  const T *x, *u;
  double t;  // [s]
};

// A step that has been taken.
template <class T>
struct ObservedStep {
  ObservedPoint<T> before;
  const StepRecord& record;
  const bool* failed;  // (W) lanes that stand still; the record says nothing about them
};

// Numbers of W environments side by side, lane-innermost. Const, as a Stepper is.
template <class T>
class ChunkObserver {
 public:
  virtual ~ChunkObserver() = default;
  int lanes() const { return lanes_; }
  int size() const { return size_; }  // numbers of an environment

  virtual std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const = 0;
  virtual void begin(const StepParameters<T>& p, StepWorkspace& workspace) const = 0;
  // Writes values (size, W).
  virtual void observe(const ObservedPoint<T>& at, T* values, StepWorkspace& workspace) const = 0;
  // Likewise. Lanes that failed are observed where they stand.
  virtual void observe_behind(const ObservedStep<T>& step, T* values,
                              StepWorkspace& workspace) const {
    observe(step.before, values, workspace);
  }
  // The lanes' notes on the last `observe`, which lie in the workspace; null: there never are any.
  virtual const LaneNote* notes(const StepWorkspace& /*workspace*/) const { return nullptr; }

 protected:
  ChunkObserver(int lanes, int size) : lanes_(lanes), size_(size) {}

 private:
  int lanes_, size_;
};

class DifferentiableObserver : public ChunkObserver<double> {
 public:
  // Adds to x_bar (tangent, W) and u_bar (input, W).
  virtual void pullback(const ObservedPoint<double>& at, const double* values_bar, double* x_bar,
                        double* u_bar, StepWorkspace& workspace) const = 0;
  // Writes the cotangents of the parameters (those in lanes, W), accumulated since begin.
  virtual void finish(StepWorkspace& workspace, double* p_bar) const = 0;

 protected:
  using ChunkObserver<double>::ChunkObserver;
};

class Observables {
 public:
  virtual ~Observables() = default;
  // Those that are worth listing; `find` may know more.
  virtual std::vector<Observable> listed() const = 0;
  // What goes by this name, or nothing. Throws ModelError, with the reason, on what cannot be
  // observed.
  virtual std::optional<Observable> find(const std::string& name) const;
  // What is shown where nobody chooses; nothing: all that the System lists, its state too.
  virtual std::optional<std::vector<std::string>> usual() const { return std::nullopt; }
  // Names for a message about one that there is not, and what such a name is.
  virtual std::vector<std::string> known() const;
  virtual std::string noun() const { return "observable"; }

  // The numbers of these names, one after another, in chunks of so many lanes, which are those of
  // one of the System's steppers; null where there is none in this precision.
  virtual std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>& names,
                                                              int lanes) const = 0;
  virtual std::shared_ptr<const ChunkObserver<double>> float64(
      const std::vector<std::string>& names, int lanes) const = 0;
  // Likewise, in lanes of its own choice.
  virtual std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>& names) const = 0;
};

// The blocks of the System's state, and what its Observables list.
std::vector<Observable> observables_of(const System& system);

// What goes by this name; a block of the state where the Observables do not know it. Throws
// ModelError with the nearest name.
Observable find_observable(const System& system, const std::string& name);

}  // namespace cycloid::inline system
