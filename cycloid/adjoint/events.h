// Events of a rollout: what happened on the way, when, and to whom (system/event/event.h).
//
// Their times are outputs with a gradient of their own: PullbackOptions::event_times_bar has
// ∂L/∂time of each, in the order of Trajectory::events().
#pragma once

#include <cstdint>
#include <string>

namespace cycloid::inline adjoint {

struct Event {
  std::int64_t environment = 0;
  std::int64_t step = 0;  // in which it happened
  std::string name;
  double time = 0;  // [s]
  // The state came to the surface so slowly that the derivative of the time does not exist.
  bool grazing = false;
  std::int64_t chunk = 0, place = 0;  // on the tape
};

// "environment 3, step 17: impact at 0.1702 s"
std::string describe(const Event& event);

}  // namespace cycloid::inline adjoint
