// Engine: who runs a System, and the only place that knows how.
//
// Above it are rows of numbers: the states, inputs and parameters of environments, checked and
// copied (Run), and what the user gets of them. Below it is whatever runs them. Nothing above asks
// for lanes, chunks, threads or steppers; a Tape is handed back to the engine that made it.
//   plan                          how a run is cut, and what its tape keeps
//   forward                       the run with a tape       rollout.h
//   backward, first_not_finite    its gradient              pullback.cpp
//   trace                         its cotangents' growth    diagnose.h
//   follow                        on another run's substeps check_gradient.h
//   advance                       without a tape, observed  advance.h
//   linearise, sparse_linearise   Jacobians of a step       linearise.h
// and, in double precision, whatever that of the System is:
//   hold                          products with them        linearise.h
//   pair_width                    dual numbers: plan, forward and backward of pairs of rows
//   push                          tangents by the steps' own pushforward   pushforward.h
//   watch, observe, observe_pullback    what a System shows, of rows       observe.h
//
// LaneEngine runs chunks of lanes on the threads of this machine (lane_engine.h); a large world is
// a chunk of one lane that spreads over threads inside its step. DeviceEngine runs one thread of a
// card for each environment (device_engine.h). engine.cpp chooses.
#pragma once

#include <cmath>

#include "cycloid/adjoint/advance.h"
#include "cycloid/adjoint/engine/run.h"
#include "cycloid/adjoint/engine/tangent_rows.h"
#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/rollout.h"

namespace cycloid::inline adjoint {

// What there is to say about a run besides its numbers.
struct RunOutcome {
  Report report;
  std::vector<Event> events;  // environment after environment, in the order of time
};

// What the way back of all environments finds, before it is brought into the user's shapes.
template <class T>
struct BackwardParts {
  std::vector<T> x0_tangent;     // (batch, tangents)
  std::vector<T> controls;       // (batch, T, inputs), when each environment has its own
  std::vector<double> sums;      // (groups, T, inputs), when they share
  std::vector<double> params;    // (batch, parameters), or (groups, parameters) when they share
  std::vector<char> left_out;    // (batch): failed or unsolved forward, or not finite backward
  std::vector<char> not_finite;  // (batch): found on this way back; or kDrifted
  std::vector<std::int64_t> recomputed;  // steps, in parts
  std::vector<double> drift;             // (batch), where the way back was by stepping back
  std::int64_t groups = 1;               // of sums, which are taken in their order
};

// In `not_finite`: the run that was stepped back misses its start.
inline constexpr char kDrifted = 2;

// A way back: what is asked for, of which trajectory.
template <class T>
struct BackwardTask {
  const Trajectory<T>& trajectory;
  const PullbackOptions& options;
  const T* states_bar;  // shaped like the trajectory's states

  const Run<T>& run() const { return trajectory.run(); }
  // Whether the inputs' cotangent is one for all environments, and whether the parameters' is not.
  bool sum_controls() const {
    return options.controls && !options.each && run().control_rows <= 1 && run().batch > 1;
  }
  bool own_parameters() const {
    return (options.each && options.params) || run().parameter_rows > 1;
  }
  std::size_t inputs_per_run() const {
    return static_cast<std::size_t>(run().steps) *
           static_cast<std::size_t>(run().system.inputs().size());
  }
};

// One environment's cotangent on its way back, scaled to norm 1 after every step.
struct CotangentTrace {
  std::int64_t from = 0;    // the state where it starts, given
  std::vector<double> bar;  // ... and what it is there, of norm 1 (tangents), given
  double largest_state = 0, smallest_state = HUGE_VAL, initial_state = 0;  // norms
  std::int64_t bad_step = -1;  // the first, going back, where it is not finite; -1: none
  int bad_tangent = 0;
};

template <class T>
class Engine {
 public:
  virtual ~Engine() = default;
  // Decides how the run is cut into parts, and what its tape keeps.
  virtual void plan(Run<T>& run, const Memory& memory) const = 0;
  // After a planned run has been given its system with another gradient.
  virtual void retarget(Run<T>& run) const = 0;
  // Environments of a planned run that are worked on at once.
  virtual std::int64_t at_once(const Run<T>& run) const = 0;
  // Runs forward: writes the saved states (batch, saved, states). The run may be ordered anew
  // before it begins.
  virtual std::shared_ptr<Tape> forward(Run<T>& run, T* states, RunOutcome& outcome,
                                        const KeepGoing& keep_going) const = 0;
  // Fills the parts, whose left_out says which environments have no gradient.
  virtual void backward(const BackwardTask<T>& task, BackwardParts<T>& parts) const = 0;
  // Goes back once more and says where an environment's cotangent is first not finite.
  virtual std::string first_not_finite(const BackwardTask<T>& task, BackwardParts<T>& parts,
                                       std::int64_t environment) const = 0;
  // Goes back with one trace for each environment, and writes the norms of their cotangents before
  // they are scaled, growth (batch, T), up to the state where they start.
  virtual void trace(const Trajectory<T>& trajectory, std::vector<CotangentTrace>& traces,
                     std::vector<double>& growth, const KeepGoing& keep_going) const = 0;
  // Makes a planned run record its substeps in the log, or follow those that it has; false where
  // the System has none.
  virtual bool follow(Run<T>& run, SubstepLog& log) const = 0;

  // Runs forward and keeps nothing: writes the last states, and what is observed there unless
  // observer is null.
  virtual void advance(Run<T>& run, const Observer* observer, const AdvanceOptions& options,
                       Advanced<T>& out) const = 0;

  // Of a run of one step: fills next, A, B and, where the run asks for it, P.
  virtual RunOutcome linearise(const Run<T>& run, Linearisation<T>& out,
                               const KeepGoing& keep_going) const = 0;
  // ... of one environment; A and B stay without rows where the System does not know its entries.
  virtual RunOutcome sparse_linearise(const Run<T>& run, SparseLinearisation<T>& out,
                                      const KeepGoing& keep_going) const = 0;
};

// A step that was made, of one environment, for products with its Jacobians (A, B).
class HeldStep {
 public:
  virtual ~HeldStep() = default;
  // Writes out = A x_tan + B u_tan (tangents), either empty for zero, and returns true; or false.
  virtual bool push(std::span<const double> x_tan, std::span<const double> u_tan,
                    std::span<double> out) = 0;
  // Adds to x_bar = Aᵀ bar and u_bar = Bᵀ bar, unless they are empty.
  virtual void pull(std::span<const double> bar, std::span<double> x_bar,
                    std::span<double> u_bar) = 0;
};

class DoubleEngine {
 public:
  virtual ~DoubleEngine() = default;
  // Makes the one step of a planned run, which outlives the result, and writes the state after it.
  virtual std::unique_ptr<HeldStep> hold(Run<double>& run, std::span<double> next,
                                         RunOutcome& outcome) const = 0;
  // W of runs in pairs of W values and W tangents (Run::pair_width); 0: the System has no dual
  // numbers.
  virtual std::int64_t pair_width(const System& system) const = 0;
  // Tangents of the states of a planned run, step by step; false where its steps have no
  // pushforward.
  virtual bool push(const Run<double>& run, const RunTangents& along, const SavedTangents& saved,
                    const KeepGoing& keep_going) const = 0;

  // Who computes what an Observer shows under these names, in all forms that this engine needs.
  virtual std::shared_ptr<const Watch> watch(const System& system,
                                             const std::vector<std::string>& names) const = 0;
  // Writes what is computed into values (rows, observer.size), which have the state's numbers.
  virtual void observe(const Observer& observer, const CheckedRows& rows,
                       const ObserveOptions& options, double* values,
                       std::vector<RowNote>& notes) const = 0;
  virtual ObservationGradient observe_pullback(const Observer& observer, const CheckedRows& rows,
                                               std::span<const double> values_bar,
                                               const ObserveOptions& options) const = 0;
};

template <class T>
const Engine<T>& engine_of(const System& system);
const DoubleEngine& double_engine_of(const System& system);

}  // namespace cycloid::inline adjoint
