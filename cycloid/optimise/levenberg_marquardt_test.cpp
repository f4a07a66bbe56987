#include "cycloid/optimise/levenberg_marquardt.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::levenberg_marquardt_test {

using Vector = std::vector<double>;
using In = std::span<const double>;
using Out = std::span<double>;

struct Data {
  Vector x, y;
};

// A problem of the NIST Statistical Reference Datasets, with its certified values.
struct NistCase {
  const char* name;
  Residuals residuals;
  std::size_t count;
  Vector start, estimate, standard_error;
  double residual_deviation;
};

// y = b0 (1 - exp(-b1 x)): Misra1a and BoxBOD.
Residuals saturation(const Data& data) {
  return [data](In b, Out r, Out jacobian) {
    for (std::size_t i = 0; i < data.x.size(); ++i) {
      const double e = std::exp(-b[1] * data.x[i]);
      r[i] = b[0] * (1 - e) - data.y[i];
      if (jacobian.empty()) continue;
      jacobian[2 * i] = 1 - e;
      jacobian[2 * i + 1] = b[0] * data.x[i] * e;
    }
  };
}

// y = b0 (x² + b1 x) / (x² + b2 x + b3): MGH09.
Residuals rational(const Data& data) {
  return [data](In b, Out r, Out jacobian) {
    for (std::size_t i = 0; i < data.x.size(); ++i) {
      const double x = data.x[i], top = x * x + b[1] * x, bottom = x * x + b[2] * x + b[3];
      r[i] = b[0] * top / bottom - data.y[i];
      if (jacobian.empty()) continue;
      double* row = jacobian.data() + 4 * i;
      row[0] = top / bottom;
      row[1] = b[0] * x / bottom;
      row[2] = -b[0] * top * x / (bottom * bottom);
      row[3] = -b[0] * top / (bottom * bottom);
    }
  };
}

std::vector<NistCase> nist_cases() {
  const Data misra1a{{77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8,
                      593.1, 689.1, 760.0},
                     {10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01,
                      66.40, 75.47, 81.78}};
  const Data box_bod{{1, 2, 3, 5, 7, 10}, {109, 149, 149, 191, 213, 224}};
  const Data mgh09{
      {4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625},
      {0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246}};
  return {{"Misra1a, start 1",
           saturation(misra1a),
           14,
           {500, 0.0001},
           {2.3894212918e+02, 5.5015643181e-04},
           {2.7070075241e+00, 7.2668688436e-06},
           1.0187876330e-01},
          {"Misra1a, start 2",
           saturation(misra1a),
           14,
           {250, 0.0005},
           {2.3894212918e+02, 5.5015643181e-04},
           {2.7070075241e+00, 7.2668688436e-06},
           1.0187876330e-01},
          {"BoxBOD, start 2",
           saturation(box_bod),
           6,
           {100, 0.75},
           {2.1380940889e+02, 5.4723748542e-01},
           {1.2354515176e+01, 1.0455993237e-01},
           1.7088072423e+01},
          {"MGH09, start 2",
           rational(mgh09),
           11,
           {0.25, 0.39, 0.415, 0.39},
           {1.9280693458e-01, 1.9128232873e-01, 1.2305650693e-01, 1.3606233068e-01},
           {1.1435312227e-02, 1.9633220911e-01, 8.0842031232e-02, 9.0025542308e-02},
           6.6279236551e-03}};
}

// Straight line through points at 0, 1, …; known closed form.
Residuals line(const Vector& y) {
  return [y](In x, Out r, Out jacobian) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double t = static_cast<double>(i);
      r[i] = x[0] + x[1] * t - y[i];
      if (jacobian.empty()) continue;
      jacobian[2 * i] = 1;
      jacobian[2 * i + 1] = t;
    }
  };
}

TEST_CASE("levenberg_marquardt: certified estimates and standard errors of NIST's datasets") {
  for (const NistCase& c : nist_cases()) {
    CAPTURE(c.name);
    const LmResult fit =
        levenberg_marquardt(c.residuals, c.count, c.start, {.max_iterations = 200});
    REQUIRE(is_converged(fit.status));
    for (std::size_t i = 0; i < c.estimate.size(); ++i) {
      // The certified values have 11 digits; a gradient cosine of 1e-10 leaves about 1e-9 of these.
      CHECK(fit.x[i] == doctest::Approx(c.estimate[i]).epsilon(1e-7));
      CHECK(fit.standard_error(i) == doctest::Approx(c.standard_error[i]).epsilon(1e-6));
    }
    CHECK(fit.noise == doctest::Approx(c.residual_deviation).epsilon(1e-8));
  }
}

TEST_CASE("levenberg_marquardt: a linear problem is done at once, with the textbook covariance") {
  const Vector y = {1.0, 2.9, 5.2, 7.1, 8.8};
  const LmResult fit = levenberg_marquardt(line(y), 5, Vector{0, 0});
  REQUIRE(is_converged(fit.status));
  CHECK(fit.iterations <= 6);
  // Σ(t - 2)² = 10, Σ(t - 2) y = 19.8, mean 5.
  CHECK(fit.x[1] == doctest::Approx(1.98));
  CHECK(fit.x[0] == doctest::Approx(5.0 - 2 * 1.98));
  const double s2 = fit.noise * fit.noise;
  CHECK(fit.covariance[3] == doctest::Approx(s2 / 10));
  CHECK(fit.covariance[0] == doctest::Approx(s2 * (1.0 / 5 + 4.0 / 10)));
  CHECK(fit.covariance[1] == doctest::Approx(-s2 * 2 / 10));

  const LmResult known = levenberg_marquardt(line(y), 5, Vector{0, 0}, {.noise = 3});
  CHECK(known.covariance[3] == doctest::Approx(0.9));
}

TEST_CASE("levenberg_marquardt: Rosenbrock as residuals, and exact zeros end the search") {
  const Residuals valley = [](In x, Out r, Out jacobian) {
    r[0] = 10 * (x[1] - x[0] * x[0]);
    r[1] = 1 - x[0];
    if (jacobian.empty()) return;
    const double rows[] = {-20 * x[0], 10, -1, 0};
    std::copy(rows, rows + 4, jacobian.begin());
  };
  const LmResult fit = levenberg_marquardt(valley, 2, Vector{-1.2, 1});
  CHECK(is_converged(fit.status));
  CHECK(std::abs(fit.x[0] - 1) < 1e-9);
  CHECK(std::abs(fit.x[1] - 1) < 1e-9);
  CHECK(
      fit.covariance.empty());  // two residuals, two variables: nothing left to estimate noise from
  CHECK_THROWS_AS(fit.standard_error(0), Error);
  CHECK(std::is_sorted(fit.values.rbegin(), fit.values.rend()));
}

TEST_CASE("levenberg_marquardt: the steps do not depend on the units of the variables") {
  const NistCase c = nist_cases()[1];
  const double unit = 1e6;
  const Residuals in_other_units = [&](In x, Out r, Out jacobian) {
    const Vector b{x[0] / unit, x[1] * unit};
    c.residuals(b, r, jacobian);
    for (std::size_t i = 0; i < jacobian.size(); i += 2) {
      jacobian[i] /= unit;
      jacobian[i + 1] *= unit;
    }
  };
  const LmResult a = levenberg_marquardt(c.residuals, c.count, c.start);
  const LmResult b =
      levenberg_marquardt(in_other_units, c.count, Vector{c.start[0] * unit, c.start[1] / unit});
  const auto falls = [](const LmResult& r) {  // rounding decides about steps that fall by less
    return std::count_if(r.values.begin(), r.values.end(),
                         [&](double v) { return v > r.value * (1 + 1e-10); });
  };
  CHECK(falls(a) > 3);
  CHECK(falls(a) == falls(b));
  for (std::size_t k = 0; k < std::min(a.values.size(), b.values.size()); ++k) {
    CHECK(b.values[k] == doctest::Approx(a.values[k]).epsilon(1e-8));
  }
}

TEST_CASE("levenberg_marquardt: variables that only act as a product are named undetermined") {
  RandomStream random(4);
  Vector t, y;
  for (int i = 0; i < 20; ++i) {
    t.push_back(0.1 * i);
    y.push_back(6 * t.back() + 0.01 * random.normal());
  }
  const Residuals product = [&](In x, Out r, Out jacobian) {
    for (std::size_t i = 0; i < t.size(); ++i) {
      r[i] = x[0] * x[1] * t[i] - y[i];
      if (jacobian.empty()) continue;
      jacobian[2 * i] = x[1] * t[i];
      jacobian[2 * i + 1] = x[0] * t[i];
    }
  };
  const LmResult fit = levenberg_marquardt(product, t.size(), Vector{1, 1});
  CHECK(fit.status == OptimiserStatus::rank_deficient);
  CHECK(fit.x[0] * fit.x[1] == doctest::Approx(6).epsilon(0.01));
  CHECK(fit.covariance.empty());
  // Along x0 up, x1 down in proportion, nothing changes.
  REQUIRE(fit.undetermined.size() == 2);
  CHECK(fit.undetermined[0] * fit.x[1] + fit.undetermined[1] * fit.x[0] ==
        doctest::Approx(0).epsilon(1e-9));
  CHECK_THROWS_WITH_AS(fit.standard_error(0),
                       doctest::Contains("do not change along some direction"), Error);

  const Residuals deaf = [](In x, Out r, Out jacobian) {  // the second variable does nothing
    for (std::size_t i = 0; i < 3; ++i) {
      r[i] = x[0] - static_cast<double>(i);
      if (!jacobian.empty()) jacobian[2 * i] = 1;
    }
  };
  const LmResult half = levenberg_marquardt(deaf, 3, Vector{5, 5});
  CHECK(half.status == OptimiserStatus::rank_deficient);
  CHECK(std::abs(half.undetermined[1]) == doctest::Approx(1));
  CHECK(half.x[0] == doctest::Approx(1));
}

TEST_CASE("levenberg_marquardt: refuses steps into regions that are not finite") {
  const Residuals root = [](In x, Out r,
                            Out jacobian) {  // NaN for x < 0; the full step jumps there
    r[0] = std::sqrt(x[0]) - 0.1;
    if (!jacobian.empty()) jacobian[0] = 0.5 / std::sqrt(x[0]);
  };
  const LmResult fit = levenberg_marquardt(root, 1, Vector{100});
  CHECK(is_converged(fit.status));
  CHECK(fit.x[0] == doctest::Approx(0.01));
  CHECK(levenberg_marquardt(root, 1, Vector{-1}).status == OptimiserStatus::non_finite);
}

TEST_CASE("levenberg_marquardt: each way to stop has its status") {
  const NistCase c = nist_cases()[0];
  CHECK(levenberg_marquardt(c.residuals, c.count, c.start, {.max_iterations = 2}).status ==
        OptimiserStatus::max_iterations);
  const LmResult watched =
      levenberg_marquardt(c.residuals, c.count, c.start,
                          {.watch = [](const LmIterate& it) { return it.iteration < 1; }});
  CHECK(watched.status == OptimiserStatus::stopped);
  CHECK(watched.values.size() == 2);
  const LmResult coarse =
      levenberg_marquardt(c.residuals, c.count, c.start,
                          {.gradient_tolerance = 0, .step_tolerance = 0, .value_tolerance = 1e-3});
  CHECK(coarse.status == OptimiserStatus::converged_value);
  const LmResult stepped =
      levenberg_marquardt(c.residuals, c.count, c.start, {.gradient_tolerance = 0});
  CHECK(stepped.status == OptimiserStatus::converged_step);
}

TEST_CASE("levenberg_marquardt: refuses empty and non-finite starts and options out of range") {
  const Residuals f = line({1, 2, 3});
  CHECK_THROWS_AS(levenberg_marquardt(f, 3, Vector{}), Error);
  CHECK_THROWS_AS(levenberg_marquardt(f, 0, Vector{1, 1}), Error);
  CHECK_THROWS_AS(levenberg_marquardt(f, 3, Vector{1, INFINITY}), Error);
  CHECK_THROWS_AS(levenberg_marquardt(Residuals(), 3, Vector{1, 1}), Error);
  CHECK_THROWS_AS(levenberg_marquardt(f, 3, Vector{1, 1}, {.first_damping = 0}), Error);
  CHECK_THROWS_AS(levenberg_marquardt(f, 3, Vector{1, 1}, {.noise = -1}), Error);
}

}  // namespace cycloid::levenberg_marquardt_test
