#include "cycloid/rigid/sense/robot_observer.h"

#include "cycloid/math/pack.h"

namespace cycloid::isa::CYCLOID_ISA {

void robot_observers64(const ObserverKey& key, RobotObservers& out) {
  out.one64 = std::make_shared<RobotSenses<double>>(key);
  out.packed64 = std::make_shared<RobotObserver<Pack<double, kNativeLanes<double>>>>(key);
}

}  // namespace cycloid::isa::CYCLOID_ISA
