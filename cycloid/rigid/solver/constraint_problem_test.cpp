#include "cycloid/rigid/solver/constraint_problem.h"

#include "cycloid/rigid/solver/constraint_case_test.h"

namespace cycloid::constraint_problem_test {

using test::LaneProblem;
using test::Numbers;
using test::PlainProblem;

TEST_CASE("pad, unpad: a vector comes back, and padding is zero") {
  const DofBlocks dofs(std::vector<int>{-1, 0, 1, 1, 3});
  const Numbers v = {1, 2, 3, 4, 5};
  Numbers padded(static_cast<std::size_t>(dofs.size()), 7.0), back(5);
  pad(dofs, v.data(), padded.data());
  unpad(dofs, static_cast<const double*>(padded.data()), back.data());
  CHECK(back == v);
  for (const int i : dofs.padding) CHECK(padded[static_cast<std::size_t>(i)] == 0);
}

TEST_CASE("spread_mass_matrix: the blocks are M, and one on the padding") {
  const PlainProblem p = test::random_problem(3, {});
  const DofBlocks dofs(p.parent);
  const LaneProblem<double> lanes(dofs, {p});
  const std::size_t n = p.nv(), size = static_cast<std::size_t>(dofs.size());
  Numbers x(size), y(size), expected(size, 0.0);
  test::FixedNumbers random(9);
  for (double& v : x) v = random.next();
  multiply_blocks(lanes.problem.mass, lanes.problem.M, static_cast<const double*>(x.data()),
                  y.data());
  for (const int i : dofs.padding) {
    expected[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(i)];
  }
  for (std::size_t i = 0; i < n * n; ++i) {
    const auto a = static_cast<std::size_t>(dofs.place[i / n]),
               b = static_cast<std::size_t>(dofs.place[i % n]);
    expected[a] += p.M[i] * x[b];
  }
  CHECK(test::relative_error(y, expected) < 1e-14);
}

TEST_CASE(
    "ConstraintProblem: pairs of blocks that no lane moves together stay out of the Hessian") {
  const PlainProblem plain = test::random_problem(3, {});
  const DofBlocks dofs(plain.parent);  // base 0, 1; limbs 2 and 3; a body of its own, 4
  ConstraintProblem<double> problem;
  const ConstraintCapacity most{0, 2, 6};
  const Arena memory = carve_memory(problem, dofs, most);
  const auto touch = [&](int g, int k, int l) {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(dofs.words), 0);
    const BlockSet set{words.data(), dofs.words};
    dofs.add_chain_difference(k, l, set);
    problem.touch(g, set);
  };
  problem.add_group(RowLaw::pyramid, 3);
  touch(0, 8, -1);                                // one lane with the first limb,
  touch(0, 10, -1);                               // another with the second
  CHECK(problem.pairs(0, 0).word[0] == 0b00001);  // pairs are kept below the diagonal
  CHECK(problem.pairs(0, 2).word[0] == 0b00111);
  CHECK(problem.pairs(0, 3).word[0] == 0b01011);
  problem.close();
  CHECK(problem.hessian.count == problem.mass.count);
  CHECK_FALSE(problem.hessian.row(3).has(2));
  CHECK(problem.terms(problem.hessian.place(3, 1)).has(0));

  problem.add_group(RowLaw::pyramid, 3);
  touch(1, 8, 10);  // the limbs against each other
  problem.close();
  CHECK(problem.hessian.row(3).has(2));
  CHECK_FALSE(problem.terms(problem.hessian.place(3, 1)).has(1));
  CHECK(problem.terms(problem.hessian.place(3, 2)).has(1));
  CHECK(problem.group_row(1) == 3);

  problem.clear();
  problem.close();
  CHECK(problem.hessian.count == problem.mass.count);
}

}  // namespace cycloid::constraint_problem_test
