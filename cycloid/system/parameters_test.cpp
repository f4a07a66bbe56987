#include "cycloid/system/parameters.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "cycloid/base/error.h"
#include "tests/support/pullback_check.h"

namespace cycloid::parameters_test {

using test::Numbers;

Parameter parameter(const char* name, Constraint constraint = Constraint::none,
                    std::vector<int> shape = {}, const char* unit = "1") {
  Parameter p;
  p.name = name;
  p.unit = unit;
  p.shape = std::move(shape);
  p.constraint = constraint;
  return p;
}

void add(Parameters& registry, Parameter p, const Numbers& value) {
  registry.add(std::move(p), value);
}

// One of every constraint.
Parameters registry() {
  Parameters r;
  add(r, parameter("length", Constraint::positive, {}, "m"), {0.7});
  add(r, parameter("wind", Constraint::none, {3}, "m/s"), {1, -2, 0.5});
  add(r, parameter("friction", Constraint::unit_interval), {0.25});
  add(r, parameter("body:pole.inertia", Constraint::inertia, {6}, "kg·m²"),
      {2, 3, 4, 0.1, -0.2, 0.3});
  add(r, parameter("stiffness", Constraint::non_negative, {2, 2}, "N/m"), {1, 0.5, 20, 3});
  return r;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("Parameters: one flat vector, in the order of adding, with shapes and offsets") {
  const Parameters r = registry();
  CHECK(r.size() == 15);
  CHECK(r.default_values() ==
        Numbers{0.7, 1, -2, 0.5, 0.25, 2, 3, 4, 0.1, -0.2, 0.3, 1, 0.5, 20, 3});
  REQUIRE(r.all().size() == 5);
  CHECK(r.all()[4].offset == 11);
  CHECK(r.all()[4].size == 4);
  CHECK(r.all()[4].shape == std::vector<int>{2, 2});
  CHECK(r.find("wind").offset == 1);
  CHECK(r.contains("wind"));
  CHECK_FALSE(r.contains("win"));
  CHECK(r.find("body:pole.inertia").unit == "kg·m²");
  CHECK(r.holding(4).name == "friction");
  CHECK(r.holding(14).name == "stiffness");
  CHECK(r.number_name(0) == "length");
  CHECK(r.number_name(2) == "wind[1]");
  CHECK(r.number_name(14) == "stiffness[3]");
  CHECK_THROWS_AS(r.holding(15), InternalError);
  CHECK_THROWS_AS(r.holding(-1), InternalError);
}

TEST_CASE("Parameters::find: an unknown name raises ParameterError with the nearest one") {
  CHECK_THROWS_WITH_AS(registry().find("lenght"),
                       "no parameter is called \"lenght\"; did you mean \"length\"?",
                       ParameterError);
  CHECK_THROWS_AS(Parameters().find("length"), ParameterError);
}

TEST_CASE("Parameters::add: refuses a second of the same name, a wrong size, a broken constraint") {
  Parameters r = registry();
  CHECK_THROWS_WITH_AS(add(r, parameter("wind"), {1}), "two parameters are called \"wind\"",
                       ModelError);
  CHECK_THROWS_WITH_AS(add(r, parameter("axis", Constraint::none, {3}), {1, 2}),
                       "parameter \"axis\" takes 3 numbers, got 2", ParameterError);
  CHECK_THROWS_WITH_AS(add(r, parameter("mass", Constraint::positive, {}, "kg"), {-1}),
                       "parameter \"mass\" must be positive [kg]; got [-1]", ParameterError);
  CHECK_THROWS_WITH_AS(add(r, parameter("mass"), {kNaN}),
                       "parameter \"mass\" must be finite; got nan", ParameterError);
  CHECK_THROWS_AS(add(r, parameter("inertia", Constraint::inertia, {6}), {1, 1, 3, 0, 0, 0}),
                  ParameterError);
  CHECK_THROWS_AS(add(r, parameter("inertia", Constraint::inertia, {5}), {1, 1, 1, 0, 0}),
                  ParameterError);
  CHECK(r.size() == 15);  // nothing was added
}

TEST_CASE("Parameters::pack, unpack: names to a vector and back, defaults for the rest") {
  const Parameters r = registry();
  const Numbers packed = r.pack({{"wind", {7, 8, 9}}, {"length", {2}}});
  CHECK(packed == Numbers{2, 7, 8, 9, 0.25, 2, 3, 4, 0.1, -0.2, 0.3, 1, 0.5, 20, 3});
  const auto named = r.unpack(packed);
  CHECK(named.size() == 5);
  CHECK(named.at("wind") == Numbers{7, 8, 9});
  CHECK(named.at("friction") == Numbers{0.25});
  CHECK(r.pack(named) == packed);
  CHECK(r.pack({}) == r.default_values());
  CHECK_THROWS_WITH_AS(r.pack({{"wid", {1, 2, 3}}}),
                       "no parameter is called \"wid\"; did you mean \"wind\"?", ParameterError);
  CHECK_THROWS_WITH_AS(r.pack({{"wind", {1, 2}}}), "parameter \"wind\" takes 3 numbers, got 2",
                       ParameterError);
  CHECK_THROWS_AS(r.pack({{"friction", {1.5}}}), ParameterError);
  CHECK_THROWS_WITH_AS(
      r.unpack(Numbers(14)),
      "expected 15 parameter numbers, got 14; Parameters::pack makes the vector from names",
      ParameterError);
}

TEST_CASE("Parameters::check: names the parameter, what it must be, and what it is") {
  const Parameters r = registry();
  CHECK_NOTHROW(r.check(r.default_values()));
  Numbers p = r.default_values();
  p[4] = 1.25;
  CHECK_THROWS_WITH_AS(r.check(p), "parameter \"friction\" must be between 0 and 1; got [1.25]",
                       ParameterError);
  p = r.default_values();
  p[12] = -1;
  CHECK_THROWS_WITH_AS(r.check(p),
                       "parameter \"stiffness\" must be zero or positive [N/m]; got [1, -1, 20, 3]",
                       ParameterError);
  p = r.default_values();
  p[2] = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(r.check(p), "parameter \"wind\" must be finite; got inf", ParameterError);
  CHECK_THROWS_AS(r.check(Numbers(16, 1.0)), ParameterError);
  CHECK_THROWS_AS(r.to_free(p), ParameterError);
}

TEST_CASE("Parameters: free variables come back as the values they stand for") {
  const Parameters r = registry();
  const Numbers free = r.to_free(r.default_values());
  CHECK(free[0] == doctest::Approx(std::log(0.7)).epsilon(1e-15));
  CHECK(free[2] == -2);
  CHECK(free[4] == doctest::Approx(-std::log(3.0)).epsilon(1e-15));
  CHECK(test::relative_error(r.from_free(free), r.default_values()) < 1e-14);
  test::FixedNumbers random(8);
  for (int trial = 0; trial < 20; ++trial) {
    Numbers z = random.vector(15);
    for (double& v : z) v *= 3;
    CHECK_NOTHROW(r.check(r.from_free(z)));
  }
  CHECK_THROWS_AS(r.from_free(Numbers(3)), ParameterError);
  CHECK_THROWS_AS(r.from_free_pullback(free, Numbers(3)), ParameterError);
  CHECK_THROWS_AS(r.from_free_pullback(Numbers(3), free), ParameterError);
}

TEST_CASE("Parameters::from_free: pullback equals differences of every value") {
  const Parameters r = registry();
  const Numbers free = r.to_free(r.default_values());
  test::FixedNumbers random(9);
  const Numbers values_bar = random.vector(15);
  const Numbers free_bar = r.from_free_pullback(free, values_bar);
  double worst = 0;
  for (std::size_t i = 0; i < 15; ++i) {
    const auto along = [&](double h) {
      Numbers z = free;
      z[i] += h;
      return test::dot(values_bar, r.from_free(z));
    };
    const double h = 1e-3;  // fourth order: truncation 1e-12, rounding of sums near 20 a few 1e-12
    const double expected =
        (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h);
    worst = std::max(worst, std::abs(free_bar[i] - expected));
    CHECK(std::abs(free_bar[i]) > 1e-3);
  }
  CHECK(worst < 1e-9);
  if (worst < 1e-9) test::mark_operator_tested("Parameters::from_free");
}

}  // namespace cycloid::parameters_test
