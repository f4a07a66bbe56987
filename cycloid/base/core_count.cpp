#include "cycloid/base/core_count.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "cycloid/base/error.h"

namespace cycloid::inline base {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// quota / period, rounded up; no limit unless both are positive numbers ("max" and "-1" are none).
int processors(const std::string& quota, const std::string& period) {
  const long long q = std::atoll(quota.c_str()), p = std::atoll(period.c_str());
  if (q <= 0 || p <= 0) return INT_MAX;
  return static_cast<int>(std::min<long long>((q - 1) / p + 1, INT_MAX));
}

int quota_v2(const fs::path& group) {
  const std::string line = first_line(group / "cpu.max");  // "200000 100000" or "max 100000"
  const std::size_t space = line.find(' ');
  if (space == std::string::npos) return INT_MAX;
  return processors(line.substr(0, space), line.substr(space + 1));
}

int quota_v1(const fs::path& group) {
  return processors(first_line(group / "cpu.cfs_quota_us"),
                    first_line(group / "cpu.cfs_period_us"));
}

// The smallest quota from `path` up to the root. In a container the path may be the host's: then
// only the root exists, and the root is the container's own group.
template <class Quota>
int smallest_quota(const fs::path& root, const std::string& path, Quota quota) {
  int smallest = quota(root);
  fs::path group = root;
  for (const fs::path& part : fs::path(path).relative_path()) {
    group /= part;
    smallest = std::min(smallest, quota(group));
  }
  return smallest;
}

}  // namespace

int physical_cores(const std::string& cpu_folder) {
  std::set<std::string> cores;  // each core by the list of its hardware threads, "0,64"
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(cpu_folder, missing)) {
    const fs::path topology = entry.path() / "topology";
    std::string threads = first_line(topology / "core_cpus_list");
    if (threads.empty()) threads = first_line(topology / "thread_siblings_list");
    if (!threads.empty()) cores.insert(threads);
  }
  if (!cores.empty()) return static_cast<int>(cores.size());
  const unsigned logical = std::thread::hardware_concurrency();
  return logical == 0 ? INT_MAX : static_cast<int>(logical);
}

int affinity_cores() {
  for (int processors = 1024; processors <= 1 << 20; processors *= 2) {
    cpu_set_t* const set = CPU_ALLOC(processors);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(processors);
    const bool fits = sched_getaffinity(0, bytes, set) == 0;
    const int count = fits ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (fits) return count;
  }
  return INT_MAX;
}

int quota_cores(const std::string& membership_file, const std::string& group_folder) {
  const fs::path root = group_folder;
  int smallest = INT_MAX;
  std::ifstream memberships(membership_file);
  // Each line is "number:controllers:path"; version 2 is number 0 with no controllers.
  for (std::string line; std::getline(memberships, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) smallest = std::min(smallest, smallest_quota(root, path, quota_v2));
    else if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      for (const std::string& mount : {std::string("cpu"), controllers})
        smallest = std::min(smallest, smallest_quota(root / mount, path, quota_v1));
  }
  return smallest;
}

int choose_threads(const std::string& wish, int physical, int affinity, int quota) {
  if (wish.empty()) return std::clamp(std::min({physical, affinity, quota}), 1, kMaxThreads);
  int threads = 0;
  const char* const end = wish.data() + wish.size();
  const auto [stop, fault] = std::from_chars(wish.data(), end, threads);
  if (fault != std::errc() || stop != end || threads < 1 || threads > kMaxThreads)
    throw Error(message("CYCLOID_THREADS: expected a whole number from 1 to ", kMaxThreads,
                        ", got \"", wish, "\"; unset it to use every core"));
  return threads;
}

int default_threads() {
  static std::atomic<int> known{0};
  if (const int threads = known.load(std::memory_order_relaxed)) return threads;
  const char* wish = std::getenv("CYCLOID_THREADS");
  const int threads = choose_threads(wish == nullptr ? "" : wish, physical_cores(),
                                     affinity_cores(), quota_cores());
  known.store(threads, std::memory_order_relaxed);
  return threads;
}

}  // namespace cycloid::inline base
