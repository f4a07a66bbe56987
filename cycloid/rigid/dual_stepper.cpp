// The step of a robot in dual numbers: one environment and its tangent. Tangents of rollouts and
// Hessian-vector products of robots are made of it (adjoint/pushforward.h). Compiled once, for all
// instruction sets: it is not the inner loop of anything.
#include "cycloid/math/dual.h"
#include "cycloid/rigid/robot_stepper.h"

namespace cycloid::inline rigid {

std::shared_ptr<const Stepper<double>> dual_stepper(const RobotKey& key) {
  using D = Dual<double, 1>;
  if (key.constraints) return std::make_shared<RobotStepper<D, D, true>>(key);
  return std::make_shared<RobotStepper<D, D>>(key);
}

}  // namespace cycloid::inline rigid
