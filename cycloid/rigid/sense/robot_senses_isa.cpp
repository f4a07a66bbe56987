#include "cycloid/math/pack.h"
#include "cycloid/rigid/sense/robot_senses.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

template <class T>
void fill(const ObserverKey& key, Senses<T>& out) {
  out.one = std::make_shared<RobotSenses<T>>(key);
  out.packed = std::make_shared<RobotSenses<Pack<T, kNativeLanes<T>>>>(key);
}

}  // namespace

void robot_senses(const ObserverKey& key, Senses<float>& float32, Senses<double>& float64) {
  fill(key, float32);
  fill(key, float64);
}

}  // namespace cycloid::isa::CYCLOID_ISA
