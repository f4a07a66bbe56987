#include "cycloid/math/pack.h"
#include "cycloid/rigid/robot_stepper.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

template <class T>
Steppers<T> steppers(const RobotKey& key) {
  using Lanes = Pack<T, kNativeLanes<T>>;
  Steppers<T> out;
  out.one = std::make_shared<RobotStepper<T, T, true>>(key);
  if (key.vary) {
    out.packed = std::make_shared<RobotStepper<Lanes, Lanes, true>>(key);
  } else {
    out.packed = std::make_shared<RobotStepper<Lanes, T, true>>(key);
  }
  return out;
}

}  // namespace

void constrained_steppers(const RobotKey& key, Steppers<float>& float32,
                          Steppers<double>& float64) {
  float32 = steppers<float>(key);
  float64 = steppers<double>(key);
}

}  // namespace cycloid::isa::CYCLOID_ISA
