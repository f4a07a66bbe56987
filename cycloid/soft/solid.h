// Room soft: deformable bodies, whose time step is a minimisation and whose gradient is one more
// solve with the factor that the step already has.
//
//   SolidOptions options;
//   options.young = {1e6}, options.held = ...;
//   const System beam = solid(box_mesh({20, 2, 2}, {1, 0.1, 0.1}, ElementKind::tet10), options);
//
// Where to start reading:
//   material/   a page each: energy, stress and its derivative;  viscous.h  damping
//   element/    a point of integration, a cell, its stiffness;  enhanced_cell.h  without locking
//   mesh.h      vertices and cells;  solid_plan.h  what stays the same of a body
//   solid_kernels.h   cells in lanes;  solid_numbers.h  parameters and their way back
//   minimise.h  Newton's method;  solid_stage.h  an implicit stage, its pullback and pushforward
//   solid_stepper.h   implicit Euler, Newmark, TR-BDF2;  solid_observables.h  what a body shows
//   term/       forces besides the cells: cloth, rods, contact, loads;  stencil.h  what they share
//   body.h      what all bodies take;  cloth.h, rod.h  bodies without cells
//   equilibrium.h     a body at rest
// State [positions (3 n) [m], velocities (3 n) [m/s]], vertex by vertex.
#pragma once

#include <string>
#include <vector>

#include "cycloid/soft/body.h"

namespace cycloid::inline soft {

struct SolidOptions : BodyOptions {
  std::string material = "neo_hookean";
  std::vector<double> young = {1e5};       // one, or one per cell [Pa]
  std::vector<double> poisson = {0.3};     // likewise
  std::vector<double> density = {1000.0};  // likewise [kg/m³]
  double mooney = 0.5;                     // share of C01, of mooney_rivlin
  std::string formulation = "standard";    // or "locking_free", of hexahedra
};

// Throws ModelError or ParameterError on what makes no sense.
System solid(const SolidMesh& mesh, const SolidOptions& options);

}  // namespace cycloid::inline soft
