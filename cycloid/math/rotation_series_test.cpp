#include "cycloid/math/rotation_series.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cycloid/math/pack.h"

namespace cycloid {
namespace {

// c0 … c7 in long double: the series where it does not cancel, closed forms beyond.
std::array<long double, 8> reference(long double x) {
  std::array<long double, 8> c{};
  const long double theta = std::sqrt(x);
  for (int k = 0; k < 8; ++k) {
    long double inverse = 1;
    for (int i = 2; i <= k - 2; ++i) inverse /= i;
    if (x > 9) {
      c[k] = k == 0 ? std::cos(theta) : k == 1 ? std::sin(theta) / theta : (inverse - c[k - 2]) / x;
      continue;
    }
    long double term = 1;
    for (int i = 2; i <= k; ++i) term /= i;
    for (int j = 0; j < 40; ++j) {
      c[k] += term;
      term *= -x / ((k + 2 * j + 1) * static_cast<long double>(k + 2 * j + 2));
    }
  }
  return c;
}

template <class S>
std::array<S, 6> as_array(const Stumpff<S>& c) {
  return {c.c0, c.c1, c.c2, c.c3, c.c4, c.c5};
}

struct Errors {
  double value = 0, slope = 0;  // largest |error| / c_k(0), over all k, in units of epsilon
};

template <class T>
Errors measure(double from, double to) {
  Errors worst;
  const double epsilon = std::numeric_limits<T>::epsilon();
  for (int i = 0; i <= 4000; ++i) {
    const T x = static_cast<T>(from + (to - from) * i / 4000);
    const auto exact = reference(x);
    const auto c = as_array(stumpff(Dual<T, 1>::variable(x, 0)));
    for (int k = 0; k < 6; ++k) {
      const double scale = inverse_factorial(k) * epsilon;
      const long double slope = -(exact[k + 1] - k * exact[k + 2]) / 2;
      worst.value = std::max(worst.value, double(std::abs(c[k].value - exact[k])) / scale);
      worst.slope = std::max(worst.slope, double(std::abs(c[k].tangent[0] - slope)) / scale);
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("stumpff: the six functions at zero are inverse factorials") {
  const auto c = as_array(stumpff(0.0));
  const double expected[] = {1, 1, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120};
  for (int k = 0; k < 6; ++k) CHECK(c[k] == doctest::Approx(expected[k]).epsilon(1e-16));
}

TEST_CASE("stumpff: values and derivatives keep their digits, in double and float") {
  // Measured over c_k(0): 1.6 ε in the series, 9 ε beyond it (c5, which cancels twice); slopes 0.7
  // and 4. The bounds leave a factor of 1.5 for other instruction sets.
  for (const Errors& e : {measure<double>(0, 4), measure<float>(0, 4)}) {
    CHECK(e.value < 2.5);
    CHECK(e.slope < 1.5);
  }
  for (const Errors& e : {measure<double>(4, 45), measure<float>(4, 45)}) {
    CHECK(e.value < 15);
    CHECK(e.slope < 6);
  }
}

TEST_CASE("stumpff: lanes on both sides of the split do not see each other") {
  using S = Pack<double, 4>;
  const double x[] = {0.0, 3.9, 4.1, 30.0};
  S lanes(0.0);
  for (int l = 0; l < 4; ++l) set_lane(lanes, l, x[l]);
  const auto c = as_array(stumpff(lanes));
  for (int l = 0; l < 4; ++l) {
    const auto exact = reference(x[l]);
    for (int k = 0; k < 6; ++k) {
      CHECK(std::abs(lane(c[k], l) - double(exact[k])) < 4e-15 * inverse_factorial(k));
    }
  }
}

TEST_CASE("arctangent_ratio: two roundings at most, up to tan²(π/8)") {
  double worst_double = 0, worst_float = 0;
  for (int i = 1; i <= 4000; ++i) {
    const double y = 0.17157 * i / 4000;
    const float y_float = static_cast<float>(y);
    const long double root = std::sqrt(static_cast<long double>(y));
    const long double root_float = std::sqrt(static_cast<long double>(y_float));
    worst_double =
        std::max(worst_double, double(std::abs(arctangent_ratio(y) * root / std::atan(root) - 1)));
    worst_float = std::max(
        worst_float,
        double(std::abs(arctangent_ratio(y_float) * root_float / std::atan(root_float) - 1)));
  }
  CHECK(arctangent_ratio(0.0) == 1);
  CHECK(worst_double < 2.2e-16);
  CHECK(worst_float < 1.2e-7);
}

}  // namespace cycloid
