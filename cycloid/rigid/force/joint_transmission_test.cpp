#include "cycloid/rigid/force/joint_transmission.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::joint_transmission_test {

using test::Numbers;
using test::Scene;

constexpr int kActuators = 6;

// Hinge, slide, ball and free joint; ball and free also in the parent's axes.
Model with_actuators() {
  test::TwoTrees t = test::TwoTrees::make();
  test::ModelBuilder b;
  b.model = t.model;
  using enum TransmissionKind;
  b.actuator(joint, t.a1, -1, {2.3, 0, 0, 0, 0, 0});
  b.actuator(joint_in_parent, t.a2, -1, {-1.3, 0, 0, 0, 0, 0});
  for (const TransmissionKind kind : {joint, joint_in_parent}) {
    b.actuator(kind, t.ball, -1, {0.5, 0.7, -1.1, 0, 0, 0});
    b.actuator(kind, t.free, -1, {0.5, 0.7, -1.1, 0.3, -0.4, 0.8});
  }
  return b.model;
}

template <class S>
void measure(const Tree& tree, int i, const S* in, S* out) {
  const Scene<S> at(tree, in);
  out[0] = joint_transmission_length(tree, at.p.data(), i, at.qpos.data());
  out[1] = joint_transmission_rate(tree, at.p.data(), i, at.qpos.data(), at.mu.data());
  out[2] = joint_transmission_rate(tree, at.p.data(), i, at.qpos.data(), at.qvel.data());
}

TEST_CASE("joint_transmission: a quarter turn of a ball about z has length g_z π/2") {
  const Tree tree(with_actuators());
  Numbers qpos(static_cast<std::size_t>(tree.model.nq), 0.0), x(14, 0.0);
  const Joint& ball = tree.model.joints[2];
  const std::size_t q = static_cast<std::size_t>(ball.qpos), k = static_cast<std::size_t>(ball.dof);
  qpos[q] = qpos[q + 3] = std::sqrt(0.5);
  x[k] = 1;  // turning about the body's x, which is the parent's y
  const double* p = tree.parameters.default_values().data();
  const double quarter = 1.5707963267948966;
  CHECK(joint_transmission_length(tree, p, 2, qpos.data()) ==
        doctest::Approx(-1.1 * quarter).epsilon(1e-14));
  CHECK(joint_transmission_length(tree, p, 4, qpos.data()) ==
        doctest::Approx(-1.1 * quarter).epsilon(1e-14));
  CHECK(joint_transmission_rate(tree, p, 2, qpos.data(), x.data()) == doctest::Approx(0.5));
  CHECK(joint_transmission_rate(tree, p, 4, qpos.data(), x.data()) == doctest::Approx(0.7));
}

TEST_CASE("joint_transmission: force and rate are each other's transpose") {
  const Tree tree(with_actuators());
  for (const Numbers& in : test::scene_points(tree)) {
    const Scene<double> at(tree, in.data());
    for (int i = 0; i < kActuators; ++i) {
      Numbers tau(at.mu.size(), 0.0);
      apply_joint_transmission(tree, at.p.data(), i, at.qpos.data(), 1.7, tau.data());
      const double rate =
          joint_transmission_rate(tree, at.p.data(), i, at.qpos.data(), at.mu.data());
      CHECK(test::dot(tau, at.mu) == doctest::Approx(1.7 * rate).epsilon(1e-13));
    }
  }
}

TEST_CASE(
    "joint_transmission: pullback equals dual numbers for every joint, own or parent's axes") {
  const Tree tree(with_actuators());
  for (int i = 0; i < kActuators; ++i) {
    test::check_pullback(
        "joint_transmission", 3, [&](const auto* in, auto* out) { measure(tree, i, in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          const RowBars<S> bar{out_bar[0], out_bar[1], out_bar[2]};
          joint_transmission_pullback(tree, at.p.data(), i, at.point, bar, bars.sinks);
          bars.add_to_inputs(in_bar);
        },
        test::scene_points(tree));
  }
}

}  // namespace cycloid::joint_transmission_test
