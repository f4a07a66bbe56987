#include "cycloid/system/constraint.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "cycloid/math/rotation.h"
#include "tests/support/pullback_check.h"

namespace cycloid::constraint_test {

using test::Numbers;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double relative(double actual, double expected) {
  return std::abs(actual - expected) / std::abs(expected);
}

double there_and_back(Constraint constraint, double p) {
  double z;
  free_from_value(constraint, &p, 1, &z);
  CHECK(std::isfinite(z));
  return scalar_value_from_free(constraint, z);
}

// Rotational inertia of point masses: of a real body by construction.
std::array<double, 6> inertia_of(const std::vector<Vec3<double>>& points, double mass) {
  std::array<double, 6> p{};
  for (const Vec3<double>& r : points) {
    p[0] += mass * (r.y * r.y + r.z * r.z);
    p[1] += mass * (r.x * r.x + r.z * r.z);
    p[2] += mass * (r.x * r.x + r.y * r.y);
    p[3] -= mass * r.x * r.y;
    p[4] -= mass * r.x * r.z;
    p[5] -= mass * r.y * r.z;
  }
  return p;
}

// The largest principal moment minus the sum of the others, and minus the smallest moment: both are
// negative for a real body. Jacobi rotations on the 3×3 matrix.
std::array<double, 2> defects(const std::array<double, 6>& p) {
  double a[3][3] = {{p[0], p[3], p[4]}, {p[3], p[1], p[5]}, {p[4], p[5], p[2]}};
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (int i = 0; i < 2; ++i) {
      for (int j = i + 1; j < 3; ++j) {
        const double angle = 0.5 * std::atan2(2 * a[i][j], a[i][i] - a[j][j]);
        const double c = std::cos(angle), s = std::sin(angle);
        for (int k = 0; k < 3; ++k) {
          const double x = a[i][k], y = a[j][k];
          a[i][k] = c * x + s * y, a[j][k] = c * y - s * x;
        }
        for (int k = 0; k < 3; ++k) {
          const double x = a[k][i], y = a[k][j];
          a[k][i] = c * x + s * y, a[k][j] = c * y - s * x;
        }
      }
    }
  }
  const double largest = std::max({a[0][0], a[1][1], a[2][2]});
  const double smallest = std::min({a[0][0], a[1][1], a[2][2]});
  return {2 * largest - (a[0][0] + a[1][1] + a[2][2]), -smallest};
}

bool is_inertia(const std::array<double, 6>& p) {
  return satisfies(Constraint::inertia, p.data(), 6);
}

TEST_CASE("Constraint: says what satisfies it, borders included, NaN and infinity never") {
  struct Case {
    Constraint constraint;
    double value;
    bool ok;
  };
  const Case cases[] = {{Constraint::none, -5, true},
                        {Constraint::none, 0, true},
                        {Constraint::positive, 1e-300, true},
                        {Constraint::positive, 0, false},
                        {Constraint::positive, -1, false},
                        {Constraint::non_negative, 0, true},
                        {Constraint::non_negative, -0.0, true},
                        {Constraint::non_negative, -1e-300, false},
                        {Constraint::unit_interval, 0, true},
                        {Constraint::unit_interval, 1, true},
                        {Constraint::unit_interval, 0.5, true},
                        {Constraint::unit_interval, 1 + 1e-15, false},
                        {Constraint::unit_interval, -1e-9, false}};
  for (const Case& c : cases) {
    INFO(std::string(describe(c.constraint)), ": ", c.value);
    CHECK(satisfies(c.constraint, &c.value, 1) == c.ok);
  }
  for (const Constraint c : {Constraint::none, Constraint::positive, Constraint::non_negative,
                             Constraint::unit_interval}) {
    CHECK_FALSE(satisfies(c, &kNaN, 1));
    CHECK_FALSE(satisfies(c, &kInfinity, 1));
    const double pair[2] = {0.5, kNaN};
    CHECK_FALSE(satisfies(c, pair, 2));
  }
  CHECK_FALSE(is_inertia({1, 1, 1, 0, kNaN, 0}));
  CHECK_FALSE(is_inertia({1, 1, kInfinity, 0, 0, 0}));
}

TEST_CASE("Constraint: is described in words for messages") {
  CHECK(std::string(describe(Constraint::none)) == "any number");
  CHECK(std::string(describe(Constraint::positive)) == "positive");
  CHECK(std::string(describe(Constraint::non_negative)) == "zero or positive");
  CHECK(std::string(describe(Constraint::unit_interval)) == "between 0 and 1");
  CHECK(std::string(describe(Constraint::inertia)).find("positive definite") != std::string::npos);
}

TEST_CASE("free_from_value: value_from_free undoes it, from tiny to huge") {
  for (const double p : {-3.0, 0.0, 1e300}) CHECK(there_and_back(Constraint::none, p) == p);
  for (const double p : {1e-300, 1e-9, 0.3, 1.0, 2e5, 1e300}) {
    // z = log p has an absolute error of |log p| units in the last place, which exp makes relative:
    // at most 690.
    CHECK(relative(there_and_back(Constraint::positive, p), p) < 2e-13);
  }
  for (const double p :
       {kBorder, 1e-7, 1e-4, 1.1e-4, 0.01, 0.69314718055994531, 1.0, 21.0, 29.0, 31.0, 1e300}) {
    // log(1 + e) loses what e is below one; the series takes over at 1e-4.
    CHECK(relative(there_and_back(Constraint::non_negative, p), p) < 2e-12);
  }
  for (const double p : {kBorder, 0.01, 0.5, 0.99}) {
    CHECK(relative(there_and_back(Constraint::unit_interval, p), p) < 1e-14);
  }
}

TEST_CASE("free_from_value: a value on the border moves to kBorder inside") {
  CHECK(relative(there_and_back(Constraint::non_negative, 0), kBorder) < 1e-14);
  CHECK(relative(there_and_back(Constraint::unit_interval, 0), kBorder) < 1e-14);
  CHECK(relative(1 - there_and_back(Constraint::unit_interval, 1), kBorder) < 1e-6);
}

TEST_CASE("value_from_free: satisfies the constraint for every free number, without overflow") {
  for (const double z : {-1e308, -1000.0, -50.0, 0.0, 50.0, 690.0, 1e308}) {
    const double softplus = scalar_value_from_free(Constraint::non_negative, z);
    CHECK(satisfies(Constraint::non_negative, &softplus, 1));
    const double fraction = scalar_value_from_free(Constraint::unit_interval, z);
    CHECK(satisfies(Constraint::unit_interval, &fraction, 1));
    for (const Constraint c : {Constraint::non_negative, Constraint::unit_interval}) {
      double z_bar = 0;
      scalar_value_from_free_pullback(c, z, 1.0, z_bar);
      CHECK(z_bar >= 0);
      CHECK(z_bar <= 1);
    }
  }
  for (const double z : {-700.0, 0.0, 700.0}) {
    const double p = scalar_value_from_free(Constraint::positive, z);
    CHECK(satisfies(Constraint::positive, &p, 1));
  }
  CHECK(scalar_value_from_free(Constraint::non_negative, 800.0) == 800.0);
  CHECK(scalar_value_from_free(Constraint::non_negative, -800.0) == 0.0);
}

TEST_CASE("scalar_value_from_free: pullback equals dual numbers at every size, and at zero") {
  for (const Constraint c : {Constraint::none, Constraint::positive, Constraint::non_negative,
                             Constraint::unit_interval}) {
    INFO(std::string(describe(c)));
    test::check_pullback(
        "scalar_value_from_free", 1,
        [&](const auto* z, auto* p) { p[0] = scalar_value_from_free(c, z[0]); },
        [&](const auto* z, const auto* p_bar, auto* z_bar) {
          scalar_value_from_free_pullback(c, z[0], p_bar[0], z_bar[0]);
        },
        // -9.21 is where (3) passes to its series.
        {{0.0}, {0.7}, {-0.7}, {-9.2}, {-9.22}, {-20.0}, {5.0}, {8.0}}, {.floor = 1e-12});
  }
  double z_bar = 0;  // far out, where 1 - p has no digits left
  scalar_value_from_free_pullback(Constraint::unit_interval, 40.0, 1.0, z_bar);
  CHECK(relative(z_bar, std::exp(-40.0)) < 1e-14);
}

TEST_CASE("Constraint::inertia: every free vector gives a real body") {
  test::FixedNumbers random(3);
  for (int trial = 0; trial < 200; ++trial) {
    Numbers z = random.vector(6);
    for (double& v : z) v *= trial % 4 + 1;  // lengths e^-4 … e^4, products up to 16
    std::array<double, 6> p;
    inertia_from_free(z.data(), p.data());
    const auto [triangle, definite] = defects(p);
    // Where one axis of Σ is 1e-7 of another, rounding of the largest entry decides.
    const double rounding = 1e-14 * (p[0] + p[1] + p[2]);
    CHECK(triangle < rounding);
    CHECK(definite < 0);
  }
}

TEST_CASE("Constraint::inertia: bodies of random points are accepted and come back, of any size") {
  test::FixedNumbers random(4);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Vec3<double>> points;
    for (int i = 0; i < 4; ++i) points.push_back({random.next(), random.next(), random.next()});
    for (const double mass : {1.0, 1e-200, 1e200}) {
      const std::array<double, 6> p = inertia_of(points, mass);
      REQUIRE(is_inertia(p));
      double z[6];
      std::array<double, 6> back;
      free_from_value(Constraint::inertia, p.data(), 6, z);
      inertia_from_free(z, back.data());
      CHECK(test::relative_error(back, p, 0) < 1e-12);
    }
  }
  CHECK(is_inertia({1e308, 1e308, 1e308, 0, 0, 0}));
  CHECK(is_inertia({5e-324, 5e-324, 5e-324, 0, 0, 0}) == false);  // half of it rounds to zero
}

TEST_CASE("Constraint::inertia: refuses what no body has") {
  CHECK(is_inertia({2, 3, 4, 0, 0, 0}));
  CHECK_FALSE(is_inertia({2, 3, 5.01, 0, 0, 0}));  // triangle inequality
  CHECK_FALSE(is_inertia({2, 3, 5, 0, 0, 0}));     // a body without thickness: the border
  CHECK_FALSE(is_inertia({-1, 1, 1, 0, 0, 0}));    // negative moment
  CHECK_FALSE(is_inertia({0, 0, 0, 0, 0, 0}));     // a point
  CHECK_FALSE(is_inertia({1, 1, 1, 0.6, 0, 0}));   // principal moments 1.6, 1, 0.4
  CHECK(is_inertia({1, 1, 1, 0.49, 0, 0}));
  CHECK_FALSE(is_inertia({1, 1, 1, 0, 0.6, 0}));
  CHECK_FALSE(is_inertia({1, 1, 1, 0, 0, 0.6}));
  CHECK_FALSE(
      is_inertia({1, 1, 1, 0.3, 0.3, 0.3}));  // Σ = ½ 1 - 0.3 (…): its last pivot is below zero
  const double five[5] = {1, 1, 1, 0, 0};
  CHECK_FALSE(satisfies(Constraint::inertia, five, 5));
}

TEST_CASE("inertia_from_free: pullback equals dual numbers") {
  test::check_pullback(
      "inertia_from_free", 6, [](const auto* z, auto* p) { inertia_from_free(z, p); },
      [](const auto* z, const auto* p_bar, auto* z_bar) {
        inertia_from_free_pullback(z, p_bar, z_bar);
      },
      {{0, 0, 0, 0, 0, 0},
       {0.3, -0.7, 1.1, 0.4, -0.6, 0.9},
       {-5, 2, -3, 0.01, 3, -2},
       {1, 1, 1, -2, 0, 0}});
}

}  // namespace cycloid::constraint_test
