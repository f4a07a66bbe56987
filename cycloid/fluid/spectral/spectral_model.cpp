#include "cycloid/fluid/spectral/spectral_model.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/check.h"
#include "cycloid/base/error.h"

namespace cycloid::inline fluid {
namespace {

using Equation = SpectralEquation;

double square(const WaveVector& k) { return k[0] * k[0] + k[1] * k[1] + k[2] * k[2]; }

}  // namespace

const std::vector<std::string>& spectral_equation_names() {
  static const std::vector<std::string> names = {
      "navier_stokes",       "burgers", "kuramoto_sivashinsky", "korteweg_de_vries", "heat",
      "advection_diffusion", "wave",    "gray_scott",           "shallow_water"};
  return names;
}

std::int64_t SpectralModel::nodes() const {
  std::int64_t n = 1;
  for (const int s : shape) n *= s;
  return n;
}

int SpectralModel::velocities() const {
  switch (equation) {
    case Equation::navier_stokes:
    case Equation::burgers:
    case Equation::shallow_water: return dimensions();
    default: return 0;
  }
}

int SpectralModel::fields() const {
  switch (equation) {
    case Equation::navier_stokes:
    case Equation::burgers: return dimensions();
    case Equation::shallow_water: return 3;
    case Equation::wave:
    case Equation::gray_scott: return 2;
    default: return 1;
  }
}

bool SpectralModel::linear() const {
  return equation == Equation::heat || equation == Equation::advection_diffusion ||
         equation == Equation::wave;
}

std::vector<int> SpectralModel::cut() const {
  std::vector<int> most;
  if (linear()) return most;
  for (const int n : shape) most.push_back((n - 1) / 3);
  return most;
}

std::string SpectralModel::node_name(std::int64_t i) const {
  std::string name = "node (";
  std::int64_t stride = nodes(), rest = i % stride;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    stride /= shape[a];
    name += message(a == 0 ? "" : ", ", rest / stride);
    rest %= stride;
  }
  return name + ")";
}

SpectralTerm SpectralModel::term() const {
  const int d = dimensions();
  switch (equation) {
    case Equation::navier_stokes:
      return d == 2 ? SpectralTerm::incompressible_2d : SpectralTerm::incompressible_3d;
    case Equation::gray_scott: return SpectralTerm::reaction;
    case Equation::shallow_water: return SpectralTerm::shallow_water;
    default:
      return d == 1   ? SpectralTerm::transport_1d
             : d == 2 ? SpectralTerm::transport_2d
                      : SpectralTerm::transport_3d;
  }
}

int SpectralModel::groups() const {
  return equation == Equation::gray_scott || equation == Equation::shallow_water ? 2 : 1;
}

int SpectralModel::group_of(int field) const {
  if (equation == Equation::gray_scott) return field;
  return equation == Equation::shallow_water && field == 2 ? 1 : 0;
}

std::complex<double> SpectralModel::rate(int group, const WaveVector& k, const double* p) const {
  const double k2 = square(k);
  switch (equation) {
    case Equation::kuramoto_sivashinsky: return k2 - k2 * k2;
    case Equation::korteweg_de_vries: return {0, k[0] * k[0] * k[0]};
    case Equation::gray_scott: return group == 0 ? -p[0] * k2 - p[2] : -p[1] * k2 - p[2] - p[3];
    case Equation::shallow_water: return group == 0 ? -p[3] * k2 : 0;
    default: return -p[0] * k2;
  }
}

double SpectralModel::rate_slope(int group, const WaveVector& k, int parameter) const {
  const double k2 = square(k);
  switch (equation) {
    case Equation::gray_scott:
      if (parameter < 2) return parameter == group ? -k2 : 0;
      return parameter == 2 || group == 1 ? -1 : 0;
    case Equation::shallow_water: return group == 0 && parameter == 3 ? -k2 : 0;
    default: return parameter == 0 ? -k2 : 0;
  }
}

std::array<double, 3> SpectralModel::constants(const double* p) const {
  switch (equation) {
    case Equation::korteweg_de_vries: return {6, 0, 0};
    case Equation::gray_scott: return {p[2], 0, 0};
    case Equation::shallow_water: return {p[0], p[1], p[2]};
    default: return {1, 0, 0};
  }
}

std::array<int, 3> SpectralModel::constant_parameters() const {
  switch (equation) {
    case Equation::gray_scott: return {2, -1, -1};
    case Equation::shallow_water: return {0, 1, 2};
    default: return {-1, -1, -1};
  }
}

double SpectralModel::courant(const double* p, const double* x, std::int64_t* worst) const {
  const std::int64_t n = nodes();
  double most = 0, rates = 0;
  for (int a = 0; a < dimensions(); ++a) rates += dt / spacing(a);
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int a = 0; a < velocities(); ++a) sum += std::abs(x[a * n + i]) * dt / spacing(a);
    if (equation == Equation::shallow_water) {
      sum += rates * std::sqrt(p[0] * std::max(p[1] + x[2 * n + i], 0.0));
    }
    if (!(sum <= most)) {
      most = sum;
      if (worst) *worst = i;
    }
  }
  return most;
}

std::string SpectralModel::refuse_start(const double* p, const double* x) const {
  if (velocities() == 0) return {};
  const std::int64_t n = nodes();
  if (equation == Equation::shallow_water) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (p[1] + x[2 * n + i] > 0) continue;
      return message("there is no water at ", node_name(i), ": depth + height is ",
                     p[1] + x[2 * n + i], " m");
    }
  }
  std::int64_t worst = 0;
  const double number = courant(p, x, &worst);
  if (number <= courant_limit()) return {};
  return message("the CFL number is ", number, " at ", node_name(worst),
                 ": the flow crosses that many cells in a step; the step may be at most ",
                 dt * courant_limit() / number, " s, and dt is ", dt, " s");
}

}  // namespace cycloid::inline fluid
