// HeatImage: what kernels read of a box of heat (system/heat.h).
#pragma once

namespace cycloid::inline device {

inline constexpr int kMostHeatSides = 3;

struct HeatImage {
  int cells = 0, sides = 0;
  int extent[kMostHeatSides] = {}, stride[kMostHeatSides] = {};
  double h = 0, slope = 0;  // [s] [1/K]
};

}  // namespace cycloid::inline device
