// LaneEngine: runs a System in chunks of lanes, on the threads of this machine.
//
// The batch is cut into chunks of W environments (lanes.h), and threads take chunks; each steps
// through its whole run (sweep.h). A lone environment, and a large world, is a chunk of one lane.
// Sums over environments are taken in groups of chunks, each in the order of its chunks, and the
// groups in their order: the same sum for any number of threads.
#pragma once

#include "cycloid/adjoint/engine.h"

namespace cycloid::inline adjoint {

template <class T>
class LaneEngine final : public Engine<T> {
 public:
  void plan(Run<T>& run, const Memory& memory) const override;
  std::shared_ptr<Tape<T>> forward(Run<T>& run, T* states, Report& report,
                                   const KeepGoing& keep_going) const override;
  void backward(const BackwardTask<T>& task, BackwardParts<T>& parts) const override;
  std::string first_not_finite(const BackwardTask<T>& task, BackwardParts<T>& parts,
                               std::int64_t environment) const override;
};

}  // namespace cycloid::inline adjoint
