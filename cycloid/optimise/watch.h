// What a long optimisation says while it runs, and how it is asked to stop.
//
// identify, plan and their kin call a Watch after each iteration. When it answers no, or the
// caller's KeepGoing does in the middle of a run, they return the best they have, not converged.
#pragma once

#include <cstdint>
#include <functional>

namespace cycloid::inline optimise {

struct Progress {
  int iteration = 0;       // 0: the start
  int most = 0;            // iterations that may be made
  double cost = 0;         // the lowest so far
  double seconds = 0;      // since the start [s]
  std::int64_t steps = 0;  // simulated so far
};

using Watch = std::function<bool(const Progress&)>;

}  // namespace cycloid::inline optimise
