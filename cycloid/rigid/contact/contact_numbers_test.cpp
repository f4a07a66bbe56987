#include "cycloid/rigid/contact/contact_numbers.h"

#include "cycloid/rigid/contact/contact_case_test.h"

namespace cycloid::contact_numbers_test {

using test::Numbers;

constexpr int kNumbers = 13;

TEST_CASE("pair_numbers: pullback equals dual numbers, mixed, by priority, and of named pairs") {
  const Tree tree(test::crowd(false));
  const DofBlocks dofs(tree.parent_dof);
  const ContactPlan plan(tree, dofs);
  const std::span<const double> start = tree.parameters.default_values();
  std::vector<Numbers> points;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Numbers x(start.begin(), start.end());
    test::FixedNumbers random(seed);
    for (double& v : x) v *= 1 + 0.01 * random.next();
    points.push_back(x);
  }
  test::check_pullback(
      "pair_numbers", kNumbers * static_cast<int>(plan.pairs.size()),
      [&](const auto* in, auto* out) {
        for (const ContactPair& pair : plan.pairs) {
          const auto n = pair_numbers(plan, tree.model, in, pair);
          for (int i = 0; i < 5; ++i) *out++ = n.law.friction[i];
          for (int i = 0; i < 2; ++i) *out++ = n.law.soft.solref[i];
          for (int i = 0; i < 5; ++i) *out++ = n.law.soft.solimp[i];
          *out++ = n.margin;
        }
      },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        for (const ContactPair& pair : plan.pairs) {
          PairNumbers<S> bar;
          for (int i = 0; i < 5; ++i) bar.law.friction[i] = *out_bar++;
          for (int i = 0; i < 2; ++i) bar.law.soft.solref[i] = *out_bar++;
          for (int i = 0; i < 5; ++i) bar.law.soft.solimp[i] = *out_bar++;
          bar.margin = *out_bar++;
          pair_numbers_pullback(plan, in, pair, bar, in_bar);
        }
      },
      points);
}

TEST_CASE("pair_numbers: where friction ties, each geom has half of the cotangent") {
  Model m = test::crowd(false);
  m.geoms[0].friction = m.geoms[4].friction;
  const Tree tree(m);
  const ContactPlan plan(tree, DofBlocks(tree.parent_dof));
  const auto is_tied = [&](const ContactPair& p) {
    return plan.geoms[static_cast<std::size_t>(p.geom1)].geom == 0 &&
           plan.geoms[static_cast<std::size_t>(p.geom2)].geom == 4;
  };
  const auto pair = std::find_if(plan.pairs.begin(), plan.pairs.end(), is_tied);
  REQUIRE(pair != plan.pairs.end());
  Numbers p_bar(static_cast<std::size_t>(tree.parameters.size()), 0.0);
  PairNumbers<double> bar;
  bar.law.friction[0] = 1;
  pair_numbers_pullback(plan, tree.parameters.default_values().data(), *pair, bar, p_bar.data());
  CHECK(p_bar[static_cast<std::size_t>(tree.geoms[0].friction)] == 0.5);
  CHECK(p_bar[static_cast<std::size_t>(tree.geoms[4].friction)] == 0.5);
}

}  // namespace cycloid::contact_numbers_test
