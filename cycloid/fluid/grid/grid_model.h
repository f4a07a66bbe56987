// GridModel: a flow on a staggered grid, as its steppers and observers share it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cycloid/fluid/grid/characteristics.h"
#include "cycloid/fluid/grid/flow_model.h"
#include "cycloid/fluid/grid/pressure/pressure.h"

namespace cycloid::inline fluid {

// A scalar that the flow carries (temperature, concentration): its places among the parameters.
struct ScalarPlaces {
  std::string name;
  int diffusivity = -1, expansion = -1;
  // Values of sides and obstacles; -1: nothing passes through them.
  std::array<std::array<int, 2>, 3> side = {{{-1, -1}, {-1, -1}, {-1, -1}}};
  std::vector<int> obstacle;
};

struct GridModel : FlowModel {
  std::shared_ptr<const PressurePattern> pattern;
  std::shared_ptr<const PressureSolver> open_box;  // without obstacles: for all runs

  std::vector<ScalarPlaces> scalars;
  int gravity = -1;  // its place among the parameters

  std::vector<double> lines;  // ends (m, 2, 2) [m]
  Advection advection = Advection::central;
  bool implicit = false;         // viscosity
  bool counts_pressure = false;  // iterations of multigrid

  // A state: velocities, scalars, and of each obstacle that moves or turns the way and the angle.
  int scalar(std::size_t i) const { return box.states() + static_cast<int>(i) * box.cells; }
  int motions = 0;  // numbers of the last
  int states() const { return scalar(scalars.size()) + motions; }
  // Along characteristics a step is one stage: it needs no more to be stable.
  int stages() const { return advection != Advection::central ? 1 : implicit ? 2 : 3; }
};

}  // namespace cycloid::inline fluid
