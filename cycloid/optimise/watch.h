// What a long optimisation says while it runs, and how it is asked to stop.
//
// identify, plan and their kin call a Watch after each iteration. When it answers no, or the
// caller's KeepGoing does in the middle of a run, they return the best they have, not converged.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace cycloid::inline optimise {

struct Progress {
  int iteration = 0;       // 0: the start
  int most = 0;            // iterations that may be made
  double cost = 0;         // the lowest so far
  double seconds = 0;      // since the start [s]
  std::int64_t steps = 0;  // simulated so far
  // The best so far, for the length of the call: of a plan its controls (T, inputs), of a fit all
  // parameters; empty where it is not told.
  std::span<const double> numbers = {};
};

using Watch = std::function<bool(const Progress&)>;

}  // namespace cycloid::inline optimise
