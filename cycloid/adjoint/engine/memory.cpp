#include "cycloid/adjoint/engine/memory.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/byte_size.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

// Records of a segment are kept while they fit a second-level cache.
constexpr std::int64_t kSegmentRecordBytes = 512 * 1024;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t ceil_sqrt(std::int64_t T) {
  std::int64_t root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(T)));
  while (root * root < T) ++root;
  while (root > 1 && (root - 1) * (root - 1) >= T) --root;
  return root;
}

std::string plural(std::int64_t n, const char* noun) {
  return message(n, " ", noun, n == 1 ? "" : "s");
}

// For records: `each` bytes for every chunk.
TapePlan all(const TapeCosts& c, std::int64_t each) {
  TapePlan plan;
  plan.keep_records = each > 0;
  plan.chunk_record_bytes = each;
  plan.bytes = static_cast<std::uint64_t>(c.chunks * c.steps * c.state_bytes);
  plan.working_bytes = static_cast<std::uint64_t>(c.threads * c.record_bytes);
  plan.words = message("all ", plural(c.steps, "state"));
  return plan;
}

constexpr std::int64_t kNoLimit = INT64_MAX;

TapePlan segments(const TapeCosts& c, std::int64_t length) {
  TapePlan plan;
  plan.segment = std::clamp<std::int64_t>(length, 1, c.steps);
  if (plan.segment == 1) return all(c, 0);
  plan.segment_records = plan.segment * c.record_bytes <= kSegmentRecordBytes;
  plan.segment_record_bytes = plan.segment_records ? kSegmentRecordBytes : 0;
  plan.bytes =
      static_cast<std::uint64_t>(c.chunks * ceil_div(c.steps, plan.segment) * c.state_bytes);
  plan.working_bytes = static_cast<std::uint64_t>(
      c.threads *
      (plan.segment * c.state_bytes + (plan.segment_records ? plan.segment : 1) * c.record_bytes));
  plan.words =
      message(plural(ceil_div(c.steps, plan.segment), "checkpoint"), ", one every ",
              plural(plan.segment, "step"), plan.segment_records ? ", records per segment" : "");
  return plan;
}

TapePlan binomial(const TapeCosts& c, std::int64_t n) {
  n = std::min(n, c.steps);
  TapePlan plan;
  plan.snapshots = n;
  // One more state: the last one before the end, where the way back begins.
  plan.bytes = static_cast<std::uint64_t>(c.chunks * (n + 1) * c.state_bytes);
  plan.working_bytes =
      static_cast<std::uint64_t>(c.threads * ((n + 2) * c.state_bytes + c.record_bytes));
  plan.words = message(plural(n, "checkpoint"), " by the binomial schedule");
  return plan;
}

TapePlan backwards(const TapeCosts& c) {
  if (c.has_events) {
    throw Error(
        "memory \"reversible\": a law with events cannot be run backwards, since a reset forgets "
        "what was before it; use memory \"sqrt\" or a number of checkpoints");
  }
  if (!c.reversible) {
    throw Error(
        "memory \"reversible\" needs an integrator that can be run backwards: a law may have "
        "verlet or implicit_midpoint; steps of robots and of laws in Python forget where they "
        "came from, use memory \"sqrt\" for them");
  }
  TapePlan plan;
  plan.reversible = true;
  plan.bytes = static_cast<std::uint64_t>(c.chunks * c.state_bytes);
  plan.working_bytes = static_cast<std::uint64_t>(c.threads * (2 * c.state_bytes + c.record_bytes));
  plan.words = "the last state, and steps run backwards from it";
  return plan;
}

bool fits(const TapePlan& plan, std::int64_t budget) {
  return plan.bytes + plan.working_bytes <= static_cast<std::uint64_t>(budget);
}

TapePlan within(const TapeCosts& c, std::int64_t budget) {
  if (c.record_is_costly) {
    if (TapePlan plan = all(c, 0); fits(plan, budget)) {
      const std::int64_t spare =
          budget - static_cast<std::int64_t>(plan.bytes + plan.working_bytes);
      return all(c, spare / c.chunks);
    }
  }
  if (TapePlan plan = segments(c, ceil_sqrt(c.steps)); fits(plan, budget)) return plan;
  const TapePlan least = binomial(c, 1);
  if (!fits(least, budget)) {
    throw Error(message("a memory budget of ", print_byte_size(static_cast<std::uint64_t>(budget)),
                        " is too small: one checkpoint of this batch needs ",
                        print_byte_size(least.bytes + least.working_bytes),
                        "; give more, or roll out fewer environments at once"));
  }
  const std::int64_t spare = budget - static_cast<std::int64_t>(least.bytes + least.working_bytes);
  return binomial(c, 1 + spare / ((c.chunks + c.threads) * c.state_bytes));
}

TapePlan chosen(const Memory& memory, const TapeCosts& c) {
  switch (memory.kind) {
    case Memory::Kind::all: return all(c, c.record_is_costly ? kNoLimit : 0);
    case Memory::Kind::sqrt: return segments(c, ceil_sqrt(c.steps));
    case Memory::Kind::checkpoints:
      if (memory.value < 1) {
        throw Error(message("memory: at least 1 checkpoint is needed; got ", memory.value));
      }
      return binomial(c, memory.value);
    case Memory::Kind::truncate: {
      if (memory.value < 1) {
        throw Error(message("Truncate(k): k must be at least 1; got ", memory.value));
      }
      TapePlan plan = segments(c, memory.value);
      plan.cut = memory.value;
      plan.words += message("; the gradient is cut every ", plural(memory.value, "step"));
      return plan;
    }
    case Memory::Kind::budget:
      if (memory.value < 1) {
        throw Error(message("memory: a budget must be positive [bytes]; got ", memory.value));
      }
      return within(c, memory.value);
    case Memory::Kind::reversible: return backwards(c);
    case Memory::Kind::automatic: break;
  }
  return within(c, kAutomaticBudget);
}

}  // namespace

Memory Memory::parse(std::string_view text) {
  if (text == "auto") return automatic();
  if (text == "all") return all();
  if (text == "sqrt") return sqrt();
  if (text == "reversible") return reversible();
  try {
    const std::uint64_t most = INT64_MAX;
    return budget(static_cast<std::int64_t>(std::min(parse_byte_size(text), most)));
  } catch (const Error&) {
    throw Error(
        message("memory: expected \"auto\", \"all\", \"sqrt\", \"reversible\", a number of "
                "checkpoints or a budget such as \"64MB\"; got \"",
                text, "\""));
  }
}

std::int64_t TapePlan::states_kept(std::int64_t T) const {
  return reversible ? 1 : snapshots > 0 ? snapshots + 1 : ceil_div(T, segment);
}

std::string TapePlan::measured(std::int64_t records, std::int64_t of, std::uint64_t taken) const {
  std::string text = words;
  if (records == of && of > 0) text += " and records";
  else if (records > 0) text += message(" and ", records, " of ", of, " records");
  return text + message(" (", print_byte_size(taken), ")");
}

TapePlan plan_tape(const Memory& memory, const TapeCosts& costs) { return chosen(memory, costs); }

}  // namespace cycloid::inline adjoint
