#include "cycloid/base/instruction_set.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "cycloid/base/error.h"
#include "tests/support/new_process.h"

using cycloid::InstructionSet;

namespace {

std::string refusal(std::string_view wish, const std::vector<InstructionSet>& available) {
  try {
    cycloid::choose_instruction_set(wish, available);
  } catch (const cycloid::Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

std::string environment() {
  const char* wish = std::getenv("CYCLOID_INSTRUCTION_SET");
  return wish == nullptr ? "" : wish;
}

}  // namespace

TEST_CASE("available_instruction_sets: narrowest first, each once, some at least") {
  const auto& sets = cycloid::available_instruction_sets();
  REQUIRE(!sets.empty());
  CHECK(std::adjacent_find(sets.begin(), sets.end(), std::greater_equal<>()) == sets.end());
}

TEST_CASE("choose_instruction_set: the wish, or the widest") {
  const std::vector<InstructionSet> all = {InstructionSet::portable, InstructionSet::v3,
                                           InstructionSet::v4};
  CHECK(cycloid::choose_instruction_set("", all) == InstructionSet::v4);
  CHECK(cycloid::choose_instruction_set("", {InstructionSet::portable}) ==
        InstructionSet::portable);
  for (const InstructionSet set : all)
    CHECK(cycloid::choose_instruction_set(name(set), all) == set);
}

TEST_CASE("choose_instruction_set: refuses with the choices") {
  const std::vector<InstructionSet> two = {InstructionSet::portable, InstructionSet::v3};
  CHECK(refusal("avx2", two) == "unknown instruction set \"avx2\"; choose one of [portable, v3]");
  const std::string text = refusal("v4", two);
  CHECK(text.find("\"v4\" is not available") != std::string::npos);
  CHECK(text.ends_with("choose one of [portable, v3]"));
}

TEST_CASE("active_instruction_set: what the environment wishes, here and now") {
  CHECK(cycloid::active_instruction_set() ==
        cycloid::choose_instruction_set(environment(), cycloid::available_instruction_sets()));
}

TEST_CASE("active_instruction_set: follows CYCLOID_INSTRUCTION_SET in a new process") {
  const auto status = [](std::string_view wish) {
    return cycloid::test::status_of_new_process(
        cycloid::message("CYCLOID_INSTRUCTION_SET=", wish),
        "active_instruction_set: what the environment wishes*");
  };
  for (const InstructionSet set : cycloid::available_instruction_sets())
    CHECK(status(name(set)) == 0);
  CHECK(status("avx2") == 1);
}

TEST_CASE("ScopedInstructionSet: in use while it lives, also when nested") {
  const InstructionSet before = cycloid::active_instruction_set();
  for (const InstructionSet set : cycloid::available_instruction_sets()) {
    const cycloid::ScopedInstructionSet outer(set);
    CHECK(cycloid::active_instruction_set() == set);
    for (const InstructionSet other : cycloid::available_instruction_sets()) {
      const cycloid::ScopedInstructionSet inner(other);
      CHECK(cycloid::active_instruction_set() == other);
    }
    CHECK(cycloid::active_instruction_set() == set);
  }
  CHECK(cycloid::active_instruction_set() == before);
}

TEST_CASE("ScopedInstructionSet: refuses a set that is not available, and changes nothing") {
  const InstructionSet before = cycloid::active_instruction_set();
  const auto& sets = cycloid::available_instruction_sets();
  for (const InstructionSet set :
       {InstructionSet::portable, InstructionSet::v3, InstructionSet::v4})
    if (std::find(sets.begin(), sets.end(), set) == sets.end())
      CHECK_THROWS_AS(cycloid::ScopedInstructionSet{set}, cycloid::Error);
  CHECK(cycloid::active_instruction_set() == before);
}
