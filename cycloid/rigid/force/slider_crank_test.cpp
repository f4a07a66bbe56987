#include "cycloid/rigid/force/slider_crank.h"

#include "cycloid/rigid/force/site_transmission.h"
#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::slider_crank_test {

using test::Numbers;
using test::Scene;

// Between trees, within one, and from the world; the last rod is too short to reach.
constexpr int kActuators = 4, kTooShort = 3;

Model with_cranks() {
  test::TwoTrees t = test::TwoTrees::make();
  test::ModelBuilder b;
  b.model = t.model;
  const auto add = [&](int crank, int slider, double length) {
    b.actuator(TransmissionKind::slider_crank, crank, slider, {0.7, 0, 0, 0, 0, 0});
    b.model.actuators.back().crank_length = length;
  };
  add(t.on_tool, t.on_drone, 4);
  add(t.on_tool, t.on_side, 3);
  add(t.on_rotor, t.w, 4);
  add(t.on_fore, t.on_drone, 1e-3);
  return b.model;
}

template <class S>
void measure(const Tree& tree, int i, const S* in, S* out) {
  const Scene<S> at(tree, in);
  out[0] = site_transmission_length(tree, at.p.data(), i, at.frames);
  out[1] = site_transmission_rate(tree, at.p.data(), i, at.frames, at.m.data());
  out[2] = site_transmission_rate(tree, at.p.data(), i, at.frames, at.v.data());
}

TEST_CASE("slider_crank: the rod lies between the slider and the crank") {
  const Tree tree(with_cranks());
  for (const Numbers& in : test::scene_points(tree)) {
    const Scene<double> at(tree, in.data());
    for (int i = 0; i < kTooShort; ++i) {
      const CrankRow<double> row = crank_row(tree, at.p.data(), i, at.frames);
      const double rod = tree.model.actuators[static_cast<std::size_t>(i)].crank_length;
      CHECK(norm(row.v - row.a * row.lambda) == doctest::Approx(rod).epsilon(1e-12));
    }
    const CrankRow<double> loose = crank_row(tree, at.p.data(), kTooShort, at.frames);
    CHECK(loose.lambda == loose.p);
  }
}

TEST_CASE("slider_crank: the rate is the time derivative of the length") {
  const Tree tree(with_cranks());
  const Numbers in = test::scene_points(tree)[2];
  const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
  using D = Dual<double, 1>;
  std::vector<D> moved(in.begin(), in.end());
  for (std::size_t k = 0; k < nv; ++k) moved[k] = D(0.0);
  for (std::size_t k = 0; k < nv; ++k) moved[k].tangent[0] = in[nv + k];
  for (int i = 0; i < kActuators; ++i) {
    D out[3];
    measure(tree, i, moved.data(), out);
    CHECK(out[0].tangent[0] == doctest::Approx(out[2].value).epsilon(1e-12));
  }
}

TEST_CASE("slider_crank: force and rate are each other's transpose") {
  const Tree tree(with_cranks());
  for (const Numbers& in : test::scene_points(tree)) {
    const Scene<double> at(tree, in.data());
    for (int i = 0; i < kActuators; ++i) {
      std::vector<Force<double>> wrenches(tree.model.bodies.size());
      apply_site_transmission(tree, at.p.data(), i, at.frames, 1.7, wrenches.data());
      const double rate = site_transmission_rate(tree, at.p.data(), i, at.frames, at.m.data());
      const double power = test::virtual_power(at, wrenches, Numbers(at.mu.size(), 0.0));
      CHECK(power == doctest::Approx(1.7 * rate).epsilon(1e-12));
    }
  }
}

TEST_CASE("slider_crank: pullback equals dual numbers, also where the rod is too short") {
  const Tree tree(with_cranks());
  for (int i = 0; i < kActuators; ++i) {
    CAPTURE(i);
    test::check_pullback(
        "slider_crank", 3, [&](const auto* in, auto* out) { measure(tree, i, in, out); },
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
}

}  // namespace cycloid::slider_crank_test
