// grid_flow: incompressible flow in a box with walls, inflow, outflow and obstacles, as a System.
//
//   ∂u/∂t + div(u uᵀ) = -grad p / ρ + ν lap u + force,   div u = 0                 (1)
// on a staggered grid, in two or three dimensions. Where to start reading:
//   grid_box.h      cells, faces and sides;  grid_kernels.h  advection and viscosity, row by row
//   grid_sides.h    what is given on sides;  signed_distance.h, wall_points.h, immersed.h and
//   grid_obstacles.h  obstacles, and how they move;  pressure.h  the pressure's equation
//   projection.h    velocities without divergence;  grid_scalar.h  temperature and concentration
//   grid_work.h     a projected Euler step and its pullback;  grid_stepper.h  the time scheme
//   grid_observables.h  energies, pressure, vorticity, forces on obstacles, probes
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cycloid/fluid/grid/characteristics.h"
#include "cycloid/fluid/grid/flow_registry.h"

namespace cycloid::inline fluid {

// A scalar that the flow carries, with buoyancy after Boussinesq: an acceleration
// -expansion C gravity.
struct CarriedScalar {
  double diffusivity = 1e-3;  // [m²/s]
  double expansion = 0;       // [1/K], of a concentration [1]
  // Sides (axes, 2) and obstacles of given value [K or 1]; nothing passes through others.
  std::vector<std::array<std::optional<double>, 2>> sides;
  std::vector<std::optional<double>> obstacles = {};
};

// How the pressure is solved where no series fits; automatic: directly unless that gets too large.
enum class PressureMethod { automatic, direct, multigrid };

struct GridOptions {
  std::vector<int> shape;
  std::vector<double> size;  // [m]
  double viscosity = 1e-3;   // kinematic [m²/s]
  double density = 1;        // [kg/m³]
  double dt = 0.01;          // [s]
  std::vector<std::array<GridSide, 2>> sides;
  std::vector<FluidObstacle> obstacles;
  std::vector<std::string> inputs;
  std::vector<double> probes;  // (p, d) [m]
  std::vector<double> lines;   // in the plane: ends (m, 2, 2) [m]
  std::optional<CarriedScalar> temperature, concentration;
  std::vector<double> gravity;  // (d) [m/s²]; empty: none
  PressureMethod pressure = PressureMethod::automatic;
  Advection advection = Advection::central;
  bool implicit_viscosity = false;
  bool substeps = false;  // divide a step that is too large (substeps.h)
  Precision precision = Precision::float64;
};

// State: velocity components one after another (grid_box.h) [m/s], temperature [K], concentration,
// and of each obstacle that moves or turns its way [m] and angle [rad]. Throws ModelError or
// ParameterError on what makes no sense.
System grid_flow(const GridOptions& options);

// The velocity (p, d) or the pressure (p) of such a flow at points (p, d), without inputs.
std::vector<double> grid_probe(const System& flow, std::span<const double> x,
                               std::span<const double> params, std::span<const double> points,
                               bool pressure);

}  // namespace cycloid::inline fluid
