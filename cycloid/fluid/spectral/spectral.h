// spectral: flows and waves in a periodic box, by Fourier series and exponential time differencing.
//
//   SpectralOptions o;
//   o.equation = "navier_stokes", o.shape = {64, 64}, o.size = {6.28, 6.28}, o.dt = 0.01;
//   o.values["viscosity"] = {1e-3};
//   const System flow = spectral(o);
//
// Nodes at i L/n along each axis. The state is real numbers at the nodes, field after field, each
// in C order; spectral_model.h has the equations. Where to go on reading:
//   spectral_model.h       equations, their fields and parameters
//   exponential_scheme.h   ETDRK2 and ETDRK4, their coefficients and derivatives
//   node_terms.h           products at the nodes, and their pullbacks
//   spectral_stepper.h     the step and its adjoint;   spectral_observables.h   what a flow shows
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cycloid/system/system.h"

namespace cycloid::inline fluid {

struct SpectralOptions {
  std::string equation = "navier_stokes";
  std::vector<int> shape;    // nodes along each axis, one to three
  std::vector<double> size;  // of the box [m]
  double dt = 0.01;          // [s]
  int order = 4;             // of the scheme: 2 or 4
  bool substeps = false;     // divide a step that is too large (substeps.h)
  Precision precision = Precision::float64;
  // Of navier_stokes: "force", an acceleration that all nodes share, "force_field", one at each,
  // component by component as in the state [m/s²].
  std::vector<std::string> inputs = {};
  std::map<std::string, std::vector<double>> values = {};  // parameters, by name
  std::vector<double> probes = {};                         // (p, axes) [m]
};

// Throws ModelError on boxes and equations that make no sense, ParameterError on parameters.
System spectral(const SpectralOptions& options);

}  // namespace cycloid::inline fluid
