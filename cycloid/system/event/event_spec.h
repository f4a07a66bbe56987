// How a law declares an event, in a form that it can keep as a compile-time constant.
#pragma once

namespace cycloid::inline system {

enum class EventDirection { falling, rising, both };  // of g through zero
enum class EventEffect { reset, end };                // of the state; of the run

struct EventSpec {
  const char* name;
  EventDirection direction = EventDirection::both;
  EventEffect effect = EventEffect::reset;
};

// The stage of a StepTrouble (stepper.h) whose environment stops because its events have no end.
inline constexpr const char* kEventStage = "events";

// Events of one environment within one step; more are taken for infinitely many (Zeno).
inline constexpr int kMostEvents = 32;

}  // namespace cycloid::inline system
