#include "cycloid/rigid/tree/crba.h"

#include "cycloid/rigid/tree/rigid_case_test.h"
#include "cycloid/rigid/tree/rnea.h"

namespace cycloid::crba_test {

using test::Numbers;
using test::RigidCase;

struct Point {
  explicit Point(const Model& m) : c(m), memory(c.tree), p(c.tree, c.point.data() + 2 * c.nv()) {
    const std::vector<double> qpos = c.qpos_of(c.point.data());
    Workspace<double>& w = memory.work;
    kinematics(c.tree, p.p.data(), qpos.data(), static_cast<double*>(nullptr), w.frames);
    for (std::size_t b = 1; b < c.tree.model.bodies.size(); ++b) {
      if (c.tree.model.bodies[b].tree < 0) continue;
      w.inertia[b] = body_inertia(c.tree.bodies[b], p.p.data(), w.frames.R[b], w.frames.pos[b]);
    }
    for (int k = 0; k < c.nv(); ++k) w.armature[k] = 0.1 * (k + 1);
    composite_inertias(c.tree, static_cast<const SpatialInertia<double>*>(w.inertia), w.composite);
    mass_matrix(c.tree, w.composite, w.frames.column, w.armature, w.LD);
  }
  // M x from the sparse rows.
  Numbers times(const Numbers& x) const {
    Numbers out(x.size(), 0.0);
    for (int k = 0; k < c.nv(); ++k) {
      int entry = c.tree.row[static_cast<std::size_t>(k)];
      for (int j = k; j >= 0; j = c.tree.model.dofs[static_cast<std::size_t>(j)].parent, ++entry) {
        const double M = memory.work.LD[entry];
        out[static_cast<std::size_t>(k)] += M * x[static_cast<std::size_t>(j)];
        if (j != k) out[static_cast<std::size_t>(j)] += M * x[static_cast<std::size_t>(k)];
      }
    }
    return out;
  }
  RigidCase c;
  test::RigidMemory<double> memory;
  test::Prepared<double> p;
};

TEST_CASE("mass_matrix: M x equals the forces that accelerate the resting robot by x") {
  Point at(test::two_trees());
  const Tree& tree = at.c.tree;
  Workspace<double>& w = at.memory.work;
  const Numbers x = test::FixedNumbers(3).vector(static_cast<std::size_t>(at.c.nv()));
  Numbers rest(x.size(), 0.0), tau(x.size(), 0.0);
  velocity_field(tree, w.frames.column, static_cast<const double*>(rest.data()), w.v);
  acceleration_field(tree, w.frames.column, static_cast<const double*>(rest.data()), x.data(), w.v,
                     Vec3<double>{}, w.a);
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const std::size_t b = static_cast<std::size_t>(tree.links[l].body);
    const bool has_mass = tree.links[l].last && tree.model.bodies[b].tree >= 0;
    w.force[l] = has_mass ? body_force(w.inertia[b], w.v[l], w.a[l]) : Force<double>{};
  }
  subtract_joint_forces(tree, w.frames.column, w.force, tau.data());
  Numbers expected;
  for (std::size_t k = 0; k < x.size(); ++k) expected.push_back(w.armature[k] * x[k] - tau[k]);
  CHECK(test::relative_error(at.times(x), expected) < 1e-13);
}

TEST_CASE("factor, solve: M times the solution is the right-hand side") {
  Point at(test::two_trees());
  const Numbers b = test::FixedNumbers(4).vector(static_cast<std::size_t>(at.c.nv()));
  Numbers x = b;
  const Numbers M(at.memory.work.LD, at.memory.work.LD + at.c.tree.entries());
  factor(at.c.tree, at.memory.work.LD);
  solve(at.c.tree, at.memory.work.LD, x.data());
  std::copy(M.begin(), M.end(), at.memory.work.LD);
  CHECK(test::relative_error(at.times(x), b) < 1e-12);  // the condition of M is about 1e3
}

}  // namespace cycloid::crba_test
