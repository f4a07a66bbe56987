// The run of one environment through the steps of a StepCall, forward and back, and the Jacobians
// of one step: what one thread of a device does. A Body is one kind of System: it makes a step,
// pulls it back and finds the rows of its Jacobians (law_body.h, robot_body.h).
//
// The thread's memory, `memory`, holds what the body carves and behind it
//   [ x | x⁺ | u | record | x̄ | x̄⁺ | ū | p̄ ]
// An environment whose step is not finite stands still from there on, as in adjoint/engine/sweep.h.
#pragma once

#include "cycloid/math/quaternion.h"
#include "cycloid/math/rotation.h"
#include "cycloid/system/device_call.h"

namespace cycloid::inline device {

inline constexpr std::size_t kBodyAlignment = 16;

// A thread's own arrays.
template <class T>
struct ThreadArrays {
  CYCLOID_HD ThreadArrays(const StepCall<T>& c, std::byte* memory) {
    T* at = reinterpret_cast<T*>(memory + c.body_bytes);
    x = at, x_next = x + c.state, u = x_next + c.state, record = u + c.input;
    x_bar = record + c.record, x_next_bar = x_bar + c.tangent, u_bar = x_next_bar + c.tangent;
    p_bar = u_bar + c.input;
  }
  static std::size_t bytes(const StepCall<T>& c) {
    return sizeof(T) * static_cast<std::size_t>(2 * c.state + 2 * c.input + c.record +
                                                2 * c.tangent + c.parameters);
  }
  T *x, *x_next, *u, *record, *x_bar, *x_next_bar, *u_bar, *p_bar;
};

// Arrays with the environment innermost.
template <class T>
CYCLOID_HD void read_lane(const T* from, std::int64_t count, std::int64_t e, int n, T* to) {
  for (int i = 0; i < n; ++i) to[i] = from[i * count + e];
}
template <class T>
CYCLOID_HD void write_lane(const T* from, std::int64_t count, std::int64_t e, int n, T* to) {
  for (int i = 0; i < n; ++i) to[i * count + e] = from[i];
}

template <class T>
CYCLOID_HD bool all_finite(const T* x, int n) {
  bool finite = true;
  for (int i = 0; i < n; ++i) finite = finite && x[i] - x[i] == T(0);
  return finite;
}

template <class T>
CYCLOID_HD void read_input(const StepCall<T>& c, std::int64_t e, std::int64_t k, T* u) {
  if (!c.controls) {
    for (int i = 0; i < c.input; ++i) u[i] = T(0);
    return;
  }
  const T* const row = c.controls + e * c.control_stride + k * c.input_stride;
  for (int i = 0; i < c.input; ++i) u[i] = row[i];
}

template <class T>
CYCLOID_HD void save_state(const StepCall<T>& c, std::int64_t e, std::int64_t k, const T* x) {
  if (!c.saved || c.saved[k] < 0) return;
  T* const row = c.states + e * c.states_stride + c.saved[k] * c.state;
  for (int i = 0; i < c.state; ++i) row[i] = x[i];
}

// Where an environment begins: its row, quaternions made units where they need not be.
template <class T>
CYCLOID_HD void read_start(const StepCall<T>& c, std::int64_t e, T* x) {
  const T* const row = c.x0 + e * c.x0_stride;
  for (int i = 0; i < c.state; ++i) x[i] = row[i];
  for (int q = 0; c.coordinates && q < c.quaternions; ++q) {
    T* const at = x + c.quaternion[q].offset;
    const Quat<T> given = load_quat(static_cast<const T*>(at));
    store(at, given * (T(1) / sqrt(dot(given, given))));
  }
}

// Its cotangent x_bar at the start x, as the user's row has it; zero where x_bar is null.
template <class T>
CYCLOID_HD void write_start_bar(const StepCall<T>& c, std::int64_t e, const T* x, const T* x_bar) {
  if (!c.x0_bar) return;
  if (!x_bar || !c.coordinates) {
    const int n = c.coordinates ? c.state : c.tangent;
    for (int i = 0; i < n; ++i) c.x0_bar[e * n + i] = x_bar ? x_bar[i] : T(0);
    return;
  }
  T* const row = c.x0_bar + e * c.state;
  int i = 0, t = 0;
  for (int q = 0; q < c.quaternions; ++q) {
    for (; i < c.quaternion[q].offset; ++i, ++t) row[i] = x_bar[t];
    const Quat<T> given = load_quat(c.x0 + e * c.x0_stride + i);
    const T inverse = T(1) / sqrt(dot(given, given));
    store(row + i,
          ambient_from_tangent_cotangent(load_quat(x + i), load_vec3(x_bar + t)) * inverse);
    i += 4, t += 3;
  }
  for (; i < c.state; ++i, ++t) row[i] = x_bar[t];
}

CYCLOID_HD inline void take_note(const LaneNote& said, std::int64_t step, EnvironmentNote& note) {
  for (int i = 0; i < kMostCounters; ++i) note.counters[i] += said.counters.data()[i];
  note.switches += note.steps > 0 && said.active_set != note.active_set;
  note.active_set = said.active_set;
  ++note.steps;
  if (said.residual > 0) {
    if (note.unsolved < 0) note.unsolved = step;
    ++note.unsolved_count;
    note.residual = said.residual > note.residual ? said.residual : note.residual;
  }
  if (said.crowded) {
    if (note.crowded < 0) note.crowded = step;
    ++note.crowded_count;
  }
}

// Adds to a number that all threads share.
CYCLOID_HD inline void add_shared(long long* sum, long long more) {
  if (more == 0) return;
#if defined(__CUDA_ARCH__)
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(more));
#else
  *sum += more;
#endif
}

// What this call added to a note.
CYCLOID_HD inline void add_totals(const EnvironmentNote& before, const EnvironmentNote& after,
                                  RunTotals& totals) {
  for (int i = 0; i < kMostCounters; ++i) {
    add_shared(totals.counters + i, after.counters[i] - before.counters[i]);
  }
  add_shared(&totals.switches, after.switches - before.switches);
  add_shared(&totals.named, (after.failed >= 0) + (after.unsolved >= 0) + (after.crowded >= 0));
}

template <class Body, class T>
CYCLOID_HD void run_forward(const StepCall<T>& c, std::int64_t e, std::byte* memory) {
  const ThreadArrays<T> at(c, memory);
  Body body(c, c.params + e * c.parameter_stride, memory);
  EnvironmentNote note;
  if (!c.begins) note = c.notes[e];
  const EnvironmentNote known = note;
  T *x = at.x, *x_next = at.x_next;
  if (c.x0) {
    read_start(c, e, x);
  } else {
    read_lane(c.x, c.count, e, c.state, x);
  }
  if (c.first_step == 0) save_state(c, e, 0, x);
  for (std::int64_t k = 0; k < c.steps; ++k) {
    if (c.states_kept) write_lane(x, c.count, e, c.state, c.states_kept + k * c.state * c.count);
    if (note.failed < 0) {
      read_input(c, e, k, at.u);
      LaneNote said;
      body.step(c.t0, c.first_step + k, x, at.u, x_next, at.record, said);
      if (all_finite(x_next, c.state)) {
        take_note(said, c.first_step + k, note);
        if (c.records)
          write_lane(at.record, c.count, e, c.record, c.records + k * c.record * c.count);
        T* const before = x;
        x = x_next, x_next = before;
      } else {
        note.failed = c.first_step + k;
      }
    }
    save_state(c, e, k + 1, x);
  }
  write_lane(x, c.count, e, c.state, c.x);
  c.notes[e] = note;
  if (c.totals) add_totals(known, note, *c.totals);
}

// Adds the cotangent of a saved state, given in coordinates, to x_bar in tangents (space.h (3)).
template <class T>
CYCLOID_HD void add_state_bar(const StepCall<T>& c, std::int64_t e, std::int64_t k, const T* x,
                              T* x_bar) {
  if (!c.saved || c.saved[k] < 0) return;
  const T* const bar = c.states_bar + e * c.states_stride + c.saved[k] * c.state;
  int i = 0, t = 0;
  for (int q = 0; q < c.quaternions; ++q) {
    for (; i < c.quaternion[q].offset; ++i, ++t) x_bar[t] += bar[i];
    add_to(x_bar + t, tangent_from_ambient_cotangent(load_quat(x + i), load_quat(bar + i)));
    i += 4, t += 3;
  }
  for (; i < c.state; ++i, ++t) x_bar[t] += bar[i];
}

// Goes back through the call's steps, whose states and records are on the tape; c.x holds the state
// after the last.
template <class Body, class T>
CYCLOID_HD void run_backward(const StepCall<T>& c, std::int64_t e, std::byte* memory) {
  if (c.last) c.notes[e].bad_step = -1, c.notes[e].bad_number = -1;
  if (c.left_out[e]) {
    for (std::int64_t i = 0; c.controls_bar && i < c.steps * c.input; ++i) {
      c.controls_bar[e * c.controls_bar_stride + i] = T(0);
    }
    return write_start_bar<T>(c, e, nullptr, nullptr);
  }
  const ThreadArrays<T> at(c, memory);
  Body body(c, c.params + e * c.parameter_stride, memory);
  std::int64_t bad_step = -1;
  int bad_number = -1;
  T *x_bar = at.x_bar, *x_next_bar = at.x_next_bar;
  T* const p_bar = c.params_bar ? at.p_bar : nullptr;
  for (int i = 0; p_bar && i < c.parameters; ++i) p_bar[i] = T(0);
  if (!c.last) {
    read_lane(c.x_bar, c.count, e, c.tangent, x_bar);
  } else {
    for (int i = 0; i < c.tangent; ++i) x_bar[i] = T(0);
    read_lane(c.x, c.count, e, c.state, at.x);
    add_state_bar(c, e, c.steps, at.x, x_bar);
  }
  for (std::int64_t k = c.steps - 1; k >= 0; --k) {
    T* const before = x_bar;
    x_bar = x_next_bar, x_next_bar = before;
    read_lane(c.states_kept + k * c.state * c.count, c.count, e, c.state, at.x);
    read_lane(c.records + k * c.record * c.count, c.count, e, c.record, at.record);
    read_input(c, e, k, at.u);
    for (int i = 0; i < c.tangent; ++i) x_bar[i] = T(0);
    for (int i = 0; i < c.input; ++i) at.u_bar[i] = T(0);
    body.pullback(c.t0, c.first_step + k, at.x, at.u, at.record, x_next_bar, x_bar, at.u_bar,
                  p_bar);
    const bool inputs_finite = !c.controls_bar || all_finite(at.u_bar, c.input);
    if (bad_step < 0 && !(all_finite(x_bar, c.tangent) && inputs_finite)) {
      bad_step = c.first_step + k;
      for (int i = c.tangent - 1; i >= 0; --i) {
        if (!all_finite(x_bar + i, 1)) bad_number = i;
      }
    }
    if (c.controls_bar) {
      T* const row = c.controls_bar + e * c.controls_bar_stride + k * c.input;
      for (int i = 0; i < c.input; ++i) row[i] = at.u_bar[i];
    }
    add_state_bar(c, e, k, at.x, x_bar);
  }
  write_lane(x_bar, c.count, e, c.tangent, c.x_bar);
  write_start_bar<T>(c, e, at.x, x_bar);
  for (int i = 0; p_bar && i < c.parameters; ++i) {
    c.params_bar[i * c.count + e] += static_cast<double>(p_bar[i]);
  }
  if (bad_step < 0 || c.notes[e].bad_step >= 0) return;
  c.notes[e].bad_step = bad_step, c.notes[e].bad_number = bad_number;
  *c.some_bad = 1;  // by whichever thread
}

// The rows of A and B that are a thread's own, and memory for one of them.
template <class T>
class JacobianRows {
 public:
  CYCLOID_HD JacobianRows(const StepCall<T>& c, std::int64_t e, int piece,
                          const ThreadArrays<T>& at)
      : x_next_bar(at.x_next_bar),
        x_bar(at.x_bar),
        u_bar(at.u_bar),
        tangent_(c.tangent),
        input_(c.input),
        piece_(piece),
        pieces_(c.pieces),
        A_(c.A + e * c.tangent * c.tangent),
        B_(c.B ? c.B + e * c.tangent * c.input : nullptr) {
    for (int i = 0; i < c.tangent; ++i) x_next_bar[i] = T(0);
  }

  // Whether the i-th thing with rows of its own is this thread's.
  CYCLOID_HD bool owns(int i) const { return i % pieces_ == piece_; }
  CYCLOID_HD T* A(int k) const { return A_ + k * tangent_; }
  CYCLOID_HD T* B(int k) const { return B_ + k * input_; }

  // Row k, by pull(), which adds to x_bar and u_bar for the cotangent x_next_bar.
  template <class Pull>
  CYCLOID_HD void find(int k, Pull&& pull) {
    for (int i = 0; i < tangent_; ++i) x_bar[i] = T(0);
    for (int i = 0; i < input_; ++i) u_bar[i] = T(0);
    x_next_bar[k] = T(1);
    pull();
    x_next_bar[k] = T(0);
    for (int i = 0; i < tangent_; ++i) A(k)[i] = x_bar[i];
    for (int i = 0; i < input_; ++i) B(k)[i] = u_bar[i];
    check(k);
  }
  CYCLOID_HD void check(int k) {
    finite = finite && all_finite(A(k), tangent_) && all_finite(B(k), input_);
  }
  CYCLOID_HD int size() const { return tangent_; }
  CYCLOID_HD int inputs() const { return input_; }

  T *x_next_bar, *x_bar, *u_bar;
  bool finite = true;  // all rows so far

 private:
  int tangent_, input_, piece_, pieces_;
  T *A_, *B_;
};

// A piece of the rows of the call's one step, which is on the tape.
template <class Body, class T>
CYCLOID_HD void run_linearise(const StepCall<T>& c, std::int64_t e, int piece, std::byte* memory) {
  if (c.notes[e].failed >= 0) return;
  const ThreadArrays<T> at(c, memory);
  Body body(c, c.params + e * c.parameter_stride, memory);
  read_lane(c.states_kept, c.count, e, c.state, at.x);
  read_lane(c.records, c.count, e, c.record, at.record);
  read_input(c, e, 0, at.u);
  JacobianRows<T> rows(c, e, piece, at);
  body.linearise(c.t0, c.first_step, at.x, at.u, at.record, rows);
  if (rows.finite) return;
  c.notes[e].bad_step = c.first_step;  // by whichever threads: which row it is, the host looks up
  *c.some_bad = 1;
}

// One block of one number's sum.
CYCLOID_HD inline void sum_block(const SumCall& c, std::int64_t number, std::int64_t block) {
  const std::int64_t first = block * kSumBlock;
  const std::int64_t end = first + kSumBlock < c.count ? first + kSumBlock : c.count;
  double sum = 0;
  for (std::int64_t e = first; e < end; ++e) {
    if (!c.left_out[e]) sum += c.values[number * c.count + e];
  }
  c.out[number * ((c.count + kSumBlock - 1) / kSumBlock) + block] = sum;
}

}  // namespace cycloid::inline device
