#include "cycloid/rigid/constrained_dynamics.h"

#include "cycloid/rigid/step_case_test.h"

using namespace cycloid;
using test::Numbers;
using test::StepKind;

namespace {

struct ConstrainedKit {
  explicit ConstrainedKit(const Tree& tree) : plan(tree) {}
  ConstraintPlan plan;

  template <class S>
  struct Hold {
    Hold(const ConstrainedKit& kit, const Tree& tree, bool slopes_)
        : plan(kit.plan),
          blocks(ConstraintMemory<S>().carve(tree, plan, nullptr) / 128 + 1),
          slopes(slopes_) {
      memory.carve(tree, plan, blocks[0].bytes);
    }
    ConstrainedDynamics<S> dynamics() { return {plan, memory, slopes}; }

    struct alignas(128) Block {
      std::byte bytes[128];
    };
    const ConstraintPlan& plan;
    std::vector<Block> blocks;
    ConstraintMemory<S> memory;
    bool slopes;
  };
};
using ConstrainedCase = test::StepCaseOf<ConstrainedKit>;

// The robot of two trees between floor and wall: a ball under its base, a capsule along its leg,
// limits that hold, friction loss, and a cart that is held to its rail.
Model held_robot(RigidIntegrator integrator) {
  Model m = test::two_trees(integrator);
  for (std::size_t b = 0; b < m.bodies.size(); ++b) {
    m.bodies[b].welded = m.bodies[b].tree >= 0 ? static_cast<int>(b) : 0;
    m.bodies[b].inverse_weight = {0.5, 2.0};
  }
  for (Dof& d : m.dofs) d.inverse_weight = 0.7;
  Geom floor;
  floor.name = "floor";
  floor.shape = Shape::plane;
  floor.pos = {0.0, 0.0, -0.1};
  floor.quat = {0.99, 0.1, 0.05, 0.0};
  floor.friction = {0.8, 0.01, 0.002};
  m.geoms.push_back(floor);
  for (const int body : {1, 5}) {
    Geom g;
    g.name = "ball" + std::to_string(body);
    g.body = body;
    g.shape = body == 1 ? Shape::sphere : Shape::capsule;
    g.size = {1.5, 0.4, 0.0};
    g.pos = {0.1, -0.05, 0.02};
    g.friction = {0.6, 0.02, 0.001};
    g.condim = body == 1 ? 3 : 4;
    g.contype = g.conaffinity = 1;
    g.soft.solimp = {0.8, 0.95, 5.0, 0.5, 2};
    m.geoms.push_back(g);
  }
  m.exclusions.push_back({1, 5});
  for (Joint& j : m.joints) {
    if (dof_numbers(j.kind) == 1) j.range = {true, -0.01, 3.0};
  }
  for (std::size_t k = 8; k <= 10; ++k) m.dofs[k].frictionloss = 0.3;
  return m;
}

// How much a step with constraints differs from one without.
double effect(const Model& m, const ConstrainedCase& held) {
  Model free = m;
  free.options.acting.constraints = false;
  const test::StepCase c(free, 0.3, StepKind{.wrenches = false});
  double most = 0;
  for (std::size_t i = 0; i < c.next0.size(); ++i) {
    most = std::max(most, std::abs(c.next0[i] - held.next0[i]));
  }
  return most;
}

}  // namespace

TEST_CASE(
    "constrained_accelerate: a step's pullback equals dual numbers, in contact and at limits") {
  for (const auto integrator :
       {RigidIntegrator::euler, RigidIntegrator::implicitfast, RigidIntegrator::rk4}) {
    const Model m = held_robot(integrator);
    const ConstrainedCase c(m, 0.3, StepKind{.wrenches = false});
    REQUIRE(effect(m, c) > 0.01);
    // The solve stops at 1e-10 of the forces, and what a step has of it is multiplied by h.
    test::check_pullback(
        "constrained_accelerate", c.tangents, [&](const auto* in, auto* out) { c.value(in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
        {c.point}, test::PullbackOptions{.tolerance = 1e-9, .lane_tolerance = 1e-10});
  }
}
