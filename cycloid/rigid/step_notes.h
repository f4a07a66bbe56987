// What a constrained solve leaves in the lanes' notes (system/stepper.h).
//
// A step of several solves (rk4) has the largest of their residuals; contacts and active rows are
// those of the last.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/constrained_instant.h"
#include "cycloid/rigid/contact/contact_space.h"
#include "cycloid/rigid/robot_counters.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline rigid {

// The zones of the rows of a group, or of a diagonal row, as one number per lane, Σ_k 4^k zone_k,
// and how many of the rows are stiff. Zone 0 is without force or stiffness;
//   single rows   1 stiff, 2 and 3 friction loss that slips either way
//   pyramid       per direction: 1 its edges are stiff, 2 and 3 one edge alone is
//   elliptic      1 touches, 3 slips; of the contact as a whole
//   compliant     1 pushes
template <class B>
struct RowZones {
  B code = B(0), stiff = B(0);
};

static_assert(2 * kMostRows <= 16);  // bits of a code

template <class S>
CYCLOID_HD RowZones<PlainScalar<S>> row_zones(const ConstraintResponse<S>& at, RowLaw law, int row,
                                              int rows) {
  using B = PlainScalar<S>;
  const S zero = S(0);
  const auto one_where = [](const Mask<S>& m) { return select(m, B(1), B(0)); };
  RowZones<B> out;
  if (law == RowLaw::given || law == RowLaw::elliptic) {
    out.code = out.stiff =
        one_where(law == RowLaw::given ? at.f[row] > zero : at.diagonal[row] != zero);
    if (law == RowLaw::given) return out;
    Mask<S> slips(false);
    for (int k = 1; k < rows; ++k) slips = slips | (at.cross[row + k] != zero);
    out.code += B(2) * one_where(slips);
    return out;
  }
  for (int k = 0; k < rows; ++k) {
    const Mask<S> stiff = at.diagonal[row + k] != zero;
    const B is_stiff = one_where(stiff);
    B zone = is_stiff;
    if (law == RowLaw::pyramid && k > 0) {
      const S& side = at.cross[row + k];
      zone += is_stiff * (one_where(side > zero) + B(2) * one_where(side < zero));
    } else if (law == RowLaw::friction_loss) {
      const S& side = at.f[row + k];
      zone += (B(1) - is_stiff) * (B(2) * one_where(side > zero) + B(3) * one_where(side < zero));
    }
    out.code += B(Scalar<S>(1 << (2 * k))) * zone;
    out.stiff += is_stiff;
  }
  return out;
}

// The active set of a lane: a sum over its static rows and contacts, of hashes of
//   which one     its entry among the static rows, or its contact's pair and place
//   which zones   its rows are in
// One that changes a zone changes the sum, whatever others do, and one without force is not in it:
// it depends neither on rows nor on the order of slots that other lanes have.
template <int kCount>
class ActiveSets {
 public:
  // Those of a thing, in the lanes whose bit is set. code, stiff: (kCount)
  template <class T>
  CYCLOID_HD void add(std::uint64_t thing, unsigned lanes, const T* code, const T* stiff) {
    for (int l = 0; l < kCount; ++l) {  // a few vector operations
      const std::uint64_t here = lanes >> l & 1, zones = static_cast<std::uint64_t>(code[l]);
      const std::uint64_t hash = mixed_bits((thing << 16) + zones);
      sums_[l] += -(here & std::uint64_t(zones != 0)) & hash;
      rows_[l] += -static_cast<int>(here) & static_cast<int>(stiff[l]);
    }
  }
  CYCLOID_HD void write(LaneNote* notes) const {
    for (int l = 0; l < kCount; ++l) {
      notes[l].active_set = sums_[l];
      notes[l].counters[kActiveRows] = rows_[l];
    }
  }

 private:
  // SplitMix64's, so that sums of few rows do not meet.
  CYCLOID_HD static std::uint64_t mixed_bits(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t sums_[kCount] = {};
  int rows_[kCount] = {};
};

// Sets the notes' active sets (lanes). places: of the static rows' entries, -1 where the problem
// has none (static_rows.h).
template <class S>
CYCLOID_STAGE void note_active_sets(const ConstraintProblem<S>& problem,
                                    const ConstraintResponse<S>& at, std::span<const int> places,
                                    const ContactSpace<S>& contacts, LaneNote* notes) {
  using B = PlainScalar<S>;
  ActiveSets<kLanes<S>> sets;
  Scalar<S> code[kLanes<S>], stiff[kLanes<S>];
  const auto has_zones = [&](const RowZones<B>& zones) {
    if (!any(zones.code > B(0))) return false;
    store(code, zones.code);
    store(stiff, zones.stiff);
    return true;
  };
  int g = 0;
  for (std::size_t entry = 0; entry < places.size(); ++entry) {
    const int row = places[entry];
    if (row < 0) continue;
    const bool diagonal = row < problem.diagonals;
    const RowGroup group =
        diagonal ? RowGroup{problem.diagonal[row].law, 1, row} : problem.group[g++];
    RowZones<B> zones = row_zones(at, group.law, row, group.rows);
    if (diagonal) {  // the other end of a range is another zone
      const Mask<S> upper = problem.sign[row] < S(0);
      zones.code += select(upper, B(4) * zones.code, B(0));
    }
    if (has_zones(zones)) sets.add(2 * entry, kAllLanes<S>, code, stiff);
  }
  const int first = problem.groups - contacts.slots;
  for (int slot = 0; slot < contacts.slots; ++slot) {
    const RowGroup& group = problem.group[first + slot];
    if (!has_zones(row_zones(at, group.law, problem.group_row(first + slot), group.rows))) continue;
    for (int i = 0; i < contacts.groups[slot]; ++i) {
      const LaneGroup& same = contacts.groups_of(slot)[i];
      const std::uint64_t pair =
          static_cast<std::uint64_t>(contacts.touched[same.owner].pair) * kMostTouches;
      const int place = contacts.touch[same.touch].place;
      sets.add(2 * (pair + static_cast<unsigned>(place)) + 1, same.bits, code, stiff);
    }
  }
  sets.write(notes);
}

// Adds to the notes (lanes), which a step clears before its first solve.
template <class S>
CYCLOID_HD void take_notes(const NewtonResult<S>& result, const ConstrainedSpace<S>& solver,
                           std::span<const int> places, const ContactSpace<S>& contacts,
                           LaneNote* notes) {
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
