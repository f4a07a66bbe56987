// Sweep: one chunk's way forward through a run, and its way back over the tape.
//
// Forward: T steps, keeping what the plan says, handing out the states that the user saves. A lane
// that goes non-finite is frozen at its last finite state and reported; the others go on. A lane
// whose run was ended by an event, or stopped before events without end, stands still. What a step
// notes about a lane is reported too, and its events go on the tape, on the way forward only.
// Reverse: visits the steps T-1 … 0 with their state and record, kept or made again. A repeated
// step is the work of the same function on the same numbers, so it equals the first one bit for
// bit. The exception is a reversible tape: its states come from the last one by stepping back, up
// to rounding that the way back may amplify; the drift at the start tells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "cycloid/adjoint/engine/run.h"
#include "cycloid/adjoint/engine/schedule.h"
#include "cycloid/base/thread_pool.h"
#include "cycloid/system/integrator/reversible.h"

namespace cycloid::inline adjoint {

// Steps of inputs that are brought into lanes at once.
inline constexpr std::int64_t kInputBlock = 64;

// A worker's memory for one chunk at a time.
template <class T>
struct SweepBuffers {
  explicit SweepBuffers(const Run<T>& run);
  std::unique_ptr<StepWorkspace> workspace;
  LaneBuffer<T> parameters, inputs, state, next_state;
  LaneBuffer<T> segment_states, snapshots, sample;
  StepRecord record;  // of a step at a time
  RecordStore segment_records;
  LaneBuffer<bool> at_rest;                       // lanes
  std::unique_ptr<StepWorkspace> lane_workspace;  // of the stepper of one environment, if asked
  LaneBuffer<T> lane_numbers;                     // ... and a lane's numbers
  std::unique_ptr<StepWorkspace> observer;        // likewise of an observer (advance.h)
  LaneBuffer<T> observed;                         // ... and what it shows

 private:
  LaneBuffer<std::byte> record_room_, segment_room_;
};

// Calls function(task, buffers, stop) for every task, on the run's threads, each with buffers of
// its own.
template <class T, class Function>
void for_each_task(const Run<T>& run, std::int64_t tasks, const KeepGoing& keep_going,
                   Function&& function) {
  std::vector<std::unique_ptr<SweepBuffers<T>>> buffers(static_cast<std::size_t>(run.threads));
  parallel_for(
      static_cast<std::size_t>(tasks), run.threads,
      [&](std::size_t task, int worker, const StopToken& stop) {
        auto& own = buffers[static_cast<std::size_t>(worker)];
        if (!own) own = std::make_unique<SweepBuffers<T>>(run);
        function(static_cast<std::int64_t>(task), *own, stop);
      },
      keep_going);
}

// Asks for n numbers that will be read or written a step later, while there is other work to do:
// for as many as the nearest cache holds.
template <class T>
inline void fetch_ahead(const T* p, std::int64_t n) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T)), kMost = 512 * kLine;
  for (std::int64_t i = 0; i < std::min(n, kMost); i += kLine) __builtin_prefetch(p + i);
}

template <class T>
class Sweep {
 public:
  Sweep(const Run<T>& run, ChunkTape<T>& tape, SweepBuffers<T>& buffers, std::int64_t chunk,
        const StopToken& stop);

  // Calls save(k, x) for every step k of 0…T with the state's lanes; of a run with samples, for
  // every sample with its number. Adds to `said`.
  template <class SaveState>
  void forward(SaveState&& save, ChunkReport& said);

  // Calls visit(input of step k, record of step k) for k = T-1 … 0.
  template <class Visit>
  void reverse(Visit&& visit);

  // Begins the chunk anew: parameters, and their cotangents as zeros. Those of arrays are added
  // where the caller says, but for the lanes that it leaves out.
  void begin(double* const* arrays_bar = nullptr, const bool* left_out = nullptr,
             double* const* arrays_bar_tan = nullptr);
  // Whether the visits of `reverse` owe the parameters' cotangents.
  void want_parameters(bool wanted) { wants_parameters_ = wanted; }
  // The cotangents of the times of the chunk's events, in the tape's order, for `reverse`.
  void give_event_times_bar(const double* bars) { times_bar_ = bars; }
  // Calls visit(number, part of the step) for the samples in step k that lie behind its beginning,
  // of a stepper that does not give them itself.
  template <class Visit>
  void for_each_sample(const StepInput<T>& in, Visit&& visit) const;
  // Of one that does: the samples in step k that lie behind its beginning. Their states are the
  // buffer's.
  struct SamplesWithin {
    std::int64_t first = 0;  // of their numbers
    StepSamples<T> samples;
  };
  SamplesWithin samples_within(std::int64_t step) const;

  StepWorkspace& workspace() const { return *buffers_.workspace; }
  // Those of the chunk, after `begin`.
  StepParameters<T> parameters() const { return {buffers_.parameters.data(), arrays_.data()}; }
  const LaneMap& map() const { return map_; }
  bool stopped() const { return stopped_; }
  bool lane_failed(int lane) const { return failed_step_[lane] >= 0; }
  // Of a lane that was stepped back to the start: what it misses, relative to its largest number.
  double drift(int lane) const { return drift_[static_cast<std::size_t>(lane)]; }
  std::int64_t recomputed_steps() const { return recomputed_; }

 private:
  StepInput<T> input(const T* x, std::int64_t k);
  // Small steps ask now and then, large ones every time.
  bool asks_at(std::int64_t k) const { return sizes_.spreads || k % kInputBlock == 0; }
  bool stop_requested() { return stopped_ = stopped_ || stop_.stop_requested(); }
  void first_step(const StepInput<T>& in, T* x_next, StepRecord* record, ChunkReport& said);
  void note_failures(const StepInput<T>& in, const T* x_next, ChunkReport& said);
  void take_notes(std::int64_t step, bool all_ok, ChunkReport& said);
  void report_failure(const StepInput<T>& in, int lane, ChunkReport& said);
  void take_events(const StepInput<T>& in, ChunkReport& said);
  const bool* lanes_at_rest(std::int64_t step);
  const double* times_bar_of(std::int64_t step);
  void step_again(const StepInput<T>& in, T* x_next, StepRecord* record);
  // The state of a sample: after a part of its step, or on the path between the step's ends.
  const T* after(const StepInput<T>& part);
  const T* between(std::int64_t number, const T* x, const T* x_next);
  // Runs a step again for the sake of its record, which is then the buffers'.
  void step_for_record(const StepInput<T>& in, T* x_next);
  StepRecord& fresh_record() const {
    buffers_.record.bytes = run_.stepper->record_bytes();
    return buffers_.record;
  }
  void freeze(const StepInput<T>& in, T* x_next) const;
  template <class SaveState>
  void save_samples(const StepInput<T>& in, const T* x_next, const SamplesWithin& within,
                    SaveState&& save);
  void keep(std::int64_t k, const T* x);
  template <class Visit>
  void reverse_segments(Visit&& visit);
  template <class Visit>
  void reverse_binomial(Visit&& visit);
  template <class Visit>
  void reverse_stepping_back(Visit&& visit);
  void check_reversible(const StepInput<T>& in, const T* x_next);
  void measure_drift(const T* x);
  std::size_t state_bytes() const { return sizeof(T) * static_cast<std::size_t>(state_numbers_); }

  const Run<T>& run_;
  ChunkTape<T>& tape_;
  SweepBuffers<T>& buffers_;
  const StepperSizes& sizes_;
  std::int64_t chunk_, state_numbers_;  // ... of a checkpoint in lanes
  LaneMap map_;
  const StopToken& stop_;
  std::vector<const T*> arrays_, arrays_tan_;  // of parameters
  std::vector<std::int64_t> environments_;     // (lanes) the user's numbers of them
  std::int64_t *failed_step_, *ended_step_;
  std::vector<TapeEvent>& events_;
  const LaneNote* notes_;                                  // of the last step, or null
  std::vector<std::optional<std::uint64_t>> active_sets_;  // per lane: that of the step before
  std::int64_t input_block_ = -1, recomputed_ = 0;
  bool any_failed_ = false, any_ended_ = false, stopped_ = false, wants_parameters_ = true;
  const double* times_bar_ = nullptr;
  std::vector<double> lanes_times_bar_;   // (W, kMostEvents)
  std::vector<std::int64_t> kept_steps_;  // binomial: steps kept on the way forward
  std::size_t next_kept_ = 0;
  std::vector<double> drift_;  // per lane
};

template <class T>
template <class SaveState>
void Sweep<T>::forward(SaveState&& save, ChunkReport& said) {
  const TapePlan& plan = run_.plan;
  const bool all = plan.snapshots == 0 && plan.segment == 1 && !plan.reversible;
  if (plan.snapshots > 0) kept_steps_ = BinomialSchedule(run_.steps, plan.snapshots).stored_steps();
  T* x = all ? tape_.state(chunk_, 0) : buffers_.state.data();
  T* other = buffers_.next_state.data();
  gather(map_, run_.x0.data(), run_.x0_stride(), 0, sizes_.state, x);
  std::fill_n(x + sizes_.state * map_.lanes, sizes_.carry * map_.lanes, T(0));
  std::size_t record_bytes = 0;  // of the step before
  for (std::int64_t k = 0; k < run_.steps; ++k) {
    if (asks_at(k) && stop_requested()) return;
    if (!all && !plan.reversible) keep(k, x);
    if (run_.samples.empty()) save(k, static_cast<const T*>(x));
    T* x_next = all && k + 1 < run_.steps ? tape_.state(chunk_, k + 1) : other;
    StepInput<T> in = input(x, k);
    const SamplesWithin within = samples_within(in.step);
    if (!within.samples.offsets.empty()) in.samples = &within.samples;
    StepRecord* const kept =
        plan.keep_records ? tape_.records(chunk_).offer(run_.stepper->record_bytes()) : nullptr;
    if (all) fetch_ahead(x_next, state_numbers_);
    if (kept) fetch_ahead(kept->data, static_cast<std::int64_t>(record_bytes));
    first_step(in, x_next, kept || !run_.held ? kept : &fresh_record(), said);
    if (kept) {
      record_bytes = kept->bytes;
      tape_.records(chunk_).keep();
    }
    if (!run_.samples.empty()) {
      for (std::int64_t s = 0; k == 0 && s < run_.samples_at_start(); ++s) {
        save(s, static_cast<const T*>(x));
      }
      save_samples(in, x_next, within, save);
    }
    if (plan.reversible && k == 0) check_reversible(in, x_next);
    other = all ? other : x;
    x = x_next;
  }
  if (plan.reversible) std::memcpy(tape_.state(chunk_, 0), x, state_bytes());
  if (run_.samples.empty()) save(run_.steps, static_cast<const T*>(x));
}

template <class T>
template <class SaveState>
void Sweep<T>::save_samples(const StepInput<T>& in, const T* x_next, const SamplesWithin& within,
                            SaveState&& save) {
  for_each_sample(in, [&](std::int64_t number, const StepInput<T>& part) {
    save(number, run_.interpolates() ? between(number, in.x, x_next) : after(part));
  });
  for (std::int64_t i = 0; i < std::ssize(within.samples.offsets); ++i) {
    T* const x = within.samples.states + i * state_numbers_;
    if (any_failed_) freeze(in, x);
    save(within.first + i, static_cast<const T*>(x));
  }
}

template <class T>
template <class Visit>
void Sweep<T>::for_each_sample(const StepInput<T>& in, Visit&& visit) const {
  if (sizes_.gives_samples) return;
  const auto [first, count] = run_.samples_of(in.step);
  for (std::int64_t s = first; s < first + static_cast<std::int64_t>(count); ++s) {
    StepInput<T> part = in;
    part.part = run_.sample_parts[static_cast<std::size_t>(s)];
    part.event_times_bar = nullptr;
    visit(s, static_cast<const StepInput<T>&>(part));
  }
}

template <class T>
template <class Visit>
void Sweep<T>::reverse(Visit&& visit) {
  if (run_.plan.reversible) {
    reverse_stepping_back(visit);
  } else if (run_.plan.snapshots > 0) {
    reverse_binomial(visit);
  } else {
    reverse_segments(visit);
  }
}

template <class T>
template <class Visit>
void Sweep<T>::reverse_segments(Visit&& visit) {
  const TapePlan& plan = run_.plan;
  const std::int64_t L = plan.segment;
  RecordStore& segment_records = buffers_.segment_records;
  for (std::int64_t s = (run_.steps - 1) / L; s >= 0 && !stop_requested(); --s) {
    const std::int64_t begin = s * L, end = std::min(begin + L, run_.steps);
    const auto state = [&](std::int64_t k) -> T* {
      return k == begin ? tape_.state(chunk_, s)
                        : buffers_.segment_states.data() + (k - begin) * state_numbers_;
    };
    const auto kept = [&](std::int64_t k) -> const StepRecord* {
      return k < 0               ? nullptr
             : plan.keep_records ? tape_.records(chunk_).find(k)
                                 : segment_records.find(k - begin);
    };
    // The last step of a segment leads to a state that is known; it runs again only for its record.
    segment_records.clear();
    for (std::int64_t k = begin; k + 1 < end; ++k) {
      StepRecord* const record = segment_records.offer(run_.stepper->record_bytes());
      step_again(input(state(k), k), state(k + 1), record);
      if (record) segment_records.keep();
      ++recomputed_;
      if (asks_at(k) && stop_requested()) return;
    }
    for (std::int64_t k = end - 1; k >= begin; --k) {
      const StepInput<T> in = input(state(k), k);
      if (const StepRecord* const before = plan.keep_records ? kept(k - 1) : nullptr) {
        fetch_ahead(before->data, static_cast<std::int64_t>(before->bytes));
        fetch_ahead(tape_.state(chunk_, k - 1), state_numbers_);
      }
      if (const StepRecord* const record = kept(k)) {
        visit(in, *record);
      } else {
        step_for_record(in, buffers_.next_state.data());
        visit(in, static_cast<const StepRecord&>(buffers_.record));
      }
      if (asks_at(k) && stop_requested()) return;
    }
  }
}

template <class T>
template <class Visit>
void Sweep<T>::reverse_stepping_back(Visit&& visit) {
  T* x = buffers_.next_state.data();  // after step k
  T* before = buffers_.state.data();
  std::memcpy(x, tape_.state(chunk_, 0), state_bytes());
  for (std::int64_t k = run_.steps - 1; k >= 0; --k) {
    const StepInput<T> end = input(x, k);
    reversible(run_.stepper)->step_back(end, before, workspace());
    if (any_failed_) freeze(end, before);
    const StepInput<T> in = input(before, k);
    step_for_record(in, x);
    recomputed_ += 2;
    visit(in, static_cast<const StepRecord&>(buffers_.record));
    std::swap(x, before);
    if (asks_at(k) && stop_requested()) return;
  }
  measure_drift(x);
}

template <class T>
template <class Visit>
void Sweep<T>::reverse_binomial(Visit&& visit) {
  BinomialSchedule schedule(run_.steps, run_.plan.snapshots);
  // The snapshots are overwritten on the way: work on a copy, the tape may be walked again. Behind
  // them lies the state before the last step.
  const std::int64_t n = run_.plan.snapshots;
  std::memcpy(buffers_.snapshots.data(), tape_.state(chunk_, 0),
              static_cast<std::size_t>(n) * state_bytes());
  const auto snapshot = [&](int slot) { return buffers_.snapshots.data() + slot * state_numbers_; };
  T* x = buffers_.state.data();
  T* other = buffers_.next_state.data();
  std::memcpy(x, tape_.state(chunk_, n), state_bytes());
  while (const auto action = schedule.next()) {
    switch (action->kind) {
      case ScheduleAction::Kind::restore:
        std::memcpy(x, snapshot(action->slot), state_bytes());
        break;
      case ScheduleAction::Kind::store:
        std::memcpy(snapshot(action->slot), x, state_bytes());
        break;
      case ScheduleAction::Kind::advance:
        for (std::int64_t k = action->from; k < action->to; ++k) {
          step_again(input(x, k), other, nullptr);
          std::swap(x, other);
          ++recomputed_;
          if (asks_at(k) && stop_requested()) return;
        }
        break;
      case ScheduleAction::Kind::reverse: {
        const StepInput<T> in = input(x, action->from);
        step_for_record(in, other);
        visit(in, static_cast<const StepRecord&>(buffers_.record));
        if (asks_at(action->from) && stop_requested()) return;
        break;
      }
    }
  }
}

}  // namespace cycloid::inline adjoint
