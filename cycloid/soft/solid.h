// Room soft: deformable bodies, whose time step is a minimisation and whose gradient is one more
// solve with the factor that the step already has.
//
//   const System beam = solid(box_mesh({20, 2, 2}, {1, 0.1, 0.1}, ElementKind::tet10),
//                             {.young = {1e6}, .held = ...});
//
// Where to start reading:
//   material/   a page each: energy, stress and its derivative;  viscous.h  damping
//   element/    a point of integration, a cell, its stiffness
//   mesh.h      vertices and cells;  solid_plan.h  what stays the same of a body
//   solid_kernels.h   cells in lanes;  solid_numbers.h  parameters and their way back
//   minimise.h  Newton's method;  solid_stage.h  an implicit stage, its pullback and pushforward
//   solid_stepper.h   implicit Euler, Newmark, TR-BDF2;  solid_observables.h  what a body shows
//   equilibrium.h     a body at rest
// State [positions (3 n) [m], velocities (3 n) [m/s]], vertex by vertex.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cycloid/soft/mesh.h"
#include "cycloid/system/system.h"

namespace cycloid::inline soft {

struct SolidOptions {
  std::string material = "neo_hookean";
  std::vector<double> young = {1e5};              // one, or one per cell [Pa]
  std::vector<double> poisson = {0.3};            // likewise
  std::vector<double> density = {1000.0};         // likewise [kg/m³]
  double damping = 0;                             // Kelvin and Voigt's [s]
  double drag = 0;                                // [1/s]
  double mooney = 0.5;                            // share of C01, of mooney_rivlin
  std::vector<double> mass = {};                  // point masses (n) [kg]; empty: none
  std::vector<char> held = {};                    // of each number (3 n); empty: none
  std::array<double, 3> gravity = {0, 0, -9.81};  // [m/s²]
  std::vector<std::string> inputs = {};           // "force", "pinned"
  double dt = 0.01;                               // [s]
  std::string integrator = "implicit_euler";      // or "newmark", "bdf2"
};

// Throws ModelError or ParameterError on what makes no sense.
System solid(const SolidMesh& mesh, const SolidOptions& options);

struct SolidBody;  // solid_numbers.h
// The body behind a System that `solid` made. Throws ModelError for others.
std::shared_ptr<const SolidBody> solid_body_of(const System& system);

}  // namespace cycloid::inline soft
