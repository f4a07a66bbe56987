#include "cycloid/rigid/constraint/row_law.h"

#include "tests/support/pullback_check.h"

namespace cycloid::row_law_test {

using test::Numbers;

constexpr RowLaw kLaws[] = {RowLaw::equality, RowLaw::friction_loss, RowLaw::one_sided,
                            RowLaw::given};

TEST_CASE("row_response: known values in every zone") {
  CHECK(row_response(RowLaw::equality, 3.0, 0.0, 2.0).f == -6);
  CHECK(row_response(RowLaw::equality, 3.0, 0.0, 2.0).K == 3);
  CHECK(row_response(RowLaw::friction_loss, 3.0, 2.0, 0.5).f == -1.5);
  CHECK(row_response(RowLaw::friction_loss, 3.0, 2.0, 0.5).K == 3);
  CHECK(row_response(RowLaw::friction_loss, 3.0, 2.0, -5.0).f == 2);
  CHECK(row_response(RowLaw::friction_loss, 3.0, 2.0, -5.0).K == 0);
  CHECK(row_response(RowLaw::one_sided, 3.0, 0.0, -2.0).f == 6);
  CHECK(row_response(RowLaw::one_sided, 3.0, 0.0, 2.0).f == 0);
  CHECK(row_response(RowLaw::given, 3.0, 0.0, 2.0).f == 3);
  CHECK(row_response(RowLaw::given, -3.0, 0.0, -2.0).f == -3);
  CHECK(row_response(RowLaw::given, 3.0, 0.0, 2.0).K == 0);
  CHECK(row_cost(RowLaw::equality, 3.0, 0.0, 2.0) == 6);
  CHECK(row_cost(RowLaw::friction_loss, 3.0, 2.0, -5.0) == doctest::Approx(10 - 2.0 / 3));
  CHECK(row_cost(RowLaw::one_sided, 3.0, 0.0, 2.0) == 0);
}

TEST_CASE("row_cost: the force is minus its slope, the stiffness its curvature") {
  using D1 = Dual<double, 1>;
  for (const RowLaw law : kLaws) {
    for (const double r : {-2.0, -0.3, 0.2, 1.7}) {
      const D1 x = D1::variable(r, 0);
      const RowResponse<double> at = row_response(law, 3.0, 1.5, r);
      CHECK(row_cost(law, D1(3.0), D1(1.5), x).tangent[0] == doctest::Approx(-at.f));
      CHECK(row_response(law, D1(3.0), D1(1.5), x).f.tangent[0] == -at.K);
    }
  }
}

TEST_CASE("row_response: cost and force are continuous where the zone changes") {
  const double D = 3, eta = 1.5, step = 1e-9;
  for (const double border : {0.0, eta / D, -eta / D}) {
    for (const RowLaw law : kLaws) {
      const RowResponse<double> a = row_response(law, D, eta, border - step),
                                b = row_response(law, D, eta, border + step);
      CHECK(std::abs(a.f - b.f) <= 2.0001 * D * step);
      CHECK(std::abs(row_cost(law, D, eta, border - step) - row_cost(law, D, eta, border + step)) <=
            2.0001 * std::max(eta, std::abs(a.f)) * step);
    }
  }
  CHECK(row_response(RowLaw::friction_loss, D, eta, eta / D).K == 0);  // the border slips
  CHECK(row_response(RowLaw::one_sided, D, eta, 0.0).K == 0);          // the border is free
}

TEST_CASE("row_response: a row without weight is not there") {
  for (const RowLaw law : kLaws) {
    const RowResponse<double> at = row_response(law, 0.0, 0.0, -0.7);
    CHECK(at.f == 0);
    CHECK(at.K == 0);
    CHECK(row_cost(law, 0.0, 0.0, -0.7) == 0);
    double D_bar = 0, eta_bar = 0, r_bar = 0;
    row_force_pullback(law, 0.0, 0.0, -0.7, 1.0, D_bar, eta_bar, r_bar);
    CHECK(r_bar == 0);
    CHECK(eta_bar == 0);
  }
}

TEST_CASE("row_force: pullback equals dual numbers in every zone") {
  for (const RowLaw law : kLaws) {
    std::vector<Numbers> points = {{3.0, 1.5, -0.2}, {3.0, 1.5, -2.0}};
    if (law != RowLaw::one_sided) {
      points.push_back({3.0, 1.5, 0.3});
      points.push_back({3.0, 1.5, 4.0});
    }
    test::check_pullback(
        "row_force", 1,
        [=](const auto* in, auto* out) { *out = row_force(law, in[0], in[1], in[2]); },
        [=](const auto* in, const auto* bar, auto* in_bar) {
          row_force_pullback(law, in[0], in[1], in[2], bar[0], in_bar[0], in_bar[1], in_bar[2]);
        },
        points);
  }
  test::check_pullback(
      "row_force", 1,
      [](const auto* in, auto* out) { *out = row_force(RowLaw::one_sided, in[0], in[1], in[2]); },
      [](const auto* in, const auto* bar, auto* in_bar) {
        row_force_pullback(RowLaw::one_sided, in[0], in[1], in[2], bar[0], in_bar[0], in_bar[1],
                           in_bar[2]);
      },
      {{3.0, 1.5, 0.4}}, {.zero_by_law = true});
}

}  // namespace cycloid::row_law_test
