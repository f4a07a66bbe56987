// What the steps of a robot under constraints count (LaneNote::counters), and how it is called.
#pragma once

namespace cycloid::inline rigid {

enum RobotCounter { kContacts, kActiveRows, kCrowded };
inline constexpr const char* kRobotCounters[] = {"contacts", "active_rows", "crowded"};

}  // namespace cycloid::inline rigid
