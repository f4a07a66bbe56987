// Robots, held to what every System must keep (tests/support/conformance.h).
#include "tests/support/conformance.h"

#include "cycloid/rigid/constrained_case_test.h"
#include "cycloid/rigid/robot.h"
#include "tests/support/robots.h"

namespace cycloid {
namespace {

using test::conform;
using test::ConformOptions;
using test::RolloutCase;

template <class T>
RolloutCase<T> robot_case(const Model& model, std::int64_t steps = 4, RobotOptions options = {}) {
  options.precision = std::is_same_v<T, float> ? Precision::float32 : Precision::float64;
  const System system = make_robot(model, options);
  const std::int64_t W = system.steppers<T>().packed->sizes().lanes;
  RolloutCase<T> c = test::rollout_case<T>(system, 2 * W + 1, steps, 5);
  c.params = system.parameters().default_values();
  return c;
}

const RigidIntegrator kIntegrators[] = {RigidIntegrator::euler, RigidIntegrator::implicitfast,
                                        RigidIntegrator::rk4};

}  // namespace

TEST_CASE("conformance: smooth robots with every integrator") {
  for (const RigidIntegrator integrator : kIntegrators) {
    CAPTURE(static_cast<int>(integrator));
    conform(robot_case<double>(test::two_trees(integrator)));
    conform(robot_case<double>(test::free_block(integrator)));
  }
  conform(robot_case<double>(test::with_cables()));
}

TEST_CASE("conformance: robots in contact, with limits and friction") {
  conform(robot_case<double>(test::held_robot(RigidIntegrator::euler)));
  conform(robot_case<double>(test::held_robot(RigidIntegrator::implicitfast)));
}

TEST_CASE("conformance: robots with compliant contacts") {
  RobotOptions options;
  options.contact = HuntCrossley{.stiffness = 20, .dissipation = 0.02, .stiction = 0.3};
  conform(robot_case<double>(test::held_robot(RigidIntegrator::euler), 4, options));
  options.contact = HuntCrossley{.dissipation = 0.02, .stiction = 0.3};
  Model soft = test::held_robot(RigidIntegrator::implicitfast);
  for (Geom& g : soft.geoms) g.soft.solref = {0.5, 1};  // the cases begin deep in each other
  conform(robot_case<float>(soft, 4, options));
}

TEST_CASE("conformance: robots in float") {
  conform(robot_case<float>(test::two_trees()));
  conform(robot_case<float>(test::with_cables()));
  conform(robot_case<float>(test::held_robot(RigidIntegrator::euler)));
}

}  // namespace cycloid
