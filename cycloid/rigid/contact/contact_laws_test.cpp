#include "cycloid/rigid/contact/contact_laws.h"

#include <doctest/doctest.h>

#include <vector>

namespace cycloid::contact_laws_test {

TEST_CASE("visit_law: a listed law is visited once, as its type, and single rows are not") {
  for (const RowLaw law : {RowLaw::equality, RowLaw::friction_loss, RowLaw::one_sided,
                           RowLaw::pyramid, RowLaw::elliptic}) {
    int visits = 0;
    visit_law(ContactLaws{}, law, [&]<class Law>(Law) {
      CHECK(Law::kLaw == law);
      CHECK(Law::kEdges == has_edges(ContactLaws{}, law));
      CHECK(Law::kFrictionReference == has_friction_reference(ContactLaws{}, law));
      ++visits;
    });
    CHECK(visits == (law == RowLaw::pyramid || law == RowLaw::elliptic ? 1 : 0));
    CHECK(is_cone(law) == (visits == 1));
  }
  CHECK_FALSE(has_edges(ContactLaws{}, RowLaw::one_sided));
  CHECK_FALSE(has_friction_reference(ContactLaws{}, RowLaw::one_sided));
}

// D and friction of a contact that slips, and a residual in the middle zone of both laws.
const double kD[3] = {2, 3, 3}, kFriction[3] = {0.4, 0.6, 0.6}, kR[3] = {0.1, 0.7, -0.3};

TEST_CASE("ContactLaws: the force of each is minus the slope of its cost") {
  for (const RowLaw law : {RowLaw::pyramid, RowLaw::elliptic}) {
    visit_law(ContactLaws{}, law, [&]<class Law>(Law) {
      const ConeResponse<double, 3> at = Law::template response<3>(kD, kFriction, kR);
      const double h = 1e-6;
      for (int k = 0; k < 3; ++k) {
        double up[3], down[3];
        for (int i = 0; i < 3; ++i) up[i] = kR[i] + (i == k) * h, down[i] = kR[i] - (i == k) * h;
        const double slope = (Law::template cost<3>(kD, kFriction, static_cast<const double*>(up)) -
                              Law::template cost<3>(kD, kFriction, static_cast<double*>(down))) /
                             (2 * h);
        CHECK(at.f[k] == doctest::Approx(-slope).epsilon(1e-8));  // central: h² and rounding / h
      }
      CHECK(at.f[0] != 0);
      if (Law::kArrow) CHECK(at.K.beta == 0);
    });
  }
}

TEST_CASE("for_each_law: goes through every row once, contacts as a whole") {
  const int parent[2] = {-1, 0};
  const DofBlocks dofs(parent);
  ConstraintProblem<double> problem;
  const Arena memory = carve_memory(problem, dofs, ConstraintCapacity{2, 4, 15});
  problem.clear();
  problem.add_diagonal(RowLaw::friction_loss, 0);
  problem.add_diagonal(RowLaw::one_sided, 1);
  problem.add_group(RowLaw::equality, 2);
  problem.add_group(RowLaw::pyramid, 6);
  problem.add_group(RowLaw::elliptic, 4);
  problem.add_group(RowLaw::elliptic, 3);
  std::vector<int> seen(static_cast<std::size_t>(problem.all_rows()), 0);
  std::vector<int> counts;
  for_each_law(
      problem,
      [&](RowLaw law, int i) {
        CHECK_FALSE(is_cone(law));
        ++seen[static_cast<std::size_t>(i)];
      },
      [&]<class Law, int n>(Law, RowCount<n>, int row) {
        counts.push_back(Law::kLaw == RowLaw::pyramid ? n : -n);
        for (int k = 0; k < n; ++k) ++seen[static_cast<std::size_t>(row + k)];
      });
  CHECK(seen == std::vector<int>(seen.size(), 1));
  CHECK(counts == std::vector<int>{6, -4, -3});
}

}  // namespace cycloid::contact_laws_test
