#include "cycloid/rigid/step.h"

#include "cycloid/rigid/step_case_test.h"

namespace cycloid::step_test {

using test::Numbers;
using test::StepCase;

// A step sums over a few dozen terms per body; the mass matrix's condition costs two more digits.
constexpr test::PullbackOptions kStep{.tolerance = 1e-10, .lane_tolerance = 1e-11};

void check_step(const char* name, StepCase c) {
  c.next0 = c.step<double>(c.point.data());
  test::check_pullback(
      name, c.tangents, [&](const auto* in, auto* out) { c.value(in, out); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
      {c.point}, kStep);
}
void check_step(const char* name, const Model& m, double spread = 0.4) {
  check_step(name, StepCase(m, spread));
}

TEST_CASE("euler_step: pullback equals dual numbers for every state, input and parameter") {
  check_step("euler_step", test::two_trees());
}

TEST_CASE("euler_step: ... with actuators inside the implicit part") {
  check_step("euler_step", test::two_trees(RigidIntegrator::implicitfast));
}

TEST_CASE("euler_step: ... with axes that are not of unit length") {
  Model m = test::two_trees();
  for (Joint& j : m.joints) {
    for (double& x : j.axis) x *= 1.3;
  }
  check_step("euler_step", m);
}

TEST_CASE("rk4_step: pullback equals dual numbers for every state, input and parameter") {
  check_step("rk4_step", test::two_trees(RigidIntegrator::rk4), 0.3);
}

TEST_CASE("euler_step, rk4_step: ... with tendons, sites, joints that turn freely, and a medium") {
  check_step("euler_step", test::with_cables());
  check_step("euler_step", test::with_cables(RigidIntegrator::implicitfast));
  check_step("rk4_step", test::with_cables(RigidIntegrator::rk4), 0.3);
}

TEST_CASE("euler_step, rk4_step: ... where the medium has been taken away") {
  for (const auto integrator :
       {RigidIntegrator::euler, RigidIntegrator::implicitfast, RigidIntegrator::rk4}) {
    StepCase c(test::with_cables(integrator), 0.3);
    REQUIRE(c.tree.feels_medium);
    const std::size_t p = static_cast<std::size_t>(c.tangents + c.input_size);
    c.point[p + static_cast<std::size_t>(c.tree.options.density)] = 0;
    c.point[p + static_cast<std::size_t>(c.tree.options.viscosity)] = 0;
    check_step(integrator == RigidIntegrator::rk4 ? "rk4_step" : "euler_step", std::move(c));
  }
}

TEST_CASE("euler_step: ... where ranges hold controls, forces, activations, joints and tendons") {
  Model m = test::with_cables(RigidIntegrator::implicitfast);
  m.actuators[0].control_range = {true, -0.01, 0.01};
  m.actuators[1].force_range = {true, -0.02, 0.02};
  m.actuators[2].activation_range = {true, -0.001, 0.001};
  m.joints[1].actuator_force = m.joints[2].actuator_force = {true, -0.05, 0.05};
  m.joints[1].compensation_by_actuator = true;
  m.actuators[3].enabled = false;
  m.tendons[0].actuator_force = {true, -0.03, 0.03};
  check_step("euler_step", m);
}

TEST_CASE("free_body: a step's pullback equals dual numbers with its gyroscopic slope") {
  check_step("free_body", test::free_block(), 2.0);
}

TEST_CASE("retract_qpos, chart_velocity: pullbacks equal dual numbers") {
  const test::RigidCase c(test::two_trees());
  const int nv = c.nv();
  const Numbers point = test::FixedNumbers(2).vector(2 * static_cast<std::size_t>(nv));
  // [ d (displacement of q₀) | d of the retraction ], measured about the result at the point.
  const auto moved = [&](const auto* in) {
    using S = std::remove_cvref_t<decltype(*in)>;
    const std::vector<S> q = c.qpos_of(in);
    std::vector<S> out(q.size());
    retract_qpos(c.tree, q.data(), in + nv, out.data());
    return out;
  };
  Numbers start(point);
  std::fill_n(start.begin(), nv, 0.0);
  const std::vector<double> base = moved(start.data());
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*out)>;
    const std::vector<S> next = moved(in);
    for (const Joint& j : c.tree.model.joints) {
      const int linear = j.kind == JointKind::free ? 3 : j.kind == JointKind::ball ? 0 : 1;
      for (int i = 0; i < linear; ++i) out[j.dof + i] = next[static_cast<std::size_t>(j.qpos + i)];
      if (j.kind != JointKind::free && j.kind != JointKind::ball) continue;
      const double* b = base.data() + j.qpos + linear;
      store(out + j.dof + linear, difference(Quat<S>{S(b[0]), S(b[1]), S(b[2]), S(b[3])},
                                             load_quat(next.data() + j.qpos + linear)));
    }
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const std::vector<S> q = c.qpos_of(in);
    retract_qpos_pullback(c.tree, q.data(), in + nv, out_bar, in_bar, in_bar + nv);
  };
  test::check_pullback("retract_qpos", nv, value, pullback, {start});

  const auto chart = [&](const auto* in, auto* out) { chart_velocity(c.tree, in, in + nv, out); };
  const auto chart_pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    chart_velocity_pullback(c.tree, in, in + nv, out_bar, in_bar, in_bar + nv);
  };
  test::check_pullback("chart_velocity", nv, chart, chart_pullback, {point});
}

}  // namespace cycloid::step_test
