#include "cycloid/adjoint/engine/sweep.h"

#include <cmath>
#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/system/event/event_spec.h"
#include "cycloid/system/integrator/interpolation.h"
#include "cycloid/system/run_lanes.h"

namespace cycloid::inline adjoint {

template <class T>
SweepBuffers<T>::SweepBuffers(const Run<T>& run) {
  const StepperSizes& s = run.stepper->sizes();
  const std::size_t W = static_cast<std::size_t>(s.lanes);
  const std::size_t L = run.plan.segment > 1 ? static_cast<std::size_t>(run.plan.segment) : 0;
  const std::size_t kept = static_cast<std::size_t>(s.kept());
  workspace = run.stepper->make_workspace({run.threads_per_task()});
  parameters = LaneBuffer<T>(W * s.parameters);
  inputs = LaneBuffer<T>(W * s.input * kInputBlock);
  state = LaneBuffer<T>(W * kept);
  next_state = LaneBuffer<T>(W * kept);
  at_rest = LaneBuffer<bool>(W);
  const std::size_t samples = s.gives_samples ? run.most_samples_in_a_step() : !run.samples.empty();
  sample =
      LaneBuffer<T>(W * (s.gives_samples ? static_cast<std::size_t>(s.state) : kept) * samples);
  record_room_ = LaneBuffer<std::byte>(run.stepper->record_bytes());
  record.data = record_room_.data();
  record.bytes = run.stepper->record_bytes();
  segment_states = LaneBuffer<T>(W * kept * L);
  snapshots = LaneBuffer<T>(W * kept * static_cast<std::size_t>(run.plan.snapshots));
  if (!run.plan.segment_records) return;
  const std::size_t room = L * RecordStore::padded(run.stepper->record_bytes());
  segment_room_ = LaneBuffer<std::byte>(room);
  segment_records = RecordStore(segment_room_.data(), room,
                                static_cast<std::size_t>(run.plan.segment_record_bytes) + room);
}

template <class T>
Sweep<T>::Sweep(const Run<T>& run, ChunkTape<T>& tape, SweepBuffers<T>& buffers, std::int64_t chunk,
                const StopToken& stop)
    : run_(run),
      tape_(tape),
      buffers_(buffers),
      sizes_(run.stepper->sizes()),
      chunk_(chunk),
      state_numbers_(static_cast<std::int64_t>(sizes_.kept()) * sizes_.lanes),
      map_(run.map(chunk)),
      stop_(stop),
      failed_step_(tape.failed_step.data() + chunk * sizes_.lanes),
      ended_step_(tape.ended_step.data() + chunk * sizes_.lanes),
      events_(tape.events[static_cast<std::size_t>(chunk)]),
      notes_(run.stepper->notes(workspace())),
      active_sets_(static_cast<std::size_t>(notes_ ? sizes_.lanes : 0)) {
  for (int l = 0; l < map_.lanes; ++l) {
    any_failed_ = any_failed_ || lane_failed(l);
    any_ended_ = any_ended_ || ended_step_[l] >= 0;
  }
  begin();
  if (run.control_rows == 0 && sizes_.input > 0) {
    std::fill_n(buffers.inputs.data(), sizes_.input * sizes_.lanes, T(0));
  }
}

template <class T>
StepInput<T> Sweep<T>::input(const T* x, std::int64_t k) {
  const std::int64_t step = run_.first_step + k;
  StepInput<T> in{x, buffers_.inputs.data(), step, run_.t0, wants_parameters_};
  if (any_ended_ || any_failed_) in.ended = lanes_at_rest(step);
  if (times_bar_) in.event_times_bar = times_bar_of(step);
  if (run_.control_rows == 0 || sizes_.input == 0) return in;
  const std::int64_t own = run_.held ? 0 : k;
  const std::int64_t block = own / kInputBlock, first = block * kInputBlock;
  if (block != input_block_) {
    const std::int64_t count = std::min(kInputBlock, run_.input_steps() - first);
    gather(map_, run_.controls.data(), run_.control_stride(), first * sizes_.input,
           count * sizes_.input, buffers_.inputs.data());
    input_block_ = block;
  }
  in.u = buffers_.inputs.data() + (own - first) * sizes_.input * sizes_.lanes;
  return in;
}

template <class T>
const bool* Sweep<T>::lanes_at_rest(std::int64_t step) {
  bool* const rests = buffers_.at_rest.data();
  const auto before = [&](std::int64_t over) { return over >= 0 && over < step; };
  for (int l = 0; l < map_.lanes; ++l) rests[l] = before(ended_step_[l]) || before(failed_step_[l]);
  return rests;
}

// The cotangents of the times of a step's events, where the step looks for them.
template <class T>
const double* Sweep<T>::times_bar_of(std::int64_t step) {
  const auto before = [](const TapeEvent& e, std::int64_t k) { return e.step < k; };
  auto e = std::lower_bound(events_.begin(), events_.end(), step, before);
  if (e == events_.end() || e->step != step) return nullptr;
  lanes_times_bar_.assign(static_cast<std::size_t>(map_.lanes) * kMostEvents, 0.0);
  for (; e != events_.end() && e->step == step; ++e) {
    lanes_times_bar_[static_cast<std::size_t>(e->event.lane * kMostEvents + e->count)] =
        times_bar_[e - events_.begin()];
  }
  return lanes_times_bar_.data();
}

template <class T>
auto Sweep<T>::samples_within(std::int64_t step) const -> SamplesWithin {
  if (!sizes_.gives_samples) return {};
  const auto [first, count] = run_.samples_of(step);
  return {first,
          {std::span(run_.sample_parts).subspan(static_cast<std::size_t>(first), count),
           buffers_.sample.data()}};
}

// Frozen lanes keep their state.
template <class T>
void Sweep<T>::freeze(const StepInput<T>& in, T* x_next) const {
  for (int l = 0; l < map_.lanes; ++l) {
    if (failed_step_[l] < 0 || failed_step_[l] > in.step) continue;
    for (int i = 0; i < sizes_.kept(); ++i) x_next[i * map_.lanes + l] = in.x[i * map_.lanes + l];
  }
}

template <class T>
void Sweep<T>::first_step(const StepInput<T>& in, T* x_next, StepRecord* record,
                          ChunkReport& said) {
  const StepStatus status = run_.stepper->step(in, x_next, record, workspace());
  const bool all_ok = status == StepStatus::ok;
  if (!all_ok) note_failures(in, x_next, said);
  if (notes_) take_notes(in.step, all_ok, said);
  if (sizes_.has_events) take_events(in, said);
  if (any_failed_) freeze(in, x_next);
}

template <class T>
void Sweep<T>::note_failures(const StepInput<T>& in, const T* x_next, ChunkReport& said) {
  for (int l = 0; l < map_.lanes; ++l) {
    if (lane_failed(l)) continue;
    bool finite = true;
    for (int i = 0; i < sizes_.state; ++i) {
      const T v = x_next[i * map_.lanes + l];
      finite = finite && v - v == T(0);
    }
    if (finite) continue;
    failed_step_[l] = in.step;
    any_failed_ = true;
    if (l < map_.active) report_failure(in, l, said);
  }
}

template <class T>
void Sweep<T>::report_failure(const StepInput<T>& in, int lane, ChunkReport& said) {
  StepTrouble trouble = run_.stepper->explain(in, lane, workspace());
  said.failed.push_back({map_.environment(lane), in.step, std::move(trouble.stage),
                         std::move(trouble.body), std::move(trouble.reason)});
}

// The row of an environment, a new one if it has none.
template <class Row>
Row& row_of(std::vector<Row>& rows, std::int64_t environment, std::int64_t step) {
  for (Row& row : rows) {
    if (row.environment == environment) return row;
  }
  Row& row = rows.emplace_back();
  row.environment = environment;
  row.step = step;
  return row;
}

// Of environments that have not failed; copies that pad the chunk are none.
template <class T>
void Sweep<T>::take_notes(std::int64_t step, bool all_ok, ChunkReport& said) {
  for (int l = 0; l < map_.active; ++l) {
    if (lane_failed(l)) continue;
    const LaneNote& note = notes_[l];
    std::optional<std::uint64_t>& before = active_sets_[static_cast<std::size_t>(l)];
    for (std::size_t i = 0; i < said.counters.size(); ++i) said.counters[i] += note.counters[i];
    said.switches += before && *before != note.active_set;
    before = note.active_set;
    if (all_ok) continue;
    if (note.residual > 0) {
      Unsolved& row = row_of(said.unsolved, map_.environment(l), step);
      ++row.count;
      row.residual = std::max(row.residual, note.residual);
    }
    if (note.crowded) ++row_of(said.crowded, map_.environment(l), step).count;
  }
}

template <class T>
void Sweep<T>::take_events(const StepInput<T>& in, ChunkReport& said) {
  int count = 0, lane = -1;
  std::vector<int> stopped;
  for (const StepEvent& event : run_.stepper->events(workspace())) {
    count = event.lane == lane ? count + 1 : 0;
    lane = event.lane;
    if (lane_failed(lane)) continue;
    if (event.ends) {
      ended_step_[lane] = in.step;
      any_ended_ = true;
    }
    if (lane >= map_.active) continue;
    if (event.stops) {
      stopped.push_back(lane);
    } else {
      events_.push_back({in.step, event, count});
    }
  }
  for (const int l : stopped) report_failure(in, l, said);
}

template <class T>
void Sweep<T>::step_again(const StepInput<T>& in, T* x_next, StepRecord* record) {
  run_.stepper->step(in, x_next, record, workspace());
  if (any_failed_) freeze(in, x_next);
}

template <class T>
void Sweep<T>::step_for_record(const StepInput<T>& in, T* x_next) {
  run_.stepper->step(in, x_next, &fresh_record(), workspace());
}

template <class T>
void Sweep<T>::begin(double* const* arrays_bar, const bool* left_out,
                     double* const* arrays_bar_tan) {
  gather(map_, run_.parameters.data(), run_.parameter_stride(), 0, sizes_.parameters,
         buffers_.parameters.data());
  run_.point_to_arrays(map_.environment(0), arrays_);
  const bool pairs = run_.pair_width > 0;
  if (pairs) run_.point_to_arrays(map_.environment(static_cast<int>(run_.pair_width)), arrays_tan_);
  environments_.resize(static_cast<std::size_t>(map_.lanes));
  for (int l = 0; l < map_.lanes; ++l) {
    environments_[static_cast<std::size_t>(l)] = run_.user_environment(map_.environment(l));
  }
  const RunLanes lanes(environments_.data());
  run_.stepper->begin({buffers_.parameters.data(), arrays_.data(), arrays_bar, left_out,
                       pairs ? arrays_tan_.data() : nullptr, arrays_bar_tan},
                      workspace());
}

template <class T>
const T* Sweep<T>::after(const StepInput<T>& part) {
  step_again(part, buffers_.sample.data(), nullptr);
  return buffers_.sample.data();
}

template <class T>
const T* Sweep<T>::between(std::int64_t number, const T* x, const T* x_next) {
  const double share = run_.samples[static_cast<std::size_t>(number)].share;
  if (share == 1) return x_next;
  interpolate(run_.system.states(), map_.lanes, x, x_next, static_cast<T>(share),
              buffers_.sample.data());
  return buffers_.sample.data();
}

template <class T>
void Sweep<T>::keep(std::int64_t k, const T* x) {
  const TapePlan& plan = run_.plan;
  if (plan.snapshots > 0) {
    if (next_kept_ < kept_steps_.size() && kept_steps_[next_kept_] == k) {
      std::memcpy(tape_.state(chunk_, static_cast<std::int64_t>(next_kept_++)), x, state_bytes());
    }
    if (k + 1 == run_.steps) std::memcpy(tape_.state(chunk_, plan.snapshots), x, state_bytes());
  } else if (k % plan.segment == 0) {
    std::memcpy(tape_.state(chunk_, k / plan.segment), x, state_bytes());
  }
}

// The largest difference of a lane between two states, relative to the largest number of the first;
// infinite where the second is not finite.
template <class T>
double lane_difference(const LaneMap& map, int numbers, int lane, const T* a, const T* b) {
  double difference = 0, size = std::numeric_limits<T>::min();
  for (int i = 0; i < numbers; ++i) {
    const double there = a[i * map.lanes + lane], here = b[i * map.lanes + lane];
    if (!std::isfinite(here)) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(here - there));
    size = std::max(size, std::abs(there));
  }
  return difference / size;
}

// One step there and back. What is left of more than four digits of rounding is no rounding.
template <class T>
void Sweep<T>::check_reversible(const StepInput<T>& in, const T* x_next) {
  LaneBuffer<T> back(static_cast<std::size_t>(state_numbers_));
  StepInput<T> end = in;
  end.x = x_next;
  reversible(run_.stepper)->step_back(end, back.data(), workspace());
  const double most = 1e4 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (int l = 0; l < map_.active; ++l) {
    const double left = lane_difference(map_, sizes_.state, l, in.x, back.data());
    if (lane_failed(l) || left <= most) continue;
    throw Error(message("memory \"reversible\": a step back does not undo the step (environment ",
                        map_.environment(l), ", relative difference ", left,
                        "). verlet is reversible where the force does not depend on velocity: take "
                        "damping and drag away, or use implicit_midpoint or memory \"sqrt\""));
  }
}

template <class T>
void Sweep<T>::measure_drift(const T* x) {
  LaneBuffer<T> start(static_cast<std::size_t>(state_numbers_));
  gather(map_, run_.x0.data(), run_.x0_stride(), 0, sizes_.state, start.data());
  drift_.assign(static_cast<std::size_t>(map_.lanes), 0.0);
  for (int l = 0; l < map_.active; ++l) {
    drift_[static_cast<std::size_t>(l)] = lane_difference(map_, sizes_.state, l, start.data(), x);
  }
}

template struct SweepBuffers<float>;
template struct SweepBuffers<double>;
template class Sweep<float>;
template class Sweep<double>;

}  // namespace cycloid::inline adjoint
