// StepCall: what a kernel of a device is asked to do, as plain numbers and addresses.
//
// One thread runs one environment through `steps` steps, forward or back, or finds some rows of the
// Jacobians A and B of the one step on the tape. Where there is `mail`, each step forward is three
// kernels, of which the second solves. Arrays of the user's have
// rows, one environment after another, as in adjoint/rollout.h; a stride of 0 is a row that all
// share. What only kernels read (the tape) has the environment innermost: number i of environment e
// stands at [i * count + e], so that threads side by side read side by side.
//
// The tape of step k, counted from the call's first: the state before the step at
// states_kept[k], its record at records[k]. Either may be null.
//
// A large world is a call by itself, count = 1, and all of the device works on its cells; its
// parameters may be arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cycloid/system/stepper.h"

namespace cycloid::inline system {

// A piece of the state space whose coordinates are not its tangents: a unit quaternion.
struct QuaternionPlace {
  int offset = 0, tangent = 0;
};

// What is told about one environment of a run; it goes on from call to call.
struct EnvironmentNote {
  std::int64_t failed = -1;    // the step that was not finite
  std::int64_t unsolved = -1;  // the first step whose solver stopped short, and how many
  std::int64_t unsolved_count = 0;
  std::int64_t crowded = -1;  // likewise: more contacts than there is room for
  std::int64_t crowded_count = 0;
  std::int64_t counters[kMostCounters] = {};
  std::int64_t switches = 0;     // steps with other active rows than the one before
  double residual = 0;           // the largest
  std::uint64_t active_set = 0;  // of the last step
  std::int64_t steps = 0;        // steps that were made
  std::int64_t bad_step = -1;    // on the way back: where a cotangent is first not finite,
  int bad_number = -1;           // which, or -1: one of an input
};

// Of all environments of a call: sums of whole numbers, whatever their order.
struct RunTotals {
  long long counters[kMostCounters] = {};
  long long switches = 0;
  long long named = 0;  // environments' steps that failed, stopped short or were crowded
};

// Environments whose mail lies side by side.
inline constexpr int kTile = 8;

// What the solve of a step by a kernel of its own needs (device/split_run.h).
struct SolveSizes {
  std::size_t mail = 0;          // bytes of an environment; 0: each thread solves for itself
  int rows[2] = {0, 0};          // most rows for which a warp has memory: of few, and of all
  std::size_t warp[2] = {0, 0};  // bytes of a warp, for so many
};

template <class T>
struct StepCall {
  const void* image = nullptr;  // what the kernel's own body reads, on the device
  std::int64_t count = 0;       // environments
  std::int64_t steps = 0;       // of this call
  std::int64_t first_step = 0;  // number of the first of them
  double t0 = 0;                // [s]
  int state = 0, tangent = 0, input = 0, parameters = 0, record = 0;
  std::size_t body_bytes = 0;  // of a thread's memory that the body carves
  SolveSizes solve;
  std::byte* mail = nullptr;  // between the kernels of one step
  int quaternions = 0;
  const QuaternionPlace* quaternion = nullptr;

  double* scratch = nullptr;  // of a large world (DeviceForm::scratch)

  T* x = nullptr;         // (state, count): where the environments are
  const T* x0 = nullptr;  // rows: where they begin, in the first call of a run, else null
  std::int64_t x0_stride = 0;
  bool begins = false;          // notes begin, too
  bool coordinates = false;     // x0 has quaternions of any length, x0_bar is of coordinates: below
  const T* controls = nullptr;  // rows of inputs, the first of this call's steps; null: zero
  std::int64_t control_stride = 0;  // between environments
  std::int64_t input_stride = 0;    // between steps; 0: held
  const T* params = nullptr;        // rows
  std::int64_t parameter_stride = 0;
  const std::int64_t* saved = nullptr;  // (steps + 1) which saved state each is, or -1
  T* states = nullptr;                  // (count, saved, state) rows, forward
  std::int64_t states_stride = 0;
  T* states_kept = nullptr;          // (steps, state, count)
  T* records = nullptr;              // (steps, record, count)
  EnvironmentNote* notes = nullptr;  // (count)
  RunTotals* totals = nullptr;       // of all calls so far, or null

  // The way back.
  const T* states_bar = nullptr;  // rows as `states`
  T* x_bar = nullptr;             // (tangent, count); the call of the last step begins with zeros
  T* x0_bar = nullptr;            // (count, tangent or state) rows, in the call of the first step,
                                  // else null
  int* some_bad = nullptr;        // becomes 1 where a cotangent is not finite
  T* controls_bar = nullptr;      // (count, steps, input) rows, or null
  std::int64_t controls_bar_stride = 0;
  double* params_bar = nullptr;    // (parameters, count), added to; null: nobody asked
  const char* left_out = nullptr;  // (count) environments without a gradient
  bool last = false;               // the call's last state is the run's: its cotangent counts here

  // Jacobians: rows (count, tangent, tangent) and (count, tangent, input) of the call's one step.
  T *A = nullptr, *B = nullptr;
  int pieces = 1;  // threads that share an environment's rows
};

// What environments show, a row of values for each: pieces (place in the row, from, count) of their
// states, and of what a thread computes.
template <class T>
struct ObserveCall {
  const void* image = nullptr;
  std::int64_t count = 0;
  int state = 0, input = 0, computed = 0, size = 0;  // numbers; of a row of values
  std::size_t body_bytes = 0;
  double t = 0;  // [s]
  const T* x = nullptr;
  const T* u = nullptr;  // null: zero
  std::int64_t control_stride = 0;
  const T* params = nullptr;
  std::int64_t parameter_stride = 0;
  const int *of_state = nullptr, *of_computed = nullptr;
  int state_pieces = 0, computed_pieces = 0;
  T* values = nullptr;
};

// Sums over environments in a fixed order: blocks of kSumBlock, then the blocks one after another.
inline constexpr std::int64_t kSumBlock = 256;

// out (numbers) = Σ over the environments that are not left out of values (numbers, count).
struct SumCall {
  const double* values = nullptr;
  std::int64_t numbers = 0, count = 0;
  const char* left_out = nullptr;
  double* out = nullptr;  // (numbers, blocks)
};

}  // namespace cycloid::inline system
