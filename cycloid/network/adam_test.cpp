#include "cycloid/network/adam.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/network/mlp.h"
#include "tests/support/pullback_check.h"

namespace cycloid {

TEST_CASE("Adam: steps are those of the formulas, with decay") {
  AdamOptions options;
  options.rate = 0.1, options.decay = 0.01;
  const std::size_t n = 37;  // not a whole number of registers
  Adam<double> adam(n, options);
  std::vector<double> w(n, 1.0), m(n, 0.0), v(n, 0.0), own(n, 1.0);
  for (int t = 1; t <= 5; ++t) {
    const std::vector<double> bar = test::FixedNumbers(static_cast<std::uint64_t>(t)).vector(n);
    adam.step(bar.data(), w.data());
    for (std::size_t i = 0; i < n; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * bar[i];
      v[i] = 0.999 * v[i] + 0.001 * bar[i] * bar[i];
      own[i] = own[i] * (1 - 0.1 * 0.01) - 0.1 * (m[i] / (1 - std::pow(0.9, t))) /
                                               (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
      CHECK(w[i] == doctest::Approx(own[i]).epsilon(1e-12));
    }
  }
  CHECK(adam.steps() == 5);
}

TEST_CASE("GradientFit: one step is that of Adam on the gradient of the loss") {
  MlpShape shape;
  shape.widths = {2, 9, 1};
  const std::vector<double> w = initial_weights(shape, 1);
  const std::size_t rows = 70;
  const std::vector<double> x = test::FixedNumbers(1).vector(2 * rows),
                            target = test::FixedNumbers(2).vector(2 * rows);
  GradientFit<double> fit(shape, w, {});
  const double loss = fit.step(x.data(), target.data(), static_cast<std::int64_t>(rows), 1);
  const MlpPlan<double> plan(shape);
  std::vector<double> bar(w.size(), 0.0), moved = w,
                                          memory(mlp_numbers<double>(plan, MlpOrder::first));
  const auto at = layer_pointers(shape, w.data());
  const auto bars = layer_pointers(shape, bar.data());
  double expected = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    double g[2], g_bar[2], ignored[2] = {};
    mlp_gradient(plan, at.data(), &x[2 * r], g, memory.data());
    for (std::size_t i = 0; i < 2; ++i) {
      const double off = g[i] - target[2 * r + i];
      expected += off * off / (2 * rows);
      g_bar[i] = off / rows;
    }
    mlp_gradient_pullback(plan, at.data(), &x[2 * r], g_bar, memory.data(), ignored, bars.data());
  }
  CHECK(loss == doctest::Approx(expected).epsilon(1e-12));
  Adam<double> adam(w.size());
  adam.step(bar.data(), moved.data());
  CHECK(test::relative_error(fit.weights(), moved) < 1e-9);
}

TEST_CASE("GradientFit: learns the gradient of a quadratic, in float, on any number of threads") {
  MlpShape shape;
  shape.widths = {2, 16, 1};
  AdamOptions options;
  options.rate = 0.02;
  std::vector<std::vector<float>> learned;
  for (const int threads : {1, 2}) {
    GradientFit<float> fit(shape, initial_weights(shape, 3), options);
    std::vector<float> x(2 * 200), target(2 * 200);
    test::FixedNumbers random(4);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(2 * random.next());
      target[i] = i % 2 == 0 ? x[i] : 2 * x[i];
    }
    double first = 0, last = 0;
    for (int k = 0; k < 400; ++k) {
      last = fit.step(x.data(), target.data(), 200, threads);
      if (k == 0) first = last;
    }
    CHECK(last < 0.02 * first);
    learned.push_back(fit.weights());
  }
  CHECK(learned[0] == learned[1]);
}

TEST_CASE("GradientFit: refuses networks of several outputs and weights of another size") {
  MlpShape shape;
  shape.widths = {2, 4, 2};
  CHECK_THROWS_WITH_AS(GradientFit<float>(shape, initial_weights(shape, 0), {}),
                       "a gradient is that of a network with one output; this one has 2", Error);
  shape.widths = {2, 4, 1};
  CHECK_THROWS_WITH_AS(GradientFit<float>(shape, {1, 2}, {}), "expected 17 weights, got 2", Error);
}

}  // namespace cycloid
