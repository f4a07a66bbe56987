// base/core_count.h: how many threads are worth starting here.
//
//   default_threads() = max(1, min(physical cores, affinity mask, control-group quota))
//
// or CYCLOID_THREADS, when set. Numbers come from Linux; where a source is missing it does not
// limit. The folders are arguments so that tests can give their own.
#pragma once

#include <string>

namespace cycloid::inline base {

// Cores of this machine, hardware threads of one core counted once.
int physical_cores(const std::string& cpu_folder = "/sys/devices/system/cpu");

// Processors that this thread may run on (sched_getaffinity).
int affinity_cores();

// The processor time the process's control group may use, in processors, rounded up: the smallest
// quota among the group and its ancestors, in version 2 (cpu.max) or 1 (cpu.cfs_quota_us).
// INT_MAX where none is set.
int quota_cores(const std::string& membership_file = "/proc/self/cgroup",
                const std::string& group_folder = "/sys/fs/cgroup");

// The rule above; `wish` is the text of CYCLOID_THREADS, or empty. Throws Error when it is not a
// whole number from 1 to kMaxThreads.
int choose_threads(const std::string& wish, int physical, int affinity, int quota);
inline constexpr int kMaxThreads = 4096;

// For this process; found at the first call, then remembered.
int default_threads();

}  // namespace cycloid::inline base
