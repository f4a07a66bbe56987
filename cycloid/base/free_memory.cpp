#include "cycloid/base/free_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace cycloid::inline base {
namespace {

namespace fs = std::filesystem;

// The number in a file that holds nothing else; "max" is none.
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::uint64_t value = 0;
  if (stream >> value) return value;
  return std::nullopt;
}

std::optional<std::uint64_t> available_on_machine() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (std::uint64_t kibibytes = 0; file >> name >> kibibytes; std::getline(file, unit)) {
    if (name == "MemAvailable:") return kibibytes * 1024;
  }
  return std::nullopt;
}

// What is left of the limit of one control group, version 2 or 1.
std::optional<std::uint64_t> left_in(const fs::path& group) {
  for (const auto& [limit, usage] : {std::pair("memory.max", "memory.current"),
                                     std::pair("memory.limit_in_bytes", "memory.usage_in_bytes")}) {
    const auto most = number_in(group / limit), used = number_in(group / usage);
    if (most && used) return *most - std::min(*most, *used);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> free_memory() {
  std::optional<std::uint64_t> least = available_on_machine();
  const auto consider = [&](const fs::path& group) {
    const auto left = left_in(group);
    if (left && (!least || *left < *least)) least = left;
  };
  // Each line is "number:controllers:path". In a container the group is often mounted as the root.
  std::ifstream memberships("/proc/self/cgroup");
  for (std::string line; std::getline(memberships, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "memory") continue;
    const fs::path root = fs::path("/sys/fs/cgroup") / controllers;
    consider(root);
    consider(root / fs::path(line.substr(second + 1)).relative_path());
  }
  return least;
}

}  // namespace cycloid::inline base
