#include "cycloid/adjoint/engine/memory.h"

#include <doctest/doctest.h>

#include "cycloid/adjoint/engine/schedule.h"
#include "cycloid/base/error.h"
#include "tests/support/rollout_cases.h"

namespace cycloid::memory_test {

using test::contains;
using test::text_of_error;

// 10 chunks on 2 threads; a state of 100 bytes and a record of 300.
TapeCosts costs(std::int64_t steps, bool costly = false) {
  return {steps, 10, 2, 100, 300, costly};
}

std::uint64_t total(const TapePlan& plan) { return plan.bytes + plan.working_bytes; }

TEST_CASE("plan_tape: all keeps T states, and records only where they are costly") {
  const TapePlan cheap = plan_tape(Memory::all(), costs(50));
  CHECK(cheap.states_kept(50) == 50);
  CHECK(!cheap.keep_records);
  CHECK(cheap.bytes == 10 * 50 * 100);
  CHECK(contains(cheap.words, "all 50 states"));
  const TapePlan costly = plan_tape(Memory::all(), costs(50, true));
  CHECK(costly.keep_records);
  CHECK(costly.bytes == 10 * 50 * 100);
  CHECK(costly.chunk_record_bytes == INT64_MAX);
  CHECK(costly.measured(500, 500, 200000) == "all 50 states and records (200 kB)");
  CHECK(costly.measured(31, 500, 62000) == "all 50 states and 31 of 500 records (62 kB)");
}

TEST_CASE("plan_tape: sqrt keeps the square root of T states and works on as many, rounded up") {
  for (const std::int64_t T : {1, 2, 3, 4, 5, 16, 17, 99, 100, 101, 1000000, 1000001}) {
    const TapePlan plan = plan_tape(Memory::sqrt(), costs(T));
    const std::int64_t L = plan.segment, kept = plan.states_kept(T);
    CAPTURE(T);
    CHECK(L * L >= T);
    CHECK((L - 1) * (L - 1) < T);
    CHECK(kept * L >= T);
    CHECK((kept - 1) * L < T);
    CHECK(plan.bytes == static_cast<std::uint64_t>(10 * kept * 100));
    if (L > 1) CHECK(plan.working_bytes >= static_cast<std::uint64_t>(2 * L * 100));
  }
}

TEST_CASE("plan_tape: as many checkpoints as asked for, but never more than steps") {
  CHECK(plan_tape(Memory::checkpoints(7), costs(100)).snapshots == 7);
  CHECK(plan_tape(Memory::checkpoints(1), costs(100)).snapshots == 1);
  const TapePlan many = plan_tape(Memory::checkpoints(1000), costs(100));
  CHECK(many.snapshots == 100);
  // The state before the last step is kept too: the way back begins there.
  CHECK(many.states_kept(100) == 101);
  CHECK(many.bytes == 10 * 101 * 100);
  // Each thread works on a copy of the checkpoints, with two states and a record.
  CHECK(many.working_bytes == 2 * (102 * 100 + 300));
}

TEST_CASE("plan_tape: a budget is kept to, and more of it never costs more repeated steps") {
  for (const bool costly : {false, true}) {
    const TapeCosts c = costs(200, costly);
    std::int64_t repeated = INT64_MAX;
    for (std::int64_t budget = 4000; budget < 1200000; budget += budget / 7) {
      CAPTURE(budget);
      const TapePlan plan = plan_tape(Memory::budget(budget), c);
      CHECK(total(plan) <= static_cast<std::uint64_t>(budget));
      // Steps run again, those that only make a record included.
      const std::int64_t now = plan.snapshots > 0
                                   ? optimal_forward_steps(200, plan.snapshots) - 199 + 200
                               : plan.keep_records ? 0
                                                   : 200;
      CHECK(now <= repeated);
      repeated = now;
    }
    CHECK(repeated == (costly ? 0 : 200));
  }
}

TEST_CASE("plan_tape: a budget too small for one step names itself and what is needed") {
  const TapeCosts c = costs(1000);
  const std::uint64_t least = total(plan_tape(Memory::checkpoints(1), c));
  CHECK(plan_tape(Memory::budget(static_cast<std::int64_t>(least)), c).snapshots == 1);
  const std::string text = text_of_error(
      [&] { (void)plan_tape(Memory::budget(static_cast<std::int64_t>(least) - 1), c); });
  CHECK(contains(text, "too small"));
  CHECK(contains(text, "one checkpoint"));
  CHECK(contains(text, "fewer environments"));
  for (const std::int64_t nothing : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    CAPTURE(nothing);
    CHECK_THROWS_AS((void)plan_tape(Memory::budget(nothing), c), Error);
  }
}

TEST_CASE("plan_tape: Truncate cuts at its own length and works window by window") {
  const TapePlan plan = plan_tape(Memory::truncate(30), costs(100));
  CHECK(plan.cut == 30);
  CHECK(plan.segment == 30);
  CHECK(contains(plan.words, "cut every 30 steps"));
  CHECK(plan_tape(Memory::truncate(1000), costs(100)).segment == 100);
}

TEST_CASE("plan_tape: numbers below one are refused") {
  std::string text = text_of_error([] { (void)plan_tape(Memory::checkpoints(0), costs(10)); });
  CHECK(contains(text, "at least 1 checkpoint"));
  CHECK(contains(text, "got 0"));
  text = text_of_error([] { (void)plan_tape(Memory::truncate(0), costs(10)); });
  CHECK(contains(text, "Truncate(k): k must be at least 1; got 0"));
  CHECK_THROWS_AS((void)plan_tape(Memory::checkpoints(-2), costs(10)), Error);
  CHECK_THROWS_AS((void)plan_tape(Memory::truncate(-2), costs(10)), Error);
}

TEST_CASE("plan_tape: auto says what it chose, keeps costly records, and stays within its budget") {
  const TapePlan cheap = plan_tape(Memory::automatic(), costs(10000));
  CHECK(cheap.segment == 100);
  CHECK(contains(cheap.words, "100 checkpoints, one every 100 steps"));
  CHECK(plan_tape(Memory::automatic(), costs(10000, true)).keep_records);
  const TapeCosts huge{1000000, 1000, 2, 100000, 300000, true};
  const TapePlan plan = plan_tape(Memory::automatic(), huge);
  CHECK(!plan.keep_records);
  CHECK(total(plan) <= static_cast<std::uint64_t>(kAutomaticBudget));
  CHECK(contains(plan.words, "binomial"));
}

TEST_CASE("plan_tape: a million steps of one small environment take less than 16 MB in all forms") {
  const TapeCosts lone{1000000, 1, 1, 4 * 8, 24 * 8, false};
  for (const Memory& memory :
       {Memory::automatic(), Memory::sqrt(), Memory::checkpoints(1000), Memory::budget(1000000)}) {
    CHECK(total(plan_tape(memory, lone)) < 16e6);
  }
}

TEST_CASE("Memory::parse: reads the words and budgets of the contract, and says what it expects") {
  CHECK(Memory::parse("auto").kind == Memory::Kind::automatic);
  CHECK(Memory::parse("all").kind == Memory::Kind::all);
  CHECK(Memory::parse("sqrt").kind == Memory::Kind::sqrt);
  const Memory budget = Memory::parse("64MB");
  CHECK(budget.kind == Memory::Kind::budget);
  CHECK(budget.value == 64000000);
  const std::string text = text_of_error([] { (void)Memory::parse("some"); });
  CHECK(contains(text, "\"auto\", \"all\", \"sqrt\""));
  CHECK(contains(text, "got \"some\""));
  // More than a signed number holds is as good as everything, and not less than nothing.
  CHECK(Memory::parse("18000000TB").value > 0);
}

}  // namespace cycloid::memory_test
