#include "cycloid/optimise/wolfe.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::wolfe_test {

LinePoint at_zero(const LineFunction& phi) {
  LinePoint start = phi(0);
  start.a = 0;
  return start;
}

// The conditions, written out again.
void check_strong_wolfe(const LinePoint& start, const LinePoint& p, const WolfeOptions& o) {
  CHECK(p.a > 0);
  CHECK(p.value <= start.value + o.c1 * p.a * start.slope + 1e-15 * std::abs(start.value));
  CHECK(std::abs(p.slope) <= o.c2 * std::abs(start.slope));
}

TEST_CASE("wolfe_search: accepted steps fulfil both conditions, from tiny and huge first steps") {
  // Moré & Thuente 1994, functions (5.1) to (5.3): a long flat valley, a sharp one, a bumpy one.
  const std::vector<LineFunction> functions = {
      [](double a) { return LinePoint{a, -a / (a * a + 2), (a * a - 2) / std::pow(a * a + 2, 2)}; },
      [](double a) {
        const double b = a + 0.004;
        return LinePoint{a, std::pow(b, 5) - 2 * std::pow(b, 4),
                         5 * std::pow(b, 4) - 8 * std::pow(b, 3)};
      },
      [](double a) {
        const double l = 39, w = M_PI * l / 2;  // bumps on a slope towards a = 1
        const double hat = a <= 0.99 ? 1 - a : a >= 1.01 ? a - 1 : (a - 1) * (a - 1) / 0.02 + 0.005;
        const double hat_slope = a <= 0.99 ? -1 : a >= 1.01 ? 1 : (a - 1) / 0.01;
        return LinePoint{a, hat + 2 * 0.99 / (l * M_PI) * std::sin(w * a),
                         hat_slope + 0.99 * std::cos(w * a)};
      }};
  for (const LineFunction& phi : functions) {
    for (const double c2 : {0.1, 0.9}) {
      for (const double first : {1e-3, 1e-1, 1.0, 1e1, 1e3}) {
        const WolfeOptions options{.c1 = 1e-4, .c2 = c2, .max_evaluations = 60};
        const LineResult found = wolfe_search(phi, at_zero(phi), first, options);
        CAPTURE(first);
        REQUIRE(found.status == LineStatus::wolfe);
        check_strong_wolfe(at_zero(phi), found.point, options);
      }
    }
  }
}

TEST_CASE("wolfe_search: random quartics, every accepted step fulfils both conditions") {
  RandomStream random(11);
  for (int trial = 0; trial < 500; ++trial) {
    const double slope = -random.uniform(0.01, 10.0), b = random.uniform(-5.0, 5.0),
                 c = random.uniform(-5.0, 5.0), d = random.uniform(0.01, 3.0);
    const LineFunction phi = [=](double a) {
      return LinePoint{a, a * (slope + a * (b + a * (c + a * d))),
                       slope + a * (2 * b + a * (3 * c + a * 4 * d))};
    };
    const WolfeOptions options{.c2 = 0.3};
    const LineResult found = wolfe_search(phi, at_zero(phi), random.uniform(0.01, 20.0), options);
    CAPTURE(trial);
    REQUIRE(found.status == LineStatus::wolfe);
    check_strong_wolfe(at_zero(phi), found.point, options);
  }
}

TEST_CASE("wolfe_search: the cubic finds the minimiser of a parabola in two evaluations") {
  const LineFunction phi = [](double a) { return LinePoint{a, (a - 3) * (a - 3), 2 * (a - 3)}; };
  const LineResult found = wolfe_search(phi, at_zero(phi), 5.9, {.c2 = 1e-3});
  CHECK(found.evaluations == 2);
  CHECK(found.point.a == doctest::Approx(3).epsilon(1e-12));
}

TEST_CASE("wolfe_search: backs off from where the function is not finite") {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (const double edge : {2.0, 1e-4}) {  // the minimum lies at edge/2
      const LineFunction phi = [&](double a) {
        if (a >= edge) return LinePoint{a, bad, bad};
        const double s = a / edge;
        return LinePoint{a, s * s - s, (2 * s - 1) / edge};
      };
      const LineResult found = wolfe_search(phi, at_zero(phi), 1e3);
      REQUIRE(found.status == LineStatus::wolfe);
      check_strong_wolfe(at_zero(phi), found.point, {});
      CHECK(found.point.a < edge);
    }
  }
}

TEST_CASE(
    "wolfe_search: a function without end gives a decrease at max_step, a wrong slope fails") {
  const LineFunction endless = [](double a) { return LinePoint{a, -a, -1}; };
  const LineResult far = wolfe_search(endless, at_zero(endless), 1, {.max_step = 100});
  CHECK(far.status == LineStatus::decrease);
  CHECK(far.point.a == 100);

  const LineFunction lying = [](double a) { return LinePoint{a, a, -1}; };
  const LineResult none = wolfe_search(lying, at_zero(lying), 1);
  CHECK(none.status == LineStatus::failed);
  CHECK(none.point.a == 0);
  CHECK(none.evaluations <= WolfeOptions{}.max_evaluations);
}

TEST_CASE("wolfe_search: refuses options out of range and a direction that leads up") {
  const LineFunction up = [](double a) { return LinePoint{a, a, 1}; };
  const LineFunction down = [](double a) { return LinePoint{a, a * a - a, 2 * a - 1}; };
  CHECK_THROWS_AS(wolfe_search(up, at_zero(up), 1), Error);
  CHECK_THROWS_AS(wolfe_search(down, at_zero(down), 0), Error);
  CHECK_THROWS_AS(wolfe_search(down, at_zero(down), 1, {.c1 = 0.5, .c2 = 0.4}), Error);
  CHECK_THROWS_AS(wolfe_search(down, at_zero(down), 1, {.max_evaluations = 0}), Error);
}

}  // namespace cycloid::wolfe_test
