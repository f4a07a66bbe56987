#include "cycloid/rigid/solver/constraint_hessian.h"

#include "cycloid/rigid/solver/constraint_case_test.h"

namespace cycloid::constraint_hessian_test {

using test::LaneProblem;
using test::Numbers;
using test::PlainProblem;

TEST_CASE("factor_hessian: solves with M + Jᵀ K J, contacts between limbs and bodies included") {
  for (const RowLaw cone : {RowLaw::pyramid, RowLaw::elliptic}) {
    for (std::uint64_t seed = 20; seed < 28; ++seed) {
      const PlainProblem p = test::random_problem(seed, {.cone = cone, .contacts = 5});
      const DofBlocks dofs(p.parent);
      LaneProblem<double> lanes(dofs, {p});
      const Numbers x = test::FixedNumbers(seed).vector(p.nv()),
                    b = test::FixedNumbers(seed + 1).vector(p.nv());
      Numbers padded(static_cast<std::size_t>(dofs.size())), solution(p.nv());
      pad(dofs, x.data(), padded.data());
      row_residuals(lanes.problem, static_cast<const double*>(padded.data()), lanes.space.r);
      respond(lanes.problem, lanes.space.r, lanes.space.at);
      factor_hessian(lanes.problem, true, lanes.space);
      pad(dofs, b.data(), padded.data());
      solve_blocks(lanes.problem.hessian, static_cast<const double*>(lanes.space.V), padded.data());
      unpad(dofs, static_cast<const double*>(padded.data()), solution.data());
      const Numbers expected = test::plain_solve(test::plain_point(p, x).H, b);
      CHECK(test::relative_error(solution, expected) < 1e-11);  // condition about 1e3
    }
  }
}

TEST_CASE("factor_hessian: groups without stiffness in the lanes at work are left out") {
  using S = Pack<double, 4>;
  std::vector<PlainProblem> p;
  for (std::uint64_t l = 0; l < 4; ++l) p.push_back(test::random_problem(l, {.contacts = 2}));
  const DofBlocks dofs(p[0].parent);
  LaneProblem<S> lanes(dofs, p);
  row_residuals(lanes.problem, static_cast<const S*>(lanes.x.data()), lanes.space.r);
  for (int i = 0; i < lanes.problem.all_rows(); ++i) lanes.space.r[i] = S(1000);
  respond(lanes.problem, lanes.space.r, lanes.space.at);
  Mask<S> first = Mask<S>(false);
  first.set(0, true);
  find_live_groups(lanes.problem, first, lanes.space);
  CHECK(lanes.space.live_words[0] == 1);  // the equalities alone
  set_lane(lanes.space.at.diagonal[lanes.problem.group_row(2)], 1, 5.0);
  find_live_groups(lanes.problem, first, lanes.space);
  CHECK(lanes.space.live_words[0] == 1);
  find_live_groups(lanes.problem, Mask<S>(true), lanes.space);
  CHECK(lanes.space.live_words[0] == 0b101);
}

}  // namespace cycloid::constraint_hessian_test
