// schedule.h: which states to keep and which steps to repeat, when not all states fit.
//
// T steps lead from state 0 to state T; step k leads from state k to state k+1 and needs state k to
// be reversed. At most n snapshots of states are kept, the one of state 0 included. Besides them
// there is one working state, which advances. Counted are advances of the working state by a step;
// what the pullback of a step evaluates itself is not counted.
//
//   beta(s, r) = (s + r)! / (s! r!)                                                (1)
//   t(n, T)    = r T - beta(n + 1, r - 1)  where beta(n, r - 1) < T <= beta(n, r)  (2)
//
// (2) is the smallest possible number of advances (Griewank1992; GriewankWalther2000, "revolve"),
// and no step is advanced more than r times. It is reached by splitting: with s snapshots at hand,
// one of them at the first state of l steps, advance by m, keep a snapshot there, reverse the last
// l - m steps with s - 1 snapshots, then the first m with s. Every m is optimal that has
//
//   max(beta(s, r-2), l - beta(s-1, r)) <= m <= min(beta(s, r-1), l - beta(s-1, r-1))  (3)
//
// because t(s, ·) is convex and rises by r per step between beta(s, r-1) and beta(s, r): within
// (3), a step more on either side costs the same. The forward run, which the caller makes anyway,
// contains the first T - 1 advances. Hence
//
//   recomputed = t(n, T) - (T - 1)                                                 (4)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cycloid::inline adjoint {

// Counts saturate here instead of overflowing.
inline constexpr std::int64_t kCountMax = INT64_MAX;

// (1), saturating: the most steps that so many snapshots can reverse when none is advanced more
// often than `repetitions`. 0 when an argument is negative.
std::int64_t reversible_steps(std::int64_t snapshots, std::int64_t repetitions);

// (2), saturating: advances needed to reverse T >= 0 steps with n >= 1 snapshots.
std::int64_t optimal_forward_steps(std::int64_t steps, std::int64_t snapshots);

// (3), the largest: where to put the next snapshot within `steps` >= 2 steps, with `snapshots` >= 2
// of which one is at their first state.
std::int64_t optimal_split(std::int64_t steps, std::int64_t snapshots);

struct ScheduleAction {
  enum class Kind { restore, advance, store, reverse };
  Kind kind;
  int slot;           // restore: slot to working state; store: working state to slot; else -1
  std::int64_t from;  // the working state's number before the action; reverse: the step
  std::int64_t to;    // the working state's number after it; -1 after a reverse
};

// Drives the reversal of T steps with n snapshots, in slots 0 … n-1:
//
//   BinomialSchedule schedule(T, n);
//   // Forward run: put state stored_steps()[i] into slot i, and keep state T-1 as working state.
//   while (const auto action = schedule.next()) …
//
// restore:  copy the slot to the working state
// advance:  step the working state until it is state `to`
// store:    copy the working state to the slot, whose content is no longer needed
// reverse:  pull the cotangent back through step `from`; the working state is its state
// Steps are reversed in the order T-1, …, 0. After a reverse the working state may be spoilt.
class BinomialSchedule {
 public:
  BinomialSchedule(std::int64_t steps, std::int64_t snapshots);

  // Strictly increasing, beginning with 0, at most n; empty when T = 0.
  const std::vector<std::int64_t>& stored_steps() const { return stored_steps_; }

  // (4): the sum over all advances that next() will ask for.
  std::int64_t recomputed_steps() const;

  std::optional<ScheduleAction> next();

 private:
  static constexpr std::int64_t kNone = -1;

  std::int64_t steps_;
  std::int64_t snapshots_;
  std::vector<std::int64_t> stored_steps_;

  std::int64_t remaining_;              // steps not yet reversed
  std::int64_t working_;                // number of the working state, or kNone
  std::vector<std::int64_t> snapshot_;  // snapshot_[slot]: number of the state there, increasing
};

}  // namespace cycloid::inline adjoint
