#include "cycloid/rigid/tree/rnea_jacobian.h"

#include "cycloid/rigid/tree/crba.h"
#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::rnea_jacobian_test {

using test::Numbers;
using test::RigidCase;

// Rounding of sums over a tree; a wrong term is of the order of one.
constexpr double kRounding = 1e-12;

TEST_CASE("velocity_form: three numbers of a kind are D of its definition, and its transpose") {
  test::FixedNumbers numbers(3);
  const auto vector = [&] { return Vec3<double>{numbers.next(), numbers.next(), numbers.next()}; };
  const SpatialInertia<double> I{
      1.3, vector(), {numbers.next(), numbers.next(), numbers.next(), 0.1, -0.2, 0.3}};
  const Motion<double> v{vector(), vector()}, x{vector(), vector()}, y{vector(), vector()};
  const VelocityForm<double> D = velocity_form(I, v);
  const Force<double> expected =
      I * cross_motion(y, v) - cross_force(y, I * v) + cross_force(v, I * y);
  const Vec3<double> got = apply(D, y);
  for (int i = 0; i < 3; ++i) {
    CHECK(got[i] == doctest::Approx(expected.torque[i]).epsilon(kRounding));
    CHECK(std::abs(expected.force[i]) < kRounding);
  }
  CHECK(power(apply_transposed(D, x), y) ==
        doctest::Approx(dot(x.angular, got)).epsilon(kRounding));
}

TEST_CASE("rnea_jacobian: its rows are the sweeps of unit vectors, for every kind of joint") {
  const RigidCase c(test::two_trees());
  const Tree& tree = c.tree;
  const int nv = c.nv();
  const std::size_t n = static_cast<std::size_t>(nv), bodies = tree.model.bodies.size();
  test::RigidMemory<double> memory(tree);
  const Workspace<double>& w = memory.work;
  const test::Prepared<double> p(tree, c.point.data() + 2 * nv);
  const std::vector<double> qpos = c.qpos_of(c.point.data());
  const double* qvel = c.point.data() + nv;
  const Numbers qacc = test::FixedNumbers(5).vector(n);
  kinematics(tree, p.p.data(), qpos.data(), static_cast<double*>(nullptr), w.frames);
  for (std::size_t b = 1; b < bodies; ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    w.inertia[b] = body_inertia(tree.bodies[b], p.p.data(), w.frames.R[b], w.frames.pos[b]);
  }
  composite_inertias(tree, static_cast<const SpatialInertia<double>*>(w.inertia), w.composite);
  motion_fields(tree, static_cast<const Motion<double>*>(w.frames.column), qvel, qacc.data(),
                Vec3<double>{0.4, -0.3, -9.81}, w.v, w.a);

  std::vector<VelocityForm<double>> form(bodies);
  std::vector<Force<double>> force(bodies);
  std::vector<Motion<double>> psi_dot(n), psi_ddot(n), phi_dot(n);
  Numbers dq(n * n, 0.0), dv(n * n, 0.0);
  subtract_rnea_jacobian(tree, static_cast<const Motion<double>*>(w.frames.column),
                         static_cast<const SpatialInertia<double>*>(w.inertia), w.composite,
                         static_cast<const Motion<double>*>(w.v), w.a,
                         RneaJacobianSpace<double>{form.data(), force.data(), psi_dot.data(),
                                                   psi_ddot.data(), phi_dot.data()},
                         nv, dq.data(), dv.data());

  double largest = 0, worst = 0;
  for (int k = 0; k < nv; ++k) {
    Numbers mu(n, 0.0), q_bar(n, 0.0), v_bar(n, 0.0);
    mu[static_cast<std::size_t>(k)] = 1;
    velocity_field(tree, w.frames.column, static_cast<const double*>(mu.data()), w.m);
    const SweepPoint<double> at{tree, w.frames,    w.inertia, w.v,         w.a,
                                w.m,  qpos.data(), qvel,      qacc.data(), mu.data()};
    sweep_pullback(at, p.p.data(), w.bars, q_bar.data(), v_bar.data(),
                   static_cast<double*>(nullptr), w.mocap_bar, false);
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t entry = static_cast<std::size_t>(k) * n + j;
      largest = std::max({largest, std::abs(q_bar[j]), std::abs(v_bar[j])});
      worst = std::max({worst, std::abs(dq[entry] - q_bar[j]), std::abs(dv[entry] - v_bar[j])});
    }
  }
  CHECK(largest > 0.1);
  CHECK(worst < kRounding * largest);
}

}  // namespace cycloid::rnea_jacobian_test
