// What a rollout has to say about itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cycloid::inline adjoint {

// An environment that went non-finite. It stays at its last finite state from `step` on.
struct Failure {
  std::int64_t environment = 0;
  std::int64_t step = 0;  // the step that failed: state `step` is the last finite one
  std::string stage;      // the part of the step: "rk4 stage 2"
  std::string body;       // the body or state block
  std::string reason;
};

// "environment 3, step 17, rk4 stage 2, velocity: its rate of change (x_dot) is not finite"
std::string describe(const Failure& failure);

struct Report {
  std::vector<Failure> failed;  // in the order of environments
  std::string memory;           // what the adjoint keeps and why, in words
  std::uint64_t tape_bytes = 0;
  int lanes = 1;
  std::string instruction_set;
};

}  // namespace cycloid::inline adjoint
