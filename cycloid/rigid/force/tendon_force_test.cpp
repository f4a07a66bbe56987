#include "cycloid/rigid/force/tendon_force.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::tendon_force_test {

using test::Numbers;

// One fixed tendon with two actuators that damp it.
Model damped_tendon(bool acting = true) {
  test::TwoTrees t = test::TwoTrees::make();
  test::ModelBuilder b;
  b.model = t.model;
  b.tendon(TendonKind::fixed, {{WrapKind::joint, t.a1, 0.7}});
  Tendon& tendon = b.model.tendons[0];
  tendon.stiffness = {2, 1, 0.5};
  tendon.damping = {0.4, 0.3, 0.2};
  tendon.spring_length = {0.1, 0.2};
  for (const double gear : {1.5, -0.5}) {
    const int a = b.actuator(TransmissionKind::tendon, 0, -1, {gear, 0, 0, 0, 0, 0});
    b.model.actuators[static_cast<std::size_t>(a)].damping = {0.7, 0.6, 0.5};
  }
  b.model.options.acting.springs = b.model.options.acting.dampers = acting;
  return b.model;
}

// [length, velocity, parameters] at both sides of the band and inside it.
std::vector<Numbers> points(const Tree& tree) {
  std::vector<Numbers> all;
  for (const auto& [l, v] : {std::pair{1.08, 1.56}, {-1.08, -1.56}, {0.15, 0.8}, {0.9, -0.4}}) {
    Numbers x = tree.parameters.default_values();
    x.insert(x.begin(), {l, v});
    all.push_back(x);
  }
  return all;
}

TEST_CASE("tendon_passive_force: the values that MuJoCo 4.0 gives") {
  const Tree tree(damped_tendon());
  const double* p = tree.parameters.default_values().data();
  const double gears = 1.5 * 1.5 + 0.5 * 0.5;
  const auto damper = [&](double v) {
    return -((0.4 + 0.7 * gears) * v + (0.3 + 0.6 * gears) * v * std::abs(v) +
             (0.2 + 0.5 * gears) * v * v * v);
  };
  // Springs: qfrc_spring / 1.2 of a slide with coef 1.2 at 0.9 and -0.9.
  CHECK(tendon_passive_force(tree, p, 0, 1.08, 1.56) ==
        doctest::Approx(-3.4501632 / 1.2 + damper(1.56)).epsilon(1e-14));
  CHECK(tendon_passive_force(tree, p, 0, -1.08, -1.56) ==
        doctest::Approx(2.1469392 / 1.2 + damper(-1.56)).epsilon(1e-14));
  CHECK(tendon_passive_force(tree, p, 0, 0.15, 0.0) == 0);
  CHECK(tendon_energy(tree, p, 0, 1.08) == doctest::Approx(1.0765192533333336).epsilon(1e-14));
}

TEST_CASE("tendon_passive_force: pullback equals dual numbers above, below and inside the band") {
  const Tree tree(damped_tendon());
  test::check_pullback(
      "tendon_passive_force", 1,
      [&](const auto* in, auto* out) {
        out[0] = tendon_passive_force(tree, in + 2, 0, in[0], in[1]);
      },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        tendon_passive_force_pullback(tree, in + 2, 0, in[0], in[1], out_bar[0], in_bar[0],
                                      in_bar[1], in_bar + 2);
      },
      points(tree));
  test::check_pullback(
      "tendon_damping_slope", 1,
      [&](const auto* in, auto* out) { out[0] = tendon_damping_slope(tree, in + 2, 0, in[1]); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        tendon_damping_slope_pullback(tree, in + 2, 0, in[1], out_bar[0], in_bar[1], in_bar + 2);
      },
      points(tree));
}

TEST_CASE("tendon_energy: pullback equals dual numbers, and the force is minus its slope") {
  const Tree tree(damped_tendon());
  std::vector<Numbers> stretched = points(tree);
  stretched.erase(stretched.begin() + 2);  // inside the band the gradient is zero
  test::check_pullback(
      "tendon_energy", 1,
      [&](const auto* in, auto* out) { out[0] = tendon_energy(tree, in + 2, 0, in[0]); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        tendon_energy_pullback(tree, in + 2, 0, in[0], out_bar[0], in_bar[0], in_bar + 2);
      },
      stretched);
  for (const Numbers& x : stretched) {
    double slope = 0;
    tendon_energy_pullback(tree, x.data() + 2, 0, x[0], 1.0, slope, static_cast<double*>(nullptr));
    CHECK(tendon_passive_force(tree, x.data() + 2, 0, x[0], 0.0) ==
          doctest::Approx(-slope).epsilon(1e-14));
  }
}

TEST_CASE("tendon_passive_force: at the ends of the band the derivative is that of the inside") {
  const Tree tree(damped_tendon());
  const Numbers& p = tree.parameters.default_values();
  for (const double end : {0.1, 0.2}) {
    double length_bar = 0, velocity_bar = 0;
    tendon_passive_force_pullback(tree, p.data(), 0, end, 0.0, 1.0, length_bar, velocity_bar,
                                  static_cast<double*>(nullptr));
    CHECK(length_bar == 0);
    CHECK(velocity_bar == doctest::Approx(-(0.4 + 0.7 * 2.5)).epsilon(1e-14));
  }
}

TEST_CASE("tendon_passive_force: a spring without a dead band is smooth at its rest length") {
  Model model = damped_tendon();
  model.tendons[0].spring_length = {0.3, 0.3};
  const Tree tree(model);
  Numbers x = tree.parameters.default_values();
  x.insert(x.begin(), {0.3, 0.0});
  const double k = 2, rest = 0.3, e = 1e-6;
  const double* p = x.data() + 2;
  CHECK(tendon_passive_force(tree, p, 0, rest, 0.0) == 0);
  const double slope = (tendon_passive_force(tree, p, 0, rest + e, 0.0) -
                        tendon_passive_force(tree, p, 0, rest - e, 0.0)) /
                       (2 * e);
  CHECK(slope == doctest::Approx(-k).epsilon(1e-9));
  double length_bar = 0, velocity_bar = 0;
  Numbers p_bar(x.size() - 2, 0.0);
  tendon_passive_force_pullback(tree, p, 0, rest, 0.0, 1.0, length_bar, velocity_bar, p_bar.data());
  CHECK(length_bar == -k);
  // Moving both ends moves the rest length; each receives half.
  const auto ends = static_cast<std::size_t>(tree.tendons[0].spring_length);
  CHECK(p_bar[ends] == k / 2);
  CHECK(p_bar[ends + 1] == k / 2);
  const Dual<double, 1> moved =
      tendon_passive_force(tree, p, 0, Dual<double, 1>::variable(rest, 0), Dual<double, 1>(0.0));
  CHECK(moved.tangent[0] == -k);
  // Off the rest length each end acts on its own side alone.
  std::vector<Numbers> sides(3, x);
  sides[1][0] = 0.31, sides[2][0] = 0.28;
  for (Numbers& side : sides) side[1] = 0.7;
  test::check_pullback(
      "tendon_passive_force", 1,
      [&](const auto* in, auto* out) {
        out[0] = tendon_passive_force(tree, in + 2, 0, in[0], in[1]);
      },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        tendon_passive_force_pullback(tree, in + 2, 0, in[0], in[1], out_bar[0], in_bar[0],
                                      in_bar[1], in_bar + 2);
      },
      sides);
}

TEST_CASE("tendon_passive_force: a model that turns springs and dampers off has neither") {
  const Tree tree(damped_tendon(false));
  const double* p = tree.parameters.default_values().data();
  CHECK(tendon_passive_force(tree, p, 0, 1.08, 1.56) == 0);
  CHECK(tendon_energy(tree, p, 0, 1.08) == 0);
  CHECK(tendon_damping_slope(tree, p, 0, 1.56) == 0);
}

}  // namespace cycloid::tendon_force_test
