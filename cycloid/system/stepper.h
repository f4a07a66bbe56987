// Stepper: one differentiable time step of a chunk of environments. This is what a System must
// offer.
//
// A chunk is W environments side by side, lane-innermost: number i of lane l is at [i * W + l]. T
// is float or double. Lanes never look at each other: a lane that has gone non-finite leaves its
// neighbours untouched, and what it would add to a gradient stays in its own lane. A large world is
// a chunk by itself, W = 1, and spreads its step over the threads that it is given.
//
// The life of a chunk in a rollout, driven by room adjoint:
//   make_workspace(resources)             once for each worker: an object of the stepper's own
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
// record. Where a dense Jacobian is too large it offers products with one, or its entries:
//   pushforward(x, u, k, record, ẋ, u̇, ṗ) -> ẋ⁺    likewise;   sparse_jacobian(...) -> A, B
//
// The record is what step saves for pullback (stage values, active sets, a factor). It knows its
// bytes, which may differ from step to step. Pullback always gets one, kept or recomputed, and both
// are the work of the same function: a gradient does not depend on which. x̄ lives in the tangent
// of the state space. All calls are const; what changes lies in the workspace and the caller's
// buffers, so that threads share one Stepper.
//
// What a step carries on without being differentiated by it (a solver's warm start) are `carry`
// numbers behind the state, in every array of states that a step reads or writes. They start as
// zeros and are part of a checkpoint.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "cycloid/system/sparse_matrix.h"

namespace cycloid::inline system {

inline constexpr std::size_t kWorkspaceAlignment = 128;

// What a Stepper keeps between calls: memory for lanes, a sparse factor, a handle of a device. Made
// by the Stepper, owned by whoever drives it, used by one caller at a time.
class StepWorkspace {
 public:
  virtual ~StepWorkspace() = default;
};

// What a step may use.
struct StepResources {
  int threads = 1;  // its own, for parallel_for inside a step; no result depends on their number
};

// The workspace of a stepper in lanes: one block that it carves. Bytes are not set.
class LaneWorkspace final : public StepWorkspace {
 public:
  explicit LaneWorkspace(std::size_t bytes)
      : block_(static_cast<std::byte*>(
            ::operator new(bytes + kWorkspaceAlignment, std::align_val_t(kWorkspaceAlignment)))) {}
  static std::byte* memory(StepWorkspace& w) { return static_cast<LaneWorkspace&>(w).block_.get(); }
  static std::byte* memory(const StepWorkspace& w) {
    return static_cast<const LaneWorkspace&>(w).block_.get();
  }

 private:
  struct Free {
    void operator()(std::byte* p) const {
      ::operator delete(p, std::align_val_t(kWorkspaceAlignment));
    }
  };
  std::unique_ptr<std::byte, Free> block_;
};

// What a step of a large world saves: an object of its stepper's own.
class RecordObject {
 public:
  virtual ~RecordObject() = default;
  virtual std::size_t bytes() const = 0;
};

// What step saves for pullback: numbers in room that the caller gives, or an object, or both.
struct StepRecord {
  std::byte* data = nullptr;             // (StepperSizes::record, W) at most; aligned for lanes
  std::size_t bytes = 0;                 // of the room; step may lower it to what it used
  std::unique_ptr<RecordObject> object;  // made by step, of a type that only its stepper knows

  template <class S>
  S* numbers() const {
    return reinterpret_cast<S*>(data);
  }
};

// The parameters of a chunk (parameters.h): numbers in lanes, and arrays that lanes share.
template <class T>
struct StepParameters {
  const T* lanes = nullptr;          // (parameters, W)
  const T* const* arrays = nullptr;  // of each array, its numbers; they outlive the chunk's run
  // Where cotangents of the arrays are added to by pullback and finish, over all lanes but those
  // left out; null: nobody asked.
  double* const* arrays_bar = nullptr;
  const bool* left_out = nullptr;  // (W), or null: none
  // In dual numbers, the tangents of both; null: zero, and nobody asked.
  const T* const* arrays_tan = nullptr;
  double* const* arrays_bar_tan = nullptr;
};

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

// A direction in what a step is a function of; null: zero.
template <class T>
struct StepTangents {
  const T* x = nullptr;              // (tangent, W)
  const T* u = nullptr;              // (input, W)
  const T* p = nullptr;              // (parameters, W)
  const T* const* arrays = nullptr;  // of each array of parameters
};

enum class StepStatus {
  ok,
  short_of,    // at least one lane is not quite what the law says: its note has more
  non_finite,  // at least one lane of x⁺ is NaN or infinite; others may have notes
};

// Counts that a System may declare (SystemParts::counters).
inline constexpr int kMostCounters = 4;

// What a step has to say about a lane besides its state.
struct LaneNote {
  double residual = 0;  // of a solver that stopped short of its tolerance; 0: none did
  // Which rows of constraints are stiff, and in which zone: a hash, 0 where none is. A change is a
  // switch.
  std::uint64_t active_set = 0;
  bool crowded = false;  // there was more of something (contacts) than there is room for
  std::array<int, kMostCounters> counters = {};  // in the order in which they are declared
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
  int input = 0;
  int parameters = 0;                // in lanes
  std::vector<std::int64_t> arrays;  // numbers of each array of parameters
  int record = 0;                    // numbers at most, per environment
  int carry = 0;                     // numbers behind the state that are not differentiated
  bool record_is_costly = false;     // a solve went into it: worth keeping rather than making again
  bool has_work_keys = false;        // lanes' work differs, and work_keys says how
  bool jacobian_by_lane = false;     // Jacobians are those of the Stepper of one environment
  bool has_events = false;           // a step may have events
  bool takes_parts = false;          // StepInput::part may be given
  bool gives_samples = false;        // StepInput::samples may be given
  bool spreads = false;              // a step is large enough to use threads of its own
  std::size_t workspace = 0;         // bytes of a LaneWorkspace

  int kept() const { return state + carry; }  // numbers of a checkpoint
  std::int64_t array_numbers() const {
    std::int64_t n = 0;
    for (const std::int64_t size : arrays) n += size;
    return n;
  }
};

template <class T>
class Stepper {
 public:
  virtual ~Stepper() = default;
  const StepperSizes& sizes() const { return sizes_; }
  // Of the room that a record needs.
  std::size_t record_bytes() const {
    return sizeof(T) * static_cast<std::size_t>(sizes_.record) *
           static_cast<std::size_t>(sizes_.lanes);
  }

  virtual std::unique_ptr<StepWorkspace> make_workspace(const StepResources& /*resources*/) const {
    return std::make_unique<LaneWorkspace>(sizes_.workspace);
  }
  // What p points to stays as it is until the next begin.
  virtual void begin(const StepParameters<T>& p, StepWorkspace& workspace) const = 0;
  // Writes x_next (state + carry, W) and, unless null, the record.
  virtual StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                          StepWorkspace& workspace) const = 0;
  // Adds to x_bar (tangent, W) and u_bar (input, W).
  virtual void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar,
                        T* x_bar, T* u_bar, StepWorkspace& workspace) const = 0;
  // Writes A (tangent, tangent, W) and B (tangent, input, W), row by row, and returns true; or
  // false where a pullback for each row is the shortest way.
  virtual bool jacobian(const StepInput<T>& /*in*/, const StepRecord& /*record*/, T* /*A*/,
                        T* /*B*/, StepWorkspace& /*workspace*/) const {
    return false;
  }
  // Writes x_next_tan (tangent, W), the derivative of x⁺ in a direction; or returns false.
  virtual bool pushforward(const StepInput<T>& /*in*/, const StepRecord& /*record*/,
                           const StepTangents<T>& /*tangents*/, T* /*x_next_tan*/,
                           StepWorkspace& /*workspace*/) const {
    return false;
  }
  // Of one environment (W = 1): fills A (tangent, tangent) and B (tangent, input), entries that may
  // be other than zero; or returns false.
  virtual bool sparse_jacobian(const StepInput<T>& /*in*/, const StepRecord& /*record*/,
                               SparseMatrix<T>& /*A*/, SparseMatrix<T>& /*B*/,
                               StepWorkspace& /*workspace*/) const {
    return false;
  }
  // Writes a key for each lane after begin: four numbers of 16 bits, which name what its step works
  // at, the first in the highest place, 0 behind the last.
  virtual void work_keys(const StepInput<T>& /*in*/, std::uint64_t* /*keys*/,
                         StepWorkspace& /*workspace*/) const {}
  // Writes the parameters' cotangents (parameters, W), accumulated since begin.
  virtual void finish(StepWorkspace& workspace, double* p_bar) const = 0;
  // The lanes' notes on the last step, which lie in the workspace; null: there never are any.
  virtual const LaneNote* notes(const StepWorkspace& /*workspace*/) const { return nullptr; }
  // The events of the last step, lane after lane in the order of time; they lie in the workspace.
  virtual std::span<const StepEvent> events(const StepWorkspace& /*workspace*/) const { return {}; }
  // The same step, whose substeps are recorded in the log or follow it; null where it has none.
  virtual std::shared_ptr<const Stepper> following(SubstepLog* /*log*/) const { return nullptr; }
  // Says what went wrong in a lane whose step was not finite. Called rarely; recomputes.
  virtual StepTrouble explain(const StepInput<T>& in, int lane, StepWorkspace& workspace) const = 0;

 protected:
  explicit Stepper(const StepperSizes& sizes) : sizes_(sizes) {}
  StepperSizes sizes_;
};

}  // namespace cycloid::inline system
