// How much memory this process may still take: where memory is overcommitted, a program that asks
// for too much is killed later instead of told at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace cycloid::inline base {

// The machine's available memory, or what is left of the control group's limit if that is less
// [bytes]. None where neither can be read.
std::optional<std::uint64_t> free_memory();

// What is left of the limit of the control group in a folder, version 2 or 1; cached files do not
// count as used. None where there is no limit.
std::optional<std::uint64_t> left_in_group(const std::filesystem::path& group);

}  // namespace cycloid::inline base
