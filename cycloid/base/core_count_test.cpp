#include "cycloid/base/core_count.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cycloid/base/error.h"

namespace fs = std::filesystem;

namespace {

// A folder that looks like /sys or /proc, and vanishes at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "cycloid-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(root_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  Folder& write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
    return *this;
  }
  std::string path(const std::string& below = "") const { return (root_ / below).string(); }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("physical_cores: counts the hardware threads of one core once") {
  Folder sys;
  for (int cpu = 0; cpu < 8; ++cpu)
    sys.write("cpu" + std::to_string(cpu) + "/topology/core_cpus_list",
              std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4));
  sys.write("cpufreq/boost", "1").write("online", "0-7");
  CHECK(cycloid::physical_cores(sys.path()) == 4);

  Folder older;  // before Linux 5.3
  older.write("cpu0/topology/thread_siblings_list", "0-1");
  older.write("cpu1/topology/thread_siblings_list", "0-1");
  CHECK(cycloid::physical_cores(older.path()) == 1);

  CHECK(cycloid::physical_cores("/nowhere") >= 1);
}

TEST_CASE("affinity_cores: follows the mask of the thread") {
  int in_one = 0;
  std::thread([&] {
    cpu_set_t mine, one;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) return;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &mine)) CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) in_one = cycloid::affinity_cores();
  }).join();
  CHECK(in_one == 1);
  CHECK(cycloid::affinity_cores() >= 1);
}

TEST_CASE("quota_cores: version 2, rounded up, the smallest among the ancestors") {
  Folder f;
  f.write("self", "0::/user/session").write("group/user/session/cpu.max", "250000 100000");
  CHECK(cycloid::quota_cores(f.path("self"), f.path("group")) == 3);
  f.write("group/user/cpu.max", "100000 100000");
  CHECK(cycloid::quota_cores(f.path("self"), f.path("group")) == 1);
  f.write("group/user/cpu.max", "max 100000").write("group/user/session/cpu.max", "max 100000");
  CHECK(cycloid::quota_cores(f.path("self"), f.path("group")) == INT_MAX);
  f.write("group/cpu.max", "200000 100000");  // as a container sees it
  CHECK(cycloid::quota_cores(f.path("self"), f.path("group")) == 2);
}

TEST_CASE("quota_cores: version 1, by controller or by mount name, or none") {
  Folder f;
  f.write("self", "5:cpuset:/\n4:cpu,cpuacct:/docker/abc");
  CHECK(cycloid::quota_cores(f.path("self"), f.path("group")) == INT_MAX);
  f.write("group/cpu/cpu.cfs_quota_us", "-1").write("group/cpu/cpu.cfs_period_us", "100000");
  CHECK(cycloid::quota_cores(f.path("self"), f.path("group")) == INT_MAX);
  f.write("group/cpu/cpu.cfs_quota_us", "150000");
  CHECK(cycloid::quota_cores(f.path("self"), f.path("group")) == 2);
  f.write("group/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "50000");
  f.write("group/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000");
  CHECK(cycloid::quota_cores(f.path("self"), f.path("group")) == 1);
  CHECK(cycloid::quota_cores("/nowhere", "/nowhere") == INT_MAX);
}

TEST_CASE("choose_threads: the smallest of the three, at least one, or the wish") {
  CHECK(cycloid::choose_threads("", 8, 4, INT_MAX) == 4);
  CHECK(cycloid::choose_threads("", 8, 16, INT_MAX) == 8);
  CHECK(cycloid::choose_threads("", 8, 16, 2) == 2);
  CHECK(cycloid::choose_threads("", 0, 0, 0) == 1);
  CHECK(cycloid::choose_threads("6", 2, 2, 2) == 6);
  for (const char* wish : {"0", "-1", "two", "2.5", "3 ", "99999999999", "4097"}) {
    CAPTURE(wish);
    CHECK_THROWS_AS(cycloid::choose_threads(wish, 2, 2, 2), cycloid::Error);
  }
  CHECK_THROWS_WITH(cycloid::choose_threads("two", 2, 2, 2),
                    "CYCLOID_THREADS: expected a whole number from 1 to 4096, got \"two\"; unset "
                    "it to use every core");
}

TEST_CASE("default_threads: is at least one, and stays what it was") {
  CHECK(cycloid::default_threads() >= 1);
  CHECK(cycloid::default_threads() == cycloid::default_threads());
}
