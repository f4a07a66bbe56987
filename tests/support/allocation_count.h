// How often this thread has allocated memory with `new`. The whole test program counts.
#pragma once

#include <cstdint>

namespace cycloid::test {

std::int64_t allocation_count();

}  // namespace cycloid::test
