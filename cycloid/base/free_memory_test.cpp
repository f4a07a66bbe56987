#include "cycloid/base/free_memory.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

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

}  // namespace cycloid
