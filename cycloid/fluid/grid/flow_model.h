// FlowModel: what flows in a box have in common: its sides and obstacles, their numbers among the
// parameters and inputs, and where it is probed.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cycloid/fluid/grid/grid_box.h"
#include "cycloid/fluid/grid/immersed.h"

namespace cycloid::inline fluid {

struct FlowModel {
  GridBox box;
  double dt = 0.01;  // [s]
  std::vector<FluidObstacle> obstacles;
  // Places among the parameters and inputs; -1: there is none.
  int force_input = -1;
  struct Place {
    int parameter = -1, input = -1;
  };
  std::array<std::array<Place, 2>, 3> side = {};  // velocities of walls (d) and inflow (faces, d)
  struct ObstaclePlace {
    int numbers = -1;
    Place velocity, spin;
  };
  std::vector<ObstaclePlace> obstacle;
  int parameters = 2, inputs = 0;
  static constexpr int kViscosity = 0, kDensity = 1;
  std::vector<double> probes;  // (p, d) [m]

  int spins() const { return box.dimensions == 2 ? 1 : 3; }
};

}  // namespace cycloid::inline fluid
