// Room adjoint: rollouts of Systems and their gradients.
//
//   const Trajectory<double> run = rollout(system, x0, 200);        200 steps with zero inputs
//   const Gradient<double> g = run.pullback(states_bar);            g.x0, g.controls, g.params
//
// Where to start reading:
//   rollout.h      the user's edge: rollout, Trajectory, Gradient
//   engine/        who runs it: sweep.h, one chunk's way forward and back, the life of a step and
//                  of a gradient; memory.h, what the adjoint keeps; schedule.h, the binomial
//                  schedule; alike.h, which environments share a chunk; engine.h, on what machine
//   events.h       what happened on the way: impacts, ends
//   report.h       what a run has to say about itself
//   advance.h      a few steps under held inputs, observed, for learners
//   smoothed.h     the gradient of a mean over noisy inputs
//   pushforward.h  tangents (jvp), and Hessian-vector products
//   linearise.h    A, B, P of one step
//   check_gradient.h, diagnose.h   how far to trust a gradient
//
// Rows. Everything at this edge is an array of rows, one environment after another, in the system's
// precision T; parameters are double. x0 (rows, states); controls (rows, T, inputs); parameters
// (rows, numbers). Each has one row per environment, or a single row that all share; its gradient
// has the same shape, summed over the environments that shared a row.
//
// Loss and states. A loss L of the saved states enters as states_bar = ∂L/∂states, in the
// coordinates of the states. Quaternions in x0 are normalised on entry, and g.x0 is the gradient of
// that.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cycloid/adjoint/engine/memory.h"
#include "cycloid/adjoint/engine/save.h"
#include "cycloid/adjoint/events.h"
#include "cycloid/adjoint/report.h"
#include "cycloid/base/interrupt.h"
#include "cycloid/system/system.h"

namespace cycloid::inline adjoint {

template <class T>
struct Run;

// What is kept of a run for the way back. Only the engine that made it knows more (engine.h).
class Tape {
 public:
  virtual ~Tape() = default;
  virtual std::uint64_t bytes() const = 0;
};

// The inputs of every step: a number of steps with zero inputs, or rows of `steps` inputs each.
template <class T>
struct Controls {
  // implicit: rollout(system, x0, 200)
  Controls(std::int64_t step_count) : steps(step_count), zero(true) {}
  Controls(std::span<const T> rows, std::int64_t step_count) : values(rows), steps(step_count) {}
  std::span<const T> values;
  std::int64_t steps;
  bool zero = false;
};

struct RolloutOptions {
  Save save = Save::all();
  // Where not empty, states at these times [s] are saved instead: increasing, within the run.
  std::vector<double> times = {};
  Memory memory = Memory::automatic();
  int threads = 0;                            // 0: as many as the machine offers
  double t0 = 0;                              // time of the first state [s]
  std::optional<GradientMode> gradient = {};  // none: the system's
  KeepGoing keep_going = {};  // asked now and then; a run ends with Interrupted when it says no
};

struct PullbackOptions {
  bool x0 = true, controls = true, params = true;  // what to differentiate with respect to
  bool each = false;  // a row of each gradient per environment, also where they share what it is of
  // Environments that failed, whose solver stopped short, with a grazing event, or whose cotangent
  // is not finite: raise GradientError, or zero gradient.
  enum class Failed { raise, skip } failed = Failed::raise;
  // ∂L/∂time of each of the trajectory's events; empty: the loss does not depend on them.
  std::span<const double> event_times_bar = {};
  std::optional<GradientMode> gradient = {};  // none: the rollout's
  KeepGoing keep_going = {};
};

template <class T>
struct Gradient {
  std::vector<T> x0;                  // shaped like x0
  std::vector<T> x0_tangent;          // (rows of x0, tangent size)
  std::vector<T> controls;            // shaped like controls; (T, inputs), summed, for zero inputs
  std::vector<double> params;         // shaped like the parameters; one row for the default
  std::int64_t recomputed_steps = 0;  // steps run again on the way back, over all chunks of lanes
  // With Memory::reversible: the largest difference between the initial state and what stepping
  // back made of it, relative to the largest number of the state; else 0.
  double drift = 0;
  // Of an estimate from samples (smoothed.h): the variance of each number. Null: it is none.
  std::shared_ptr<const Gradient> variance;
};

template <class T>
class Trajectory {
 public:
  // (batch, saved steps, states), read-only.
  std::span<const T> states() const { return *states_; }
  std::span<const T> state(std::int64_t environment, std::int64_t saved) const;
  std::int64_t batch() const;
  std::int64_t steps() const;  // T
  // Of a state at a time of the user's choice: the step that it lies in.
  const std::vector<std::int64_t>& saved_steps() const { return saved_steps_; }
  std::vector<double> times() const;  // of the saved states [s]
  const std::vector<Event>& events() const { return *events_; }
  const System& system() const;
  const Report& report() const { return *report_; }

  // states_bar is shaped like states(). May be called again; changes nothing.
  Gradient<T> pullback(std::span<const T> states_bar, const PullbackOptions& options = {}) const;

  // For the functions of this room.
  const Run<T>& run() const { return *run_; }
  Tape& tape() const { return *tape_; }
  const std::shared_ptr<std::vector<T>>& shared_states() const { return states_; }

 private:
  template <class U>
  friend Trajectory<U> roll_out(Run<U> run, const KeepGoing& keep_going);
  std::shared_ptr<const Run<T>> run_;
  std::shared_ptr<Tape> tape_;
  std::shared_ptr<std::vector<T>> states_;
  std::shared_ptr<const Report> report_;
  std::shared_ptr<const std::vector<Event>> events_;
  std::vector<std::int64_t> saved_steps_;
};

// Throws Error on wrong sizes, no steps, numbers that are not finite; ParameterError on parameters
// out of their constraints or differing between environments without being declared in `vary`.
Trajectory<double> rollout(const System& system, std::span<const double> x0,
                           const Controls<double>& controls, std::span<const double> params = {},
                           const RolloutOptions& options = {});
Trajectory<float> rollout(const System& system, std::span<const float> x0,
                          const Controls<float>& controls, std::span<const double> params = {},
                          const RolloutOptions& options = {});

// One step of each row of x; u may be empty for zero inputs. The result is shaped like the batch.
// Throws Error when a step fails, with where and why. `report`, unless null, has what else there is
// to say: a solver that stopped short, contacts without room.
std::vector<double> step(const System& system, std::span<const double> x,
                         std::span<const double> u = {}, std::span<const double> params = {},
                         Report* report = nullptr);
std::vector<float> step(const System& system, std::span<const float> x,
                        std::span<const float> u = {}, std::span<const double> params = {},
                        Report* report = nullptr);

}  // namespace cycloid::inline adjoint
