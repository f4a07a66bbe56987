#include "cycloid/rigid/constraint/row_block.h"

#include "tests/support/pullback_check.h"

namespace cycloid::row_block_test {

using S = test::LaneNumber;

struct Problem {
  Problem() { problem.clear(); }
  // A chain of seven dofs: three blocks.
  DofBlocks dofs{std::vector<int>{-1, 0, 1, 2, 3, 4, 5}};
  ConstraintProblem<S> problem;
  Arena memory = carve_memory(problem, dofs, ConstraintCapacity{0, 2, 4});
};

TEST_CASE("add_dense_rows: J is zero in the blocks that the group moves, in all its rows") {
  Problem at;
  for (int i = 0; i < 4 * at.dofs.size(); ++i) at.problem.J[i] = S(7);
  std::uint64_t word = 0b101;
  int row = -1;
  S* J = add_dense_rows(at.problem, RowLaw::equality, 3, BlockSet{&word, 1}, row);
  CHECK(row == 0);
  CHECK(J == at.problem.J);
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < at.dofs.size(); ++k) {
      CHECK(lane(J[i * at.dofs.size() + k], 2) == (k / kBlock == 1 ? 7 : 0));
    }
  }
  CHECK(at.problem.support(0).has(2));
  CHECK(!at.problem.support(0).has(1));
  add_dense_rows(at.problem, RowLaw::one_sided, 1, BlockSet{&word, 1}, row);
  CHECK(row == 3);
}

TEST_CASE("put_row_block: lanes that do not count have no weight and no reference") {
  Problem at;
  std::uint64_t word = 1;
  int row = -1;
  add_dense_rows(at.problem, RowLaw::one_sided, 1, BlockSet{&word, 1}, row);
  RowBlock<S> block;
  take_softness(Compliance{}, block);
  block.weight[0] = S(0.5);
  block.v[0] = S(2);
  for (int l = 0; l < 4; ++l) set_lane(block.x[0], l, l - 1.5);
  put_row_block({S(0.002), S(1), true}, block, block.x[0] < S(0), row, at.problem);
  for (int l = 0; l < 4; ++l) {
    CHECK((lane(at.problem.D[row], l) > 0) == (l < 2));
    CHECK((lane(at.problem.a_ref[row], l) != 0) == (l < 2));
  }
}

TEST_CASE("for_each_column: from the last dof to the root, by padded places") {
  const DofBlocks dofs(std::vector<int>{-1, 0, 0, 2});  // 3 and 2 hang on 0, beside 1
  const Motion<double> column[4] = {};
  std::vector<int> places;
  for_each_column(dofs, 3, column,
                  [&](int place, const Motion<double>&) { places.push_back(place); });
  CHECK(places == std::vector<int>{dofs.place[3], dofs.place[2], dofs.place[0]});
}

}  // namespace cycloid::row_block_test
