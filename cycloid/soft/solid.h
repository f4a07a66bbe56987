// Room soft: deformable bodies, whose time step is a minimisation and whose gradient is one more
// solve with the factor that the step already has.
//
//   SolidOptions options;
//   options.young = {1e6}, options.held = ...;
//   const System beam = solid(box_mesh({20, 2, 2}, {1, 0.1, 0.1}, ElementKind::tet10), options);
//
// Where to start reading:
//   material/   a page each: energy, stress and its derivative;  viscous.h  damping;  fibre.h,
//               plastic.h  muscle and metal, which are terms
//   element/    a point of integration, a cell, its stiffness;  enhanced_cell.h  without locking
//   mesh.h      vertices and cells;  solid_plan.h  what stays the same of a body
//   solid_kernels.h   cells in lanes;  solid_numbers.h  parameters and their way back
//   minimise.h  Newton's method;  stiffness_solver.h  its factor, or conjugate gradients;
//               solid_stage.h  an implicit stage, its pullback, and second derivatives
//   solid_step.h  implicit Euler, Newmark, TR-BDF2, in numbers and in dual numbers;
//   solid_stepper.h  who solves their stages;  solid_observables.h  what a body shows
//   term/       forces besides the cells: cloth, rods, contact, loads, laws of whole cells;
//               stencil.h  what they share
//   body.h      what all bodies take;  cloth.h, rod.h  bodies without cells;  flex.h  MuJoCo's
//               flexes;  solid_state.h  the
//               state as users hold it, with a rod's angles
//   equilibrium.h     a body at rest;  arc_length.h  beyond limit points;  regular_solver.h  there
// State [positions (3 n) [m], velocities (3 n) [m/s]], vertex by vertex; of rods then
// [twist (n - 1) [rad], twist_rate (n - 1) [rad/s]]; of plastic matter
// [plastic (cells, points, 7)].
#pragma once

#include <string>
#include <vector>

#include "cycloid/soft/body.h"

namespace cycloid::inline soft {

// Fibres along a direction in some cells (material/fibre.h): parameters "muscle:#0.strength" and
// "muscle:#0.stiffness", input "muscle:#0", the activation.
struct SoftMuscle {
  std::vector<int> cells;              // empty: all
  std::vector<double> direction;       // (3), or (cells, 3), of the rest shape
  double strength = 0, stiffness = 0;  // [Pa]
};

struct SolidOptions : BodyOptions {
  std::string material = "neo_hookean";    // or "plastic" (material/plastic.h)
  std::vector<double> young = {1e5};       // one, or one per cell [Pa]
  std::vector<double> poisson = {0.3};     // likewise
  std::vector<double> density = {1000.0};  // likewise [kg/m³]
  double mooney = 0.5;                     // share of C01, of mooney_rivlin
  double yield = 0, hardening = 0;         // of plastic [Pa]
  std::vector<SoftMuscle> muscles = {};
  std::string formulation = "standard";  // or "locking_free", of hexahedra
};

// Throws ModelError or ParameterError on what makes no sense.
System solid(const SolidMesh& mesh, const SolidOptions& options);

}  // namespace cycloid::inline soft
