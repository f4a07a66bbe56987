#include "cycloid/rigid/contact/sticky_contact.h"

#include "cycloid/rigid/constrained_case_test.h"

namespace cycloid::sticky_contact_test {

using test::ConstrainedCase;
using test::Numbers;
using test::StepKind;

TEST_CASE("stick: pullback equals dual numbers for every law, in the gap and in touch") {
  for (const auto law : {RowLaw::one_sided, RowLaw::elliptic, RowLaw::pyramid}) {
    const int n = law == RowLaw::one_sided ? 1 : 4;
    for (const double rows : {0.0, 1.0, 3.0, 4.0}) {
      if (rows > n || (rows == 0 && n == 1)) continue;
      const auto value = [&](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*in)>;
        out[0] = in[0];
        stick(law, n, S(rows), in[1], in + 2, out);
      };
      const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in_bar)>;
        in_bar[0] += out_bar[0];
        S delta_bar(0);
        stick_pullback(law, n, S(rows), in[1], in + 2, out_bar, delta_bar, in_bar + 2);
        in_bar[1] += delta_bar;
      };
      test::check_pullback("stick", 1, value, pullback, {{0.3, 4, 20, 30, 30, 30}});
    }
  }
  double a_ref = 1;
  const double D[4] = {0, 20, 20, 20};
  stick(RowLaw::pyramid, 4, 4.0, 6.0, D, &a_ref);  // six edges
  CHECK(a_ref == doctest::Approx(1 + 1.0 / 20));
}

// Floor and feet stick; one foot alone has a say, by its priority.
Model sticky_robot(RigidIntegrator integrator, bool elliptic) {
  Model m = test::held_robot(integrator);
  m.options.elliptic = elliptic;
  double adhesion = 2;
  for (Geom& g : m.geoms) {
    g.adhesion = adhesion;
    adhesion += 0.7;
  }
  m.geoms.back().priority = 1;
  return m;
}

TEST_CASE("pair_adhesion: a sum, or that of the geom of higher priority, with its pullback") {
  const Tree tree(sticky_robot(RigidIntegrator::euler, false));
  const DofBlocks dofs(tree.parent_dof);
  const ContactPlan plan(tree, dofs);
  bool summed = false, won = false;
  for (const ContactPair& pair : plan.pairs) {
    const auto value = [&](const auto* in, auto* out) {
      out[0] = pair_adhesion(plan, tree.model, in, pair);
    };
    const auto pullback = [&](const auto*, const auto* out_bar, auto* in_bar) {
      pair_adhesion_pullback(plan, pair, out_bar[0], in_bar);
    };
    const Numbers p = tree.parameters.default_values();
    test::check_pullback("pair_adhesion", 1, value, pullback, {p});
    const auto of = [&](int g) {
      return tree.model
          .geoms[static_cast<std::size_t>(plan.geoms[static_cast<std::size_t>(g)].geom)]
          .adhesion;
    };
    const double found = pair_adhesion(plan, tree.model, p.data(), pair);
    (pair.mix.winner == 0 ? summed : won) = true;
    if (pair.mix.winner == 0) CHECK(found == of(pair.geom1) + of(pair.geom2));
    if (pair.mix.winner == 2) CHECK(found == of(pair.geom2));
  }
  CHECK((summed && won));
}

TEST_CASE("sticky_contact: a step's pullback equals dual numbers, in the gap as well") {
  for (const bool elliptic : {false, true}) {
    for (const auto integrator : {RigidIntegrator::euler, RigidIntegrator::implicitfast}) {
      const Model m = sticky_robot(integrator, elliptic);
      const ConstrainedCase c(m, 0.3, StepKind{.wrenches = false});
      Numbers gap = c.point;
      const auto parameter = [&](int place) -> double& {
        return gap[static_cast<std::size_t>(c.tangents + c.input_size + place)];
      };
      parameter(c.tree.geoms[0].gap) = 100;
      parameter(c.tree.geoms[0].margin) = -50;
      // As constrained_dynamics_test.cpp.
      test::check_pullback(
          "constrained_acceleration", c.tangents,
          [&](const auto* in, auto* out) { c.value(in, out); },
          [&](const auto* in, const auto* out_bar, auto* in_bar) {
            c.pullback(in, out_bar, in_bar);
          },
          {c.point, gap}, test::PullbackOptions{.tolerance = 1e-9, .lane_tolerance = 1e-10});
    }
  }
}

}  // namespace cycloid::sticky_contact_test
