#include "cycloid/rigid/force/medium_damping.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::medium_damping_test {

using test::Numbers;
using test::Scene;

// -h μᵀ D q̈, through the matrix.
template <class S>
S form(const Tree& tree, const S* in, const S& h) {
  const Scene<S> at(tree, in);
  std::vector<SpatialDamping<S>> composite(at.pos.size());
  for (std::size_t b = 1; b < at.pos.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    composite[b] = fluid_damping(tree, at.p.data(), static_cast<int>(b), at.frames, at.v.data());
  }
  std::vector<S> M(static_cast<std::size_t>(tree.entries()), S(0));
  add_damping_matrix(tree, h, at.column.data(), composite.data(), M.data());
  return -test::matrix_form(tree, M, at.mu, test::FixedField<S>(at).x);
}

TEST_CASE("fluid_damping: a body's matrix is minus the derivative of its wrench") {
  const Tree tree(test::TwoTrees::make().model);
  const Numbers in = test::scene_points(tree)[1];
  const Scene<double> at(tree, in.data());
  for (const int b : {2, 3, 6, 7}) {
    const Motion<double>& y = at.m[last_link(tree, b)];
    const Force<double> D_y = fluid_damping(tree, at.p.data(), b, at.frames, at.v.data()) * y;
    const Force<double> dW =
        fluid_wrench_velocity_jacobian(tree, at.p.data(), b, at.frames, at.v.data()) * y;
    CHECK(norm(D_y.torque + dW.torque) < 1e-14 * norm(dW.torque));
    CHECK(norm(D_y.force + dW.force) < 1e-14 * norm(dW.force));
    CHECK(power(D_y, y) > 0);
  }
}

TEST_CASE("fluid_damping: pullback equals dual numbers, with the sweep of the second field") {
  const Tree tree(test::TwoTrees::make().model);
  const double step = 0.3;
  test::check_pullback(
      "fluid_damping", 1,
      [&](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*in)>;
        out[0] = form(tree, in, S(step));
      },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const Scene<S> at(tree, in);
        test::SceneBars<S> bars(at, in);
        const test::FixedField<S> fixed(at);
        test::FieldSweepMemory<S> memory(tree);
        const FieldSweepSpace<S> space = memory.view();
        space.clear(tree);
        S h_bar(0);
        for (std::size_t b = 1; b < at.pos.size(); ++b) {
          if (tree.model.bodies[b].tree < 0) continue;
          h_bar += fluid_damping_pullback(tree, at.p.data(), static_cast<int>(b), at.frames,
                                          at.v.data(), at.m.data(), fixed.y.data(), S(step),
                                          bars.bodies, space.bars.m[b], bars.p_bar.data());
        }
        field_sweep_pullback(tree, at.p.data(), at.frames, at.qpos.data(), fixed.x.data(),
                             fixed.y.data(), space, bars.q_bar.data(), bars.p_bar.data(),
                             static_cast<S*>(nullptr));
        // Φ is linear in h.
        CHECK(all(abs(h_bar * S(step) - form(tree, in, S(step))) < S(1e-12)));
        std::vector<S> own(Scene<S>::inputs(tree), S(0));
        bars.add_to_inputs(own.data());
        for (std::size_t k = 0; k < own.size(); ++k) in_bar[k] += own[k] * out_bar[0];
      },
      test::scene_points(tree));
}

TEST_CASE("fluid_damping: at rest the pullback is finite") {
  const Tree tree(test::TwoTrees::make().model);
  Numbers in = test::scene_points(tree)[0];
  const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
  for (std::size_t k = 0; k < nv; ++k) in[nv + k] = 0;
  for (int k = 0; k < 3; ++k) in[2 * nv + static_cast<std::size_t>(tree.options.wind + k)] = 0;
  const Scene<double> at(tree, in.data());
  test::SceneBars<double> bars(at, in.data());
  Force<double> y_bar{};
  fluid_damping_pullback(tree, at.p.data(), 2, at.frames, at.v.data(), at.m.data(), at.m.data(),
                         1.0, bars.bodies, y_bar, bars.p_bar.data());
  CHECK(std::isfinite(test::largest(bars.p_bar)));
  CHECK(test::largest(bars.p_bar) > 0);
  CHECK(norm(bars.v[2].torque) == 0);
}

}  // namespace cycloid::medium_damping_test
