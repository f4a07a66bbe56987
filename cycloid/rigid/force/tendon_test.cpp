#include "cycloid/rigid/force/tendon.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::tendon_test {

using test::FixedNumbers;
using test::Numbers;
using test::Scene;

// 0: fixed, over both trees. 1: spatial, from the world to the free body, one piece within a body.
// 2: spatial with three branches.
Model with_tendons() {
  test::TwoTrees t = test::TwoTrees::make();
  test::ModelBuilder b;
  b.model = t.model;
  const auto site = [](int s) { return Wrap{WrapKind::site, s, 0}; };
  const auto pulley = [](double d) { return Wrap{WrapKind::pulley, -1, d}; };
  b.tendon(
      TendonKind::fixed,
      {{WrapKind::joint, t.a1, 0.7}, {WrapKind::joint, t.r2, -1.3}, {WrapKind::joint, t.a2, 0.4}});
  const int extra = b.site("tool_end", b.model.sites[static_cast<std::size_t>(t.on_tool)].body,
                           {0.1, -0.1, 0.2}, {1, 0, 0, 0});
  b.tendon(TendonKind::spatial, {site(t.w), site(t.on_post), site(t.on_arm), site(t.on_tool),
                                 site(extra), site(t.on_drone)});
  b.tendon(TendonKind::spatial,
           {site(t.on_post), site(t.on_arm), site(t.on_side), pulley(2.5), site(t.on_rotor),
            site(t.on_drone), site(t.on_fore), pulley(1.7), site(t.on_fore), site(t.on_rotor)});
  return b.model;
}

template <class S>
void measure(const Tree& tree, int t, const S* in, S* out) {
  const Scene<S> at(tree, in);
  out[0] = tendon_length(tree, at.p.data(), t, at.qpos.data(), at.frames);
  out[1] = tendon_rate(tree, at.p.data(), t, at.frames, at.m.data(), at.mu.data());
  out[2] = tendon_rate(tree, at.p.data(), t, at.frames, at.v.data(), at.qvel.data());
}

TEST_CASE("tendon: length and rate of a fixed tendon are sums over its joints") {
  const Tree tree(with_tendons());
  const Numbers in = test::scene_points(tree)[0];
  const Scene<double> at(tree, in.data());
  double out[3], length = 0, rate = 0;
  measure(tree, 0, in.data(), out);
  const double* coef = at.p.data() + tree.tendons[0].coefficients;
  const int joints[] = {0, 6, 1};
  for (int k = 0; k < 3; ++k) {
    const Joint& j = tree.model.joints[static_cast<std::size_t>(joints[k])];
    length += coef[k] * at.qpos[static_cast<std::size_t>(j.qpos)];
    rate += coef[k] * at.qvel[static_cast<std::size_t>(j.dof)];
  }
  CHECK(out[0] == doctest::Approx(length).epsilon(1e-14));
  CHECK(out[2] == doctest::Approx(rate).epsilon(1e-14));
}

TEST_CASE("tendon: a spatial tendon is as long as its polyline, branches divided by their pulley") {
  const Tree tree(with_tendons());
  const Numbers in = test::scene_points(tree)[1];
  const Scene<double> at(tree, in.data());
  const auto world = [&](std::size_t s) {
    const int b = tree.model.sites[s].body;
    return at.frames.origin[b] + site_point(tree, at.p.data(), static_cast<int>(s), at.frames);
  };
  const auto distance = [&](std::size_t s, std::size_t e) { return norm(world(e) - world(s)); };
  double out[3];
  measure(tree, 2, in.data(), out);  // sites: w post arm fore tool side drone rotor
  const double expected = distance(1, 2) + distance(2, 5) +
                          (distance(7, 6) + distance(6, 3)) / 2.5 + distance(3, 7) / 1.7;
  CHECK(out[0] == doctest::Approx(expected).epsilon(1e-14));
}

TEST_CASE("tendon: the rate is the time derivative of the length") {
  const Tree tree(with_tendons());
  const Numbers in = test::scene_points(tree)[2];
  const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
  using D = Dual<double, 1>;
  std::vector<D> moved(in.begin(), in.end());
  for (std::size_t k = 0; k < nv; ++k) moved[k] = D(0.0);  // displacements start at the base
  for (std::size_t k = 0; k < nv; ++k) moved[k].tangent[0] = in[nv + k];
  for (int t = 0; t < 3; ++t) {
    D out[3];
    measure(tree, t, moved.data(), out);
    CHECK(out[0].tangent[0] == doctest::Approx(out[2].value).epsilon(1e-13));
  }
}

TEST_CASE("tendon: force and rate are each other's transpose") {
  const Tree tree(with_tendons());
  for (const Numbers& in : test::scene_points(tree)) {
    const Scene<double> at(tree, in.data());
    for (int t = 0; t < 3; ++t) {
      std::vector<Force<double>> wrenches(tree.model.bodies.size());
      Numbers tau(at.qvel.size(), 0.0);
      apply_tendon_force(tree, at.p.data(), t, at.frames, 1.7, wrenches.data(), tau.data());
      const double rate = tendon_rate(tree, at.p.data(), t, at.frames, at.m.data(), at.mu.data());
      CHECK(test::virtual_power(at, wrenches, tau) == doctest::Approx(1.7 * rate).epsilon(1e-13));
    }
  }
}

TEST_CASE("tendon: pullback equals dual numbers for fixed, spatial and branched tendons") {
  const Tree tree(with_tendons());
  bool passed = true;
  for (int t = 0; t < 3; ++t) {
    passed &= test::check_pullback(
        "tendon", 3, [&](const auto* in, auto* out) { measure(tree, t, in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          tendon_pullback(tree, at.p.data(), t, at.point,
                          RowBars<S>{out_bar[0], out_bar[1], out_bar[2]}, bars.sinks);
          bars.add_to_inputs(in_bar);
        },
        test::scene_points(tree));
  }
  if (passed) test::mark_operator_tested("tendon_piece");  // a part of it
}

TEST_CASE("tendon: parameters shared by the lanes give the same numbers, also without p_bar") {
  using S = test::LaneNumber;
  const Tree tree(with_tendons());
  const Numbers x = test::scene_points(tree)[3];
  const std::vector<S> in(x.begin(), x.end());
  const Scene<S> at(tree, in.data());
  const double* p = x.data() + 2 * tree.model.nv;
  for (int t = 0; t < 3; ++t) {
    double out[3];
    measure(tree, t, x.data(), out);
    const S length = tendon_length(tree, p, t, at.qpos.data(), at.frames);
    CHECK(lane(length, 3) == doctest::Approx(out[0]).epsilon(1e-14));
    test::SceneBars<S> shared(at, in.data()), own(at, in.data());
    const RowBars<S> bar{S(0.3), S(0.7), S(-0.4)};
    tendon_pullback(tree, p, t, at.point, bar,
                    RowSinks<S>{shared.bodies, shared.q_bar.data(), shared.v_bar.data(), nullptr});
    tendon_pullback(tree, at.p.data(), t, at.point, bar, own.sinks);
    for (std::size_t b = 0; b < own.pose.size(); ++b) {
      CHECK(lane(shared.pose[b].torque.x, 1) == lane(own.pose[b].torque.x, 1));
      CHECK(lane(shared.m[b].force.y, 2) == lane(own.m[b].force.y, 2));
    }
  }
}

TEST_CASE("tendon: a piece of no length pulls at nothing and its pullback is finite") {
  test::TwoTrees t = test::TwoTrees::make();
  test::ModelBuilder b;
  b.model = t.model;
  const int twin =
      b.site("twin", 0, b.model.sites[static_cast<std::size_t>(t.w)].pos, {1, 0, 0, 0});
  b.model.bodies[1].pos = {0.3, -0.2, 1.1};
  const int there = b.site("there", 1, {}, {1, 0, 0, 0});
  b.tendon(TendonKind::spatial, {{WrapKind::site, twin, 0}, {WrapKind::site, there, 0}});
  const Tree tree(b.model);
  Numbers in(Scene<double>::inputs(tree), 0.3);
  std::copy(tree.parameters.default_values().begin(), tree.parameters.default_values().end(),
            in.begin() + 2 * tree.model.nv);
  const Scene<double> at(tree, in.data());
  CHECK(tendon_length(tree, at.p.data(), 0, at.qpos.data(), at.frames) == 0);
  test::SceneBars<double> bars(at, in.data());
  tendon_pullback(tree, at.p.data(), 0, at.point, RowBars<double>{1, 1, 1}, bars.sinks);
  Numbers in_bar(in.size(), 0.0);
  bars.add_to_inputs(in_bar.data());
  CHECK(test::largest(in_bar) == 0);
}

}  // namespace cycloid::tendon_test
