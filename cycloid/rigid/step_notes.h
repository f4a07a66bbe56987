// What a constrained solve leaves in the lanes' notes (system/stepper.h).
//
// A step of several solves (rk4) has the largest of their residuals; contacts and active rows are
// those of the last.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "cycloid/rigid/constrained_instant.h"
#include "cycloid/rigid/contact/contact_space.h"
#include "cycloid/rigid/robot_counters.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline rigid {

// The active set of a lane: a sum over its rows that are stiff, or slip, of hashes of
//   which row     its entry among the static rows, or its contact's pair and place; its number
//   which zone    of the law
// A row that changes its zone changes the sum, whatever other rows do, and a row that has no force
// is not in it: it depends neither on rows nor on the order of slots that other lanes have.
template <int kCount>
class ActiveSets {
 public:
  // Zone of row k of a thing, in the lanes whose bit is set.
  void add(std::uint64_t thing, int k, int zone, unsigned lanes) {
    if (lanes == 0) return;
    const std::uint64_t hash =
        mixed_bits((thing << 8) + static_cast<unsigned>(k << 4) + static_cast<unsigned>(zone));
    const int row = (zone & 7) == 1;
    for (int l = 0; l < kCount; ++l) {  // a few vector operations
      const std::uint64_t here = lanes >> l & 1;
      sums_[l] += -here & hash;
      rows_[l] += -static_cast<int>(here) & row;
    }
  }
  void write(LaneNote* notes) const {
    for (int l = 0; l < kCount; ++l) {
      notes[l].active_set = sums_[l];
      notes[l].counters[kActiveRows] = rows_[l];
    }
  }

 private:
  // SplitMix64's, so that sums of few rows do not meet.
  static std::uint64_t mixed_bits(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t sums_[kCount] = {};
  int rows_[kCount] = {};
};

// Calls visit(k, zone, lanes) for the rows of a group or a diagonal row that are in a zone:
//   single rows   1 stiff, 2 and 3 friction loss that slips either way
//   pyramid       per direction: 1 an edge is stiff, 2 and 3 it is one edge alone
//   elliptic      1 touches, 2 slips
//   compliant     1 pushes
template <class S, class Visit>
void for_each_zone(const ConstraintResponse<S>& at, RowLaw law, int row, int rows, Visit visit) {
  const S zero = S(0);
  if (law == RowLaw::given) return visit(0, 1, lane_bits(at.f[row] > zero));
  if (law == RowLaw::elliptic) {
    Mask<S> slips(false);
    for (int k = 1; k < rows; ++k) slips = slips | (at.cross[row + k] != zero);
    visit(0, 1, lane_bits(at.diagonal[row] != zero));
    return visit(0, 2, lane_bits(slips));
  }
  for (int k = 0; k < rows; ++k) {
    const Mask<S> stiff = at.diagonal[row + k] != zero;
    visit(k, 1, lane_bits(stiff));
    const bool has_sides = law == RowLaw::friction_loss || (law == RowLaw::pyramid && k > 0);
    if (!has_sides) continue;
    const Mask<S> looked = law == RowLaw::pyramid ? stiff : Mask<S>(!stiff);
    const S& side = law == RowLaw::pyramid ? at.cross[row + k] : at.f[row + k];
    visit(k, 2, lane_bits(looked & (side > zero)));
    visit(k, 3, lane_bits(looked & (side < zero)));
  }
}

// Sets the notes' active sets (lanes). places: of the static rows' entries, -1 where the problem
// has none (static_rows.h).
template <class S>
void note_active_sets(const ConstraintProblem<S>& problem, const ConstraintResponse<S>& at,
                      std::span<const int> places, const ContactSpace<S>& contacts,
                      LaneNote* notes) {
  ActiveSets<kLanes<S>> sets;
  int g = 0;
  for (std::size_t entry = 0; entry < places.size(); ++entry) {
    const int row = places[entry];
    if (row < 0) continue;
    const bool diagonal = row < problem.diagonals;
    const RowGroup group =
        diagonal ? RowGroup{problem.diagonal[row].law, 1, row} : problem.group[g++];
    const unsigned upper = diagonal ? lane_bits(problem.sign[row] < S(0)) : 0;
    for_each_zone(at, group.law, row, group.rows, [&](int k, int zone, unsigned lanes) {
      sets.add(2 * entry, k, zone, lanes & ~upper);
      sets.add(2 * entry, k, zone + 8, lanes & upper);  // the other end of a range
    });
  }
  const int first = problem.groups - contacts.slots;
  for (int slot = 0; slot < contacts.slots; ++slot) {
    const RowGroup& group = problem.group[first + slot];
    const int row = problem.group_row(first + slot);
    for_each_zone(at, group.law, row, group.rows, [&](int k, int zone, unsigned lanes) {
      for (int i = 0; lanes != 0 && i < contacts.groups[slot]; ++i) {
        const LaneGroup& same = contacts.groups_of(slot)[i];
        const std::uint64_t pair =
            static_cast<std::uint64_t>(contacts.touched[same.owner].pair) * kMostTouches;
        const int place = contacts.touch[same.touch].place;
        sets.add(2 * (pair + static_cast<unsigned>(place)) + 1, k, zone, lanes & same.bits);
      }
    });
  }
  sets.write(notes);
}

// Adds to the notes (lanes), which a step clears before its first solve.
template <class S>
void take_notes(const NewtonResult<S>& result, const ConstrainedSpace<S>& solver,
                std::span<const int> places, const ContactSpace<S>& contacts, LaneNote* notes) {
  for (int l = 0; l < kLanes<S>; ++l) notes[l].counters[kContacts] = contacts.count[l];
  note_active_sets(solver.problem, solver.newton.at, places, contacts, notes);
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
