#include "cycloid/fluid/spectral/exponential_scheme.h"

#include <array>
#include <cmath>
#include <numbers>

#include "cycloid/base/check.h"

namespace cycloid::inline fluid {
namespace {

using Complex = std::complex<double>;

constexpr int kPoints = 32;  // of a circle

// Points of a circle of radius r, and exponentials there.
struct Circle {
  explicit Circle(double radius) : r(radius) {
    for (int j = 0; j < kPoints; ++j) {
      const double angle = 2 * std::numbers::pi * (j + 0.5) / kPoints;
      const std::size_t i = static_cast<std::size_t>(j);
      point[i] = std::polar(r, angle);
      whole[i] = std::exp(point[i]), half[i] = std::exp(0.5 * point[i]);
    }
  }
  double r;
  std::array<Complex, kPoints> point, whole, half;
};

// Plain products: operands are finite, and the standard's care for infinities costs a call.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// The formulas of (1), (2) at ζ, given e^ζ and e^{ζ/2}.
int formulas(int order, double h, Complex z, Complex e, Complex e_half, Complex* f) {
  const Complex inverse = std::conj(z) / std::norm(z);
  if (order == 2) {
    const Complex phi_1 = times(e - 1.0, inverse), phi_2 = times(phi_1 - 1.0, inverse);
    f[0] = e, f[1] = h * phi_1, f[2] = h * (phi_1 - phi_2), f[3] = h * phi_2;
    return 4;
  }
  const Complex cube = h * times(inverse, times(inverse, inverse)), z2 = times(z, z);
  f[0] = e, f[1] = e_half;
  f[2] = h * times(e_half - 1.0, inverse);
  f[3] = times(e_half - 1.0, f[2]);
  f[4] = times(cube, -4.0 - z + times(e, 4.0 - 3.0 * z + z2));
  f[5] = times(cube, 2.0 + z + times(e, z - 2.0));
  f[6] = times(cube, -4.0 - 3.0 * z - z2 + times(e, 4.0 - z));
  return 7;
}

}  // namespace

const EtdScheme& etd_scheme(int order) {
  static const EtdScheme second = {2, 4, {{{0, 0}, {1, 1}}, {{0, 0}, {2, 1}, {3, 2}}}};
  static const EtdScheme fourth = {4,
                                   7,
                                   {{{1, 0}, {2, 1}},
                                    {{1, 0}, {2, 2}},
                                    {{0, 0}, {3, 1}, {2, 3, 2.0}},
                                    {{0, 0}, {4, 1}, {5, 2, 2.0}, {5, 3, 2.0}, {6, 4}}}};
  CYCLOID_CHECK(order == 2 || order == 4, "the order of a scheme is 2 or 4");
  return order == 2 ? second : fourth;
}

EtdValues etd_values(int order, double h, Complex z) {
  static const Circle circles[] = {Circle(1), Circle(2), Circle(3)};
  const double size = std::abs(z);
  const Circle& c = circles[size <= 1 ? 1 : size < 2 ? 2 : 0];
  const Complex whole = std::exp(z), half = std::exp(0.5 * z);
  EtdValues out = {};
  const int last = z.imag() == 0 ? kPoints / 2 : kPoints;  // the other half is conjugate
  for (int j = 0; j < last; ++j) {
    const std::size_t i = static_cast<std::size_t>(j);
    Complex f[kMostEtdCoefficients];
    const int n =
        formulas(order, h, z + c.point[i], times(whole, c.whole[i]), times(half, c.half[i]), f);
    const Complex turn = std::conj(c.point[i]) / (c.r * c.r * last);
    for (int k = 0; k < n; ++k) {
      out.value[k] += f[k] / static_cast<double>(last);
      out.slope[k] += times(f[k], turn);
    }
  }
  if (last < kPoints) {
    for (int k = 0; k < kMostEtdCoefficients; ++k) {
      out.value[k] = out.value[k].real(), out.slope[k] = out.slope[k].real();
    }
  }
  // The exponentials themselves cancel nowhere.
  out.value[0] = out.slope[0] = whole;
  if (order == 4) out.value[1] = half, out.slope[1] = 0.5 * half;
  return out;
}

}  // namespace cycloid::inline fluid
