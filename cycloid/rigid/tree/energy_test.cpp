#include "cycloid/rigid/tree/energy.h"

#include "cycloid/rigid/sense/sense_case_test.h"

namespace cycloid::energy_test {

using test::Numbers;

TEST_CASE("potential_energy, joint_energy: pullbacks equal dual numbers") {
  test::SensorModel s;
  s.add(SensorKind::potential_energy, -1);
  test::check_sense("potential_energy", s.model);

  s.model.options.gravity = {};  // what remains is springs
  s.model.tendons.clear();
  s.model.actuators.clear();
  s.model.nu = s.model.na = 0;
  test::check_sense("joint_energy", s.model);
}

TEST_CASE("kinetic_energy: pullback equals dual numbers, armature of joints and tendons included") {
  test::SensorModel s;
  s.add(SensorKind::kinetic_energy, -1);
  test::check_sense("kinetic_energy", s.model);
}

TEST_CASE("inertia_matrix: the power of M q̈ is what changes the kinetic energy at rest") {
  const test::RigidCase c(test::with_cables());
  test::RigidMemory<double> memory(c.tree);
  const Workspace<double>& w = memory.work;
  const InputPlaces inputs;
  const Robot<double, double> r{c.tree, inputs, c.point.data() + 2 * c.nv(), Implicit::nothing};
  const Numbers qpos = c.qpos_of(c.point.data()), act(8, 0.0);
  const Numbers x = test::FixedNumbers(5).vector(static_cast<std::size_t>(c.nv()));
  place_bodies(r, {qpos.data(), x.data(), act.data(), nullptr}, w);
  const double T = kinetic_energy(r, {qpos.data(), x.data(), act.data(), nullptr}, w);
  // The factor of the same matrix, made elsewhere, undoes it.
  Numbers Mx(w.tau, w.tau + c.nv());
  factor_inertia(r, {qpos.data(), x.data(), act.data(), nullptr}, w);
  solve(c.tree, static_cast<const double*>(w.LD), Mx.data());
  CHECK(test::relative_error(Mx, x) < 1e-12);  // condition of M: below 1e4
  CHECK(T > 0);
}

// A swinging point mass: V = m g h, T = ½ m l² ω².
TEST_CASE("potential_energy, kinetic_energy: of a pendulum with a spring") {
  test::RobotBuilder builder;
  builder.joint(builder.body(0, 0), JointKind::hinge);
  Model& m = builder.model;
  m.bodies[1].pos = {};
  m.bodies[1].quat = {1, 0, 0, 0};
  m.bodies[1].mass = 2;
  m.bodies[1].com = {0, 0, -0.5};
  m.bodies[1].inertia = {};
  m.joints[0].axis = {0, 1, 0};
  m.joints[0].pos = {};
  m.joints[0].qpos0[0] = 0;
  m.joints[0].spring[0] = 0;
  m.joints[0].stiffness = {3, 0.6, 0.4};
  m.dofs[0].armature = 0.1;
  m.options.gravity = {0, 0, -10};
  const Tree tree(m);
  test::RigidMemory<double> memory(tree);
  const InputPlaces inputs;
  const Robot<double, double> r{tree, inputs, tree.parameters.default_values().data(),
                                Implicit::nothing};
  const double q = 0.7, v = 1.5;
  const Instant<double> x{&q, &v, nullptr, nullptr};
  place_bodies(r, x, memory.work);
  CHECK(potential_energy(r, x, memory.work) ==
        doctest::Approx(-2 * 10 * 0.5 * std::cos(q) + 1.5 * q * q + 0.2 * q * q * q +
                        0.1 * q * q * q * q));
  CHECK(kinetic_energy(r, x, memory.work) == doctest::Approx(0.5 * (2 * 0.25 + 0.1) * v * v));
}

}  // namespace cycloid::energy_test
