// Random starts and inputs. Each number depends on the seed, its environment and its step alone:
// not on the batch, the threads or the order in which they are drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "cycloid/base/interrupt.h"
#include "cycloid/system/system.h"

namespace cycloid::cli {

class Options;

struct RandomInputs {
  double spread = 0.01;  // every tangent number of a start is moved by up to ±spread
  double push = 0.1;     // every input number of every step is within ±push
  std::uint64_t seed = 0;

  void declare(Options& options);

  // (batch, states) around `start`, where the law admits them.
  template <class T>
  std::vector<T> starts(const System& system, const std::vector<double>& start,
                        std::int64_t batch) const;
  // (batch, steps, inputs) of the steps from `first` on; empty for a system without inputs.
  template <class T>
  std::vector<T> inputs(const System& system, std::int64_t batch, std::int64_t first,
                        std::int64_t steps, int threads, const KeepGoing& keep_going = {}) const;
};

}  // namespace cycloid::cli
