// base/instruction_set.h: the instruction sets the batch core is compiled for, and the one in use.
//
// The core is compiled once per set (cmake/CycloidRoom.cmake). A program runs the widest copy that
// is both compiled in and supported by the processor and its operating system. The user may choose
// with the environment variable CYCLOID_INSTRUCTION_SET=portable|v3|v4, a test with
// ScopedInstructionSet. Code that dispatches asks active_instruction_set() once per call at its
// outer edge and stays with the answer.
#pragma once

#include <string_view>
#include <vector>

namespace cycloid::inline base {

// Narrowest first: the compiler's baseline, x86-64-v3 (AVX2 and FMA), x86-64-v4 (AVX-512).
enum class InstructionSet { portable, v3, v4 };

std::string_view name(InstructionSet set);

// Compiled in and supported here, narrowest first. Never empty.
const std::vector<InstructionSet>& available_instruction_sets();

// The set named `wish`, or the widest of `available` when `wish` is empty. Throws Error, with the
// choices, for a name that is unknown or not available.
InstructionSet choose_instruction_set(std::string_view wish,
                                      const std::vector<InstructionSet>& available);

// The set in use in this process. The environment is read at the first call.
InstructionSet active_instruction_set();

// Puts `set` in use, for the whole process, while the object lives. Throws Error when it is not
// available. Scopes nest; they are for tests and benchmarks, which run one at a time.
class ScopedInstructionSet {
 public:
  explicit ScopedInstructionSet(InstructionSet set);
  ~ScopedInstructionSet();
  ScopedInstructionSet(const ScopedInstructionSet&) = delete;
  ScopedInstructionSet& operator=(const ScopedInstructionSet&) = delete;

 private:
  InstructionSet previous_;
};

}  // namespace cycloid::inline base
