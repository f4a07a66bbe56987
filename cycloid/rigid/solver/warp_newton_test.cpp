#include "cycloid/rigid/solver/warp_newton.h"

#include <cstring>

#include "cycloid/rigid/solver/constraint_case_test.h"

namespace cycloid::warp_newton_test {

using test::CaseOptions;
using test::LaneProblem;
using test::Numbers;
using test::PlainProblem;

const DofBlocks& layout() {
  static const DofBlocks dofs(test::random_problem(0, {}).parent);
  return dofs;
}

// What a warp makes of the problem of a lane of its own.
struct Solved {
  std::vector<double> x;
  double residual;
  SolveNotes notes;
};

Solved by_warp(const LaneProblem<double>& posed, bool backwards, int spare, std::int64_t e) {
  const ConstraintProblem<double>& problem = posed.problem;
  const ConstraintCapacity most{problem.diagonals + 1, problem.groups + 2, problem.rows + 3};
  const SolveShape shape(posed.dofs, most, posed.dofs.dofs(), 0, 0);
  std::vector<double> tiles(2 * kTile * SolveMail<double>::bytes(shape) / sizeof(double) + 1, -7),
      shared(WarpProblem<double>::bytes(shape, problem.all_rows() + spare) / sizeof(double) + 1,
             std::nan(""));
  const SolveMail<double> mail(shape, reinterpret_cast<std::byte*>(tiles.data()), e);
  send_problem(problem, mail);
  for (int i = 0; i < problem.diagonals + problem.groups; ++i) mail.name(i) = 2u * unsigned(i) + 1;
  WarpProblem<double> own(shape, problem.all_rows() + spare,
                          reinterpret_cast<std::byte*>(shared.data()));
  solve_mail(Warp{.backwards = backwards}, posed.dofs, {}, mail, own);
  Solved out{{}, mail.residual(), mail.notes()};
  for (const int i : posed.dofs.place) out.x.push_back(mail.x(i));
  return out;
}

// Rows of the whole that are active, and the hash of their zones.
SolveNotes notes_of(const LaneProblem<double>& posed) {
  ActiveSets<1> sets;
  const ConstraintProblem<double>& problem = posed.problem;
  for (int unit = 0; unit < problem.diagonals + problem.groups; ++unit) {
    const bool diagonal = unit < problem.diagonals;
    const RowGroup group = diagonal ? RowGroup{problem.diagonal[unit].law, 1, 0}
                                    : problem.group[unit - problem.diagonals];
    const int row = diagonal ? unit : problem.group_row(unit - problem.diagonals);
    RowZones<double> zones = row_zones<double>(posed.space.at, group.law, row, group.rows);
    if (diagonal && problem.sign[row] < 0) zones.code *= 5;
    sets.add(2u * unsigned(unit), 1u, &zones.code, &zones.stiff);
  }
  LaneNote note;
  sets.write(&note);
  return {true, note.active_set, note.counters[kActiveRows]};
}

TEST_CASE("solve_mail: a warp finds the minimum, the residual and the active rows of a lane") {
  int active = 0;
  for (const RowLaw cone : {RowLaw::pyramid, RowLaw::elliptic}) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      CaseOptions options{.cone = cone};
      options.contacts = static_cast<int>(seed % 9);
      if (seed % 7 == 0) options.mass_ratio = 1e-4;
      const PlainProblem plain = test::random_problem(seed, options);
      LaneProblem<double> posed(layout(), {plain});
      const NewtonResult<double> here = posed.solve({});
      const Solved there = by_warp(posed, false, 0, static_cast<std::int64_t>(seed % 16));
      CAPTURE(seed);
      REQUIRE(here.solved);
      CHECK(there.notes.solved);
      CHECK(there.residual < 1e-10);
      CHECK(test::relative_error(there.x, posed.result(0)) < 1e-12);
      const SolveNotes notes = notes_of(posed);
      CHECK(there.notes.active_set == notes.active_set);
      CHECK(there.notes.active_rows == notes.active_rows);
      active += notes.active_rows;
    }
  }
  CHECK(active > 500);
}

TEST_CASE("solve_mail: the same bits, whichever lane comes first and wherever the problem lies") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CaseOptions options{.cone = seed % 2 ? RowLaw::pyramid : RowLaw::elliptic};
    options.contacts = static_cast<int>(seed % 7);
    const LaneProblem<double> posed(layout(), {test::random_problem(seed, options)});
    const Solved one = by_warp(posed, false, 0, 3);
    const Solved other = by_warp(posed, true, 5, 12);
    CHECK(std::memcmp(one.x.data(), other.x.data(), one.x.size() * sizeof(double)) == 0);
    CHECK(one.residual == other.residual);
    CHECK(one.notes.active_set == other.notes.active_set);
  }
}

}  // namespace cycloid::warp_newton_test
