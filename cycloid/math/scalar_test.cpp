#include "cycloid/math/scalar.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace cycloid {
namespace {

template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

// Numbers of every size, halves between integers, the borders of the format.
template <class T>
std::vector<T> numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> out = {
      T(0),   Limits::denorm_min(), Limits::min(), T(0.5), T(0.49999997), T(1), T(1.5), T(2.5),
      T(3.5), Limits::max(),        kInfinity<T>};
  for (int e = Limits::digits - 3; e < Limits::digits + 2; ++e) {
    for (const double offset : {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5}) {
      out.push_back(T(std::ldexp(1.0, e) + offset));
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i)
    out.push_back(std::ldexp(T(1 + double(random() >> 11) * 0x1p-53), i % 80 - 20));
  const std::size_t positive = out.size();
  for (std::size_t i = 0; i < positive; ++i) out.push_back(-out[i]);
  return out;
}

template <class T>
bool same(T a, T b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
}

TEST_CASE_TEMPLATE("scalar: traits of the built-in scalars", T, float, double) {
  CHECK(std::same_as<Scalar<T>, T>);
  CHECK(std::same_as<Mask<T>, bool>);
  CHECK(kLanes<T> == 1);
  CHECK(any(true));
  CHECK(!any(false));
  CHECK(all(true));
  CHECK(!all(false));
}

TEST_CASE_TEMPLATE("scalar: abs, copysign, floor, round_nearest and sqrt equal those of <cmath>", T,
                   float, double) {
  for (const T x : numbers<T>()) {
    CAPTURE(x);
    CHECK(same(cycloid::abs(x), std::abs(x)));
    CHECK(same(cycloid::copysign(T(3), x), std::copysign(T(3), x)));
    CHECK(same(cycloid::floor(x), std::floor(x)));
    CHECK(same(round_nearest(x), std::nearbyint(x)));
    CHECK(same(cycloid::sqrt(x), std::sqrt(x)));
    CHECK(is_finite(x) == std::isfinite(x));
  }
  CHECK(!is_finite(kNan<T>));
  CHECK(std::isnan(cycloid::floor(kNan<T>)));
  CHECK(std::isnan(round_nearest(kNan<T>)));
}

TEST_CASE_TEMPLATE(
    "scalar: positive_part keeps NaN, and unit_step is its derivative, 0 at the kink", T, float,
    double) {
  CHECK(positive_part(T(2)) == 2);
  CHECK(positive_part(T(-2)) == 0);
  CHECK(positive_part(T(0)) == 0);
  CHECK(std::isnan(positive_part(kNan<T>)));
  CHECK(unit_step(T(2)) == 1);
  CHECK(unit_step(T(0)) == 0);
  CHECK(unit_step(T(-2)) == 0);
  CHECK(unit_step(std::numeric_limits<T>::denorm_min()) == 1);
}

TEST_CASE_TEMPLATE(
    "scalar: min and max order numbers and return the second of two that do not compare", T, float,
    double) {
  CHECK(cycloid::min(T(1), T(2)) == 1);
  CHECK(cycloid::min(T(2), T(1)) == 1);
  CHECK(cycloid::max(T(1), T(2)) == 2);
  CHECK(cycloid::max(T(2), 1) == 2);
  CHECK(std::isnan(cycloid::max(T(1), kNan<T>)));
  CHECK(cycloid::max(kNan<T>, T(1)) == 1);
  CHECK(select(true, T(1), 2) == 1);
  CHECK(select(false, T(1), 2) == 2);
}

TEST_CASE_TEMPLATE("scalar: a scalar is a pack of one lane to generic code", T, float, double) {
  T memory[2] = {T(1.25), T(2.5)};
  T x = load<T>(memory + 1);
  CHECK(x == T(2.5));
  set_lane(x, 0, T(4));
  CHECK(lane(x, 0) == 4);
  store(memory, x);
  CHECK(memory[0] == 4);
  double sum = 0.5;
  widen_add(&sum, x);
  CHECK(sum == 4.5);
  CHECK(sum_lanes(x) == 4);
  CHECK(std::same_as<decltype(widen(x)), double>);
}

}  // namespace
}  // namespace cycloid
