#include "cycloid/rigid/robot_forms.h"
#include "cycloid/rigid/sense/robot_observer.h"

namespace cycloid::isa::CYCLOID_ISA {

void robot_steppers(const RobotKey& key, Steppers<double>& out) { fill_steppers(key, out); }

void robot_observers64(const ObserverKey& key, RobotObservers& out) {
  out.one64 = std::make_shared<RobotSenses<double>>(key);
  out.packed64 = std::make_shared<RobotObserver<BatchLanes<double, kNativeLanes<double>>>>(key);
}

}  // namespace cycloid::isa::CYCLOID_ISA
