#include "cycloid/fluid/grid/grid_box.h"

#include <cmath>
#include <cstdint>

#include "cycloid/base/error.h"

namespace cycloid::inline fluid {

const char* side_name(int axis, int high) {
  static constexpr const char* kNames[3][2] = {
      {"left", "right"}, {"bottom", "top"}, {"back", "front"}};
  return kNames[axis][high];
}

GridBox::GridBox(const std::vector<int>& shape, const std::vector<double>& sizes,
                 const std::vector<std::array<SideKind, 2>>& sides) {
  constexpr std::int64_t kMost = std::int64_t{1} << 26;
  if (shape.size() != 2 && shape.size() != 3) {
    throw ModelError(message("a grid has two or three axes; got a shape of ", shape.size()));
  }
  if (sizes.size() != shape.size() || sides.size() != shape.size()) {
    throw ModelError(message("size needs ", shape.size(), " lengths [m]; got ", sizes.size()));
  }
  dimensions = static_cast<int>(shape.size()), first = 3 - dimensions;
  std::int64_t count_all = 1;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const std::size_t b = a + u(first);
    if (shape[a] < 2) {
      throw ModelError(message("a grid needs at least 2 cells along each axis; got ", shape[a],
                               " along axis ", a));
    }
    if (!std::isfinite(sizes[a]) || sizes[a] <= 0) {
      throw ModelError(message("size must be positive [m]; got ", sizes[a], " along axis ", a));
    }
    if ((sides[a][0] == SideKind::periodic) != (sides[a][1] == SideKind::periodic)) {
      throw ModelError(message("\"", side_name(static_cast<int>(a), 0), "\" and \"",
                               side_name(static_cast<int>(a), 1),
                               "\" are periodic together or not at all"));
    }
    count_all *= shape[a];
    if (count_all > kMost) throw ModelError(message("a grid has at most ", kMost, " cells"));
    n[b] = shape[a], size[b] = sizes[a], h[b] = sizes[a] / shape[a], side[b] = sides[a];
    pad[b] = kPad, extent[b] = shape[a] + 2 * kPad + 1;
  }
  cells = static_cast<int>(count_all);
  stride[2] = 1, stride[1] = extent[2], stride[0] = stride[1] * extent[1];
  numbers = stride[0] * extent[0];
  for (int a = 0; a < 3; ++a) {
    const int own = a < first ? 0 : count(a, 0) * count(a, 1) * count(a, 2);
    offset[u(a) + 1] = offset[u(a)] + own;
  }
}

bool GridBox::has(SideKind kind) const {
  for (int a = first; a < 3; ++a) {
    if (side[u(a)][0] == kind || side[u(a)][1] == kind) return true;
  }
  return false;
}

std::string GridBox::place(const char* what, int i, int j, int k) const {
  return dimensions == 2 ? message(what, " (", j, ", ", k, ")")
                         : message(what, " (", i, ", ", j, ", ", k, ")");
}

}  // namespace cycloid::inline fluid
