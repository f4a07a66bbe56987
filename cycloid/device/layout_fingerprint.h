// A number that changes with the structs that the library of a card's kernels and this library
// share: a library of other layouts is refused when it is opened, in place of reading wrong places.
#pragma once

#include <cstdint>

#include "cycloid/device/robot_eyes.h"
#include "cycloid/system/device_api.h"

namespace cycloid::inline device {

constexpr std::uint64_t layout_fingerprint() {
  const std::size_t sizes[] = {
      static_cast<std::size_t>(kDeviceVersion),  // where meanings change and sizes do not
      sizeof(DeviceApi),
      sizeof(StepCall<float>),
      sizeof(StepCall<double>),
      sizeof(ObserveCall<double>),
      sizeof(EyesImage),
      sizeof(Sensor),
      sizeof(SumCall),
      sizeof(EnvironmentNote),
      sizeof(RunTotals),
      sizeof(RobotImage),
      sizeof(RobotSpace<float, false>),
      sizeof(RobotSpace<float, true>),
      sizeof(RobotSpace<double, true>),
      sizeof(TreeView),
      sizeof(ConstraintPlan),
      sizeof(ContactPair),
      sizeof(TouchingGeom),
      sizeof(CandidatePair),
      sizeof(LaneNote)};
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const std::size_t n : sizes) hash = (hash ^ n) * 0x100000001b3u;
  return hash;
}

}  // namespace cycloid::inline device
