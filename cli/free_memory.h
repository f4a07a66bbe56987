// How much memory this process may still take, and refusing what cannot fit: where memory is
// overcommitted, a program that asks for too much is killed later instead of told at once.
#pragma once

#include <cstdint>
#include <optional>

namespace cycloid::cli {

// The machine's available memory, or what is left of the control group's limit if that is less
// [bytes]. None where neither can be read.
std::optional<std::uint64_t> free_memory();

// Throws Error when about `bytes` do not fit.
void require_memory(double bytes);

}  // namespace cycloid::cli
