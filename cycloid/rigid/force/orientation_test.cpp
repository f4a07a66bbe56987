#include "cycloid/rigid/force/orientation.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::orientation_test {

using test::Numbers;
using test::Scene;

constexpr int kActuators = 5;

// References in a sibling, in the other tree, in the world, in an ancestor; and a ball joint.
Model with_orientations() {
  test::TwoTrees t = test::TwoTrees::make();
  test::ModelBuilder b;
  b.model = t.model;
  const auto add = [&](int target, int reference) {
    b.actuator(TransmissionKind::orientation, target, reference, {1, 0, 0, 0, 0, 0});
    b.model.actuators.back().law = ActuatorLaw::orientation;
  };
  add(t.on_tool, t.on_side);
  add(t.on_tool, t.on_drone);
  add(t.on_rotor, t.w);
  add(t.on_arm, t.on_tool);
  for (std::size_t j = 0; j < b.model.joints.size(); ++j) {
    if (b.model.joints[j].kind != JointKind::ball) continue;
    add(static_cast<int>(j), -1);
    break;
  }
  return b.model;
}

// Relative orientation from its own primal, and the rates of the fields of μ and q̇.
template <class S>
void measure(const Tree& tree, int i, const S* in, S* out) {
  const Scene<S> at(tree, in);
  const Actuator& a = tree.model.actuators[static_cast<std::size_t>(i)];
  Quat<S> q;
  if (turns_ball(a)) {
    q = load_quat(at.qpos.data() + transmission_joint(tree, i).qpos);
  } else {
    const OrientedSites<S> on = oriented_sites(tree, at.p.data(), i, at.frames);
    q = conjugate(on.reference.q) * on.site.q;
  }
  const Quat<S> here{S(primal(q.w)), S(primal(q.x)), S(primal(q.y)), S(primal(q.z))};
  store(out, difference(here, q));
  store(out + 3, orientation_rate(tree, at.p.data(), i, at.frames, at.m.data(), at.mu.data()));
  store(out + 6, orientation_rate(tree, at.p.data(), i, at.frames, at.v.data(), at.qvel.data()));
}

TEST_CASE("orientation: pullback equals dual numbers wherever site and reference are") {
  const Tree tree(with_orientations());
  REQUIRE(tree.model.actuators.size() == kActuators);
  for (int i = 0; i < kActuators; ++i) {
    CAPTURE(i);
    test::check_pullback(
        "orientation", 9, [&](const auto* in, auto* out) { measure(tree, i, in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          orientation_pullback(tree, at.p.data(), i, at.point, load_vec3(out_bar + 3),
                               load_vec3(out_bar + 6), load_vec3(out_bar), bars.sinks);
          bars.add_to_inputs(in_bar);
        },
        test::scene_points(tree));
  }
}

TEST_CASE("orientation: torque and rate are each other's transpose") {
  const Tree tree(with_orientations());
  for (const Numbers& in : test::scene_points(tree)) {
    const Scene<double> at(tree, in.data());
    for (int i = 0; i < kActuators; ++i) {
      std::vector<Force<double>> wrenches(tree.model.bodies.size());
      Numbers tau(at.mu.size(), 0.0);
      const Vec3<double> p{0.4, -1.2, 0.7};
      apply_orientation(tree, at.p.data(), i, at.frames, p, wrenches.data(), tau.data());
      const double rate =
          dot(p, orientation_rate(tree, at.p.data(), i, at.frames, at.m.data(), at.mu.data()));
      const double power = test::virtual_power(at, wrenches, tau);
      CHECK(std::abs(power - rate) < 1e-13 * std::max(1.0, std::abs(rate)));
    }
  }
}

}  // namespace cycloid::orientation_test
