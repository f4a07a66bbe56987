#include "cycloid/math/pack.h"
#include "cycloid/rigid/sense/robot_observer.h"

namespace cycloid::isa::CYCLOID_ISA {

std::unique_ptr<ChunkObserver> robot_observer(const ObserverKey& key) {
  return std::make_unique<RobotObserver<Pack<double, kNativeLanes<double>>>>(key);
}

}  // namespace cycloid::isa::CYCLOID_ISA
