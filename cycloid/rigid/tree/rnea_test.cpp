#include "cycloid/rigid/tree/rnea.h"

#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::rnea_test {

using test::Numbers;
using test::RigidCase;

// T(q, q̇) - V(q) of the bodies, for Lagrange's equations.
template <class S>
S lagrangian(const RigidCase& c, const S* in) {
  test::RigidMemory<S> memory(c.tree);
  Workspace<S>& w = memory.work;
  const test::Prepared<S> p(c.tree, in + 2 * c.nv());
  const std::vector<S> qpos = c.qpos_of(in);
  kinematics(c.tree, p.p.data(), qpos.data(), static_cast<S*>(nullptr), w.frames);
  velocity_field(c.tree, w.frames.column, in + c.nv(), w.v);
  const Vec3<S> g = vec3_of<S>(p.p.data() + c.tree.options.gravity);
  S sum(0);
  for (std::size_t b = 1; b < c.tree.model.bodies.size(); ++b) {
    if (c.tree.model.bodies[b].tree < 0) continue;
    const BodyPlaces& at = c.tree.bodies[b];
    const SpatialInertia<S> I = body_inertia(at, p.p.data(), w.frames.R[b], w.frames.pos[b]);
    const Motion<S>& v = w.v[static_cast<std::size_t>(c.tree.last_link[b])];
    const Vec3<S> com =
        w.frames.origin[b] + w.frames.pos[b] + w.frames.R[b] * vec3_of<S>(p.p.data() + at.com);
    sum += S(0.5) * power(I * v, v) + p.p[static_cast<std::size_t>(at.mass)] * dot(g, com);
  }
  return sum;
}

TEST_CASE("bias forces: equal Lagrange's equations, d/dt(dL/dq̇) - dL/dq at zero acceleration") {
  // Hinges and slides: there q̇ is a velocity of coordinates, and the equations have this form.
  test::RobotBuilder builder(3);
  builder.model.options.gravity = {0.3, -0.2, -9.81};
  int parent = builder.body(0, 0);
  builder.joint(parent, JointKind::slide);
  builder.joint(parent, JointKind::hinge);
  const int elbow = builder.body(parent, 0);
  builder.joint(elbow, JointKind::hinge);
  builder.joint(elbow, JointKind::hinge);
  builder.joint(builder.body(builder.body(elbow, 0), 0), JointKind::slide);
  builder.joint(builder.body(parent, 0), JointKind::hinge);
  const RigidCase c(builder.model);
  const int nv = c.nv();
  using D = Dual<double, 1>;
  using DD = Dual<D, 1>;
  Numbers expected;
  for (int k = 0; k < nv; ++k) {
    // ∂L/∂q̇_k along q̇, and ∂L/∂q_k.
    std::vector<DD> in;
    for (const double x : c.point) in.push_back(DD(D(x)));
    for (int j = 0; j < nv; ++j) {
      in[static_cast<std::size_t>(j)].value.tangent[0] = c.point[static_cast<std::size_t>(nv + j)];
    }
    in[static_cast<std::size_t>(nv + k)].tangent[0] = D(1.0);
    const double momentum_rate = lagrangian(c, in.data()).tangent[0].tangent[0];
    std::vector<D> row;
    for (const double x : c.point) row.push_back(D(x));
    row[static_cast<std::size_t>(k)].tangent[0] = 1;
    expected.push_back(momentum_rate - lagrangian(c, row.data()).tangent[0]);
  }
  test::RigidMemory<double> memory(c.tree);
  Workspace<double>& w = memory.work;
  const test::Prepared<double> p(c.tree, c.point.data() + 2 * nv);
  const std::vector<double> qpos = c.qpos_of(c.point.data());
  const double* qvel = c.point.data() + nv;
  kinematics(c.tree, p.p.data(), qpos.data(), static_cast<double*>(nullptr), w.frames);
  velocity_field(c.tree, w.frames.column, qvel, w.v);
  acceleration_field(c.tree, w.frames.column, qvel, static_cast<const double*>(nullptr), w.v,
                     vec3_of<double>(p.p.data() + c.tree.options.gravity), w.a);
  for (std::size_t l = 1; l < c.tree.links.size(); ++l) {
    const std::size_t b = static_cast<std::size_t>(c.tree.links[l].body);
    w.force[l] = Force<double>{};
    if (!c.tree.links[l].last) continue;
    const SpatialInertia<double> I =
        body_inertia(c.tree.bodies[b], p.p.data(), w.frames.R[b], w.frames.pos[b]);
    w.force[l] = body_force(I, w.v[l], w.a[l]);
  }
  Numbers tau(static_cast<std::size_t>(nv), 0.0);
  subtract_joint_forces(c.tree, w.frames.column, w.force, tau.data());
  for (double& x : tau) x = -x;
  CHECK(test::relative_error(tau, expected) < 1e-12);
  CHECK(test::largest(expected) > 0.1);
}

}  // namespace cycloid::rnea_test
