// Where robot.cpp finds the steppers of a robot: one function per instruction set and type of
// number (robot_float_isa.cpp, robot_double_isa.cpp).
#pragma once

#include <memory>

#include "cycloid/rigid/constraint/constraint_plan.h"
#include "cycloid/rigid/dynamics.h"
#include "cycloid/system/system.h"

namespace cycloid::inline rigid {

struct RobotKey {
  std::shared_ptr<const Tree> tree;
  std::shared_ptr<const ConstraintPlan> constraints;  // null: none act
  InputPlaces inputs;
  int input_size = 0;
  bool vary = false;      // parameters may differ between lanes
  double near_width = 0;  // up to which the way back sees pairs that do not touch [m]; 0: none
};

// In dual numbers, for every instruction set (dual_stepper.cpp).
std::shared_ptr<const Stepper<double>> dual_stepper(const RobotKey& key);

}  // namespace cycloid::inline rigid

namespace cycloid::isa::portable {
void robot_steppers(const RobotKey& key, Steppers<float>& out);
void robot_steppers(const RobotKey& key, Steppers<double>& out);
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
void robot_steppers(const RobotKey& key, Steppers<float>& out);
void robot_steppers(const RobotKey& key, Steppers<double>& out);
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
void robot_steppers(const RobotKey& key, Steppers<float>& out);
void robot_steppers(const RobotKey& key, Steppers<double>& out);
}  // namespace cycloid::isa::v4
