// Run: everything that the chunks of one rollout share, and ChunkTape: what lanes keep for the way
// back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cycloid/adjoint/engine/lanes.h"
#include "cycloid/adjoint/engine/memory.h"
#include "cycloid/adjoint/engine/record_store.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/system/law/parameter_slopes.h"
#include "cycloid/system/system.h"

namespace cycloid::inline adjoint {

// A state that the user gets inside a step: `part` seconds after its beginning.
struct Sample {
  std::int64_t step = 0;
  double part = 0;   // [s]; 0: the state at the run's beginning
  double share = 0;  // ... of the step's length; 1: the state at its end
};

// Inputs of a rollout, checked and copied, in rows. A count of rows is the batch, or 1 for a row
// that all environments share; control_rows = 0 means zero inputs.
template <class T>
struct Run {
  explicit Run(const System& of) : system(of) {}

  System system;
  std::int64_t batch = 1, steps = 0;
  double t0 = 0;
  std::int64_t first_step = 0;  // number of the first step, not 0 in linearise only
  int threads = 0;              // all together; chunks that are fewer share them
  std::vector<T> x0_raw, x0;    // as given, and with unit quaternions, on the law's own side
  std::vector<T> controls;
  std::vector<double> parameters;
  std::vector<T> arrays;  // of parameters, where T is not double
  std::int64_t x0_rows = 1, control_rows = 0, parameter_rows = 1;
  std::int64_t start_rows = 1;      // of x0; more than x0_rows where parameters move a shared start
  std::vector<std::int64_t> saved;  // steps whose states the user gets; of samples, their numbers
  std::vector<Sample> samples;      // states at times of the user's choice, in their order
  std::vector<double> sample_times;  // ... and these times [s]
  std::vector<double> sample_parts;  // ... and their parts
  bool held = false;  // every step has the same input, one for each row of controls (advance.h)
  Memory memory = Memory::automatic();       // that the plan was made from
  bool parameter_jacobian = false;           // each environment's, of all parameters, is asked for
  ParameterDirections parameter_directions;  // ... or of these directions of them
  // W, when rows come as W values and their W tangents (pushforward.h)
  std::int64_t pair_width = 0;
  bool pairs_alone = false;  // one environment in each pair of W rows, in its first

  // What the engine decides.
  const Stepper<T>* stepper = nullptr;
  std::shared_ptr<const Stepper<T>> own_stepper;  // ... where it is made for this run
  TapePlan plan;
  std::vector<std::int64_t> order;  // of environments in lanes (alike.h); empty: the user's

  // The user's number of the environment in this row.
  std::int64_t user_environment(std::int64_t row) const {
    if (pair_width == 0) return row;
    const std::int64_t each = pairs_alone ? 1 : pair_width;
    return row / (2 * pair_width) * each + std::min(row % pair_width, each - 1);
  }
  // Whether samples lie on the path between the ends of their step (interpolation.h), since the
  // stepper takes whole steps only.
  bool interpolates() const { return !samples.empty() && !stepper->sizes().takes_parts; }
  int lanes() const { return stepper->sizes().lanes; }
  // Chunks that are worked on at once, and the threads that each may use inside a step.
  int workers() const { return static_cast<int>(std::min<std::int64_t>(threads, chunks())); }
  int threads_per_task() const { return stepper->sizes().spreads ? threads / workers() : 1; }
  // Where an environment's arrays of parameters begin, one behind the other.
  const T* array_numbers(std::int64_t environment) const {
    const std::int64_t row = parameter_rows == 1 ? 0 : environment;
    const Parameters& p = system.parameters();
    if constexpr (std::is_same_v<T, double>) {
      return parameters.data() + row * p.size() + p.lane_size();
    } else {
      return arrays.data() + row * (p.size() - p.lane_size());
    }
  }
  // ... and where each of them does.
  void point_to_arrays(std::int64_t environment, std::vector<const T*>& begins) const {
    begins.clear();
    const T* first = array_numbers(environment);
    for (const std::int64_t n : stepper->sizes().arrays) {
      begins.push_back(first);
      first += n;
    }
  }
  std::int64_t chunks() const { return (batch + lanes() - 1) / lanes(); }
  LaneMap map(std::int64_t chunk) const {
    return LaneMap(chunk, lanes(), batch, order.empty() ? nullptr : order.data());
  }
  // Where an environment stands among all lanes.
  std::int64_t place(std::int64_t environment) const {
    return order.empty() ? environment
                         : std::find(order.begin(), order.end(), environment) - order.begin();
  }
  // Whether each environment's Jacobian by arrays of parameters is asked for.
  bool array_jacobian() const {
    const auto in_array = [&](const DirectionEntry& e) {
      return e.place >= system.parameters().lane_size();
    };
    return parameter_jacobian &&
           (parameter_directions.empty() ||
            std::any_of(parameter_directions.begin(), parameter_directions.end(),
                        [&](const std::vector<DirectionEntry>& direction) {
                          return std::any_of(direction.begin(), direction.end(), in_array);
                        }));
  }
  // Length of a step [s], which may vary between environments.
  double step_length(std::int64_t environment = 0) const {
    const Parameters& p = system.parameters();
    if (!p.contains(kTimestepName)) return system.timestep();
    return parameters[static_cast<std::size_t>(environment * parameter_stride() +
                                               p.find(kTimestepName).offset)];
  }
  // How many samples are the run's beginning; they come first.
  std::int64_t samples_at_start() const {
    const auto behind = [](const Sample& s) { return s.part > 0; };
    return std::find_if(samples.begin(), samples.end(), behind) - samples.begin();
  }
  // The first sample that lies behind the beginning of this step and in it, and how many do.
  std::pair<std::int64_t, std::size_t> samples_of(std::int64_t step) const {
    const auto before = [](const Sample& s, std::int64_t k) { return s.step < k; };
    auto first = std::lower_bound(samples.begin(), samples.end(), step, before);
    const auto end = std::lower_bound(first, samples.end(), step + 1, before);
    while (first != end && first->part == 0) ++first;
    return {first - samples.begin(), static_cast<std::size_t>(end - first)};
  }
  std::size_t most_samples_in_a_step() const {
    std::size_t most = 0;
    for (const Sample& s : samples) most = std::max(most, samples_of(s.step).second);
    return most;
  }
  std::int64_t x0_stride() const { return start_rows == 1 ? 0 : system.states().size(); }
  std::int64_t input_steps() const { return held ? 1 : steps; }  // of a row of controls
  std::int64_t control_stride() const {
    return control_rows <= 1 ? 0 : input_steps() * system.inputs().size();
  }
  std::int64_t parameter_stride() const {
    return parameter_rows == 1 ? 0 : system.parameters().size();
  }
};

// An event on the tape of a chunk.
struct TapeEvent {
  std::int64_t step = 0;
  StepEvent event;
  int count = 0;  // events of this lane in this step before it
};

// Kept states and records of every chunk, lane-innermost, where environments stopped, and events.
template <class T>
class ChunkTape final : public Tape {
 public:
  ChunkTape() = default;
  explicit ChunkTape(const Run<T>& run)
      : state_numbers_(static_cast<std::int64_t>(run.stepper->sizes().kept()) * run.lanes()),
        states_kept_(run.plan.states_kept(run.steps)),
        states_(static_cast<std::size_t>(run.chunks() * states_kept_ * state_numbers_)),
        failed_step(static_cast<std::size_t>(run.chunks() * run.lanes()), -1),
        ended_step(failed_step),
        events(static_cast<std::size_t>(run.chunks())) {
    if (!run.plan.keep_records) return;
    const std::size_t chunks = static_cast<std::size_t>(run.chunks()),
                      most = static_cast<std::size_t>(run.plan.chunk_record_bytes),
                      all = static_cast<std::size_t>(run.steps) *
                            RecordStore::padded(run.stepper->record_bytes()),
                      // Whole records only: the next chunk's begin aligned for lanes.
        room = std::min(most / kWorkspaceAlignment * kWorkspaceAlignment, all);
    record_room_ = LaneBuffer<std::byte>(chunks * room);
    for (std::size_t c = 0; c < chunks; ++c) {
      records_.emplace_back(record_room_.data() + c * room, room, most);
    }
  }

  T* state(std::int64_t chunk, std::int64_t slot) const {
    return states_.data() + (chunk * states_kept_ + slot) * state_numbers_;
  }
  // Of a plan that keeps records.
  RecordStore& records(std::int64_t chunk) { return records_[static_cast<std::size_t>(chunk)]; }
  std::int64_t records_kept() const {
    std::int64_t n = 0;
    for (const RecordStore& r : records_) n += r.size();
    return n;
  }
  std::uint64_t bytes() const override {
    std::uint64_t n = states_.bytes();
    for (const RecordStore& r : records_) n += r.bytes();
    return n;
  }

 private:
  std::int64_t state_numbers_ = 0, states_kept_ = 0;
  LaneBuffer<T> states_;
  LaneBuffer<std::byte> record_room_;
  std::vector<RecordStore> records_;

 public:
  // Per lane of every chunk: the step at which it went non-finite, or -1. From there on it stands
  // still.
  std::vector<std::int64_t> failed_step;
  // Likewise: the step in which an event ended its run, or events without end stopped it. After it,
  // it stands still.
  std::vector<std::int64_t> ended_step;
  // Of every chunk, in the order of steps, then of lanes, then of time; copies that pad a chunk
  // and lanes that failed have none.
  std::vector<std::vector<TapeEvent>> events;
};

// The tape of a trajectory that ran in lanes.
template <class T>
ChunkTape<T>& chunk_tape(const Trajectory<T>& trajectory) {
  return static_cast<ChunkTape<T>&>(trajectory.tape());
}

}  // namespace cycloid::inline adjoint
