#include "cycloid/base/instruction_set.h"

#include <array>
#include <atomic>
#include <cstdlib>

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/error.h"
#include "cycloid/base/processor.h"

namespace cycloid::inline base {

namespace {

constexpr std::array kAll = {InstructionSet::portable, InstructionSet::v3, InstructionSet::v4};

constexpr bool compiled_in(InstructionSet set) {
  switch (set) {
#ifdef CYCLOID_HAS_V3
    case InstructionSet::v3: return true;
#endif
#ifdef CYCLOID_HAS_V4
    case InstructionSet::v4: return true;
#endif
#ifdef CYCLOID_HAS_PORTABLE
    case InstructionSet::portable: return true;
#endif
    default: return false;
  }
}

bool supported_here(InstructionSet set) {
  switch (set) {
    case InstructionSet::v3: return runs_v3();
    case InstructionSet::v4: return runs_v4();
    default: return true;
  }
}

std::vector<InstructionSet> find_available() {
  std::vector<InstructionSet> found;
  for (const InstructionSet set : kAll)
    if (compiled_in(set) && supported_here(set)) found.push_back(set);
  if (found.empty())
    throw Error(
        "this build of Cycloid has no instruction set that this processor supports; build it with "
        "all of them: make build, or cmake -DCYCLOID_INSTRUCTION_SETS=all");
  return found;
}

void require_available(InstructionSet set, const std::vector<InstructionSet>& available) {
  for (const InstructionSet other : available)
    if (other == set) return;
  throw Error(message("instruction set \"", set,
                      "\" is not available: not compiled in (make build compiles all), or not "
                      "supported by this processor; "
                      "choose one of ",
                      available));
}

// The set in use; kUndecided until somebody asks.
constexpr int kUndecided = -1;
std::atomic<int> active{kUndecided};

}  // namespace

std::string_view name(InstructionSet set) {
  switch (set) {
    case InstructionSet::portable: return "portable";
    case InstructionSet::v3: return "v3";
    case InstructionSet::v4: return "v4";
  }
  return "unknown";
}

const std::vector<InstructionSet>& available_instruction_sets() {
  static const std::vector<InstructionSet> available = find_available();
  return available;
}

InstructionSet choose_instruction_set(std::string_view wish,
                                      const std::vector<InstructionSet>& available) {
  if (wish.empty()) return available.back();
  for (const InstructionSet set : kAll) {
    if (wish != name(set)) continue;
    require_available(set, available);
    return set;
  }
  throw Error(message("unknown instruction set \"", wish, "\"; choose one of ", available));
}

InstructionSet active_instruction_set() {
  const int known = active.load(std::memory_order_relaxed);
  if (known != kUndecided) return static_cast<InstructionSet>(known);
  const char* wish = std::getenv("CYCLOID_INSTRUCTION_SET");
  const InstructionSet chosen =
      choose_instruction_set(wish == nullptr ? "" : wish, available_instruction_sets());
  // A scope opened meanwhile on another thread keeps the last word.
  int undecided = kUndecided;
  active.compare_exchange_strong(undecided, static_cast<int>(chosen));
  return static_cast<InstructionSet>(active.load());
}

ScopedInstructionSet::ScopedInstructionSet(InstructionSet set)
    : previous_(active_instruction_set()) {
  require_available(set, available_instruction_sets());
  active.store(static_cast<int>(set));
}

ScopedInstructionSet::~ScopedInstructionSet() { active.store(static_cast<int>(previous_)); }

}  // namespace cycloid::inline base
