// Steps under constraints as functions of one flat row (step_case_test.h), and a robot for them.
#pragma once

#include "cycloid/rigid/constrained_dynamics.h"
#include "cycloid/rigid/step_case_test.h"

namespace cycloid::test {

struct ConstrainedKit {
  explicit ConstrainedKit(const Tree& tree) : plan(tree) {}
  ConstraintPlan plan;

  template <class S>
  struct Hold {
    Hold(const ConstrainedKit& kit, const Tree& tree, bool slopes_)
        : plan(kit.plan), arena(carve_memory(memory, tree, plan)), slopes(slopes_) {}
    ConstrainedDynamics<S> dynamics() { return {plan, memory, slopes}; }

    const ConstraintPlan& plan;
    ConstraintMemory<S> memory;
    Arena arena;
    bool slopes;
  };
};
using ConstrainedCase = StepCaseOf<ConstrainedKit>;

// The robot of two trees between floor and wall: a ball under its base, a capsule along its leg,
// limits that hold, friction loss, and a cart that is held to its rail.
inline Model held_robot(RigidIntegrator integrator) {
  Model m = two_trees(integrator);
  for (std::size_t b = 0; b < m.bodies.size(); ++b) {
    m.bodies[b].welded = m.bodies[b].tree >= 0 ? static_cast<int>(b) : 0;
    m.bodies[b].inverse_weight = {0.5, 2.0};
  }
  for (Dof& d : m.dofs) d.inverse_weight = 0.7;
  Named<Geom> floor;
  floor.name = "floor";
  floor.shape = Shape::plane;
  floor.pos = {0.0, 0.0, -0.1};
  floor.quat = {0.99, 0.1, 0.05, 0.0};
  floor.friction = {0.8, 0.01, 0.002};
  m.geoms.push_back(floor);
  for (const int body : {1, 5}) {
    Named<Geom> g;
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

}  // namespace cycloid::test
