#include "cycloid/rigid/solver/warp_problem.h"

#include "cycloid/rigid/solver/constraint_case_test.h"

namespace cycloid::warp_problem_test {

using test::LaneProblem;

const DofBlocks& layout() {
  static const DofBlocks dofs(test::random_problem(0, {}).parent);
  return dofs;
}

// A mail for nine environments, in two tiles.
struct Tiles {
  explicit Tiles(const ConstraintProblem<double>& problem)
      : shape(layout(), {problem.diagonals + 2, problem.groups + 1, problem.rows + 4},
              layout().dofs(), 2, 30),
        memory(2 * kTile * SolveMail<double>::bytes(shape) / sizeof(double) + 1, 0.0) {}
  SolveMail<double> of(std::int64_t e) {
    return {shape, reinterpret_cast<std::byte*>(memory.data()), e};
  }
  SolveShape shape;
  std::vector<double> memory;
};

TEST_CASE("SolveMail: every number and word of every environment has a place of its own") {
  LaneProblem<double> posed(layout(), {test::random_problem(3, {})});
  Tiles tiles(posed.problem);
  const auto each = [&](std::int64_t e, auto visit) {
    const SolveMail<double> mail = tiles.of(e);
    const SolveShape& s = mail.shape;
    for (int i = 0; i < s.mass; ++i) visit(mail.M(i));
    for (int i = 0; i < s.size; ++i) visit(mail.x(i));
    for (int i = 0; i < s.all(); ++i)
      visit(mail.a_ref(i)), visit(mail.D(i)), visit(mail.friction(i));
    for (int i = 0; i < s.most.diagonals; ++i) visit(mail.sign(i));
    for (int i = 0; i < s.most.rows * s.size; ++i) visit(mail.J(i / s.size, i % s.size));
    for (int i = 0; i < s.entries; ++i) visit(mail.factor(i));
    for (int i = 0; i < s.nv; ++i) visit(mail.slope(i));
    for (int i = 0; i < s.na; ++i) visit(mail.act_next(i));
    visit(mail.residual());
    for (int i = 0; i < s.units(); ++i) visit(mail.name(i));
    for (int i = 0; i < SolveMail<double>::kHead; ++i) visit(mail.word(i));
    for (int i = SolveMail<double>::kHead; &mail.word(i) != &mail.name(0); ++i) visit(mail.word(i));
  };
  std::vector<const void*> places;
  for (std::int64_t e = 0; e < 9; ++e) {
    each(e, [&](auto& x) { places.push_back(&x); });
  }
  std::sort(places.begin(), places.end());
  CHECK(places.size() > 9 * 500);
  CHECK(std::adjacent_find(places.begin(), places.end()) == places.end());
  CHECK(places.back() < static_cast<const void*>(tiles.memory.data() + tiles.memory.size()));
}

TEST_CASE("receive_problem: a warp has M, J and the pattern that a thread has sent") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LaneProblem<double> posed(layout(), {test::random_problem(seed, {.contacts = int(seed % 6)})});
    const ConstraintProblem<double>& problem = posed.problem;
    Tiles tiles(problem);
    const SolveMail<double> mail = tiles.of(static_cast<std::int64_t>(seed % 9));
    send_problem(problem, mail);
    std::vector<double> memory(WarpProblem<double>::bytes(tiles.shape, problem.all_rows()) / 8 + 1);
    WarpProblem<double> own(tiles.shape, problem.all_rows(),
                            reinterpret_cast<std::byte*>(memory.data()));
    receive_problem(Warp{}, layout(), mail, own);
    REQUIRE(own.all_rows() == problem.all_rows());
    for (int i = 0; i < problem.all_rows(); ++i) {
      CHECK(own.a_ref[i] == problem.a_ref[i]);
      CHECK(own.D[i] == problem.D[i]);
      CHECK(own.friction[i] == problem.friction[i]);
    }
    for (int i = 0; i < problem.rows * problem.size(); ++i) {
      CHECK(own.J[i / problem.size() * own.wide + i % problem.size()] == problem.J[i]);
    }
    std::vector<double> x(static_cast<std::size_t>(problem.size())), y(x);
    for (int k = 0; k < problem.size(); ++k) {  // M a unit vector
      std::fill(x.begin(), x.end(), 0.0);
      x[static_cast<std::size_t>(k)] = 1;
      multiply_blocks(problem.mass, problem.M, static_cast<const double*>(x.data()), y.data());
      for (int i = 0; i < problem.size(); ++i) {
        CHECK(own.upper_M(std::min(i, k), std::max(i, k)) == y[static_cast<std::size_t>(i)]);
      }
    }
    for (int I = 0; I < own.blocks; ++I) CHECK(own.pattern[I] == *problem.hessian.row(I).word);
  }
}

}  // namespace cycloid::warp_problem_test
