#include "cycloid/rigid/robot.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cycloid/base/error.h"
#include "cycloid/math/spatial.h"
#include "cycloid/rigid/robot_stepper.h"
#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::robot_test {

// Runs one stepper for `steps` steps on as many copies of x as it has lanes; lane 0 comes back.
template <class T>
std::vector<T> run(const Stepper<T>& stepper, const std::vector<double>& params,
                   const std::vector<T>& x0, int steps, double control = 0) {
  const StepperSizes& s = stepper.sizes();
  const std::size_t W = static_cast<std::size_t>(s.lanes);
  const auto spread = [&](const auto& values) {
    std::vector<T> lanes;
    for (const auto v : values) lanes.insert(lanes.end(), W, static_cast<T>(v));
    lanes.resize(lanes.size() + 128);
    return lanes;
  };
  struct alignas(128) Block {
    std::byte bytes[128];
  };
  const auto workspace = stepper.make_workspace({});
  std::vector<Block> numbers[2];
  const std::size_t blocks = static_cast<std::size_t>(s.state) * W * sizeof(T) / 128 + 2;
  for (auto& n : numbers) n.resize(blocks);
  T *x = reinterpret_cast<T*>(numbers[0][0].bytes),
    *next = reinterpret_cast<T*>(numbers[1][0].bytes);
  const std::vector<T> start = spread(x0);
  std::copy_n(start.begin(), static_cast<std::size_t>(s.state) * W, x);
  std::vector<Block> p_memory(params.size() * W * sizeof(T) / 128 + 2),
      u_memory(static_cast<std::size_t>(s.input) * W * sizeof(T) / 128 + 2);
  T *p = reinterpret_cast<T*>(p_memory[0].bytes), *u = reinterpret_cast<T*>(u_memory[0].bytes);
  const std::vector<T> p_lanes = spread(params);
  std::copy_n(p_lanes.begin(), params.size() * W, p);
  std::fill_n(u, static_cast<std::size_t>(s.input) * W, static_cast<T>(control));
  stepper.begin({p}, *workspace);
  for (int k = 0; k < steps; ++k) {
    CHECK(stepper.step({x, u, k, 0.0}, next, nullptr, *workspace) == StepStatus::ok);
    std::swap(x, next);
  }
  std::vector<T> out;
  for (int i = 0; i < s.state; ++i) out.push_back(x[static_cast<std::size_t>(i) * W]);
  return out;
}

std::vector<double> start_of(const System& system) {
  std::vector<double> x = system.initial_state();
  RandomStream random(4);
  for (double& v : x) v += 0.3 * random.uniform(-1.0, 1.0);
  system.states().normalise(x.data());
  return x;
}

// A free body with two hinged arms: nothing outside acts on it.
Model in_free_flight() {
  test::RobotBuilder builder(8);
  const int base = builder.body(0, 0);
  builder.joint(base, JointKind::free);
  builder.joint(builder.body(base, 0), JointKind::hinge);
  builder.joint(builder.body(base, 0), JointKind::ball);
  for (Joint& j : builder.model.joints) j.stiffness = {};
  for (Dof& d : builder.model.dofs) d.damping = {}, d.armature = 0;
  builder.model.options.gravity = {0, 0, 0};
  return builder.model;
}

template <class S>
struct Conserved {
  Vec3<S> linear{}, angular{};  // momentum, about the world's origin
  S energy = S(0);
};

template <class S>
Conserved<S> conserved(const Tree& tree, const std::vector<S>& x) {
  const ModelView& m = tree.model;
  test::RigidMemory<S> memory(tree);
  const Workspace<S>& w = memory.work;
  const std::vector<S> p(tree.parameters.default_values().begin(),
                         tree.parameters.default_values().end());
  const InputPlaces inputs;
  const Robot<S, S> r{tree, inputs, p.data(), Implicit::nothing};
  place_bodies(r, Instant<S>{x.data(), x.data() + m.nq, x.data() + m.nq + m.nv, nullptr}, w);
  Conserved<S> sum;
  for (std::size_t b = 1; b < m.bodies.size(); ++b) {
    const Motion<S>& v = w.v[static_cast<std::size_t>(tree.last_link[b])];
    const Force<S> momentum = w.inertia[b] * v;
    sum.linear += momentum.force;
    sum.angular += momentum.torque + cross(w.frames.origin[b], momentum.force);
    sum.energy += S(0.5) * power(momentum, v);
  }
  return sum;
}

TEST_CASE("make_robot: states, inputs and parameters carry MuJoCo's names and order") {
  const System system = make_robot(test::two_trees(), {.inputs = {"ctrl", "xfrc_applied"}});
  const std::vector<Block>& blocks = system.states().blocks();
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].name == "qpos");
  CHECK(blocks[0].kind == BlockKind::mixed);
  CHECK(blocks[0].tangent_size == blocks[1].size);
  CHECK(blocks[1].name == "qvel");
  CHECK(blocks[2].name == "act");
  CHECK(system.inputs().blocks()[1].name == "xfrc_applied");
  for (const char* name : {"body:body2.mass", "body:body2.inertia", "joint:joint1.axis",
                           "actuator:actuator0.gainprm", "option.gravity", "option.timestep"}) {
    CHECK(system.parameters().contains(name));
  }
  CHECK_THROWS_AS(make_robot(test::two_trees(), {.inputs = {"ctlr"}}), ModelError);
  CHECK_THROWS_AS(make_robot(test::two_trees(), {.vary = {"body:body2.mas"}}), ParameterError);
}

TEST_CASE("make_robot: lanes, varying parameters and single precision agree with the scalar run") {
  for (const auto integrator :
       {RigidIntegrator::euler, RigidIntegrator::implicitfast, RigidIntegrator::rk4}) {
    const Model m = test::with_cables(integrator);
    const System system = make_robot(m), varied = make_robot(m, {.vary = {"body:body2.mass"}});
    const System single = make_robot(m, {.precision = Precision::float32});
    const std::vector<double> x = start_of(system);
    const std::vector<double>& p = system.parameters().default_values();
    const auto one = run(*system.steppers<double>().one, p, x, 20, 0.3);
    const auto packed = run(*system.steppers<double>().packed, p, x, 20, 0.3);
    const auto lanes = run(*varied.steppers<double>().packed, p, x, 20, 0.3);
    const std::vector<float> x_float(x.begin(), x.end());
    const auto rough = run(*single.steppers<float>().packed, p, x_float, 20, 0.3);
    double moved = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      CHECK(std::abs(one[i] - packed[i]) < 1e-12);
      CHECK(std::abs(one[i] - lanes[i]) < 1e-12);
      CHECK(std::abs(one[i] - rough[i]) < 1e-4);
      moved = std::max(moved, std::abs(one[i] - x[i]));
    }
    CHECK(moved > 0.1);
  }
}

TEST_CASE("free flight: momentum and energy stand still at every instant") {
  using D = Dual<double, 1>;
  const Model m = in_free_flight();
  const Tree tree(m);
  const std::vector<double> x = start_of(make_robot(m));
  test::RigidMemory<double> memory(tree);
  const InputPlaces inputs;
  const Robot<double, double> r{tree, inputs, tree.parameters.default_values().data(),
                                Implicit::nothing};
  std::vector<double> qacc(static_cast<std::size_t>(m.nv));
  const double* v = x.data() + m.nq;
  smooth_acceleration(r, Instant<double>{x.data(), v, v + m.nv, nullptr}, memory.work, qacc.data());
  // The state along its own motion.
  std::vector<D> d(static_cast<std::size_t>(m.nv), D(0.0)), base(x.begin(), x.end()), moving = base;
  for (std::size_t k = 0; k < d.size(); ++k) {
    d[k].tangent[0] = v[k];
    moving[static_cast<std::size_t>(m.nq) + k].tangent[0] = qacc[k];
  }
  retract_qpos(tree, base.data(), d.data(), moving.data());
  const Conserved<D> rate = conserved(tree, moving);
  for (int i = 0; i < 3; ++i) {
    CHECK(std::abs(rate.linear[i].tangent[0]) < 1e-12);
    CHECK(std::abs(rate.angular[i].tangent[0]) < 1e-12);
    CHECK(std::abs(rate.linear[i].value) > 1e-4);
  }
  CHECK(std::abs(rate.energy.tangent[0]) < 1e-12);
}

TEST_CASE("free flight: rk4 keeps momentum and energy at its order") {
  Model m = in_free_flight();
  m.options.integrator = RigidIntegrator::rk4;
  double drift[2], spin[2];
  for (int i = 0; i < 2; ++i) {
    m.options.timestep = i == 0 ? 0.02 : 0.01;
    const Tree tree(m);
    const System system = make_robot(m);
    std::vector<double> x = start_of(system);
    for (std::size_t k = static_cast<std::size_t>(m.nq); k < x.size(); ++k) x[k] *= 5;
    const Conserved<double> before = conserved(tree, x);
    const auto end = run(*system.steppers<double>().one, system.parameters().default_values(), x,
                         i == 0 ? 50 : 100);
    const Conserved<double> after = conserved(tree, end);
    const Vec3<double> turned = after.angular - before.angular;
    spin[i] = std::sqrt(dot(turned, turned));
    drift[i] = std::abs(after.energy - before.energy);
  }
  // Order 4: halving the step divides the error by about 16.
  CHECK(drift[0] / drift[1] > 12);
  CHECK(spin[0] / spin[1] > 12);
  CHECK(drift[1] > 0);
}

TEST_CASE("a robot that goes non-finite names the joint and its body") {
  const System system = make_robot(test::two_trees());
  const Stepper<double>& one = *system.steppers<double>().one;
  const auto workspace = one.make_workspace({});
  one.begin({system.parameters().default_values().data()}, *workspace);
  std::vector<double> x = system.initial_state(), next(x.size()), u(8, 0.0);
  x[static_cast<std::size_t>(system.states().blocks()[1].offset) + 6] = 1e200;  // joint1's velocity
  CHECK(one.step({x.data(), u.data(), 0, 0.0}, next.data(), nullptr, *workspace) ==
        StepStatus::non_finite);
  const StepTrouble t = one.explain({x.data(), u.data(), 0, 0.0}, 0, *workspace);
  CHECK(t.stage == "smooth dynamics");
  CHECK(t.body.find("joint:") != std::string::npos);
  CHECK(t.reason == "its acceleration is not finite");
}

}  // namespace cycloid::robot_test
