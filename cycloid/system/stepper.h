// Stepper: one differentiable time step of a chunk of environments. This is what a System must
// offer.
//
// A chunk is W environments side by side, lane-innermost: number i of lane l is at [i * W + l]. T
// is float or double. Lanes never look at each other: a lane that has gone non-finite leaves its
// neighbours untouched, and what it would add to a gradient stays in its own lane.
//
// The life of a chunk in a rollout, driven by room adjoint:
//   begin(p)                              once: reads the chunk's parameters into the workspace
//   step(x, u, k) -> x⁺, record           once per step
// and of its gradient:
//   begin(p)                              once: also clears the parameters' cotangents
//   step(..., record)                     where the record was not kept
//   pullback(x, u, k, record, x̄⁺)         adds to x̄, ū, and to p̄ in the workspace
//   finish() -> p̄                         once: the parameters' cotangents, per lane
// A step may also offer its Jacobians (adjoint/linearise.h) by a way of its own:
//   jacobian(x, u, k, record) -> A, B      after begin(p) and step
// or say that it is quicker lane by lane: by the Stepper of one environment, with that lane of the
// record.
//
// The record is what step saves for pullback (stage values, active sets). Pullback always gets one,
// kept or recomputed, and both are the work of the same function: a gradient does not depend on
// which. x̄ lives in the tangent of the state space. All calls are const; what changes lies in the
// caller's buffers, so that threads share one Stepper.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace cycloid::inline system {

class SubstepLog;  // substep_log.h

// States inside a step, for a Stepper whose sizes say gives_samples. Their times are held; that of
// the step's beginning, t0 + k h, is not.
template <class T>
struct StepSamples {
  std::span<const double> offsets;  // since the step's beginning [s], rising, in (0, h]
  T* states = nullptr;              // (offsets, state, W), which step writes
  const T* bar = nullptr;           // (offsets, tangent, W), which pullback pulls back too
};

// What a step is a function of, besides the parameters that `begin` has read.
template <class T>
struct StepInput {
  const T* x;                    // state (state_size, W)
  const T* u;                    // input (input_size, W)
  std::int64_t step;             // k; the time is t0 + k h
  double t0;                     // [s]
  bool wants_parameters = true;  // a pullback may leave out p̄ when nobody asked for it
  double part = 0;               // > 0: only so much of the step is taken [s]
  const bool* ended = nullptr;   // (W) lanes that stand still, since their run is over
  // (W, kMostEvents) in a pullback: cotangents of the times of the step's events, or null
  const double* event_times_bar = nullptr;
  const StepSamples<T>* samples = nullptr;  // that are wanted, or null
};

// An event of a lane in a step (event.h).
struct StepEvent {
  int lane = 0;
  int event = 0;    // which of the system's
  double time = 0;  // [s]
  bool grazing = false;
  bool ends = false;  // the lane's run
  // No event, but a stop of the lane before one that would happen without end (Zeno): `explain`
  // says more.
  bool stops = false;
};

enum class StepStatus {
  ok,
  short_of,    // at least one lane is not quite what the law says: its note has more
  non_finite,  // at least one lane of x⁺ is NaN or infinite; others may have notes
};

// What a step has to say about a lane besides its state.
struct LaneNote {
  double residual = 0;  // of a solver that stopped short of its tolerance; 0: none did
  int contacts = 0;     // that may have a force
  // Which rows of constraints are stiff, and in which zone: a hash, 0 where none is. A change is a
  // switch.
  std::uint64_t active_set = 0;
  bool crowded = false;  // there were more contacts than there is room for
  int substeps = 0;      // that an adaptive integrator took,
  int rejected = 0;      // ... and that it tried and did not take
};

// Where a lane of a step went wrong, in the user's words.
struct StepTrouble {
  std::string stage;   // the part of the step: "rk4 stage 2"
  std::string body;    // the body, joint or state block: "velocity"
  std::string reason;  // "its rate of change (x_dot) is not finite"
};

struct StepperSizes {
  int lanes = 1;               // W
  int state = 0, tangent = 0;  // numbers per environment
  int input = 0, parameters = 0;
  int record = 0;
  bool record_is_costly = false;  // a solve went into it: worth keeping rather than making again
  bool has_work_keys = false;     // lanes' work differs, and work_keys says how
  bool jacobian_by_lane = false;  // Jacobians are those of the Stepper of one environment
  bool has_events = false;        // a step may have events
  bool takes_parts = false;       // StepInput::part may be given
  bool gives_samples = false;     // StepInput::samples may be given
  std::size_t workspace = 0;      // bytes, aligned to kWorkspaceAlignment
};

inline constexpr std::size_t kWorkspaceAlignment = 128;

template <class T>
class Stepper {
 public:
  virtual ~Stepper() = default;
  const StepperSizes& sizes() const { return sizes_; }

  // p: (parameters, W).
  virtual void begin(const T* p, std::byte* workspace) const = 0;
  // Writes x_next (state, W) and, unless null, record (record, W).
  virtual StepStatus step(const StepInput<T>& in, T* x_next, T* record,
                          std::byte* workspace) const = 0;
  // Adds to x_bar (tangent, W) and u_bar (input, W).
  virtual void pullback(const StepInput<T>& in, const T* record, const T* x_next_bar, T* x_bar,
                        T* u_bar, std::byte* workspace) const = 0;
  // Writes A (tangent, tangent, W) and B (tangent, input, W), row by row, and returns true; or
  // false where a pullback for each row is the shortest way.
  virtual bool jacobian(const StepInput<T>& /*in*/, const T* /*record*/, T* /*A*/, T* /*B*/,
                        std::byte* /*workspace*/) const {
    return false;
  }
  // Writes a number for each lane after begin, near to each other where steps have like work.
  virtual void work_keys(const StepInput<T>& /*in*/, std::uint64_t* /*keys*/,
                         std::byte* /*workspace*/) const {}
  // Writes the parameters' cotangents (parameters, W), accumulated since begin.
  virtual void finish(const std::byte* workspace, double* p_bar) const = 0;
  // The lanes' notes on the last step, which lie in the workspace; null: there never are any.
  virtual const LaneNote* notes(const std::byte* /*workspace*/) const { return nullptr; }
  // The events of the last step, lane after lane in the order of time; they lie in the workspace.
  virtual std::span<const StepEvent> events(const std::byte* /*workspace*/) const { return {}; }
  // The same step, whose substeps are recorded in the log or follow it; null where it has none.
  virtual std::shared_ptr<const Stepper> following(SubstepLog* /*log*/) const { return nullptr; }
  // Says what went wrong in a lane whose step was not finite. Called rarely; recomputes.
  virtual StepTrouble explain(const StepInput<T>& in, int lane, std::byte* workspace) const = 0;

 protected:
  explicit Stepper(const StepperSizes& sizes) : sizes_(sizes) {}
  StepperSizes sizes_;
};

}  // namespace cycloid::inline system
