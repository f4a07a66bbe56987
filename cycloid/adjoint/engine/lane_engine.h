// LaneEngine: runs a System in chunks of lanes, on the threads of this machine.
//
// The batch is cut into chunks of W environments (lanes.h), and threads take chunks; each steps
// through its whole run (sweep.h). A lone environment, and a large world, is a chunk of one lane.
// Sums over environments are taken in groups of chunks, each in the order of its chunks, and the
// groups in their order: the same sum for any number of threads.
//
//   lane_engine.cpp     forward, backward, trace      lane_linearise.cpp   linearise, hold
//   lane_observe.cpp    advance, observe              lane_push.cpp        push
#pragma once

#include "cycloid/adjoint/engine/engine.h"

namespace cycloid::inline adjoint {

// At most so many groups of chunks, and so many bytes for sums over shared arrays of parameters.
inline constexpr std::int64_t kGroups = 64;
inline constexpr std::int64_t kArraySumBytes = std::int64_t{1} << 28;

template <class T>
class LaneEngine final : public Engine<T> {
 public:
  void plan(Run<T>& run, const Memory& memory) const override;
  void retarget(Run<T>& run) const override;
  std::int64_t at_once(const Run<T>& run) const override;
  std::shared_ptr<Tape> forward(Run<T>& run, T* states, RunOutcome& outcome,
                                const KeepGoing& keep_going) const override;
  void backward(const BackwardTask<T>& task, BackwardParts<T>& parts) const override;
  std::string first_not_finite(const BackwardTask<T>& task, BackwardParts<T>& parts,
                               std::int64_t environment) const override;
  void trace(const Trajectory<T>& trajectory, std::vector<CotangentTrace>& traces,
             std::vector<double>& growth, const KeepGoing& keep_going) const override;
  bool follow(Run<T>& run, SubstepLog& log) const override;
  void advance(Run<T>& run, const Observer* observer, const AdvanceOptions& options,
               Advanced<T>& out) const override;
  RunOutcome linearise(const Run<T>& run, Linearisation<T>& out,
                       const KeepGoing& keep_going) const override;
  RunOutcome sparse_linearise(const Run<T>& run, SparseLinearisation<T>& out,
                              const KeepGoing& keep_going) const override;
};

class LaneDoubleEngine final : public DoubleEngine {
 public:
  std::unique_ptr<HeldStep> hold(Run<double>& run, std::span<double> next,
                                 RunOutcome& outcome) const override;
  std::int64_t pair_width(const System& system) const override;
  bool push(const Run<double>& run, const RunTangents& along, const SavedTangents& saved,
            const KeepGoing& keep_going) const override;
  std::shared_ptr<const Watch> watch(const System& system,
                                     const std::vector<std::string>& names) const override;
  void observe(const Observer& observer, const CheckedRows& rows, const ObserveOptions& options,
               double* values, std::vector<RowNote>& notes) const override;
  ObservationGradient observe_pullback(const Observer& observer, const CheckedRows& rows,
                                       std::span<const double> values_bar,
                                       const ObserveOptions& options) const override;
};

// What the chunks of a run say, and the events on its tape.
template <class T>
RunOutcome outcome_of(const Run<T>& run, const ChunkTape<T>& tape, std::vector<ChunkReport>& said);

}  // namespace cycloid::inline adjoint
