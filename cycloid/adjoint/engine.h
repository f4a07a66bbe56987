// Engine: who runs a System, and the only place that knows how.
//
// Above it are rows of numbers and a Run that has been checked; below it whatever runs them. Today
// there is one, which runs chunks of lanes on the threads of this machine (lane_engine.h); a large
// world is a chunk of one lane that spreads over threads inside its step. An engine for another
// device implements these functions and is chosen in `engine_of`.
#pragma once

#include "cycloid/adjoint/rollout.h"
#include "cycloid/adjoint/run.h"

namespace cycloid::inline adjoint {

// What the way back of all environments finds, before it is brought into the user's shapes.
template <class T>
struct BackwardParts {
  std::vector<T> x0_tangent;     // (batch, tangents)
  std::vector<T> controls;       // (batch, T, inputs), when each environment has its own
  std::vector<double> sums;      // (groups, T, inputs), when they share
  std::vector<double> params;    // (batch, parameters), or (groups, parameters) when they share
  std::vector<char> left_out;    // (batch): failed or unsolved forward, or not finite backward
  std::vector<char> not_finite;  // (batch): found on this way back; or kDrifted
  std::vector<std::int64_t> recomputed;  // (chunks)
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
  const T* states_bar;                         // shaped like the trajectory's states
  std::vector<std::vector<double>> times_bar;  // of each chunk's events, in the tape's order

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

template <class T>
class Engine {
 public:
  virtual ~Engine() = default;
  // Decides how the run is cut into parts, and what its tape keeps.
  virtual void plan(Run<T>& run, const Memory& memory) const = 0;
  // Runs forward: writes the saved states (batch, saved, states), the tape and what there is to
  // say. The run may be ordered anew before it begins.
  virtual std::shared_ptr<Tape<T>> forward(Run<T>& run, T* states, Report& report,
                                           const KeepGoing& keep_going) const = 0;
  // Fills the parts, whose left_out says which environments have no gradient.
  virtual void backward(const BackwardTask<T>& task, BackwardParts<T>& parts) const = 0;
  // Goes back once more and says where an environment's cotangent is first not finite.
  virtual std::string first_not_finite(const BackwardTask<T>& task, BackwardParts<T>& parts,
                                       std::int64_t environment) const = 0;
};

template <class T>
const Engine<T>& engine_of(const System& system);

}  // namespace cycloid::inline adjoint
