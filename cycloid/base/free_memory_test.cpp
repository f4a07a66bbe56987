#include "cycloid/base/free_memory.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "tests/support/scratch_folder.h"

namespace cycloid {

TEST_CASE("free_memory: is positive, and no more than the machine has") {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  std::uint64_t total = 0;
  if (!(file >> name >> total >> unit) || name != "MemTotal:") return;  // another system
  const std::optional<std::uint64_t> free = free_memory();
  REQUIRE(free.has_value());
  CHECK(*free > 0);
  CHECK(*free <= 1024 * total);
}

TEST_CASE("free_memory: files that are only cached do not count against a group's limit") {
  const test::ScratchFolder folder;
  CHECK_FALSE(left_in_group(folder.root()).has_value());
  folder.write("memory.limit_in_bytes", "1000\n");
  folder.write("memory.usage_in_bytes", "1000\n");
  folder.write("memory.stat", "inactive_file 1\ntotal_inactive_file 200\ntotal_active_file 100\n");
  CHECK(left_in_group(folder.root()) == 300);
  folder.write("memory.max", "5000\n");
  folder.write("memory.current", "4000\n");
  folder.write("memory.stat", "anon 900\nfile 3100\ninactive_file 2000\nactive_file 1000\n");
  CHECK(left_in_group(folder.root()) == 4000);
  folder.write("memory.current", "6500\n");
  CHECK(left_in_group(folder.root()) == 1500);
  folder.write("memory.current", "9000\n");
  CHECK(left_in_group(folder.root()) == 0);
  folder.write("memory.max", "max\n");
  std::filesystem::remove(folder.path("memory.limit_in_bytes"));
  CHECK_FALSE(left_in_group(folder.root()).has_value());
}

}  // namespace cycloid
