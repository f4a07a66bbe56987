#include "cycloid/adjoint/advance.h"

#include "cycloid/adjoint/alike.h"
#include "cycloid/adjoint/engine.h"
#include "cycloid/adjoint/run_inputs.h"
#include "cycloid/adjoint/sweep.h"
#include "cycloid/base/error.h"
#include "cycloid/base/instruction_set.h"

namespace cycloid::inline adjoint {
namespace {

// A Run of `steps` steps with held inputs, that keeps one state for each chunk.
template <class T>
Run<T> held_run(const System& system, std::span<const T> x, std::span<const T> u,
                std::int64_t steps, std::span<const double> params, const AdvanceOptions& options) {
  if (steps < 1) throw Error(message("advance needs at least one step; got ", steps));
  RolloutOptions rollout;
  rollout.threads = options.threads;
  rollout.t0 = options.t0;
  const bool zero = u.empty();
  Run<T> run =
      checked_run(system, x, zero ? Controls<T>(steps) : Controls<T>(u, 1), params, rollout);
  run.held = true;
  run.steps = steps;
  engine_of<T>(system).plan(run, Memory::checkpoints(1));
  return run;
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

template <class T>
Advanced<T> advance_rows(const System& system, std::span<const T> x, std::span<const T> u,
                         std::int64_t steps, std::span<const double> params,
                         const AdvanceOptions& options, const Observer* observer) {
  Run<T> run = held_run(system, x, u, steps, params, options);
  put_alike_together(run, options.keep_going);
  Tape<T> tape(run);
  const std::int64_t numbers = run.stepper->sizes().state;
  Advanced<T> out;
  out.states.resize(static_cast<std::size_t>(run.batch * numbers));
  const std::int64_t seen = observer ? observer->size() : 0;
  out.values.resize(static_cast<std::size_t>(run.batch * seen));
  const ChunkObserver<T>* const eyes = seen > 0 ? observer->in_lanes<T>(run.lanes()) : nullptr;
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
  out.report.collect(said, static_cast<double>(run.batch) * static_cast<double>(run.steps),
                     system.counters());
  out.report.memory = "nothing";
  out.report.lanes = run.lanes();
  out.report.instruction_set = name(active_instruction_set());
  return out;
}

}  // namespace

Advanced<double> advance(const System& system, std::span<const double> x, std::span<const double> u,
                         std::int64_t steps, std::span<const double> params,
                         const AdvanceOptions& options, const Observer* observer) {
  return advance_rows(system, x, u, steps, params, options, observer);
}

Advanced<float> advance(const System& system, std::span<const float> x, std::span<const float> u,
                        std::int64_t steps, std::span<const double> params,
                        const AdvanceOptions& options, const Observer* observer) {
  return advance_rows(system, x, u, steps, params, options, observer);
}

}  // namespace cycloid::inline adjoint
