#include "cycloid/optimise/lbfgs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::lbfgs_test {

using Vector = std::vector<double>;
using In = std::span<const double>;
using Out = std::span<double>;

// 100 (y - x²)² + (1 - x)² in consecutive pairs; minimum 0 at (1, 1, …).
double rosenbrock(In x, Out g) {
  double f = 0;
  for (std::size_t i = 0; i + 1 < x.size(); i += 2) {
    const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    f += 100 * a * a + b * b;
    g[i] = -400 * a * x[i] - 2 * b;
    g[i + 1] = 200 * a;
  }
  return f;
}

// Beale 1958; minimum 0 at (3, 0.5).
double beale(In x, Out g) {
  const double c[3] = {1.5, 2.25, 2.625};
  double f = 0, power = 1;
  g[0] = g[1] = 0;
  for (int k = 0; k < 3; ++k) {
    const double slope = (k + 1) * power;
    power *= x[1];
    const double r = c[k] - x[0] * (1 - power);
    f += r * r;
    g[0] -= 2 * r * (1 - power);
    g[1] += 2 * r * x[0] * slope;
  }
  return f;
}

TEST_CASE("lbfgs: Rosenbrock's valley in 2 and 50 variables, from the classic start") {
  for (const std::size_t n : {2, 50}) {
    Vector x0(n);
    for (std::size_t i = 0; i < n; ++i) x0[i] = i % 2 == 0 ? -1.2 : 1;
    const LbfgsResult r = lbfgs(rosenbrock, x0);
    CHECK(r.status == OptimiserStatus::converged_gradient);
    // Near the minimum |x - 1| ≤ |∇f| / (smallest curvature 0.4).
    for (const double v : r.x) CHECK(std::abs(v - 1) < 1e-7);
    CHECK(r.iterations < 60);
    CHECK(r.values.size() == static_cast<std::size_t>(r.iterations) + 1);
    CHECK(r.values.front() == doctest::Approx(24.2 * static_cast<double>(n) / 2));
    CHECK(std::is_sorted(r.values.rbegin(), r.values.rend()));
    CHECK(r.gradient_norm <= 1e-8);
  }
}

TEST_CASE("lbfgs: Beale's function ends in its minimum (3, 0.5)") {
  const LbfgsResult r = lbfgs(beale, Vector{1, 1});
  CHECK(is_converged(r.status));
  CHECK(std::abs(r.x[0] - 3) < 1e-6);
  CHECK(std::abs(r.x[1] - 0.5) < 1e-6);
}

TEST_CASE("lbfgs: a quadratic of n variables with a sharp search is done in about n iterations") {
  constexpr std::size_t n = 8;
  const auto quadratic = [](In x, Out g) {
    double f = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double c = static_cast<double>(i + 1), e = x[i] - c;
      f += c * e * e / 2;
      g[i] = c * e;
    }
    return f;
  };
  // With exact line searches L-BFGS makes the steps of conjugate gradients: n of them.
  const LbfgsResult r = lbfgs(quadratic, Vector(n, 0.0), {.line = {.c1 = 1e-6, .c2 = 1e-5}});
  CHECK(r.status == OptimiserStatus::converged_gradient);
  CHECK(r.iterations <= static_cast<int>(n) + 2);
  for (std::size_t i = 0; i < n; ++i) CHECK(r.x[i] == doctest::Approx(static_cast<double>(i + 1)));
}

TEST_CASE("lbfgs: variables whose scales differ by a million") {
  const auto badly_scaled = [](In x, Out g) {
    const double a = 1e3 * x[0] - 1, b = 1e-3 * x[1] - 1;
    g[0] = 2e3 * a + 4e3 * a * a * a;
    g[1] = 2e-3 * b + 4e-3 * b * b * b;
    return a * a + a * a * a * a + b * b + b * b * b * b;
  };
  const LbfgsResult r =
      lbfgs(badly_scaled, Vector{1, 1}, {.gradient_tolerance = 1e-9, .step_tolerance = 0});
  CHECK(r.status == OptimiserStatus::converged_gradient);
  CHECK(r.x[0] == doctest::Approx(1e-3).epsilon(1e-8));
  CHECK(r.x[1] == doctest::Approx(1e3).epsilon(1e-3));  // |∂f/∂x₁| ≤ 1e-9 leaves 5e-4 of 1e3
}

TEST_CASE("lbfgs: once the scale is known, the full step is nearly always right") {
  const auto bowl = [](In x, Out g) {  // curvatures 1 … 100: more than the memory holds
    double f = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double c = static_cast<double>(i + 1);
      f += c * x[i] * x[i] / 2;
      g[i] = c * x[i];
    }
    return f;
  };
  const LbfgsResult r = lbfgs(bowl, Vector(100, 1.0), {.memory = 5});
  CHECK(r.status == OptimiserStatus::converged_gradient);
  CHECK(r.evaluations < 1.2 * r.iterations + 5);
  CHECK(r.iterations < 150);
}

TEST_CASE(
    "lbfgs: value, gradient and variables belong together, also when searches are cut short") {
  const auto check = [](In x, double value, In gradient) {
    Vector g(2);
    CHECK(rosenbrock(x, g) == value);
    CHECK(g == Vector(gradient.begin(), gradient.end()));
  };
  int cut_short = 0;
  LbfgsOptions options{.line = {.c1 = 1e-4, .c2 = 1e-3, .max_evaluations = 3}};
  options.watch = [&](const LbfgsIterate& it) {
    check(it.x, it.value, it.gradient);
    cut_short += it.line == LineStatus::decrease;
    return true;
  };
  const LbfgsResult r = lbfgs(rosenbrock, Vector{-1.2, 1}, options);
  check(r.x, r.value, r.gradient);
  CHECK(cut_short > 3);
  CHECK(r.value < 1);
}

TEST_CASE("lbfgs: every accepted step fulfils the strong Wolfe conditions") {
  Vector before_x, before_g;
  double before = 0;
  int checked = 0;
  const LbfgsOptions options{.watch = [&](const LbfgsIterate& it) {
    if (it.iteration > 0) {
      REQUIRE(it.line == LineStatus::wolfe);
      double slope = 0, slope_after = 0;  // times the step length
      for (std::size_t i = 0; i < it.x.size(); ++i) {
        slope += before_g[i] * (it.x[i] - before_x[i]);
        slope_after += it.gradient[i] * (it.x[i] - before_x[i]);
      }
      CHECK(slope < 0);
      CHECK(it.value <= before + 1e-4 * slope);
      CHECK(std::abs(slope_after) <= 0.9 * std::abs(slope) * (1 + 1e-9));
      ++checked;
    }
    before_x.assign(it.x.begin(), it.x.end());
    before_g.assign(it.gradient.begin(), it.gradient.end());
    before = it.value;
    return it.value > 1e-20;  // below, x - before_x has lost its digits
  }};
  lbfgs(rosenbrock, Vector{-1.2, 1}, options);
  CHECK(checked > 20);
}

TEST_CASE("lbfgs: backs off from regions where the function is not finite") {
  // x log x has a wall at zero beyond which it is NaN; the first step would jump over it.
  const auto walled = [](In x, Out g) {
    double f = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      f += x[i] * std::log(x[i]);
      g[i] = std::log(x[i]) + 1;
    }
    return f;
  };
  const LbfgsResult r = lbfgs(walled, Vector{100, 3, 0.01}, {.first_move = 1000});
  CHECK(r.status == OptimiserStatus::converged_gradient);
  for (const double v : r.x) CHECK(v == doctest::Approx(std::exp(-1)).epsilon(1e-7));
}

TEST_CASE("lbfgs: each way to stop has its status") {
  const LbfgsResult short_run = lbfgs(rosenbrock, Vector{-1.2, 1}, {.max_iterations = 3});
  CHECK(short_run.status == OptimiserStatus::max_iterations);
  CHECK(short_run.iterations == 3);

  const LbfgsResult watched =
      lbfgs(rosenbrock, Vector{-1.2, 1},
            {.watch = [](const LbfgsIterate& it) { return it.iteration < 5; }});
  CHECK(watched.status == OptimiserStatus::stopped);
  CHECK(watched.iterations == 5);

  const auto nowhere = [](In, Out) { return std::nan(""); };
  CHECK(lbfgs(nowhere, Vector{1}).status == OptimiserStatus::non_finite);
  const auto no_slope = [](In, Out g) { return g[0] = INFINITY, 1.0; };
  CHECK(lbfgs(no_slope, Vector{1}).status == OptimiserStatus::non_finite);

  const auto wrong_sign = [](In x, Out g) { return g[0] = -2 * x[0], x[0] * x[0]; };
  const LbfgsResult failed = lbfgs(wrong_sign, Vector{1});
  CHECK(failed.status == OptimiserStatus::line_search_failed);
  CHECK(failed.x == Vector{1});
  CHECK(advice(failed.status).find("check_gradient") != std::string::npos);

  const LbfgsResult there = lbfgs(rosenbrock, Vector{1, 1});
  CHECK(there.status == OptimiserStatus::converged_gradient);
  CHECK(there.iterations == 0);

  const LbfgsResult still =
      lbfgs(rosenbrock, Vector{-1.2, 1}, {.gradient_tolerance = 0, .step_tolerance = 1e-3});
  CHECK(still.status == OptimiserStatus::converged_step);
  CHECK(still.value < 1e-3);
}

TEST_CASE("lbfgs: the same numbers every time, and objectives may throw") {
  const LbfgsResult a = lbfgs(rosenbrock, Vector{-1.2, 1}), b = lbfgs(rosenbrock, Vector{-1.2, 1});
  CHECK(a.x == b.x);
  CHECK(a.values == b.values);
  const auto throwing = [](In, Out) -> double { throw Error("from the objective"); };
  CHECK_THROWS_WITH_AS(lbfgs(throwing, Vector{1}), "from the objective", Error);
}

TEST_CASE("lbfgs: refuses empty and non-finite starts and options out of range") {
  CHECK_THROWS_AS(lbfgs(rosenbrock, Vector{}), Error);
  CHECK_THROWS_AS(lbfgs(rosenbrock, Vector{1, std::nan("")}), Error);
  CHECK_THROWS_AS(lbfgs(Objective(), Vector{1}), Error);
  CHECK_THROWS_AS(lbfgs(rosenbrock, Vector{1, 2}, {.memory = 0}), Error);
  CHECK_THROWS_AS(lbfgs(rosenbrock, Vector{1, 2}, {.gradient_tolerance = -1}), Error);
  CHECK_THROWS_AS(lbfgs(rosenbrock, Vector{1, 2}, {.line = {.c1 = 2}}), Error);
}

}  // namespace cycloid::lbfgs_test
