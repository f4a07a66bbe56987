#include "cycloid/system/heat.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "cycloid/base/error.h"
#include "tests/support/pullback_check.h"
#include "tests/support/stepper_run.h"

namespace cycloid::heat_test {

using test::Numbers;

Numbers waves(int n, double phase) {
  Numbers x(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = std::sin(0.7 * i * i + phase);
  return x;
}

// One step of a box, and its pullback.
struct Once {
  Once(const System& system, const Numbers& x, const Numbers& k, const Numbers& bar) {
    const Stepper<double>& stepper = *system.steppers<double>().one;
    const auto workspace = stepper.make_workspace({2});
    test::RecordRoom record(stepper);
    const double* arrays[] = {k.data()};
    k_bar.assign(k.size(), 0.0);
    double* const bars[] = {k_bar.data()};
    stepper.begin({nullptr, arrays, bars, nullptr}, *workspace);
    next.resize(x.size());
    x_bar.assign(x.size(), 0.0);
    status = stepper.step({x.data(), nullptr, 0, 0.0}, next.data(), &record, *workspace);
    if (status != StepStatus::ok) {
      trouble = stepper.explain({x.data(), nullptr, 0, 0.0}, 0, *workspace);
      return;
    }
    stepper.pullback({x.data(), nullptr, 0, 0.0}, record, bar.data(), x_bar.data(), nullptr,
                     *workspace);
    // The tangent along (bar, bar), for the dot test.
    const double* along[] = {bar.data()};
    next_tan.resize(x.size());
    CHECK(stepper.pushforward({x.data(), nullptr, 0, 0.0}, record,
                              {bar.data(), nullptr, nullptr, along}, next_tan.data(), *workspace));
  }
  StepStatus status;
  StepTrouble trouble;
  Numbers next, next_tan, x_bar, k_bar;
};

double dot(const Numbers& a, const Numbers& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

TEST_CASE("heat: a cosine of the box decays by 1 / (1 + h λ) in every step") {
  const int n = 40;
  const double k = 2.0, h = 0.3;
  const System system = systems::heat({n}, {k}, h);
  Numbers x;
  for (int i = 0; i < n; ++i) x.push_back(std::cos(std::numbers::pi * 3 * (i + 0.5) / n));
  const Once once(system, x, Numbers(n, k), x);
  const double s = std::sin(std::numbers::pi * 3 / (2 * n)), lambda = 4 * k * s * s;
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(once.next[i] == doctest::Approx(x[i] / (1 + h * lambda)).epsilon(1e-12));
  }
}

TEST_CASE("heat: heat stays in the box, whatever its conductivities and slope") {
  for (const double slope : {0.0, 0.2}) {
    const System system = systems::heat({5, 6, 7}, {1.0}, 0.4, slope);
    Numbers k = waves(210, 0.3);
    for (double& v : k) v = 1.5 + v;
    const Numbers x = waves(210, 1.0);
    const Once once(system, x, k, x);
    CHECK(std::accumulate(once.next.begin(), once.next.end(), 0.0) ==
          doctest::Approx(std::accumulate(x.begin(), x.end(), 0.0)).epsilon(1e-12));
    CHECK(dot(once.next, once.next) < dot(x, x));
  }
}

TEST_CASE("heat: pullback equals central differences by state and conductivity, slope or none") {
  for (const double slope : {0.0, 0.3}) {
    const System system = systems::heat({9, 8}, {1.0}, 0.5, slope);
    Numbers k = waves(72, 0.3), x = waves(72, 1.0);
    for (double& v : k) v = 1.5 + v;
    const Numbers bar = waves(72, 2.0), dx = waves(72, 3.0), dk = waves(72, 4.0);
    const Once at(system, x, k, bar);
    const auto value = [&](double e, bool state) {
      Numbers x_moved = x, k_moved = k;
      for (std::size_t i = 0; i < x.size(); ++i) {
        (state ? x_moved : k_moved)[i] += e * (state ? dx : dk)[i];
      }
      return dot(bar, Once(system, x_moved, k_moved, bar).next);
    };
    for (const bool state : {true, false}) {
      const double e = 1e-4;
      const double wide = (value(2 * e, state) - value(-2 * e, state)) / (4 * e),
                   near = (value(e, state) - value(-e, state)) / (2 * e);
      const double expected = (4 * near - wide) / 3;
      const double found = state ? dot(at.x_bar, dx) : dot(at.k_bar, dk);
      CHECK(std::abs(expected) > 1e-3);
      CHECK(found == doctest::Approx(expected).epsilon(1e-9));
    }
  }
}

TEST_CASE("heat: pushforward and pullback are transposes of each other") {
  for (const double slope : {0.0, 0.3}) {
    const System system = systems::heat({4, 5, 3}, {1.0}, 0.5, slope);
    Numbers k = waves(60, 0.3);
    for (double& v : k) v = 1.5 + v;
    const Numbers bar = waves(60, 2.0);
    const Once at(system, waves(60, 1.0), k, bar);
    const double forward = dot(bar, at.next_tan), back = dot(at.x_bar, bar) + dot(at.k_bar, bar);
    CHECK(std::abs(forward) > 1e-3);
    CHECK(forward == doctest::Approx(back).epsilon(1e-12));
  }
}

TEST_CASE("heat: a cell that would conduct nothing is named") {
  const System system = systems::heat({3, 4}, {1.0}, 0.1, 0.5);
  Numbers x(12, 0.0);
  x[6] = -2.5;
  const Once once(system, x, Numbers(12, 1.0), x);
  CHECK(once.status == StepStatus::non_finite);
  CHECK(once.trouble.body == "cell (1, 2)");
}

TEST_CASE("heat: shapes, conductivities and steps that make no sense are refused") {
  CHECK_THROWS_AS(systems::heat({}, {1.0}, 0.1), ModelError);
  CHECK_THROWS_AS(systems::heat({2, 0}, {1.0}, 0.1), ModelError);
  CHECK_THROWS_AS(systems::heat({2, 2, 2, 2}, {1.0}, 0.1), ModelError);
  CHECK_THROWS_AS(systems::heat({1 << 20, 1 << 20}, {1.0}, 0.1), ModelError);
  CHECK_THROWS_AS(systems::heat({2, 2}, {1.0, 2.0}, 0.1), ParameterError);
  CHECK_THROWS_AS(systems::heat({2, 2}, {-1.0}, 0.1), ParameterError);
  CHECK_THROWS_AS(systems::heat({2, 2}, {1.0}, 0.0), ParameterError);
}

}  // namespace cycloid::heat_test
