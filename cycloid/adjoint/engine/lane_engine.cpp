#include "cycloid/adjoint/engine/lane_engine.h"

#include <cmath>

#include "cycloid/adjoint/engine/alike.h"
#include "cycloid/adjoint/engine/input_bars.h"
#include "cycloid/adjoint/engine/state_bars.h"
#include "cycloid/base/check.h"
#include "cycloid/base/error.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/system/integrator/reversible.h"

namespace cycloid::inline adjoint {
namespace {

// Collects saved states in lanes and writes them to the user's rows, a block of steps at a time.
template <class T>
class StateWriter {
 public:
  StateWriter(const Run<T>& run, const LaneMap& map, T* rows)
      : run_(run),
        map_(map),
        rows_(rows),
        numbers_(run.stepper->sizes().state),
        block_(std::min<std::int64_t>(kInputBlock, static_cast<std::int64_t>(run.saved.size()))),
        lanes_(static_cast<std::size_t>(block_ * numbers_ * map.lanes)) {}

  void operator()(std::int64_t k, const T* x) {
    if (next_ == static_cast<std::int64_t>(run_.saved.size()) || run_.saved[next_] != k) return;
    std::memcpy(lanes_.data() + (next_ - flushed_) * numbers_ * map_.lanes, x,
                sizeof(T) * static_cast<std::size_t>(numbers_ * map_.lanes));
    if (++next_ - flushed_ == block_) flush();
  }

  // After the whole run.
  void finish() {
    flush();
    const std::int64_t saved = static_cast<std::int64_t>(run_.saved.size());
    CYCLOID_CHECK(next_ == saved, next_, saved);
  }

 private:
  void flush() {
    const std::int64_t stride = static_cast<std::int64_t>(run_.saved.size()) * numbers_;
    scatter(map_, lanes_.data(), (next_ - flushed_) * numbers_, rows_, stride, flushed_ * numbers_);
    flushed_ = next_;
  }

  const Run<T>& run_;
  const LaneMap& map_;
  T* rows_;
  std::int64_t numbers_, block_, next_ = 0, flushed_ = 0;
  LaneBuffer<T> lanes_;
};

// A run that was stepped back and misses its start by more is not the run that was made.
constexpr double kMostDrift = 1e-3;

// Pulls chunks back, each into its part.
template <class T>
class ChunkPullback {
 public:
  ChunkPullback(const BackwardTask<T>& task, BackwardParts<T>& parts)
      : task_(task), run_(task.run()), parts_(parts), sizes_(run_.stepper->sizes()) {
    const std::span<const double> given = task.options.event_times_bar;
    if (given.empty()) return;
    for (const auto& events : chunk_tape(task.trajectory).events) {
      times_bar_.emplace_back(events.size(), 0.0);
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Event& e = task.trajectory.events()[i];
      times_bar_[static_cast<std::size_t>(e.chunk)][static_cast<std::size_t>(e.place)] = given[i];
    }
  }

  void clear_parts();
  // The chunks of a group, one after another.
  void pull_group(std::int64_t group, SweepBuffers<T>& buffers, const StopToken& stop);
  // Calls observe(k, map, x_bar, u_bar) with the cotangents of state and input k of every step k.
  template <class Observe>
  void pull(std::int64_t chunk, std::int64_t group, SweepBuffers<T>& buffers, const StopToken& stop,
            Observe&& observe);

 private:
  void finish(const Sweep<T>& sweep, std::int64_t group, const T* x_bar,
              const std::vector<double>& h_bar, const InputBarWriter<T>& inputs);
  void add_own_parameters(const LaneMap& map, const double* p_bar);
  void add_shared_parameters(const LaneMap& map, std::int64_t group, const double* p_bar);
  // The state after the last step, as it was saved.
  void last_state(const LaneMap& map, T* x) const;
  std::size_t parameter_numbers() const {
    return static_cast<std::size_t>(run_.system.parameters().size());
  }
  // Where the cotangents of the chunk's parameters go: a row of parts.params.
  // Of a chunk whose lanes share one; with `lane`, of one that does not.
  double* parameter_row(const LaneMap& map, std::int64_t group, int lane = 0) const {
    const std::int64_t row = task_.own_parameters() ? map.environment(lane) : group;
    return parts_.params.data() + static_cast<std::size_t>(row) * parameter_numbers();
  }

  const BackwardTask<T>& task_;
  const Run<T>& run_;
  BackwardParts<T>& parts_;
  const StepperSizes& sizes_;
  std::vector<std::vector<double>> times_bar_;  // of each chunk's events, in the tape's order
};

template <class T>
void ChunkPullback<T>::clear_parts() {
  const std::size_t batch = static_cast<std::size_t>(run_.batch);
  const std::size_t numbers = task_.inputs_per_run();
  const bool sum = task_.sum_controls(), own = task_.own_parameters();
  const std::int64_t array_bytes = 8 * sizes_.array_numbers();
  if (own && array_bytes > 0 && sizes_.lanes > 1 && run_.pair_width == 0) {
    throw Error(
        "environments share the arrays among these parameters and have one gradient of them; give "
        "each environment a row of parameters of its own for a gradient of its own");
  }
  parts_.groups = std::min(kGroups, run_.chunks());
  if (array_bytes > 0) {
    parts_.groups = std::clamp<std::int64_t>(kArraySumBytes / array_bytes, 1, parts_.groups);
  }
  if (own && !sum) parts_.groups = run_.chunks();
  const std::size_t groups = static_cast<std::size_t>(parts_.groups);
  parts_.x0_tangent.assign(batch * static_cast<std::size_t>(sizes_.tangent), T(0));
  parts_.controls.assign(task_.options.controls && !sum ? batch * numbers : 0, T(0));
  parts_.sums.assign(sum ? groups * numbers : 0, 0.0);
  parts_.params.assign((own ? batch : groups) * parameter_numbers(), 0.0);
  parts_.not_finite.assign(batch, 0);
  parts_.recomputed.assign(static_cast<std::size_t>(run_.chunks()), 0);
  parts_.drift.assign(run_.plan.reversible ? batch : 0, 0.0);
}

template <class T>
void ChunkPullback<T>::pull_group(std::int64_t group, SweepBuffers<T>& buffers,
                                  const StopToken& stop) {
  const std::int64_t begin = group * run_.chunks() / parts_.groups,
                     end = (group + 1) * run_.chunks() / parts_.groups;
  for (std::int64_t c = begin; c < end && !stop.stop_requested(); ++c) {
    pull(c, group, buffers, stop, [](std::int64_t, const LaneMap&, const T*, const T*) {});
  }
}

template <class T>
template <class Observe>
void ChunkPullback<T>::pull(std::int64_t chunk, std::int64_t group, SweepBuffers<T>& buffers,
                            const StopToken& stop, Observe&& observe) {
  Sweep<T> sweep(run_, chunk_tape(task_.trajectory), buffers, chunk, stop);
  sweep.want_parameters(task_.options.params);
  if (!times_bar_.empty()) {
    sweep.give_event_times_bar(times_bar_[static_cast<std::size_t>(chunk)].data());
  }
  const LaneMap& map = sweep.map();
  std::vector<double*> arrays_bar, arrays_bar_tan;
  const std::unique_ptr<bool[]> left_out(new bool[static_cast<std::size_t>(map.lanes)]);
  if (!sizes_.arrays.empty() && task_.options.params) {
    const auto find = [&](int lane, std::vector<double*>& arrays) {
      double* row = parameter_row(map, group, lane) + sizes_.parameters;
      for (const std::int64_t n : sizes_.arrays) {
        arrays.push_back(row);
        row += n;
      }
    };
    find(0, arrays_bar);
    if (run_.pair_width > 0) find(static_cast<int>(run_.pair_width), arrays_bar_tan);
    for (int l = 0; l < map.lanes; ++l) {
      left_out[static_cast<std::size_t>(l)] =
          l >= map.active || parts_.left_out[static_cast<std::size_t>(map.environment(l))] != 0;
    }
    sweep.begin(arrays_bar.data(), left_out.get(),
                arrays_bar_tan.empty() ? nullptr : arrays_bar_tan.data());
  }
  StateBarReader<T> reader(run_, map, task_.states_bar);
  InputBarWriter<T> writer(
      run_, map, parts_.left_out.data(), parts_.controls.empty() ? nullptr : parts_.controls.data(),
      task_.sum_controls()
          ? parts_.sums.data() + static_cast<std::size_t>(group) * task_.inputs_per_run()
          : nullptr);

  const bool flat = run_.system.states().flat();
  const std::size_t tangents =
      static_cast<std::size_t>(sizes_.tangent) * static_cast<std::size_t>(map.lanes);
  LaneBuffer<T> bar(tangents), next_bar(tangents),
      end(flat ? 0 : static_cast<std::size_t>(sizes_.state) * static_cast<std::size_t>(map.lanes));
  T *x_bar = bar.data(), *x_next_bar = next_bar.data();
  std::fill_n(x_bar, tangents, T(0));
  SampleBars<T> samples(run_, map, task_.states_bar);
  PathBars<T> paths(run_, map, samples);
  sweep.reverse([&](StepInput<T> in, const StepRecord& record) {
    auto within = sweep.samples_within(in.step);
    if (!within.samples.offsets.empty()) {
      within.samples.bar = samples.of(within);
      in.samples = &within.samples;
    }
    if (in.step + 1 == run_.steps && run_.samples.empty()) {
      if (!flat) last_state(map, end.data());
      reader.add(run_.steps, end.data(), x_bar);
    }
    std::swap(x_bar, x_next_bar);
    std::fill_n(x_bar, tangents, T(0));
    if (run_.interpolates()) paths.pull_back(sweep, in, x_bar, x_next_bar);
    run_.stepper->pullback(in, record, x_next_bar, x_bar, writer.cleared(in.step),
                           sweep.workspace());
    if (!run_.interpolates()) {
      sweep.for_each_sample(in, [&](std::int64_t number, const StepInput<T>& part) {
        samples.pull_back(number, part, x_bar, writer.at(in.step), sweep.workspace());
      });
    }
    writer.done(in.step);
    observe(in.step, map, static_cast<const T*>(x_bar), static_cast<const T*>(writer.at(in.step)));
    if (run_.plan.cut > 0 && in.step > 0 && in.step % run_.plan.cut == 0) {
      std::fill_n(x_bar, tangents, T(0));
    }
    if (run_.samples.empty()) {
      reader.add(in.step, in.x, x_bar);
    } else if (in.step == 0) {
      for (std::int64_t s = 0; s < run_.samples_at_start(); ++s) samples.add(s, in.x, x_bar);
    }
  });
  if (sweep.stopped()) return;
  parts_.recomputed[static_cast<std::size_t>(chunk)] = sweep.recomputed_steps();
  finish(sweep, group, x_bar, paths.h_bar(), writer);
}

template <class T>
void ChunkPullback<T>::last_state(const LaneMap& map, T* x) const {
  const std::int64_t saved = static_cast<std::int64_t>(run_.saved.size());
  if (saved == 0 || run_.saved.back() != run_.steps) return;  // and nobody asks
  gather(map, task_.trajectory.states().data(), saved * sizes_.state, (saved - 1) * sizes_.state,
         sizes_.state, x);
}

template <class T>
void ChunkPullback<T>::finish(const Sweep<T>& sweep, std::int64_t group, const T* x_bar,
                              const std::vector<double>& h_bar, const InputBarWriter<T>& inputs) {
  const LaneMap& map = sweep.map();
  LaneBuffer<double> p_bar(static_cast<std::size_t>(sizes_.parameters) *
                           static_cast<std::size_t>(map.lanes));
  run_.stepper->finish(sweep.workspace(), p_bar.data());
  const Parameters& registry = run_.system.parameters();
  if (!h_bar.empty() && registry.contains(kTimestepName)) {
    double* const own = p_bar.data() + registry.find(kTimestepName).offset * map.lanes;
    for (std::size_t l = 0; l < h_bar.size(); ++l) own[l] += h_bar[l];
  }
  for (int l = 0; l < map.active; ++l) {
    const std::size_t environment = static_cast<std::size_t>(map.environment(l));
    if (parts_.left_out[environment]) continue;
    bool finite = inputs.finite(l);
    for (int i = 0; i < sizes_.tangent; ++i) {
      const T v = x_bar[i * map.lanes + l];
      finite = finite && std::isfinite(v);
      parts_.x0_tangent[environment * static_cast<std::size_t>(sizes_.tangent) +
                        static_cast<std::size_t>(i)] = v;
    }
    if (!finite) parts_.not_finite[environment] = 1;
    if (!run_.plan.reversible) continue;
    parts_.drift[environment] = sweep.drift(l);
    if (!(sweep.drift(l) <= kMostDrift)) parts_.not_finite[environment] = kDrifted;
  }
  if (task_.own_parameters()) {
    add_own_parameters(map, p_bar.data());
  } else {
    add_shared_parameters(map, group, p_bar.data());
  }
}

// Parameters of each environment's own.
template <class T>
void ChunkPullback<T>::add_own_parameters(const LaneMap& map, const double* p_bar) {
  const std::size_t n = static_cast<std::size_t>(sizes_.parameters);
  for (int l = 0; l < map.active; ++l) {
    const std::size_t environment = static_cast<std::size_t>(map.environment(l));
    if (parts_.left_out[environment]) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const double v = p_bar[i * static_cast<std::size_t>(map.lanes) + static_cast<std::size_t>(l)];
      parts_.params[environment * parameter_numbers() + i] += v;
      if (!std::isfinite(v)) parts_.not_finite[environment] = 1;
    }
  }
}

// Parameters that all environments share: the chunk's sum over its lanes, in four interleaved sums.
template <class T>
void ChunkPullback<T>::add_shared_parameters(const LaneMap& map, std::int64_t group,
                                             const double* p_bar) {
  double* sum = parts_.params.data() + static_cast<std::size_t>(group) * parameter_numbers();
  std::vector<int> lanes;  // that count
  for (int l = 0; l < map.active; ++l) {
    if (!parts_.left_out[static_cast<std::size_t>(map.environment(l))]) lanes.push_back(l);
  }
  const bool all = static_cast<int>(lanes.size()) == map.lanes && map.lanes % 4 == 0;
  for (int i = 0; i < sizes_.parameters; ++i, p_bar += map.lanes) {
    double of[4] = {0, 0, 0, 0};
    for (int l = 0; all && l < map.lanes; l += 4) {
      for (int j = 0; j < 4; ++j) of[j] += p_bar[l + j];
    }
    for (std::size_t l = 0; !all && l < lanes.size(); ++l) of[lanes[l] % 4] += p_bar[lanes[l]];
    const double s = (of[0] + of[1]) + (of[2] + of[3]);
    sum[i] += s;
    if (std::isfinite(s)) continue;
    for (const int l : lanes) {
      const std::size_t environment = static_cast<std::size_t>(map.environment(l));
      if (!std::isfinite(p_bar[l])) parts_.not_finite[environment] = 1;
    }
  }
}

// A sum over environments does not tell whose part is not finite: each is pulled back alone.
template <class T>
void find_not_finite_arrays(const BackwardTask<T>& task, BackwardParts<T>& parts) {
  const Run<T>& run = task.run();
  const Parameters& p = run.system.parameters();
  const auto finite = [&](const BackwardParts<T>& of, std::int64_t row) {
    const auto first = of.params.begin() + row * p.size();
    return std::all_of(first + p.lane_size(), first + p.size(),
                       [](double v) { return std::isfinite(v); });
  };
  for (std::int64_t group = 0; group < parts.groups; ++group) {
    if (!task.own_parameters() && finite(parts, group)) continue;
    for (std::int64_t c = group * run.chunks() / parts.groups;
         c < (group + 1) * run.chunks() / parts.groups; ++c) {
      const LaneMap map = run.map(c);
      for (int l = 0; l < map.active; ++l) {
        const std::size_t e = static_cast<std::size_t>(map.environment(l));
        if (parts.left_out[e]) continue;
        if (task.own_parameters()) {
          if (!finite(parts, map.environment(l))) parts.not_finite[e] = 1;
          continue;
        }
        BackwardParts<T> alone;
        alone.left_out.assign(parts.left_out.size(), 1);
        alone.left_out[e] = 0;
        ChunkPullback<T> pullback(task, alone);
        pullback.clear_parts();
        SweepBuffers<T> buffers(run);
        pullback.pull(c, group, buffers, StopToken(),
                      [](std::int64_t, const LaneMap&, const T*, const T*) {});
        if (!finite(alone, group)) parts.not_finite[e] = 1;
      }
    }
  }
}

template <class T>
double lane_norm(const T* lanes, int numbers, int W, int lane) {
  double sum = 0;
  for (int i = 0; i < numbers; ++i) {
    const double v = static_cast<double>(lanes[i * W + lane]);
    sum += v * v;
  }
  return std::sqrt(sum);
}

template <class T>
void trace_chunk(const Trajectory<T>& trajectory, std::int64_t chunk, SweepBuffers<T>& buffers,
                 const StopToken& stop, std::vector<CotangentTrace>& traces,
                 std::vector<double>& growth) {
  const Run<T>& run = trajectory.run();
  const StepperSizes& sizes = run.stepper->sizes();
  Sweep<T> sweep(run, chunk_tape(trajectory), buffers, chunk, stop);
  sweep.want_parameters(false);
  const LaneMap& map = sweep.map();
  const int W = map.lanes, nt = sizes.tangent;
  const std::size_t numbers = static_cast<std::size_t>(nt) * static_cast<std::size_t>(W);
  LaneBuffer<T> bar(numbers), next_bar(numbers), u_bar(static_cast<std::size_t>(sizes.input * W));
  T *x_bar = bar.data(), *x_next_bar = next_bar.data();
  std::fill_n(x_bar, numbers, T(0));
  sweep.reverse([&](const StepInput<T>& in, const StepRecord& record) {
    std::swap(x_bar, x_next_bar);
    for (int l = 0; l < map.active; ++l) {
      const CotangentTrace& t = traces[static_cast<std::size_t>(map.environment(l))];
      if (t.from != in.step + 1) continue;
      for (int i = 0; i < nt; ++i) {
        x_next_bar[i * W + l] = static_cast<T>(t.bar[static_cast<std::size_t>(i)]);
      }
    }
    std::fill_n(x_bar, numbers, T(0));
    std::fill_n(u_bar.data(), sizes.input * W, T(0));
    run.stepper->pullback(in, record, x_next_bar, x_bar, u_bar.data(), sweep.workspace());
    for (int l = 0; l < map.active; ++l) {
      CotangentTrace& t = traces[static_cast<std::size_t>(map.environment(l))];
      t.initial_state = lane_norm(in.x, sizes.state, W, l);
      t.largest_state = std::max(t.largest_state, t.initial_state);
      t.smallest_state = std::min(t.smallest_state, t.initial_state);
      if (in.step >= t.from || t.bad_step >= 0) continue;
      const double norm = lane_norm(static_cast<const T*>(x_bar), nt, W, l);
      growth[static_cast<std::size_t>(map.environment(l) * run.steps + in.step)] = norm;
      if (!std::isfinite(norm)) {
        t.bad_step = in.step;
        for (int i = nt - 1; i >= 0; --i) {
          if (!std::isfinite(x_bar[i * W + l])) t.bad_tangent = i;
        }
        continue;
      }
      for (int i = 0; i < nt && norm > 0; ++i) {
        x_bar[i * W + l] = static_cast<T>(x_bar[i * W + l] / norm);
      }
    }
  });
}

}  // namespace

template <class T>
void LaneEngine<T>::retarget(Run<T>& run) const {
  const Steppers<T>& steppers = run.system.template steppers<T>();
  // Lanes share arrays of parameters and one cotangent of them: environments with their own are
  // alone in their chunks.
  const bool alone = run.batch == 1 || ((run.parameter_rows > 1 || run.array_jacobian()) &&
                                        !steppers.packed->sizes().arrays.empty());
  const bool pairs = run.pair_width > 0;
  run.stepper = (pairs ? steppers.dual : alone ? steppers.one : steppers.packed).get();
}

template <class T>
void LaneEngine<T>::plan(Run<T>& run, const Memory& memory) const {
  retarget(run);
  const bool pairs = run.pair_width > 0;
  const StepperSizes& s = run.stepper->sizes();
  const std::int64_t lane_bytes = static_cast<std::int64_t>(sizeof(T)) * s.lanes;
  // Arrays are weights of networks: to run those again takes longer than to read a record.
  const bool costly = s.record_is_costly || !s.arrays.empty();
  run.plan =
      plan_tape(memory, {run.steps, run.chunks(), run.workers(), s.kept() * lane_bytes,
                         static_cast<std::int64_t>(run.stepper->record_bytes()), costly,
                         !pairs && reversible(run.stepper) != nullptr, !pairs && s.has_events});
}

template <class T>
std::int64_t LaneEngine<T>::at_once(const Run<T>& run) const {
  return std::int64_t{run.lanes()} * run.workers();
}

template <class T>
bool LaneEngine<T>::follow(Run<T>& run, SubstepLog& log) const {
  run.own_stepper = run.system.template steppers<T>().one->following(&log);
  if (!run.own_stepper) return false;
  run.stepper = run.own_stepper.get();
  run.threads = 1;
  return true;
}

// Environment after environment, those of all chunks.
template <class T>
RunOutcome outcome_of(const Run<T>& run, const ChunkTape<T>& tape, std::vector<ChunkReport>& said) {
  RunOutcome out;
  out.report.collect(said, static_cast<double>(run.batch) * static_cast<double>(run.steps),
                     run.system.counters());
  out.report.lanes = run.lanes();
  out.report.instruction_set = name(active_instruction_set());
  for (std::int64_t chunk = 0; chunk < run.chunks(); ++chunk) {
    const LaneMap map = run.map(chunk);
    const auto& on_tape = tape.events[static_cast<std::size_t>(chunk)];
    for (std::size_t i = 0; i < on_tape.size(); ++i) {
      const StepEvent& e = on_tape[i].event;
      out.events.push_back({map.environment(e.lane), on_tape[i].step,
                            run.system.events()[static_cast<std::size_t>(e.event)].name, e.time,
                            e.grazing, chunk, static_cast<std::int64_t>(i)});
    }
  }
  std::stable_sort(out.events.begin(), out.events.end(),
                   [](const Event& a, const Event& b) { return a.environment < b.environment; });
  return out;
}

template <class T>
std::shared_ptr<Tape> LaneEngine<T>::forward(Run<T>& run, T* states, RunOutcome& outcome,
                                             const KeepGoing& keep_going) const {
  put_alike_together(run, keep_going);
  auto tape = std::make_shared<ChunkTape<T>>(run);
  std::vector<ChunkReport> said(static_cast<std::size_t>(run.chunks()));
  for_each_task(run, run.chunks(), keep_going,
                [&](std::int64_t chunk, SweepBuffers<T>& buffers, const StopToken& stop) {
                  Sweep<T> sweep(run, *tape, buffers, chunk, stop);
                  StateWriter<T> writer(run, sweep.map(), states);
                  sweep.forward(writer, said[static_cast<std::size_t>(chunk)]);
                  if (!sweep.stopped()) writer.finish();
                });
  outcome = outcome_of(run, *tape, said);
  outcome.report.tape_bytes = tape->bytes();
  outcome.report.memory =
      run.plan.measured(tape->records_kept(), run.chunks() * run.steps, tape->bytes());
  return tape;
}

template <class T>
void LaneEngine<T>::backward(const BackwardTask<T>& task, BackwardParts<T>& parts) const {
  ChunkPullback<T> pullback(task, parts);
  pullback.clear_parts();
  for_each_task(task.run(), parts.groups, task.options.keep_going,
                [&](std::int64_t group, SweepBuffers<T>& buffers, const StopToken& stop) {
                  pullback.pull_group(group, buffers, stop);
                });
  const StepperSizes& sizes = task.run().stepper->sizes();
  if (sizes.arrays.empty() || !task.options.params) return;
  find_not_finite_arrays(task, parts);
}

template <class T>
std::string LaneEngine<T>::first_not_finite(const BackwardTask<T>& task, BackwardParts<T>& parts,
                                            std::int64_t environment) const {
  const Run<T>& run = task.run();
  SweepBuffers<T> buffers(run);
  const Space &states = run.system.states(), &inputs = run.system.inputs();
  const std::string who = message("environment ", run.user_environment(environment));
  std::string where;
  const std::int64_t place = run.place(environment);
  ChunkPullback<T>(task, parts)
      .pull(place / run.lanes(), 0, buffers, StopToken(),
            [&](std::int64_t k, const LaneMap& map, const T* x_bar, const T* u_bar) {
              const int lane = static_cast<int>(place - map.first);
              const auto look = [&](const T* bar, int numbers, const auto& name) {
                for (int i = 0; i < numbers && where.empty(); ++i) {
                  if (std::isfinite(bar[i * map.lanes + lane])) continue;
                  where = message(who, ": the cotangent of ", name(i), " at step ", k,
                                  " is not finite");
                }
              };
              look(x_bar, states.tangent_size(), [&](int i) { return states.tangent_name(i); });
              if (!task.options.controls) return;
              look(u_bar, inputs.size(),
                   [&](int i) { return message("input ", inputs.block_of(i).name); });
            });
  return where.empty() ? message(who, ": the cotangent of a parameter is not finite") : where;
}

template <class T>
void LaneEngine<T>::trace(const Trajectory<T>& trajectory, std::vector<CotangentTrace>& traces,
                          std::vector<double>& growth, const KeepGoing& keep_going) const {
  const Run<T>& run = trajectory.run();
  for_each_task(run, run.chunks(), keep_going,
                [&](std::int64_t chunk, SweepBuffers<T>& buffers, const StopToken& stop) {
                  trace_chunk(trajectory, chunk, buffers, stop, traces, growth);
                });
}

template RunOutcome outcome_of(const Run<float>&, const ChunkTape<float>&,
                               std::vector<ChunkReport>&);
template RunOutcome outcome_of(const Run<double>&, const ChunkTape<double>&,
                               std::vector<ChunkReport>&);
template class LaneEngine<float>;
template class LaneEngine<double>;

}  // namespace cycloid::inline adjoint
