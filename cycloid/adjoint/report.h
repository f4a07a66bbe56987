// What a rollout has to say about itself.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cycloid/system/stepper.h"

namespace cycloid::inline adjoint {

// An environment that went non-finite, which stays at its last finite state, or that events without
// end stopped, which stays at the state after the last of them.
struct Failure {
  std::int64_t environment = 0;
  std::int64_t step = 0;  // the step that failed: state `step` is the last one before it
  std::string stage;      // the part of the step: "rk4 stage 2"
  std::string body;       // the body, state block or event
  std::string reason;
};

// An environment in which a solver stopped short of its tolerance. It goes on,
// with the best that was found; there is no gradient through it.
struct Unsolved {
  std::int64_t environment = 0;
  std::int64_t step = 0;   // the first such step
  std::int64_t count = 0;  // how many there were
  double residual = 0;     // the largest of theirs, scaled as the tolerance is
};

// An environment that had more contacts than there is room for. The first are kept, the others have
// no force; the gradient is that of the step so taken.
struct Crowded {
  std::int64_t environment = 0;
  std::int64_t step = 0, count = 0;  // as above
};

// "environment 3, step 17, rk4 stage 2, velocity: its rate of change (x_dot) is not finite"
std::string describe(const Failure& failure);
// "environment 3: the solver stopped short of its tolerance in 2 steps, first in step
// 17, with residuals up to 0.001"
std::string describe(const Unsolved& unsolved);
std::string describe(const Crowded& crowded);

// What one chunk has to say.
struct ChunkReport {
  std::vector<Failure> failed;
  std::vector<Unsolved> unsolved;
  std::vector<Crowded> crowded;
  std::array<std::int64_t, kMostCounters> counters = {};  // summed over environments and steps
  std::int64_t switches = 0;  // steps with other active rows than the step before
};

// What the System counts in its steps.
struct Counter {
  std::string name;
  std::int64_t total = 0;  // over environments and steps
  double mean = 0;
};

struct Report {
  std::vector<Failure> failed;     // in the order of environments
  std::vector<Unsolved> unsolved;  // likewise; one for each environment at most
  std::vector<Crowded> crowded;    // likewise
  std::vector<Counter> counters;   // as the System declares them
  double switch_fraction = 0;      // share of steps with other active rows than the one before
  std::string memory;              // what the adjoint keeps and why, in words
  std::uint64_t tape_bytes = 0;
  int lanes = 1;
  std::string instruction_set;

  // What to try about failed, unsolved and crowded environments; empty where there are none.
  std::string advice() const;
  // The mean and the total of a counter; 0 where the System has none of this name.
  double mean(std::string_view counter) const;
  std::int64_t total(std::string_view counter) const;
  // Takes in what the chunks say, in their order, about a run of so many steps of environments,
  // with counters of these names.
  void collect(std::vector<ChunkReport>& chunks, double environment_steps,
               const std::vector<std::string>& counter_names);
};

}  // namespace cycloid::inline adjoint
