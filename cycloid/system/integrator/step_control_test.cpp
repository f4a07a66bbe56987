#include "cycloid/system/integrator/step_control.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/law_steps.h"
#include "tests/support/test_laws.h"

namespace cycloid::step_control_test {

TEST_CASE("Tolerances: a default for each precision, unless given") {
  CHECK(Tolerances{}.relative<double>() == 1e-9);
  CHECK(Tolerances{}.relative<float>() == 1e-5f);
  CHECK(Tolerances{}.absolute<double>() == 1e-11);
  CHECK(Tolerances{1e-3, 1e-4}.relative<double>() == 1e-3);
  CHECK(Tolerances{1e-3, 1e-4}.absolute<double>() == 1e-4);
}

TEST_CASE("scaled_norm: is 1 where every component has just the error that is allowed") {
  const double x[] = {3, -0.1}, y[] = {-4, 0.05};
  const double e[] = {1e-3 + 1e-2 * 4, 1e-3 + 1e-2 * 0.1};
  CHECK(scaled_norm({1e-2, 1e-3}, 2, e, x, y) == doctest::Approx(1).epsilon(1e-14));
}

TEST_CASE("scaled_norm: is that of the worst component, and sees one that is not finite") {
  const double x[] = {0, 0, 0}, e[] = {1e-3, -3e-3, 0};
  CHECK(scaled_norm({1e-2, 1e-3}, 3, e, x, x) == doctest::Approx(3).epsilon(1e-14));
  for (int i = 0; i < 3; ++i) {
    double broken[] = {1e-3, -3e-3, 0};
    broken[i] = std::nan("");
    CHECK(std::isnan(scaled_norm({1e-2, 1e-3}, 3, broken, x, x)));
  }
}

TEST_CASE(
    "length_factor: grows within a tenfold, shrinks to a fifth, and never grows when not taken") {
  const double small = length_factor(5, 1e-12, 1e-4, true);
  CHECK(small == doctest::Approx(10));
  // E = E₀ = 1 is what the controller aims at, less its safety.
  CHECK(length_factor(5, 1.0, 1.0, true) == doctest::Approx(0.8));
  CHECK(length_factor(5, 32.0, 1.0, false) == doctest::Approx(0.4));
  CHECK(length_factor(5, 1e9, 1.0, false) == doctest::Approx(0.2));
  CHECK(length_factor(5, std::nan(""), 1.0, false) == doctest::Approx(0.2));
  CHECK(length_factor(5, 0.5, 1.0, false) <= 1.0);
}

TEST_CASE("held: drops tangents and keeps values") {
  const auto x = Dual<double, 2>::variable(3.0, 1);
  CHECK(held(x).value == 3.0);
  CHECK(held(x).tangent[1] == 0.0);
  CHECK(held(2.5) == 2.5);
}

TEST_CASE("first_length: is near the length that the tolerance allows, and within the step") {
  const test::DrivenOscillator law;
  const double u[] = {0}, p[] = {4.0, 0.0, 0.0, 1.0}, x[] = {1, 0};
  const auto guess = [&](double tolerance, double h) {
    const LawPoint<test::DrivenOscillator, double> at{
        law, LawShape<test::DrivenOscillator>(law), 0, h, u, p, Scratch{nullptr}};
    double f[2], e[2], y[2];
    law_x_dot(at, 0.0, x, f, static_cast<double*>(nullptr));
    return first_length({tolerance, tolerance}, 5, at, x, f, e, y, static_cast<double*>(nullptr));
  };
  // ω = 2: an error of a fifth-order step is about (ωh)⁵/120.
  for (const double tolerance : {1e-4, 1e-7, 1e-10}) {
    const double fair = std::pow(120 * tolerance, 0.2) / 2;
    CHECK(guess(tolerance, 100.0) > 0.05 * fair);
    CHECK(guess(tolerance, 100.0) < 2 * fair);
  }
  CHECK(guess(1e-4, 1e-3) <= 1e-3);
}

}  // namespace cycloid::step_control_test
