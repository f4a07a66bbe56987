// How much of a run its adjoint keeps, and what is made again on the way back.
//
// A tape keeps, for every environment, some of the T + 1 states of the run. The step before a state
// that is not kept is run again, bit for bit. Forms, with F the cost of a forward step:
//   all         T states. Every step is run once more, to make its record          F T again
//   all+records T states, and the records of as many steps as fit, where a record is costly: only
//               the other steps are run again                                F again for each
//   segments    every L-th state; a segment of L steps is run again as a whole, its records
//               kept while it is pulled back                                      F T again
//   binomial    n states, replaced by the binomial schedule (schedule.h)          the least for n
//   reversible  the last state; earlier ones by stepping back, where the integrator can. They are
//               not the first ones bit for bit: how far the start is missed is measured   2 F T
// Segments with L = √T keep √T states for all and a segment of √T for each thread: as fast as `all`
// for cheap records, and near the processor. That is what `auto` takes, unless records are costly.
// How long a record is, a stepper says when it has made one: plans have a number of bytes for them,
// and what they took is measured. A checkpoint is the state with what the step carries on
// (stepper.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cycloid::inline adjoint {

// What the user asks for.
struct Memory {
  enum class Kind { automatic, all, sqrt, checkpoints, truncate, budget, reversible };
  Kind kind = Kind::automatic;
  std::int64_t value = 0;  // checkpoints: n; truncate: k; budget: bytes

  static Memory automatic() { return {}; }
  static Memory all() { return {Kind::all, 0}; }
  static Memory sqrt() { return {Kind::sqrt, 0}; }
  // n states, the initial one included, by the binomial schedule.
  static Memory checkpoints(std::int64_t n) { return {Kind::checkpoints, n}; }
  // The gradient is cut every k steps: what happened in one window does not reach the one before.
  static Memory truncate(std::int64_t k) { return {Kind::truncate, k}; }
  static Memory budget(std::int64_t bytes) { return {Kind::budget, bytes}; }
  // One state, for any number of steps; verlet and implicit_midpoint only.
  static Memory reversible() { return {Kind::reversible, 0}; }
  // "auto", "all", "sqrt", "reversible", or a budget such as "64MB".
  static Memory parse(std::string_view text);
};

// What keeping costs in a given run.
struct TapeCosts {
  std::int64_t steps = 0;         // T
  std::int64_t chunks = 0;        // chunks of environments, each with its own tape
  int threads = 1;                // chunks that are worked on at once
  std::int64_t state_bytes = 0;   // one state of one chunk
  std::int64_t record_bytes = 0;  // numbers of one record of one chunk, at most
  bool record_is_costly = false;
  bool reversible = false;  // the step can be run backwards
  bool has_events = false;  // ... which a step with events cannot
};

struct TapePlan {
  std::int64_t segment = 1;               // L; 1 keeps every state
  std::int64_t snapshots = 0;             // n > 0: binomial
  std::int64_t cut = 0;                   // the gradient is cut every so many steps; 0: never
  bool keep_records = false;              // with segment = 1: of the first steps, as many as fit in
  std::int64_t chunk_record_bytes = 0;    // ... so many bytes for each chunk
  bool segment_records = false;           // likewise of a segment, while it is pulled back, in
  std::int64_t segment_record_bytes = 0;  // ... so many for each thread
  bool reversible = false;          // the last state is kept, and the way back steps backwards
  std::uint64_t bytes = 0;          // of states kept between rollout and pullback
  std::uint64_t working_bytes = 0;  // more while pulling back
  std::string words;

  std::int64_t states_kept(std::int64_t T) const;
  // `words` of what was kept in the end: so many records of so many, so many bytes.
  std::string measured(std::int64_t records, std::int64_t of, std::uint64_t bytes) const;
};

// Throws Error on nonsense (n or k below 1, a budget too small for one state), and on `reversible`
// where steps are not.
TapePlan plan_tape(const Memory& memory, const TapeCosts& costs);

// What `auto` may keep for a whole batch.
inline constexpr std::int64_t kAutomaticBudget = std::int64_t{1} << 30;

}  // namespace cycloid::inline adjoint
