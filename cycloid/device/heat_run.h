// The run of a box of heat through the steps of a StepCall, forward and back: what this machine
// tells a device to do, kernel after kernel (heat_kernels.h).
//
// The call has one environment. `Cards` runs kernels of cells, here (host_api.cpp) or on a card
// (cuda/heat.cu):
//   run(blocks, kernel)         kernels, copies and stores happen in the order of their calls
//   copy(to, from, numbers)     there
//   clear(to, numbers)
//   fetch(to, from, count)      from there, waits;   store(to, from, count)   to there
//   error()                     what went wrong, or null
// Functions return null, or what went wrong.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "cycloid/device/heat_kernels.h"

namespace cycloid::inline device {

// Kernels that are sent before the host looks, and how often a residual that was not believed is
// worked on again.
inline constexpr int kHeatPatience = 16, kHeatRestarts = 4;

template <class Cards>
class HeatRun {
 public:
  HeatRun(const StepCall<double>& call, Cards& cards)
      : c_(call),
        cards_(cards),
        box_(fetched(static_cast<const HeatImage*>(call.image))),
        at_(call.scratch, box_.cells, box_.sides),
        blocks_(cell_blocks(box_.cells)),
        saved_(call.saved ? static_cast<std::size_t>(call.steps + 1) : 0) {
    cards_.store(&at_.solve->arrived, &kNone, 1);
    if (call.saved) cards_.fetch(saved_.data(), call.saved, call.steps + 1);
  }

  const char* forward() {
    EnvironmentNote note;
    if (!c_.begins) note = fetched(c_.notes);
    const EnvironmentNote known = note;
    if (c_.x0) cards_.copy(c_.x, c_.x0, box_.cells);
    if (c_.first_step == 0) save(0);
    for (std::int64_t k = 0; k < c_.steps && !cards_.error(); ++k) {
      if (c_.states_kept) cards_.copy(c_.states_kept + k * box_.cells, c_.x, box_.cells);
      if (note.failed < 0) step(k, note);
      save(k + 1);
    }
    cards_.store(c_.notes, &note, 1);
    if (c_.totals) {
      RunTotals totals = fetched(c_.totals);
      add_totals(known, note, totals);
      cards_.store(c_.totals, &totals, 1);
    }
    return cards_.error();
  }

  const char* backward() {
    EnvironmentNote note = fetched(c_.notes);
    if (c_.last) note.bad_step = -1, note.bad_number = -1;
    if (fetched(c_.left_out)) {
      if (c_.x0_bar) cards_.clear(c_.x0_bar, box_.cells);
      cards_.store(c_.notes, &note, 1);
      return cards_.error();
    }
    if (c_.last) {
      note.unsolved = -1, note.unsolved_count = 0, note.residual = 0;  // by a way back before
      cards_.clear(c_.x_bar, box_.cells);
      add_state_bar(c_.steps);
    }
    for (std::int64_t k = c_.steps - 1; k >= 0 && note.unsolved < 0; --k) {
      pull(k, note);
      if (cards_.error()) return cards_.error();
      add_state_bar(k);
    }
    if (c_.x0_bar) cards_.copy(c_.x0_bar, c_.x_bar, box_.cells);
    cards_.store(c_.notes, &note, 1);
    const int bad = 1;
    if (note.bad_step >= 0) cards_.store(c_.some_bad, &bad, 1);
    return cards_.error();
  }

 private:
  static constexpr unsigned kNone = 0;

  template <class X>
  X fetched(const X* from) {
    X out{};
    cards_.fetch(&out, from, 1);
    return out;
  }

  // From the state in c.x to the next.
  void step(std::int64_t k, EnvironmentNote& note) {
    make_matrix(c_.x);
    const HeatSolve found = solve(c_.x);
    if (found.bad != 0 || !std::isfinite(found.rr)) {
      note.failed = c_.first_step + k;
      return;
    }
    LaneNote said;
    if (!found.solved()) said.residual = std::sqrt(found.rr / found.bb);
    take_note(said, c_.first_step + k, note);
    cards_.copy(c_.x, at_.y, box_.cells);
    if (c_.records) cards_.copy(c_.records + k * box_.cells, at_.y, box_.cells);
  }

  // From the cotangent of the next state in c.x_bar to that of step k. An environment whose solve
  // stops short here was solved on its way there, else it would be left out: `unsolved` then says
  // that the cotangent at bad_step is not known.
  void pull(std::int64_t k, EnvironmentNote& note) {
    const double* const x = c_.states_kept + k * box_.cells;
    make_matrix(x);
    const HeatSolve found = solve(c_.x_bar);
    if (std::isfinite(found.rr) && !found.solved() && !cards_.error()) {
      note.unsolved = c_.first_step + k, note.unsolved_count = 1;
      note.residual = std::sqrt(found.rr / found.bb);
      if (note.bad_step < 0) note.bad_step = note.unsolved;
      return;
    }
    cards_.run(blocks_, HeatGradient{box_, at_, x, c_.params, c_.records + k * box_.cells, c_.x_bar,
                                     c_.params_bar});
    if (fetched(&at_.solve->bad) == 0 || note.bad_step >= 0 || cards_.error()) return;
    std::vector<double> bar(static_cast<std::size_t>(box_.cells));
    cards_.fetch(bar.data(), c_.x_bar, box_.cells);
    if (cards_.error()) return;
    note.bad_step = c_.first_step + k;
    const auto first =
        std::find_if_not(bar.begin(), bar.end(), [](double v) { return std::isfinite(v); });
    if (first != bar.end()) note.bad_number = static_cast<int>(first - bar.begin());
  }

  void make_matrix(const double* x) { cards_.run(blocks_, HeatMatrix{box_, at_, x, c_.params}); }

  // A y = b.
  HeatSolve solve(const double* b) {
    HeatSolve found;
    int from = 0, more = expected_;
    cards_.run(blocks_, HeatResidual{box_, at_, b, true});
    for (int again = 0; again <= kHeatRestarts; ++again) {
      do {
        for (; more > 0; --more, from = 1 - from) {
          cards_.run(blocks_, HeatDirection{box_, at_, from});
          cards_.run(blocks_, HeatAdvance{box_, at_, 1 - from});
        }
        found = fetched(at_.solve);
        more = kHeatPatience;
      } while (!found.done && !cards_.error());
      if (found.bad != 0 || cards_.error()) return found;
      cards_.run(blocks_, HeatResidual{box_, at_, b, false});
      found = fetched(at_.solve);
      if (found.done || found.iterations >= kMostHeatIterations) break;
    }
    expected_ = found.iterations + 1;
    return found;
  }

  void save(std::int64_t k) {
    if (!c_.saved || !c_.states || saved_[static_cast<std::size_t>(k)] < 0) return;
    cards_.copy(c_.states + saved_[static_cast<std::size_t>(k)] * box_.cells, c_.x, box_.cells);
  }
  void add_state_bar(std::int64_t k) {
    if (!c_.saved || saved_[static_cast<std::size_t>(k)] < 0) return;
    const double* const bar = c_.states_bar + saved_[static_cast<std::size_t>(k)] * box_.cells;
    cards_.run(blocks_, HeatAdd{box_.cells, bar, c_.x_bar});
  }

  const StepCall<double>& c_;
  Cards& cards_;
  HeatImage box_;
  HeatSpace at_;
  std::int64_t blocks_;
  std::vector<std::int64_t> saved_;
  int expected_ = kHeatPatience;  // iterations of a solve, by the one before
};

}  // namespace cycloid::inline device
