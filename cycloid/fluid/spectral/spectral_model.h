// SpectralModel: an equation in a periodic box, as numbers: its fields, parameters and symbols.
//
//   x_t = L x + N(x)        L: a number for each mode and group of fields; N: node_terms.h
//
//   navier_stokes          L = -ν k²,  N = -P ∇·(u u) + a        two, three axes; a: inputs
//   burgers                L = -ν k²,  N = -u·∇u
//   kuramoto_sivashinsky   L = k² - k⁴,  N = -u u_x               one axis
//   korteweg_de_vries      L = i k³,  N = -6 u u_x                one axis
//   gray_scott             L = (-D_a k² - F, -D_b k² - F - K),  N = (F - a b², a b²)
//   shallow_water          L = (-ν k², 0),  N: node_terms.h       two axes
// and, without N and therefore exact:
//   heat                   L = -D k²
//   advection_diffusion    L = -i c·k - D k²
//   wave                   u_t = rate, rate_t = -c² k² u
// Equations with products keep |k_a| ≤ (n_a - 1)/3 alone (the rule of two thirds: Orszag1971), in
// which products of two fields are exact. Linear ones keep all.
#pragma once

#include <array>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "cycloid/fluid/spectral/spectral_kernels.h"
#include "cycloid/system/system.h"

namespace cycloid::inline fluid {

enum class SpectralEquation {
  navier_stokes,
  burgers,
  kuramoto_sivashinsky,
  korteweg_de_vries,
  heat,
  advection_diffusion,
  wave,
  gray_scott,
  shallow_water,
};

// In the order of the enumeration.
const std::vector<std::string>& spectral_equation_names();

using WaveVector = std::array<double, 3>;

struct SpectralModel {
  SpectralEquation equation = SpectralEquation::heat;
  std::vector<int> shape;
  std::vector<double> size;  // [m]
  double dt = 0.01;          // [s]
  int order = 4;
  // Where in a row of inputs an acceleration lies, the same at all nodes or at each; -1: nowhere.
  int force_input = -1, force_field_input = -1, input_size = 0;
  std::vector<double> probes;         // (p, d) [m]
  std::vector<BlockSpec> blocks;      // of the state
  std::vector<Parameter> parameters;  // with their defaults
  std::vector<std::vector<double>> defaults;

  int dimensions() const { return static_cast<int>(shape.size()); }
  std::int64_t nodes() const;
  int fields() const;  // of the state
  // Components of velocity, which come first in the state; 0: none.
  int velocities() const;
  bool linear() const;
  std::vector<int> cut() const;  // of its transforms; empty: all is kept
  double spacing(int axis) const {
    return size[static_cast<std::size_t>(axis)] / shape[static_cast<std::size_t>(axis)];
  }
  std::string node_name(std::int64_t i) const;  // "node (3, 17)"

  // Of equations with N.
  SpectralTerm term() const;
  int groups() const;
  int group_of(int field) const;
  bool complex_rates() const { return equation == SpectralEquation::korteweg_de_vries; }
  std::complex<double> rate(int group, const WaveVector& k, const double* p) const;  // L
  double rate_slope(int group, const WaveVector& k, int parameter) const;            // ∂L/∂p
  std::array<double, 3> constants(const double* p) const;                            // of the term
  std::array<int, 3> constant_parameters() const;  // which parameter each is; -1: none

  // The largest number of cells that a step may cross. With the wave numbers that are kept, four
  // stages are stable to 1.35; two are not without viscosity, but grow slowly below 1.
  double courant_limit() const { return (order == 4 ? 1.3 : 1.0) * (1 + 1e-6); }
  // Cells that the flow, and waves, cross in a step, of the fastest node; 0 where it does not
  // matter. worst: that node.
  double courant(const double* p, const double* x, std::int64_t* worst) const;
  // What admits no start, in words: too fast for the step (CFL), or dry.
  std::string refuse_start(const double* p, const double* x) const;
};

}  // namespace cycloid::inline fluid
