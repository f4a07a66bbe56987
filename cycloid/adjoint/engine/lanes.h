// Between the user's rows (one environment after another) and the engine's lanes (side by side).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cycloid/base/large_block.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline adjoint {

template <class T>
using LaneBuffer = Buffer<T>;
static_assert(kBufferAlignment >= kWorkspaceAlignment);

// The environments of one chunk. The last chunk is padded with copies of its last environment.
struct LaneMap {
  std::int64_t first = 0;               // place of lane 0 among all
  int lanes = 1;                        // W
  int active = 1;                       // lanes that hold an environment of their own
  const std::int64_t* order = nullptr;  // the environment at each place; null: its own number

  LaneMap(std::int64_t chunk, int W, std::int64_t batch, const std::int64_t* in_order = nullptr)
      : first(chunk * W),
        lanes(W),
        active(static_cast<int>(std::min<std::int64_t>(W, batch - first))),
        order(in_order) {}
  std::int64_t environment(int lane) const {
    const std::int64_t place = first + std::min(lane, active - 1);
    return order ? order[place] : place;
  }
};

// Numbers of a row that are moved before the next row: 16 rows of them stay in the first cache.
inline constexpr std::int64_t kMovedAtOnce = 16;

// lanes[j W + l] = rows[environment(l) stride + offset + j], j < count. A stride of 0 shares one
// row.
template <class T, class U>
void gather(const LaneMap& map, const U* rows, std::int64_t stride, std::int64_t offset,
            std::int64_t count, T* lanes) {
  if (stride == 0) {
    for (std::int64_t j = 0; j < count; ++j) {
      std::fill_n(lanes + j * map.lanes, map.lanes, static_cast<T>(rows[offset + j]));
    }
    return;
  }
  for (std::int64_t first = 0; first < count; first += kMovedAtOnce) {
    const std::int64_t n = std::min(kMovedAtOnce, count - first);
    for (int l = 0; l < map.lanes; ++l) {
      const U* row = rows + map.environment(l) * stride + offset + first;
      T* lane = lanes + first * map.lanes + l;
      for (std::int64_t j = 0; j < n; ++j) lane[j * map.lanes] = static_cast<T>(row[j]);
    }
  }
}

// The reverse, for the active lanes.
template <class T>
void scatter(const LaneMap& map, const T* lanes, std::int64_t count, T* rows, std::int64_t stride,
             std::int64_t offset) {
  for (std::int64_t first = 0; first < count; first += kMovedAtOnce) {
    const std::int64_t n = std::min(kMovedAtOnce, count - first);
    for (int l = 0; l < map.active; ++l) {
      T* row = rows + map.environment(l) * stride + offset + first;
      const T* lane = lanes + first * map.lanes + l;
      for (std::int64_t j = 0; j < n; ++j) row[j] = lane[j * map.lanes];
    }
  }
}

}  // namespace cycloid::inline adjoint
