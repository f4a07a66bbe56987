#include "cycloid/couple/lane_array.h"

#include <doctest/doctest.h>

namespace cycloid {

TEST_CASE("LaneArray: numbers are zeros at first and after clear, and aligned for lanes") {
  for (const std::size_t n : {std::size_t{1}, std::size_t{37}}) {
    const LaneArray<double> array(n);
    CHECK(reinterpret_cast<std::uintptr_t>(array.data()) % kWorkspaceAlignment == 0);
    CHECK(array.data()[n - 1] == 0);
    array.data()[n - 1] = 3;
    array.clear();
    CHECK(array.data()[n - 1] == 0);
  }
}

}  // namespace cycloid
