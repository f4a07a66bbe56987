// lattice_flow: flow by populations on a lattice (lattice Boltzmann), as a System.
//
//   f_i(x + c_i Δt, t + Δt) = f_i + collision                                        (1)
// which follows incompressible Navier–Stokes to second order in h and in |u| Δt / h. Where to start
// reading:
//   lattice_set.h    the directions;  collide.h  the collision and its pullback
//   lattice_kernels.h  all nodes at once;  lattice_links.h  sides and obstacles
//   lattice_work.h   a step and its way back;  lattice_stepper.h  ... as a Stepper
//   lattice_observables.h  velocity, pressure, forces on obstacles, probes
#pragma once

#include "cycloid/fluid/grid/flow_registry.h"
#include "cycloid/fluid/lattice/lattice_links.h"

namespace cycloid::inline fluid {

struct LatticeOptions {
  std::vector<int> shape;
  std::vector<double> size;  // [m]; cells are cubes
  double viscosity = 0.01;   // kinematic [m²/s]
  double density = 1;        // [kg/m³]
  double dt = 1;             // [s]
  Relaxation relaxation = Relaxation::one;
  std::vector<std::array<GridSide, 2>> sides;
  std::vector<FluidObstacle> obstacles;
  std::vector<std::string> inputs;
  std::vector<double> probes;  // (p, d) [m]
  Precision precision = Precision::float64;
};

// State: populations less their weights, direction by direction (lattice_set.h), each over the
// nodes in C order. Throws ModelError or ParameterError on what makes no sense.
System lattice_flow(const LatticeOptions& options);

}  // namespace cycloid::inline fluid
