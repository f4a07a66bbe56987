#include "cycloid/adjoint/engine/schedule.h"

#include <algorithm>
#include <numeric>

#include "cycloid/base/check.h"

namespace cycloid::inline adjoint {

namespace {

constexpr auto beta = reversible_steps;  // as the papers call it

// The smallest r >= 0 with beta(snapshots, r) >= steps.
std::int64_t least_repetitions(std::int64_t steps, std::int64_t snapshots) {
  std::int64_t high = 1;
  while (beta(snapshots, high) < steps) high = high < steps / 2 ? 2 * high : steps;
  std::int64_t low = 0;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (beta(snapshots, middle) < steps) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace

std::int64_t reversible_steps(std::int64_t snapshots, std::int64_t repetitions) {
  if (snapshots < 0 || repetitions < 0) return 0;
  const std::int64_t s = std::max(snapshots, repetitions), r = std::min(snapshots, repetitions);
  if (s > kCountMax - r) return r == 0 ? 1 : kCountMax;
  std::int64_t product = 1;  // beta(s, i), from beta(s, i-1) (s+i) / i without overflow between
  for (std::int64_t i = 1; i <= r; ++i) {
    const std::int64_t common = std::gcd(product, i);
    if (__builtin_mul_overflow(product / common, (s + i) / (i / common), &product))
      return kCountMax;
  }
  return product;
}

std::int64_t optimal_forward_steps(std::int64_t steps, std::int64_t snapshots) {
  CYCLOID_CHECK(steps >= 0 && snapshots >= 1, steps, snapshots);
  if (steps <= 1) return 0;
  snapshots = std::min(snapshots, steps);  // more are of no use
  const std::int64_t r = least_repetitions(steps, snapshots);
  std::int64_t total = 0;
  if (__builtin_mul_overflow(r, steps, &total)) return kCountMax;
  return total - beta(snapshots + 1, r - 1);  // (2)
}

std::int64_t optimal_split(std::int64_t steps, std::int64_t snapshots) {
  CYCLOID_CHECK(steps >= 2 && snapshots >= 2, steps, snapshots);
  const std::int64_t r = least_repetitions(steps, snapshots);
  return std::min(beta(snapshots, r - 1), steps - beta(snapshots - 1, r - 1));  // (3)
}

BinomialSchedule::BinomialSchedule(std::int64_t steps, std::int64_t snapshots)
    : steps_(steps), snapshots_(snapshots), remaining_(steps), working_(steps - 1) {
  CYCLOID_CHECK(steps >= 0 && snapshots >= 1, steps, snapshots);
  if (steps == 0) return;
  stored_steps_.push_back(0);
  // A state that is reversed as soon as it is reached needs no snapshot.
  std::int64_t begin = 0;
  for (std::int64_t free = snapshots; free >= 2 && steps - begin >= 2; --free) {
    begin += optimal_split(steps - begin, free);
    if (begin == steps - 1) break;
    stored_steps_.push_back(begin);
  }
  snapshot_ = stored_steps_;
}

std::int64_t BinomialSchedule::recomputed_steps() const {
  return steps_ == 0 ? 0 : optimal_forward_steps(steps_, snapshots_) - (steps_ - 1);  // (4)
}

std::optional<ScheduleAction> BinomialSchedule::next() {
  using Kind = ScheduleAction::Kind;
  if (remaining_ == 0) return std::nullopt;
  const std::int64_t last = remaining_ - 1;
  const int top = static_cast<int>(snapshot_.size()) - 1;

  if (working_ == last) {
    --remaining_;
    working_ = kNone;
    if (snapshot_.back() == last) snapshot_.pop_back();
    return ScheduleAction{Kind::reverse, -1, last, kNone};
  }
  if (working_ == kNone) {
    working_ = snapshot_.back();
    return ScheduleAction{Kind::restore, top, kNone, working_};
  }
  if (working_ != snapshot_.back()) {
    snapshot_.push_back(working_);
    return ScheduleAction{Kind::store, top + 1, working_, working_};
  }
  const std::int64_t from = working_;
  const std::int64_t free = snapshots_ - top;  // the one at `from` included
  working_ = free == 1 ? last : from + optimal_split(remaining_ - from, free);
  return ScheduleAction{Kind::advance, -1, from, working_};
}

}  // namespace cycloid::inline adjoint
