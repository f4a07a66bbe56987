#include "cycloid/rigid/robot_forms.h"

namespace cycloid::isa::CYCLOID_ISA {

void robot_steppers(const RobotKey& key, Steppers<float>& out) { fill_steppers(key, out); }
void robot_senses(const ObserverKey& key, Senses<float>& out) { fill_senses(key, out); }

}  // namespace cycloid::isa::CYCLOID_ISA
