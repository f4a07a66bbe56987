#include "cycloid/rigid/tree/field_sweep.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::field_sweep_test {

using test::Numbers;
using test::Scene;

// Σ over the moving bodies of the power of a wrench that stands still, on the field of fixed x.
template <class S>
S power_of_fixed(const Tree& tree, const S* in) {
  const Scene<S> at(tree, in);
  const test::FixedField<S> fixed(at);
  S sum(0);
  for (std::size_t b = 1; b < at.pos.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    sum += power(test::held_wrench<S>(at.origin[b]), fixed.y[last_link(tree, static_cast<int>(b))]);
  }
  return sum;
}

TEST_CASE("field_sweep: pullback equals dual numbers in configuration and parameters of the tree") {
  const Tree tree(test::TwoTrees::make().model);
  test::check_pullback(
      "field_sweep", 1, [&](const auto* in, auto* out) { out[0] = power_of_fixed(tree, in); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const Scene<S> at(tree, in);
        test::SceneBars<S> bars(at, in);
        const test::FixedField<S> fixed(at);
        test::FieldSweepMemory<S> memory(tree);
        const FieldSweepSpace<S> space = memory.view();
        space.clear(tree);
        for (std::size_t b = 1; b < at.pos.size(); ++b) {
          if (tree.model.bodies[b].tree < 0) continue;
          space.bars.m[b] += test::held_wrench<S>(at.origin[b]) * out_bar[0];
        }
        field_sweep_pullback(tree, at.p.data(), at.frames, at.qpos.data(), fixed.x.data(),
                             fixed.y.data(), space, bars.q_bar.data(), bars.p_bar.data(),
                             static_cast<S*>(nullptr));
        bars.add_to_inputs(in_bar);
      },
      test::scene_points(tree));
}

TEST_CASE("field_sweep: a mocap body's cotangent is added to, not assigned") {
  test::TwoTrees t = test::TwoTrees::make();
  t.model.bodies[1].mocap = 0;  // the post
  t.model.nmocap = 1;
  const Tree tree(t.model);
  const std::vector<double> mocap{0.2, 0.1, 0.4, 0.8, 0.36, 0.48, 0};
  Numbers in = test::scene_points(tree)[0];
  const Scene<double> at(tree, in.data(), mocap.data());
  const test::FixedField<double> fixed(at);
  test::FieldSweepMemory<double> memory(tree);
  const FieldSweepSpace<double> space = memory.view();
  double bar[2][6] = {{}, {1, 2, 3, 4, 5, 6}};
  for (double* mocap_bar : {bar[0], bar[1]}) {
    space.clear(tree);
    space.bars.pose[3] = Force<double>{{0.3, 0.2, 0.1}, {0.5, -0.4, 0.7}};
    Numbers q_bar(at.mu.size(), 0.0);
    field_sweep_pullback(tree, at.p.data(), at.frames, at.qpos.data(), fixed.x.data(),
                         fixed.y.data(), space, q_bar.data(), static_cast<double*>(nullptr),
                         mocap_bar);
  }
  for (int k = 0; k < 6; ++k) CHECK(bar[1][k] == doctest::Approx(bar[0][k] + k + 1));
  CHECK(bar[0][1] == doctest::Approx(-0.4));  // the force goes through
}

}  // namespace cycloid::field_sweep_test
