#include "cycloid/rigid/solver/constraint_response.h"

#include "cycloid/rigid/solver/constraint_case_test.h"

namespace cycloid::constraint_response_test {

using test::LaneProblem;
using test::Numbers;
using test::PlainPoint;
using test::PlainProblem;

struct Case {
  Case(std::uint64_t seed, RowLaw cone)
      : plain(test::random_problem(seed, {.cone = cone})),
        dofs(plain.parent),
        lanes(dofs, {plain}),
        x(test::FixedNumbers(seed).vector(plain.nv())),
        padded(static_cast<std::size_t>(dofs.size())),
        r(static_cast<std::size_t>(lanes.problem.all_rows())) {
    pad(dofs, x.data(), padded.data());
    row_residuals(lanes.problem, static_cast<const double*>(padded.data()), r.data());
  }
  PlainProblem plain;
  DofBlocks dofs;
  LaneProblem<double> lanes;
  Numbers x, padded, r;
};

TEST_CASE("row_costs, respond: cost and forces are those of the plain rows") {
  for (const RowLaw cone : {RowLaw::pyramid, RowLaw::elliptic}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Case c(seed, cone);
      PlainProblem rows = c.plain;
      std::fill(rows.M.begin(), rows.M.end(), 0.0);
      const PlainPoint at = test::plain_point(rows, c.x);
      CHECK(row_costs(c.lanes.problem, c.r.data()) == doctest::Approx(at.cost).epsilon(1e-13));
      respond(c.lanes.problem, static_cast<const double*>(c.r.data()), c.lanes.space.at);
      Numbers g(c.padded.size(), 0.0), gradient(c.x.size());
      subtract_row_forces(c.lanes.problem, static_cast<const double*>(c.lanes.space.at.f),
                          g.data());
      unpad(c.dofs, static_cast<const double*>(g.data()), gradient.data());
      CHECK(test::relative_error(gradient, at.g) < 1e-13);
    }
  }
}

TEST_CASE("respond: says whether the cost is still the same quadratic function") {
  Case c(4, RowLaw::pyramid);
  const auto answer = [&] {
    return respond(c.lanes.problem, static_cast<const double*>(c.r.data()), c.lanes.space.at);
  };
  answer();
  CHECK_FALSE(answer());
  const auto friction = std::size_t(3);  // a row of friction loss
  REQUIRE(c.plain.diagonals[friction].law == RowLaw::friction_loss);
  c.r[friction] = 100;
  answer();
  c.r[friction] = 200;
  CHECK_FALSE(answer());
  c.r[friction] = -200;  // slips the other way: no stiffness before and after
  CHECK(answer());
  c.r[0] = -1;  // a limit
  answer();
  c.r[0] = 1;
  CHECK(answer());
}

TEST_CASE("row_products: forces are their transpose") {
  Case c(6, RowLaw::elliptic);
  const Numbers f = test::FixedNumbers(2).vector(c.r.size());
  Numbers Jx(c.r.size()), y(c.padded.size(), 0.0);
  row_products(c.lanes.problem, static_cast<const double*>(c.padded.data()), Jx.data());
  subtract_row_forces(c.lanes.problem, f.data(), y.data());
  CHECK(test::dot(Jx, f) == doctest::Approx(-test::dot(y, c.padded)).epsilon(1e-13));
}

}  // namespace cycloid::constraint_response_test
