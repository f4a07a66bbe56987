#include "cycloid/adjoint/engine/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cycloid/base/error.h"

namespace cycloid::schedule_test {

using cycloid::BinomialSchedule;
using cycloid::optimal_forward_steps;
using cycloid::optimal_split;
using cycloid::reversible_steps;
using Kind = cycloid::ScheduleAction::Kind;

// What an obedient caller counts. `advanced` is -1 when an action made no sense.
struct Count {
  std::int64_t advanced = 0;
  std::int64_t stored = 0;
  std::int64_t most_snapshots = 0;
};

// Carries out a schedule on states that are their own numbers. Every action has to be possible
// with what the caller has: slots below n, full when restored, a working state at the right place.
Count carry_out(std::int64_t steps, std::int64_t snapshots) {
  const Count wrong{.advanced = -1};
  BinomialSchedule schedule(steps, snapshots);
  std::vector<std::optional<std::int64_t>> slot(std::min(snapshots, steps + 1));
  Count count;

  const auto& stored = schedule.stored_steps();
  if (static_cast<std::int64_t>(stored.size()) > snapshots) return wrong;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (i == 0 ? stored[i] != 0 : stored[i] <= stored[i - 1]) return wrong;
    if (i > 0 && stored[i] >= steps - 1) return wrong;  // state T-1 is at hand without
    slot[i] = stored[i];
  }
  std::optional<std::int64_t> working = steps - 1;
  std::int64_t remaining = steps;
  while (const auto action = schedule.next()) {
    const bool has_slot = 0 <= action->slot && action->slot < static_cast<int>(slot.size());
    switch (action->kind) {
      case Kind::restore:
        if (!has_slot || slot[action->slot] != action->to) return wrong;
        working = slot[action->slot];
        break;
      case Kind::advance:
        if (working != action->from || action->to <= action->from) return wrong;
        count.advanced += action->to - action->from;
        working = action->to;
        break;
      case Kind::store:
        // Overwrites only what lies behind the steps that remain.
        if (!has_slot || working != action->from) return wrong;
        if (slot[action->slot] && *slot[action->slot] < remaining) return wrong;
        slot[action->slot] = working;
        ++count.stored;
        break;
      case Kind::reverse:
        if (working != action->from || action->from != remaining - 1) return wrong;
        working.reset();
        --remaining;
        break;
    }
    if (steps <= 1000) {
      const auto needed = [&](const auto& s) { return s && *s < remaining; };
      count.most_snapshots =
          std::max<std::int64_t>(count.most_snapshots, std::ranges::count_if(slot, needed));
    }
  }
  return remaining == 0 ? count : wrong;
}

// t(n, T) from its definition, the best over all places of the next snapshot.
std::vector<std::vector<std::int64_t>> best_by_search(int most_snapshots, int most_steps) {
  std::vector t(most_snapshots + 1, std::vector<std::int64_t>(most_steps + 1, 0));
  for (int n = 1; n <= most_snapshots; ++n)
    for (int steps = 2; steps <= most_steps; ++steps) {
      t[n][steps] = std::int64_t{steps} * (steps - 1) / 2;
      for (int m = 1; n > 1 && m < steps; ++m)
        t[n][steps] = std::min(t[n][steps], m + t[n - 1][steps - m] + t[n][m]);
    }
  return t;
}

TEST_CASE("reversible_steps: the binomial coefficients, saturating") {
  CHECK(reversible_steps(3, 0) == 1);
  CHECK(reversible_steps(0, 3) == 1);
  CHECK(reversible_steps(1, 5) == 6);
  CHECK(reversible_steps(3, 4) == 35);
  CHECK(reversible_steps(10, 10) == 184756);
  CHECK(reversible_steps(33, 33) == 7219428434016265740);  // the last that fits on the diagonal
  CHECK(reversible_steps(34, 33) == cycloid::kCountMax);
  CHECK(reversible_steps(-1, 4) == 0);
  CHECK(reversible_steps(4, -1) == 0);
  CHECK(reversible_steps(cycloid::kCountMax, 0) == 1);
  CHECK(reversible_steps(cycloid::kCountMax, 1) == cycloid::kCountMax);
  for (int s = 1; s < 20; ++s)
    for (int r = 1; r < 20; ++r)
      CHECK(reversible_steps(s, r) == reversible_steps(s - 1, r) + reversible_steps(s, r - 1));
}

TEST_CASE("optimal_forward_steps: known values") {
  CHECK(optimal_forward_steps(0, 1) == 0);
  CHECK(optimal_forward_steps(1, 1) == 0);
  CHECK(optimal_forward_steps(10, 1) == 45);   // one snapshot: from the start every time
  CHECK(optimal_forward_steps(10, 10) == 9);   // a snapshot for each: the forward run alone
  CHECK(optimal_forward_steps(10, 9) == 9);    // the last state needs none
  CHECK(optimal_forward_steps(10, 3) == 15);   // r = 2: 20 - beta(4, 1)
  CHECK(optimal_forward_steps(56, 3) == 210);  // r = 5, the end of its range: 280 - beta(4, 4)
  CHECK(optimal_forward_steps(1'000'000, 1) == 499'999'500'000);
  CHECK(optimal_forward_steps(cycloid::kCountMax, 1) == cycloid::kCountMax);
  CHECK(optimal_forward_steps(10, cycloid::kCountMax) == 9);
}

TEST_CASE("optimal_forward_steps: is what a search over all schedules finds") {
  constexpr int kSnapshots = 9, kSteps = 120;
  const auto best = best_by_search(kSnapshots, kSteps);
  for (int n = 1; n <= kSnapshots; ++n)
    for (int steps = 0; steps <= kSteps; ++steps)
      CHECK(optimal_forward_steps(steps, n) == best[n][steps]);
}

TEST_CASE("optimal_split: reaches the optimum, and lies inside") {
  for (std::int64_t n = 2; n <= 9; ++n)
    for (std::int64_t steps = 2; steps <= 400; ++steps) {
      const std::int64_t m = optimal_split(steps, n);
      REQUIRE(m >= 1);
      REQUIRE(m < steps);
      CHECK(m + optimal_forward_steps(steps - m, n - 1) + optimal_forward_steps(m, n) ==
            optimal_forward_steps(steps, n));
    }
}

TEST_CASE("BinomialSchedule: reverses each step once, in order, from its state, at the optimum") {
  const auto check = [](std::int64_t steps, std::int64_t n) {
    CAPTURE(steps);
    CAPTURE(n);
    const Count count = carry_out(steps, n);
    const std::int64_t recomputed =
        optimal_forward_steps(steps, n) - std::max<std::int64_t>(steps - 1, 0);
    CHECK(count.advanced == recomputed);
    CHECK(BinomialSchedule(steps, n).recomputed_steps() == recomputed);
    CHECK(count.most_snapshots <= n);
  };
  for (std::int64_t steps = 0; steps <= 60; ++steps)
    for (std::int64_t n = 1; n <= 12; ++n) check(steps, n);
  check(100, 5);
  check(1000, 10);
  check(1000, 1);
  check(1000, 2);
  check(1000, 1000);
  check(1000, cycloid::kCountMax);
  check(1'000'000, 20);
}

TEST_CASE("BinomialSchedule: with a snapshot for each step nothing is advanced or stored again") {
  for (const std::int64_t n : {9, 10, 50}) {
    const Count count = carry_out(10, n);
    CHECK(count.advanced == 0);
    CHECK(count.stored == 0);
  }
}

TEST_CASE("BinomialSchedule: no steps need no action; no snapshots are a fault") {
  BinomialSchedule none(0, 3);
  CHECK(none.stored_steps().empty());
  CHECK_FALSE(none.next());
  CHECK(none.recomputed_steps() == 0);
  CHECK_THROWS_AS(BinomialSchedule(10, 0), cycloid::InternalError);
  CHECK_THROWS_AS(BinomialSchedule(-1, 3), cycloid::InternalError);
}

}  // namespace cycloid::schedule_test
