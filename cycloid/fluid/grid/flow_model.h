// FlowModel: what flows in a box have in common: its sides and obstacles, their numbers among the
// parameters and inputs, and where it is probed.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cycloid/fluid/grid/grid_box.h"
#include "cycloid/fluid/grid/obstacle/signed_distance.h"

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
    int numbers = -1, centre = -1;
    Place velocity, spin;
    // In the state: the way gone (d) [m], and by which it has turned [rad]; -1: it does not.
    int motion = -1, angle = -1;
  };
  std::vector<ObstaclePlace> obstacle;
  int parameters = 2, inputs = 0;
  static constexpr int kViscosity = 0, kDensity = 1;
  std::vector<double> probes;  // (p, d) [m]

  int spins() const { return box.dimensions == 2 ? 1 : 3; }
};

// A number that is a parameter, an input that is added to it, or both. p, u: null for zero.
template <class T>
T number_at(const FlowModel::Place& place, int i, const T* p, const T* u) {
  T sum = place.parameter < 0 || !p ? T(0) : p[place.parameter + i];
  if (place.input >= 0 && u) sum += u[place.input + i];
  return sum;
}

template <class T>
void number_at_pullback(const FlowModel::Place& place, int i, double bar, double* p_bar, T* u_bar) {
  if (place.parameter >= 0) p_bar[place.parameter + i] += bar;
  if (place.input >= 0 && u_bar) u_bar[place.input + i] += static_cast<T>(bar);
}

}  // namespace cycloid::inline fluid
