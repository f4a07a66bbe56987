#include "cycloid/rigid/robot_forms.h"
#include "cycloid/rigid/sense/robot_senses.h"

namespace cycloid::isa::CYCLOID_ISA {

void robot_steppers(const RobotKey& key, Steppers<float>& out) { fill_steppers(key, out); }

void robot_observers32(const ObserverKey& key, RobotObservers& out) {
  out.one32 = std::make_shared<RobotSenses<float>>(key);
  out.packed32 = std::make_shared<RobotSenses<BatchLanes<float, kNativeLanes<float>>>>(key);
}

}  // namespace cycloid::isa::CYCLOID_ISA
