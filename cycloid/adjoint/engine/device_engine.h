// DeviceEngine: runs a System on a device (system/kernel_source.h), a thread per environment, or
// one large world at a time.
//
// The batch is cut into parts that fit the device's memory, multiples of kSumBlock environments, so
// that no sum depends on the cut. A part's states, records, inputs and parameters stay on the
// device between rollout and pullback; the user's arrays go there and come back as rows.
//   kept      states and records of all steps, where they fit
//   segments  every L-th state, L = √T; a segment is run again before it is pulled back
//   again     nothing, where the parts together do not fit: each part's run is made again
// Cotangents of parameters are summed in T over kCallSteps steps, then in double, environment by
// environment in a fixed order. Results are the same from run to run.
//
// Jacobians A and B of a step are found there too (device/robot_rows.h). What has no kernel runs on
// the CPU's lanes: tangents, Jacobians by parameters, states at times, memory "reversible" and
// truncated gradients, observing.
#pragma once

#include "cycloid/adjoint/engine/lane_engine.h"

namespace cycloid::inline adjoint {

template <class T>
class DeviceEngine final : public Engine<T> {
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
  bool follow(Run<T>& run, SubstepLog& log) const override { return lanes_.follow(run, log); }
  void advance(Run<T>& run, const Observer* observer, const AdvanceOptions& options,
               Advanced<T>& out) const override;
  RunOutcome linearise(const Run<T>& run, Linearisation<T>& out,
                       const KeepGoing& keep_going) const override;
  RunOutcome sparse_linearise(const Run<T>& run, SparseLinearisation<T>& out,
                              const KeepGoing& keep_going) const override {
    return lanes_.sparse_linearise(run, out, keep_going);
  }

 private:
  LaneEngine<T> lanes_;
};

}  // namespace cycloid::inline adjoint
