#include "cycloid/rigid/force/site_transmission.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::site_transmission_test {

using test::Numbers;
using test::Scene;

constexpr int kActuators = 9;
constexpr int kSiblings = 2, kSameBody = 8;

// Sites alone; references in a sibling, in the other tree, in the world, in an ancestor, in a
// descendant, from a body that stands still, and in the same body.
Model with_actuators() {
  test::TwoTrees t = test::TwoTrees::make();
  test::ModelBuilder b;
  b.model = t.model;
  const std::array<double, 6> gear{0.5, 0.7, -1.1, 0.3, -0.4, 0.8};
  const auto add = [&](int site, int reference) {
    b.actuator(TransmissionKind::site, site, reference, gear);
  };
  add(t.on_tool, -1);
  add(t.on_drone, -1);
  add(t.on_tool, t.on_side);
  add(t.on_tool, t.on_drone);
  add(t.on_rotor, t.w);
  add(t.on_rotor, t.on_drone);
  add(t.on_arm, t.on_tool);
  add(t.on_post, t.on_tool);
  const int extra = b.site("tool_end", b.model.sites[static_cast<std::size_t>(t.on_tool)].body,
                           {0.1, -0.1, 0.2}, {0.8, 0, 0.2, 0.1});
  add(t.on_tool, extra);
  return b.model;
}

template <class S>
void measure(const Tree& tree, int i, const S* in, S* out) {
  const Scene<S> at(tree, in);
  out[0] = site_transmission_length(tree, at.p.data(), i, at.frames);
  out[1] = site_transmission_rate(tree, at.p.data(), i, at.frames, at.m.data());
  out[2] = site_transmission_rate(tree, at.p.data(), i, at.frames, at.v.data());
}

TEST_CASE("site_transmission: what moves both sites moves neither with respect to the other") {
  const Tree tree(with_actuators());
  Numbers in = test::scene_points(tree)[0];
  const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
  for (std::size_t k = 0; k < nv; ++k) in[nv + k] = k < 2 ? 1.0 : 0.0;  // only the arm's joints
  double out[3];
  measure(tree, kSiblings, in.data(), out);
  CHECK(std::abs(out[2]) < 1e-15);
  measure(tree, 3, in.data(), out);  // the free body stands still, the tool moves
  CHECK(std::abs(out[2]) > 1e-2);
  measure(tree, kSameBody, in.data(), out);
  CHECK(std::abs(out[2]) < 1e-15);
}

TEST_CASE("site_transmission: with a fixed reference and no turning gear, rate is d length / dt") {
  Model model = with_actuators();
  for (int k = 3; k < 6; ++k) model.actuators[4].gear[static_cast<std::size_t>(k)] = 0;
  const Tree tree(model);
  const Numbers in = test::scene_points(tree)[2];
  const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
  using D = Dual<double, 1>;
  std::vector<D> moved(in.begin(), in.end());
  for (std::size_t k = 0; k < nv; ++k) moved[k] = D(0.0);
  for (std::size_t k = 0; k < nv; ++k) moved[k].tangent[0] = in[nv + k];
  D out[3];
  measure(tree, 4, moved.data(), out);
  CHECK(out[0].tangent[0] == doctest::Approx(out[2].value).epsilon(1e-13));
}

TEST_CASE("site_transmission: force and rate are each other's transpose") {
  const Tree tree(with_actuators());
  for (const Numbers& in : test::scene_points(tree)) {
    const Scene<double> at(tree, in.data());
    for (int i = 0; i < kActuators; ++i) {
      std::vector<Force<double>> wrenches(tree.model.bodies.size());
      apply_site_transmission(tree, at.p.data(), i, at.frames, 1.7, wrenches.data());
      const double rate = site_transmission_rate(tree, at.p.data(), i, at.frames, at.m.data());
      const double power = test::virtual_power(at, wrenches, Numbers(at.mu.size(), 0.0));
      CHECK(std::abs(power - 1.7 * rate) < 1e-13 * std::max(1.0, std::abs(rate)));
    }
  }
}

TEST_CASE("site_transmission: pullback equals dual numbers wherever site and reference are") {
  const Tree tree(with_actuators());
  bool passed = true;
  for (int i = 0; i < kActuators; ++i) {
    CAPTURE(i);
    passed &= test::check_pullback(
        "site_transmission", 3, [&](const auto* in, auto* out) { measure(tree, i, in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          const RowBars<S> bar{out_bar[0], out_bar[1], out_bar[2]};
          site_transmission_pullback(tree, at.p.data(), i, at.point, bar, bars.sinks);
          bars.add_to_inputs(in_bar);
        },
        test::scene_points(tree));
  }
  if (passed) {  // parts of the transmission's pullback, which have no meaning of their own
    test::mark_operator_tested("site_turn");
    test::mark_operator_tested("site_field");
  }
}

}  // namespace cycloid::site_transmission_test
