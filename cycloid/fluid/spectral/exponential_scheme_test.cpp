#include "cycloid/fluid/spectral/exponential_scheme.h"

#include <doctest/doctest.h>

#include <cmath>

namespace cycloid {
namespace {

using Complex = std::complex<double>;

// Taylor series Σ z^m c_m of φ_1, φ_2, f_1, f_2, f_3 from those of the exponential.
Complex series(int which, Complex z) {
  Complex sum = 0, power = 1;
  double factorial = 1;  // m!
  for (int m = 0; m < 40; ++m) {
    const double f1 = 1 / (factorial * (m + 1)), f2 = f1 / (m + 2), f3 = f2 / (m + 3);
    // Coefficients of z^m in e^z/z³ times a polynomial: 1/(m+3)!, 1/(m+2)!, 1/(m+1)!.
    const double c = which == 1   ? f1
                     : which == 2 ? f2
                     : which == 3 ? 4 * f3 - 3 * f2 + f1
                     : which == 4 ? f2 - 2 * f3
                                  : 4 * f3 - f2;
    sum += c * power;
    power *= z;
    factorial *= m + 1;
  }
  return sum;
}

TEST_CASE("etd_values: equal their Taylor series, wherever the circle lies") {
  const double h = 0.3;
  for (const Complex z :
       {Complex(0), Complex(1e-9), Complex(-0.5), Complex(-1), Complex(-1.9), Complex(-2.1),
        Complex(-4), Complex(0.2), Complex(0, 1), Complex(0, -3), Complex(-1, 2)}) {
    CAPTURE(z.real());
    CAPTURE(z.imag());
    const EtdValues two = etd_values(2, h, z), four = etd_values(4, h, z);
    const auto near = [](Complex a, Complex b) { return std::abs(a - b) < 2e-14; };
    CHECK(near(two.value[0], std::exp(z)));
    CHECK(near(two.value[1], h * series(1, z)));
    CHECK(near(two.value[2], h * (series(1, z) - series(2, z))));
    CHECK(near(two.value[3], h * series(2, z)));
    CHECK(near(four.value[1], std::exp(0.5 * z)));
    CHECK(near(four.value[2], 0.5 * h * series(1, 0.5 * z)));
    CHECK(near(four.value[4], h * series(3, z)));
    CHECK(near(four.value[5], h * series(4, z)));
    CHECK(near(four.value[6], h * series(5, z)));
  }
}

TEST_CASE("etd_values: stiff modes keep their digits") {
  const EtdValues v = etd_values(4, 1.0, -1e4);
  CHECK(v.value[0] == 0.0);
  CHECK(v.value[2].real() == doctest::Approx(1e-4).epsilon(1e-12));
  CHECK(v.value[6].real() == doctest::Approx((-4 + 3e4 - 1e8) / -1e12).epsilon(1e-12));
}

TEST_CASE("etd_values: slopes are derivatives by z") {
  for (const int order : {2, 4}) {
    for (const Complex z :
         {Complex(0), Complex(-0.7), Complex(-1.5), Complex(-30), Complex(0, 2)}) {
      const EtdValues at = etd_values(order, 0.3, z);
      const double e = 1e-3;
      for (int c = 0; c < etd_scheme(order).coefficients; ++c) {
        const auto D = [&](double s) {
          return (etd_values(order, 0.3, z + s).value[c] - etd_values(order, 0.3, z - s).value[c]) /
                 (2 * s);
        };
        const Complex difference = (4.0 * D(e / 2) - D(e)) / 3.0;
        CHECK(std::abs(at.slope[c] - difference) < 1e-11);
      }
    }
  }
}

TEST_CASE("etd_scheme: without stiffness it is a Runge-Kutta method of its order") {
  // x' = -x with L = 0: one step gives the exponential to the order of the scheme.
  for (const int order : {2, 4}) {
    double errors[2];
    for (int halving = 0; halving < 2; ++halving) {
      const double h = 0.1 / (1 << halving);
      const EtdScheme& s = etd_scheme(order);
      const EtdValues v = etd_values(order, h, 0);
      std::vector<double> known = {1.0, -1.0};  // x, N_1
      double next = 0;
      for (const auto& stage : s.parts) {
        next = 0;
        for (const EtdPart& p : stage) {
          next += p.scale * v.value[p.coefficient].real() * known[static_cast<std::size_t>(p.from)];
        }
        known.push_back(-next);
      }
      errors[halving] = std::abs(next - std::exp(-h));
    }
    CHECK(std::log2(errors[0] / errors[1]) == doctest::Approx(order + 1).epsilon(0.03));
  }
}

}  // namespace
}  // namespace cycloid
