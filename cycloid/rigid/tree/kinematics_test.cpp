#include "cycloid/rigid/tree/kinematics.h"

#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::kinematics_test {

using test::RigidCase;

TEST_CASE("kinematics: a planar arm of two hinges stands where trigonometry puts it") {
  Model m;
  m.bodies.resize(3);
  m.trees = 1;
  for (int b = 1; b <= 2; ++b) {
    Body& body = m.bodies[static_cast<std::size_t>(b)];
    body.parent = b - 1;
    body.tree = 0;
    body.first_joint = body.first_dof = b - 1;
    body.joints = body.dofs = 1;
    if (b == 2) body.pos = {0.5, 0, 0};
    Named<Joint> j;
    j.body = b;
    j.qpos = j.dof = b - 1;
    m.joints.push_back(j);
    Dof d;
    d.joint = b - 1;
    d.body = b;
    d.parent = b - 2;
    m.dofs.push_back(d);
  }
  m.nq = m.nv = 2;
  m.qpos0 = {0, 0};
  const Tree tree(m);
  test::RigidMemory<double> memory(tree);
  const double q[2] = {0.3, 0.8};
  const Frames<double>& f = memory.work.frames;
  kinematics(tree, tree.parameters.default_values().data(), q, static_cast<double*>(nullptr), f);
  CHECK(f.pos[2].x == doctest::Approx(0.5 * std::cos(0.3)).epsilon(1e-15));
  CHECK(f.pos[2].y == doctest::Approx(0.5 * std::sin(0.3)).epsilon(1e-15));
  CHECK(f.R[2](0, 0) == doctest::Approx(std::cos(1.1)).epsilon(1e-15));
  CHECK(f.R[2](1, 0) == doctest::Approx(std::sin(1.1)).epsilon(1e-15));
  CHECK(f.column[1].angular.z == 1);
  CHECK(f.column[1].linear.x == doctest::Approx(0.5 * std::sin(0.3)).epsilon(1e-15));
}

TEST_CASE("kinematics: columns of motion are the derivatives of the poses") {
  using D = Dual<double, 1>;
  const RigidCase c(test::two_trees());
  test::RigidMemory<double> memory(c.tree);
  const test::Prepared<double> p(c.tree, c.point.data() + 2 * c.nv());
  const std::vector<double> qpos = c.qpos_of(c.point.data());
  const Frames<double>& f = memory.work.frames;
  kinematics(c.tree, p.p.data(), qpos.data(), static_cast<double*>(nullptr), f);
  double largest = 0;
  for (int k = 0; k < c.nv(); ++k) {
    std::vector<D> d(static_cast<std::size_t>(c.nv()), D(0.0)), dp;
    d[static_cast<std::size_t>(k)].tangent[0] = 1;
    for (const double x : p.p) dp.push_back(D(x));
    test::RigidMemory<D> dual(c.tree);
    const std::vector<D> dq = c.qpos_of(d.data());
    kinematics(c.tree, dp.data(), dq.data(), static_cast<D*>(nullptr), dual.work.frames);
    for (std::size_t b = 1; b < c.tree.model.bodies.size(); ++b) {
      bool moved = false;  // k is a dof of b or of a body above it
      for (int i = static_cast<int>(b); i > 0;
           i = c.tree.model.bodies[static_cast<std::size_t>(i)].parent) {
        const Body& body = c.tree.model.bodies[static_cast<std::size_t>(i)];
        moved = moved || (k >= body.first_dof && k < body.first_dof + body.dofs);
      }
      const Motion<double> S = moved ? f.column[k] : Motion<double>{};
      const Vec3<double> x = f.pos[b], rate = field_at(S, x);
      const Vec3<D> world = dual.work.frames.origin[b] + dual.work.frames.pos[b];
      for (int i = 0; i < 3; ++i) CHECK(std::abs(world[i].tangent[0] - rate[i]) < 1e-14);
      for (int j = 0; j < 3; ++j) {
        const Vec3<double> axis{f.R[b](0, j), f.R[b](1, j), f.R[b](2, j)};
        const Vec3<double> turn = cross(S.angular, axis);
        for (int i = 0; i < 3; ++i) {
          CHECK(std::abs(dual.work.frames.R[b](i, j).tangent[0] - turn[i]) < 1e-14);
          largest = std::max(largest, std::abs(turn[i]));
        }
      }
    }
  }
  CHECK(largest > 0.1);
}

TEST_CASE("kinematics: a robot far away has the columns of one at home, also in float") {
  const RigidCase c(test::two_trees());
  std::vector<float> p(c.tree.parameters.default_values().begin(),
                       c.tree.parameters.default_values().end());
  std::vector<float> length(c.tree.quaternions.size());
  prepare_parameters(c.tree, p.data(), length.data());
  std::vector<float> q(c.q0.begin(), c.q0.end());
  test::RigidMemory<float> home(c.tree), away(c.tree);
  kinematics(c.tree, p.data(), q.data(), static_cast<float*>(nullptr), home.work.frames);
  for (int i = 0; i < 3; ++i) q[static_cast<std::size_t>(i)] += 4096;
  kinematics(c.tree, p.data(), q.data(), static_cast<float*>(nullptr), away.work.frames);
  for (int k = 0; k < 11; ++k) {  // the first tree
    for (int i = 0; i < 3; ++i) {
      CHECK(home.work.frames.column[k].linear[i] == away.work.frames.column[k].linear[i]);
    }
  }
}

}  // namespace cycloid::kinematics_test
