// RunLanes: which environments the lanes of a chunk are, for what draws random numbers by them.
//
// The engine says so for as long as a stepper begins a chunk of a run (Stepper::begin), which stays
// on its thread; whoever needs them later keeps a copy. Steppers and observers that are begun
// otherwise belong to no run.
#pragma once

#include <cstdint>

namespace cycloid::inline system {

class RunLanes {
 public:
  explicit RunLanes(const std::int64_t* environments) : before_(place()) { place() = environments; }
  ~RunLanes() { place() = before_; }
  RunLanes(const RunLanes&) = delete;
  RunLanes& operator=(const RunLanes&) = delete;

  // (W) of the chunk that this thread begins; null: it is no run's.
  static const std::int64_t* now() { return place(); }

 private:
  static const std::int64_t*& place() {
    thread_local const std::int64_t* environments = nullptr;
    return environments;
  }
  const std::int64_t* before_;
};

}  // namespace cycloid::inline system
