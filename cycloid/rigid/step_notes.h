// What a constrained solve leaves in the lanes' notes (system/stepper.h).
//
// A step of several solves (rk4) has the largest of their residuals; contacts and active rows are
// those of the last.
#pragma once

#include <limits>

#include "cycloid/rigid/constrained_instant.h"
#include "cycloid/rigid/contact/contact_space.h"
#include "cycloid/rigid/robot_counters.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline rigid {

// How many rows are stiff, those of a contact that slips counted twice: their stiffness couples
// them. A row that changes its zone changes this number, and a row that has no force is not in it,
// so that it does not depend on rows that other lanes have.
template <class S>
S active_rows(const ConstraintProblem<S>& problem, const ConstraintResponse<S>& at) {
  S count = S(0);
  const auto add = [&](const S& stiffness) { count += select(stiffness != S(0), S(1), S(0)); };
  for (int i = 0; i < problem.diagonals; ++i) add(at.diagonal[i]);
  for (int g = 0; g < problem.groups; ++g) {
    const int row = problem.group_row(g), rows = problem.group[g].rows;
    const bool cone = is_cone(problem.group[g].law);
    for (int k = 0; k < rows; ++k) {
      add(at.diagonal[row + k]);
      if (cone && k > 0) add(at.cross[row + k]);
    }
  }
  return count;
}

// Adds to the notes (lanes), which a step clears before its first solve.
template <class S>
void take_notes(const NewtonResult<S>& result, const ConstrainedSpace<S>& solver,
                const ContactSpace<S>& contacts, LaneNote* notes) {
  const auto active = primal(active_rows(solver.problem, solver.newton.at));
  for (int l = 0; l < kLanes<S>; ++l) {
    notes[l].active = static_cast<int>(lane(active, l));
    notes[l].counters[kContacts] = contacts.count[l];
    notes[l].counters[kActiveRows] = notes[l].active;
  }
  if (all(result.solved) && contacts.crowded == 0) return;
  const unsigned solved = lane_bits(result.solved);
  for (int l = 0; l < kLanes<S>; ++l) {
    notes[l].crowded = notes[l].crowded || (contacts.crowded >> l & 1);
    notes[l].counters[kCrowded] = notes[l].crowded;
    if (solved >> l & 1) continue;
    const double residual = static_cast<double>(lane(primal(result.residual), l));
    const double size = residual >= 0 ? residual : std::numeric_limits<double>::infinity();  // NaN
    notes[l].residual = std::max(notes[l].residual, size);
  }
}

// Whether some lane fell short.
inline bool fell_short(const LaneNote* notes, int lanes) {
  return std::any_of(notes, notes + lanes,
                     [](const LaneNote& n) { return n.residual > 0 || n.crowded; });
}

}  // namespace cycloid::inline rigid
