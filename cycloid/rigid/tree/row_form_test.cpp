#include "cycloid/rigid/tree/row_form.h"

#include "cycloid/rigid/force/site_transmission.h"
#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::row_form_test {

using test::Numbers;
using test::Scene;

constexpr int kActuators = 3;

// Sites: alone (one path to the root), with a reference in a sibling, and in the other tree.
Model with_actuators() {
  const test::TwoTrees t = test::TwoTrees::make();
  test::ModelBuilder b;
  b.model = t.model;
  const std::array<double, 6> gear{0.5, 0.7, -1.1, 0.3, -0.4, 0.8};
  b.actuator(TransmissionKind::site, t.on_tool, -1, gear);
  b.actuator(TransmissionKind::site, t.on_tool, t.on_side, gear);
  b.actuator(TransmissionKind::site, t.on_tool, t.on_rotor, gear);
  return b.model;
}

template <class S>
std::vector<S> row_of(const Scene<S>& at, int i) {
  const Tree& tree = at.tree;
  std::vector<Force<S>> wrenches(at.pos.size()), links(tree.links.size());
  for (Force<S>& w : wrenches) w = Force<S>{};
  std::vector<S> J(at.mu.size(), S(0));
  apply_site_transmission(tree, at.p.data(), i, at.frames, S(1), wrenches.data());
  complete_row(tree, static_cast<const Motion<S>*>(at.column.data()),
               static_cast<const Force<S>*>(wrenches.data()), links.data(), J.data());
  return J;
}

TEST_CASE("row_form: a completed row gives the rate of every generalised vector") {
  const Tree tree(with_actuators());
  const Numbers in = test::scene_points(tree)[0];
  const Scene<double> at(tree, in.data());
  for (int i = 0; i < kActuators; ++i) {
    const double rate = site_transmission_rate(tree, at.p.data(), i, at.frames, at.m.data());
    CHECK(test::dot(row_of(at, i), at.mu) == doctest::Approx(rate).epsilon(1e-13));
  }
}

TEST_CASE("row_form: the form is that of the matrix, and a product on one path to the root") {
  const Tree tree(with_actuators());
  const Numbers in = test::scene_points(tree)[1];
  const Scene<double> at(tree, in.data());
  const Numbers x = test::FixedField<double>(at).x;
  for (int i = 0; i < kActuators; ++i) {
    const Numbers J = row_of(at, i);
    Numbers w(x.size()), M(static_cast<std::size_t>(tree.entries()), 0.0);
    const double form = row_form_weights(tree, J.data(), at.mu.data(), x.data(), w.data());
    add_row_form(tree, J.data(), 1.0, M.data());
    CHECK(form == doctest::Approx(test::matrix_form(tree, M, at.mu, x)).epsilon(1e-13));
    const double product = test::dot(J, at.mu) * test::dot(J, x);
    CHECK((std::abs(form - product) < 1e-12) == (i == 0));
  }
}

TEST_CASE("row_form: pullback equals dual numbers on one path, over siblings and trees") {
  const Tree tree(with_actuators());
  for (int i = 0; i < kActuators; ++i) {
    test::check_pullback(
        "row_form", 1,
        [&](const auto* in, auto* out) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const Scene<S> at(tree, in);
          std::vector<S> M(static_cast<std::size_t>(tree.entries()), S(0));
          add_row_form(tree, static_cast<const S*>(row_of(at, i).data()), S(1), M.data());
          out[0] = test::matrix_form(tree, M, at.mu, test::FixedField<S>(at).x);
        },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          test::FieldSweepMemory<S> memory(tree);
          const std::vector<S> J = row_of(at, i), x = test::FixedField<S>(at).x;
          std::vector<S> w(x.size());
          std::vector<Motion<S>> field(tree.links.size());
          row_form_weights(tree, J.data(), at.mu.data(), x.data(), w.data());
          for (S& weight : w) weight *= out_bar[0];
          row_form_pullback(
              tree, at.p.data(), at.frames, at.qpos.data(),
              RowFormSpace<S>{w.data(), field.data(), memory.view()},
              [&](const RowPoint<S>& point, const RowBars<S>& bar, const RowSinks<S>& to) {
                site_transmission_pullback(tree, at.p.data(), i, point, bar, to);
              },
              bars.q_bar.data(), bars.p_bar.data(), static_cast<S*>(nullptr));
          bars.add_to_inputs(in_bar);
        },
        test::scene_points(tree));
  }
}

}  // namespace cycloid::row_form_test
