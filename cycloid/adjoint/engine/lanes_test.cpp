#include "cycloid/adjoint/engine/lanes.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace cycloid::lanes_test {

TEST_CASE("LaneMap: the last chunk is padded with copies of the last environment") {
  const LaneMap full(0, 4, 6), rest(1, 4, 6);
  CHECK(full.first == 0);
  CHECK(full.active == 4);
  CHECK(full.environment(3) == 3);
  CHECK(rest.first == 4);
  CHECK(rest.active == 2);
  CHECK(rest.environment(1) == 5);
  CHECK(rest.environment(2) == 5);
  CHECK(rest.environment(3) == 5);
}

TEST_CASE("gather, scatter: rows go to lanes side by side and come back, padding does not") {
  const int W = 4;
  const std::int64_t batch = 6, row = 5, offset = 2, count = 3;
  std::vector<double> rows(static_cast<std::size_t>(batch * row));
  std::iota(rows.begin(), rows.end(), 1.0);
  std::vector<double> back(rows.size(), -1.0);
  for (std::int64_t chunk = 0; chunk < 2; ++chunk) {
    const LaneMap map(chunk, W, batch);
    std::vector<double> lanes(static_cast<std::size_t>(count * W), 0.0);
    gather(map, rows.data(), row, offset, count, lanes.data());
    for (int l = 0; l < W; ++l) {
      const std::int64_t environment = std::min<std::int64_t>(chunk * W + l, batch - 1);
      for (std::int64_t j = 0; j < count; ++j) {
        CHECK(lanes[static_cast<std::size_t>(j * W + l)] ==
              rows[static_cast<std::size_t>(environment * row + offset + j)]);
      }
      // Whatever happens in the padding stays there.
      if (l >= map.active) lanes[static_cast<std::size_t>(l)] = 1e9;
    }
    scatter(map, lanes.data(), count, back.data(), row, offset);
  }
  for (std::int64_t e = 0; e < batch; ++e) {
    for (std::int64_t j = 0; j < row; ++j) {
      const std::size_t at = static_cast<std::size_t>(e * row + j);
      CHECK(back[at] == (j >= offset && j < offset + count ? rows[at] : -1.0));
    }
  }
}

TEST_CASE("gather: a stride of zero shares one row, and numbers change their type") {
  const std::vector<double> row = {0.1, 2.5};
  std::vector<float> lanes(6);
  gather(LaneMap(1, 3, 6), row.data(), 0, 0, 2, lanes.data());
  CHECK(lanes == std::vector<float>{0.1f, 0.1f, 0.1f, 2.5f, 2.5f, 2.5f});
}

TEST_CASE("LaneBuffer: memory is aligned for any lane type, and none is taken for nothing") {
  for (const std::size_t n : {1, 3, 1000}) {
    const LaneBuffer<float> buffer(n);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % kWorkspaceAlignment == 0);
  }
  CHECK(LaneBuffer<double>(0).data() == nullptr);
}

}  // namespace cycloid::lanes_test
