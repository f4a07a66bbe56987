// What a device makes its form of a robot from (device/robot_form.h).
#pragma once

#include "cycloid/rigid/robot_steppers.h"
#include "cycloid/system/kernel_source.h"

namespace cycloid::inline rigid {

class RobotSource final : public KernelSource {
 public:
  explicit RobotSource(const RobotKey& of) : key(of) {}
  RobotKey key;
};

}  // namespace cycloid::inline rigid
