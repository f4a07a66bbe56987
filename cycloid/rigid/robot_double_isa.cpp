#include "cycloid/rigid/robot_forms.h"
#include "cycloid/rigid/sense/robot_observer.h"

namespace cycloid::isa::CYCLOID_ISA {

void robot_steppers(const RobotKey& key, Steppers<double>& out) { fill_steppers(key, out); }
void robot_senses(const ObserverKey& key, Senses<double>& out) { fill_senses(key, out); }

std::unique_ptr<ChunkObserver> robot_observer(const ObserverKey& key) {
  return std::make_unique<RobotObserver<Pack<double, kNativeLanes<double>>>>(key);
}

}  // namespace cycloid::isa::CYCLOID_ISA
