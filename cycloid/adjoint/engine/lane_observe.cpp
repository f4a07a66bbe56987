#include "cycloid/adjoint/engine/alike.h"
#include "cycloid/adjoint/engine/lane_engine.h"
#include "cycloid/adjoint/engine/sweep.h"
#include "cycloid/base/core_count.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

constexpr int kRowsWithoutLanes = 64;  // of a chunk of which only the state is shown

// Who computes what is observed: with a gradient, and in the lanes and the precision of the
// System's steppers.
struct LaneWatch final : Watch {
  std::shared_ptr<const DifferentiableObserver> chunks;
  std::shared_ptr<const ChunkObserver<float>> one32, packed32;  // of a System in float32
  std::shared_ptr<const ChunkObserver<double>> one64, packed64;

  // In so many lanes.
  template <class T>
  const ChunkObserver<T>* in_lanes(int lanes) const {
    if constexpr (std::is_same_v<T, float>) {
      return (lanes == 1 ? one32 : packed32).get();
    } else {
      return (lanes == 1 ? one64 : packed64).get();
    }
  }
};

const LaneWatch* lane_watch(const Observer& observer) {
  return static_cast<const LaneWatch*>(observer.watch());
}
const DifferentiableObserver* chunks_of(const Observer& observer) {
  return observer.watch() ? lane_watch(observer)->chunks.get() : nullptr;
}

// Observes a chunk after its last step.
template <class T>
class ChunkEyes {
 public:
  // chunk: who computes what is not of the state, or null.
  ChunkEyes(const Run<T>& run, const Observer& observer, const ChunkObserver<T>* chunk,
            bool lagging, SweepBuffers<T>& buffers)
      : run_(run), observer_(observer), chunk_(chunk), lagging_(lagging), buffers_(buffers) {
    if (!chunk || buffers.observer) return;
    buffers.observer = chunk->make_workspace({run.threads_per_task()});
    buffers.observed = LaneBuffer<T>(static_cast<std::size_t>(chunk->size() * run.lanes()));
  }

  // before, x: the states before and after the last step.
  void look(const Sweep<T>& sweep, const T* before, const T* x, T* rows) {
    const int W = run_.lanes();
    const auto hand_out = [&](const std::vector<ObservedPiece>& pieces, const T* lanes) {
      for (const ObservedPiece& p : pieces) {
        scatter(sweep.map(), lanes + p.from * W, p.count, rows, observer_.size(), p.place);
      }
    };
    hand_out(observer_.of_state(), x);
    if (!chunk_) return;
    compute(sweep, before, x);
    hand_out(observer_.computed(), buffers_.observed.data());
  }

 private:
  void compute(const Sweep<T>& sweep, const T* before, const T* x) {
    const auto point = [&](const T* state, std::int64_t step) -> ObservedPoint<T> {
      const double t = run_.t0 + static_cast<double>(step) * run_.step_length();
      return {state, buffers_.inputs.data(), t};
    };
    T* const out = buffers_.observed.data();
    chunk_->begin(sweep.parameters(), *buffers_.observer);
    if (!lagging_) return chunk_->observe(point(x, run_.steps), out, *buffers_.observer);
    bool* const failed = buffers_.at_rest.data();
    for (int l = 0; l < run_.lanes(); ++l) failed[l] = sweep.lane_failed(l);
    chunk_->observe_behind({point(before, run_.steps - 1), buffers_.record, failed}, out,
                           *buffers_.observer);
  }

  const Run<T>& run_;
  const Observer& observer_;
  const ChunkObserver<T>* chunk_;
  bool lagging_;
  SweepBuffers<T>& buffers_;
};

// How rows are cut into chunks of lanes, and chunks into groups. Lanes share arrays of parameters:
// rows with their own are alone in their chunks.
struct Cut {
  Cut(const Observer& observer, const CheckedRows& rows)
      : lanes(chunks_of(observer) ? chunks_of(observer)->lanes() : kRowsWithoutLanes),
        batch(rows.rows) {
    const Parameters& p = observer.system().parameters();
    array_bytes = static_cast<std::int64_t>(sizeof(double)) * (p.size() - p.lane_size());
    step = array_bytes > 0 && rows.parameter_rows > 1 ? 1 : lanes;
    chunks = (batch + step - 1) / step;
    groups = std::min(kGroups, chunks);
  }
  LaneMap map(std::int64_t chunk) const {
    LaneMap map(chunk, step, batch);
    map.lanes = lanes;
    return map;
  }
  std::int64_t first_chunk(std::int64_t group) const { return group * chunks / groups; }

  int lanes, step;
  std::int64_t batch, chunks, groups, array_bytes;
};

// A worker's memory for one chunk at a time.
struct Buffers {
  Buffers(const Observer& observer, int threads) {
    const DifferentiableObserver* const chunks = chunks_of(observer);
    if (!chunks) return;
    const System& s = observer.system();
    const auto lanes = [&](int n) {
      return LaneBuffer<double>(static_cast<std::size_t>(n * chunks->lanes()));
    };
    workspace = chunks->make_workspace({threads});
    x = lanes(s.states().size()), u = lanes(s.inputs().size());
    p = lanes(s.parameters().lane_size()), y = lanes(chunks->size());
    x_bar = lanes(s.states().tangent_size()), u_bar = lanes(s.inputs().size());
    p_bar = lanes(s.parameters().lane_size());
    left_out = LaneBuffer<bool>(static_cast<std::size_t>(chunks->lanes()));
  }
  std::unique_ptr<StepWorkspace> workspace;
  LaneBuffer<double> x, u, p, y, x_bar, u_bar, p_bar;
  LaneBuffer<bool> left_out;
  std::vector<const double*> arrays;
  std::vector<double*> arrays_bar;
  std::vector<double> state_bar;  // of a row, in coordinates
};

// Calls work(group, buffers, stop) for every group, on the threads that may be used.
template <class Work>
void for_each_group(const Observer& observer, const Cut& cut, const ObserveOptions& options,
                    Work&& work) {
  if (options.threads < 0) {
    throw Error(message("threads must not be negative; got ", options.threads));
  }
  const int threads = options.threads > 0 ? options.threads : default_threads();
  const int inside = std::max(1, static_cast<int>(threads / std::max<std::int64_t>(1, cut.groups)));
  std::vector<std::unique_ptr<Buffers>> buffers(static_cast<std::size_t>(threads));
  parallel_for(
      static_cast<std::size_t>(cut.groups), threads,
      [&](std::size_t group, int worker, const StopToken& stop) {
        auto& own = buffers[static_cast<std::size_t>(worker)];
        if (!own) own = std::make_unique<Buffers>(observer, inside);
        work(static_cast<std::int64_t>(group), *own, stop);
      },
      options.keep_going);
}

// Brings a chunk's states, inputs and parameters into lanes, and begins.
ObservedPoint<double> begin_chunk(const Observer& observer, const CheckedRows& rows,
                                  const LaneMap& map, Buffers& b, const bool* left_out) {
  const System& s = observer.system();
  const std::int64_t nx = s.states().size(), nu = s.inputs().size();
  const Parameters& registry = s.parameters();
  gather(map, rows.x.data(), nx, 0, nx, b.x.data());
  gather(map, rows.u.data(), nu, 0, nu, b.u.data());
  gather(map, rows.p.data(), rows.parameter_rows == 1 ? 0 : registry.size(), 0,
         registry.lane_size(), b.p.data());
  b.arrays.clear();
  for (const Parameter& p : registry.all()) {
    if (!p.array) continue;
    b.arrays.push_back(rows.p.data() + rows.parameter_place(map.environment(0)) + p.offset);
  }
  chunks_of(observer)->begin(
      {b.p.data(), b.arrays.data(), b.arrays_bar.empty() ? nullptr : b.arrays_bar.data(), left_out},
      *b.workspace);
  return {b.x.data(), b.u.data(), rows.time};
}

// The way back of all rows.
class RowsPullback {
 public:
  RowsPullback(const Observer& observer, const CheckedRows& rows,
               std::span<const double> values_bar)
      : observer_(observer),
        rows_(rows),
        cut_(observer, rows),
        bar_(values_bar),
        out_(rows.zero_gradient(observer.system())) {
    if (cut_.array_bytes > 0) {
      cut_.groups = std::clamp<std::int64_t>(kArraySumBytes / cut_.array_bytes, 1, cut_.groups);
    }
    if (!own()) sums_.assign(static_cast<std::size_t>(cut_.groups * rows.parameters), 0.0);
  }

  ObservationGradient run(const ObserveOptions& options) {
    for_each_group(observer_, cut_, options,
                   [&](std::int64_t group, Buffers& b, const StopToken& stop) {
                     const std::int64_t end = cut_.first_chunk(group + 1);
                     for (std::int64_t c = cut_.first_chunk(group); c < end; ++c) {
                       if (stop.stop_requested()) return;
                       pull_back(cut_.map(c), group, b);
                     }
                   });
    for (std::size_t i = 0; i < sums_.size(); ++i) {  // group after group
      out_.parameters[i % out_.parameters.size()] += sums_[i];
    }
    return std::move(out_);
  }

 private:
  bool own() const { return rows_.parameter_rows > 1; }
  double* parameter_row(std::int64_t row, std::int64_t group) {
    return own() ? out_.parameters.data() + row * rows_.parameters
                 : sums_.data() + group * rows_.parameters;
  }

  void pull_back(const LaneMap& map, std::int64_t group, Buffers& b) {
    if (chunks_of(observer_)) pull_back_lanes(map, group, b);
    const Space& states = observer_.system().states();
    b.state_bar.resize(static_cast<std::size_t>(states.size()));
    for (int l = 0; l < map.active; ++l) {
      const std::int64_t row = map.environment(l);
      const double* const bar = bar_.data() + row * observer_.size();
      double* const d_bar = out_.states_tangent.data() + row * states.tangent_size();
      if (!observer_.of_state().empty()) {
        std::fill(b.state_bar.begin(), b.state_bar.end(), 0.0);
        for (const ObservedPiece& piece : observer_.of_state()) {
          for (int i = 0; i < piece.count; ++i) {
            b.state_bar[static_cast<std::size_t>(piece.from + i)] += bar[piece.place + i];
          }
        }
        states.to_tangent(rows_.x.data() + row * states.size(), b.state_bar.data(), d_bar);
      }
      states.to_coordinates(rows_.raw.data() + row * states.size(), d_bar,
                            out_.states.data() + row * states.size());
    }
  }

  void pull_back_lanes(const LaneMap& map, std::int64_t group, Buffers& b) {
    const DifferentiableObserver& chunks = *chunks_of(observer_);
    const System& s = observer_.system();
    const int W = map.lanes, nd = s.states().tangent_size(), nu = s.inputs().size();
    const Parameters& registry = s.parameters();
    for (int l = 0; l < W; ++l) b.left_out.data()[l] = l >= map.active;
    b.arrays_bar.clear();
    for (const Parameter& p : registry.all()) {
      if (!p.array) continue;
      b.arrays_bar.push_back(parameter_row(map.environment(0), group) + p.offset);
    }
    const ObservedPoint<double> at = begin_chunk(observer_, rows_, map, b, b.left_out.data());
    for (const ObservedPiece& piece : observer_.computed()) {
      gather(map, bar_.data(), observer_.size(), piece.place, piece.count,
             b.y.data() + piece.from * W);
    }
    std::fill_n(b.x_bar.data(), nd * W, 0.0);
    std::fill_n(b.u_bar.data(), nu * W, 0.0);
    chunks.pullback(at, b.y.data(), b.x_bar.data(), b.u_bar.data(), *b.workspace);
    chunks.finish(*b.workspace, b.p_bar.data());
    scatter(map, static_cast<const double*>(b.x_bar.data()), nd, out_.states_tangent.data(), nd, 0);
    scatter(map, static_cast<const double*>(b.u_bar.data()), nu, out_.inputs.data(), nu, 0);
    for (int l = 0; l < map.active; ++l) {
      double* const sum = parameter_row(map.environment(l), group);
      for (int i = 0; i < registry.lane_size(); ++i) sum[i] += b.p_bar.data()[i * W + l];
    }
  }

  const Observer& observer_;
  const CheckedRows& rows_;
  Cut cut_;
  std::span<const double> bar_;
  ObservationGradient out_;
  std::vector<double> sums_;  // (groups, parameters), where rows share them
};

}  // namespace

template <class T>
void LaneEngine<T>::advance(Run<T>& run, const Observer* observer, const AdvanceOptions& options,
                            Advanced<T>& out) const {
  put_alike_together(run, options.keep_going);
  ChunkTape<T> tape(run);
  const std::int64_t numbers = run.stepper->sizes().state;
  const std::int64_t seen = observer ? observer->size() : 0;
  const ChunkObserver<T>* const eyes =
      seen > 0 && observer->watch() ? lane_watch(*observer)->in_lanes<T>(run.lanes()) : nullptr;
  std::vector<ChunkReport> said(static_cast<std::size_t>(run.chunks()));
  for_each_task(run, run.chunks(), options.keep_going,
                [&](std::int64_t chunk, SweepBuffers<T>& buffers, const StopToken& stop) {
                  Sweep<T> sweep(run, tape, buffers, chunk, stop);
                  const T *before = nullptr, *last = nullptr;
                  sweep.forward([&](std::int64_t, const T* state) { before = last, last = state; },
                                said[static_cast<std::size_t>(chunk)]);
                  if (sweep.stopped()) return;
                  scatter(sweep.map(), last, numbers, out.states.data(), numbers, 0);
                  if (seen == 0) return;
                  ChunkEyes<T>(run, *observer, eyes, options.lagging, buffers)
                      .look(sweep, before, last, out.values.data());
                });
  out.report = outcome_of(run, tape, said).report;
}

std::shared_ptr<const Watch> LaneDoubleEngine::watch(const System& system,
                                                     const std::vector<std::string>& names) const {
  const Observables& own = *system.observables();
  auto out = std::make_shared<LaneWatch>();
  out->chunks = own.differentiable(names);
  if (system.precision() == Precision::float32) {
    out->one32 = own.float32(names, 1);
    out->packed32 = own.float32(names, system.steppers<float>().packed->sizes().lanes);
  } else {
    out->one64 = own.float64(names, 1);
    out->packed64 = own.float64(names, system.steppers<double>().packed->sizes().lanes);
  }
  return out;
}

void LaneDoubleEngine::observe(const Observer& observer, const CheckedRows& rows,
                               const ObserveOptions& options, double* values,
                               std::vector<RowNote>& notes) const {
  const DifferentiableObserver* const chunks = chunks_of(observer);
  const Cut cut(observer, rows);
  const std::int64_t ny = observer.size();
  std::vector<std::vector<RowNote>> said(static_cast<std::size_t>(cut.groups));
  const auto look = [&](const LaneMap& map, Buffers& b, std::vector<RowNote>& own) {
    const ObservedPoint<double> point = begin_chunk(observer, rows, map, b, nullptr);
    chunks->observe(point, b.y.data(), *b.workspace);
    for (const ObservedPiece& piece : observer.computed()) {
      scatter(map, static_cast<const double*>(b.y.data()) + piece.from * map.lanes, piece.count,
              values, ny, piece.place);
    }
    const LaneNote* const lanes = chunks->notes(*b.workspace);
    for (int l = 0; lanes && l < map.active; ++l) {
      if (lanes[l].residual > 0 || lanes[l].crowded) {
        own.push_back({map.environment(l), lanes[l]});
      }
    }
  };
  for_each_group(observer, cut, options,
                 [&](std::int64_t group, Buffers& b, const StopToken& stop) {
                   const std::int64_t end = cut.first_chunk(group + 1);
                   for (std::int64_t c = cut.first_chunk(group); c < end; ++c) {
                     if (stop.stop_requested()) return;
                     look(cut.map(c), b, said[static_cast<std::size_t>(group)]);
                   }
                 });
  for (const std::vector<RowNote>& group : said) {
    notes.insert(notes.end(), group.begin(), group.end());
  }
}

ObservationGradient LaneDoubleEngine::observe_pullback(const Observer& observer,
                                                       const CheckedRows& rows,
                                                       std::span<const double> values_bar,
                                                       const ObserveOptions& options) const {
  return RowsPullback(observer, rows, values_bar).run(options);
}

template void LaneEngine<float>::advance(Run<float>&, const Observer*, const AdvanceOptions&,
                                         Advanced<float>&) const;
template void LaneEngine<double>::advance(Run<double>&, const Observer*, const AdvanceOptions&,
                                          Advanced<double>&) const;

}  // namespace cycloid::inline adjoint
