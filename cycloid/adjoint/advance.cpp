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
  ChunkEyes(const Run<T>& run, const Senses<T>& senses, bool lagging, SweepBuffers<T>& buffers)
      : run_(run),
        senses_(senses),
        chunk_(run.lanes() == 1 ? *senses.one : *senses.packed),
        lagging_(lagging),
        buffers_(buffers),
        W_(run.lanes()) {
    if (!buffers.senses.data()) {
      buffers.senses = LaneBuffer<std::byte>(chunk_.workspace());
      buffers.sensed = LaneBuffer<T>(static_cast<std::size_t>(senses.size * W_));
    }
  }

  // before, x: the states before and after the last step.
  void look(const Sweep<T>& sweep, const T* before, const T* x, T* rows) {
    T* const out = buffers_.sensed.data();
    const T* const u = buffers_.inputs.data();
    const auto time = [&](std::int64_t step) {
      return run_.t0 + static_cast<double>(step) * run_.step_length();
    };
    chunk_.begin(buffers_.parameters.data(), buffers_.senses.data());
    if (lagging_) {
      chunk_.sense_behind({before, u, time(run_.steps - 1),
                           buffers_.record.template numbers<const T>(), failed_lanes(sweep)},
                          out, buffers_.senses.data());
    } else {
      chunk_.sense(x, u, time(run_.steps), out, buffers_.senses.data());
    }
    for (const StateCopy& c : senses_.copies) {
      std::copy_n(x + c.from * W_, c.count * W_, out + c.place * W_);
    }
    scatter(sweep.map(), static_cast<const T*>(out), senses_.size, rows, senses_.size, 0);
  }

 private:
  unsigned failed_lanes(const Sweep<T>& sweep) const {
    unsigned bits = 0;
    for (int l = 0; l < W_; ++l) bits |= static_cast<unsigned>(sweep.lane_failed(l)) << l;
    return bits;
  }

  const Run<T>& run_;
  const Senses<T>& senses_;
  const ChunkSenses<T>& chunk_;
  bool lagging_;
  SweepBuffers<T>& buffers_;
  int W_;
};

template <class T>
Advanced<T> advance_rows(const System& system, std::span<const T> x, std::span<const T> u,
                         std::int64_t steps, std::span<const double> params,
                         const AdvanceOptions& options, const Senses<T>* senses) {
  Run<T> run = held_run(system, x, u, steps, params, options);
  put_alike_together(run, options.keep_going);
  Tape<T> tape(run);
  const std::int64_t numbers = run.stepper->sizes().state;
  Advanced<T> out;
  out.states.resize(static_cast<std::size_t>(run.batch * numbers));
  out.values.resize(senses ? static_cast<std::size_t>(run.batch * senses->size) : 0);
  std::vector<ChunkReport> said(static_cast<std::size_t>(run.chunks()));
  for_each_task(run, run.chunks(), options.keep_going,
                [&](std::int64_t chunk, SweepBuffers<T>& buffers, const StopToken& stop) {
                  Sweep<T> sweep(run, tape, buffers, chunk, stop);
                  const T *before = nullptr, *last = nullptr;
                  sweep.forward([&](std::int64_t, const T* state) { before = last, last = state; },
                                said[static_cast<std::size_t>(chunk)]);
                  if (sweep.stopped()) return;
                  scatter(sweep.map(), last, numbers, out.states.data(), numbers, 0);
                  if (!senses || senses->size == 0) return;
                  ChunkEyes<T>(run, *senses, options.lagging, buffers)
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
                         const AdvanceOptions& options, const Senses<double>* senses) {
  return advance_rows(system, x, u, steps, params, options, senses);
}

Advanced<float> advance(const System& system, std::span<const float> x, std::span<const float> u,
                        std::int64_t steps, std::span<const double> params,
                        const AdvanceOptions& options, const Senses<float>* senses) {
  return advance_rows(system, x, u, steps, params, options, senses);
}

}  // namespace cycloid::inline adjoint
