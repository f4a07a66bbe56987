#include "cycloid/base/processor.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cycloid/base/instruction_set.h"

using cycloid::InstructionSet;

TEST_CASE("processor: one that runs the wide set runs the narrower one") {
  CHECK((!cycloid::runs_v4() || cycloid::runs_v3()));
}

TEST_CASE("processor: a set is available only where the processor runs it") {
  const auto& sets = cycloid::available_instruction_sets();
  const auto has = [&](InstructionSet set) {
    return std::find(sets.begin(), sets.end(), set) != sets.end();
  };
  CHECK((!has(InstructionSet::v3) || cycloid::runs_v3()));
  CHECK((!has(InstructionSet::v4) || cycloid::runs_v4()));
}
