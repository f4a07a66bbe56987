#include "cycloid/math/stream_store.h"

#include <doctest/doctest.h>

#include <vector>

namespace cycloid {
namespace {

template <class T>
void hold_copies() {
  std::vector<T> from(200);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
  for (std::ptrdiff_t start = 0; start < 20; ++start) {
    for (const std::ptrdiff_t count : {0, 1, 7, 16, 17, 40, 100}) {
      std::vector<T> to(160, T(-1));
      stream_copy(from.data() + start % 3, count, to.data() + start);
      stream_fence();
      for (std::ptrdiff_t i = 0; i < 160; ++i) {
        const bool inside = i >= start && i < start + count;
        const T wanted = inside ? from[static_cast<std::size_t>(i - start + start % 3)] : T(-1);
        REQUIRE(to[static_cast<std::size_t>(i)] == wanted);
      }
    }
  }
}

TEST_CASE("stream_copy: any start and length, and nothing beside it") {
  hold_copies<float>();
  hold_copies<double>();
}

}  // namespace
}  // namespace cycloid
