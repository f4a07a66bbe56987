#include "cycloid/base/free_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

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

// Files that are only cached, which the kernel gives up when memory is asked for: they count as
// used. In version 1 the names of groups with those below begin with "total_".
std::uint64_t cached_files(const fs::path& group, bool version_2) {
  std::ifstream file(group / "memory.stat");
  const std::string before = version_2 ? "" : "total_";
  std::uint64_t sum = 0, bytes = 0;
  for (std::string name; file >> name >> bytes;) {
    if (name == before + "active_file" || name == before + "inactive_file") sum += bytes;
  }
  return sum;
}

}  // namespace

std::optional<std::uint64_t> left_in_group(const fs::path& group) {
  for (const bool version_2 : {true, false}) {
    const auto most = number_in(group / (version_2 ? "memory.max" : "memory.limit_in_bytes")),
               used = number_in(group / (version_2 ? "memory.current" : "memory.usage_in_bytes"));
    if (!most || !used) continue;
    const std::uint64_t needed = *used - std::min(*used, cached_files(group, version_2));
    return *most - std::min(*most, needed);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> free_memory() {
  std::optional<std::uint64_t> least = available_on_machine();
  const auto consider = [&](const fs::path& group) {
    const auto left = left_in_group(group);
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
