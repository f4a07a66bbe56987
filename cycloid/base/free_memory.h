// How much memory this process may still take: where memory is overcommitted, a program that asks
// for too much is killed later instead of told at once.
#pragma once

#include <cstdint>
#include <optional>

namespace cycloid::inline base {

// The machine's available memory, or what is left of the control group's limit if that is less
// [bytes]. None where neither can be read.
std::optional<std::uint64_t> free_memory();

}  // namespace cycloid::inline base
