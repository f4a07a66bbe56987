#include "cycloid/learn/laplace.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/learn/uncertain_laws_test.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

Transitions noisy(const System& system, std::size_t rows, double noise) {
  Transitions data = test::spring_transitions(rows, [](double) { return 0.0; });
  data.next = step(system, data.x, data.u);
  RandomStream random(11);
  for (double& v : data.next) v += noise * random.normal();
  return data;
}

}  // namespace

TEST_CASE("laplace_posterior: numbers of the last layer, none better known than alone") {
  const System law = test::small_law(), system = euler_step(law);
  const Transitions data = noisy(system, 600, 0.02);
  LaplaceOptions options;
  options.prior = 1e-6;
  const LaplacePosterior post = laplace_posterior(system, data, options);
  CHECK(post.numbers.size() == 2 * 7);  // (2, 6) weights, 2 biases
  CHECK(post.noise[0] == doctest::Approx(0.02).epsilon(0.1));
  // Λ_cc, what the data say about one number alone, by differences of steps.
  const std::vector<double> p = system.parameters().default_values();
  const std::size_t k = post.numbers.size();
  std::vector<double> direct(k, 0.0);
  for (std::size_t c = 0; c < k; ++c) {
    std::vector<double> up = p, down = p;
    up[static_cast<std::size_t>(post.numbers[c])] += 1e-4;
    down[static_cast<std::size_t>(post.numbers[c])] -= 1e-4;
    const auto a = step(system, data.x, data.u, up), b = step(system, data.x, data.u, down);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double slope = (a[i] - b[i]) / 2e-4 / post.noise[i % 2];
      direct[c] += slope * slope;
    }
  }
  std::vector<double> sigma(k * k, 0.0);
  for (std::size_t r = 0; r < k; ++r) {
    for (std::size_t c = 0; c < k; ++c) {
      for (std::size_t j = 0; j < k; ++j) {
        sigma[r * k + c] += post.factor[r * k + j] * post.factor[c * k + j];
      }
    }
  }
  // 1/Σ_cc is what they say while the others are unknown too: never more.
  for (std::size_t c = 0; c < k; ++c) {
    CHECK(1 / sigma[c * k + c] <= direct[c] * (1 + 1e-6));
    CHECK(sigma[c * k + c] > 0);
  }
}

TEST_CASE("laplace_posterior: of a bias alone it is that of a mean, and draws scatter so") {
  const System system = euler_step(test::small_law({3}));
  // The bias of the last layer alone: its posterior is σ² / (N dt²).
  LaplaceOptions options;
  options.params = {"neural_ode.bias1"}, options.prior = 1e-9;
  const Transitions data = noisy(system, 500, 0.05);
  const LaplacePosterior post = laplace_posterior(system, data, options);
  REQUIRE(post.numbers.size() == 2);
  const std::vector<double> p = system.parameters().default_values();
  double squares = 0;
  constexpr std::uint32_t kDraws = 4000;
  for (std::uint32_t d = 0; d < kDraws; ++d) {
    const std::size_t at = static_cast<std::size_t>(post.numbers[0]);
    const double off = laplace_draw(post, p, 3, d)[at] - p[at];
    squares += off * off;
  }
  const double expected = post.noise[0] / (0.1 * std::sqrt(500.0));
  CHECK(std::sqrt(squares / kDraws) == doctest::Approx(expected).epsilon(0.05));
  CHECK(post.determined == doctest::Approx(2).epsilon(1e-3));
}

TEST_CASE("laplace_posterior: the evidence chooses a prior, names are checked") {
  const System system = test::small_law();
  const Transitions data = noisy(system, 200, 0.02);
  const LaplacePosterior post = laplace_posterior(system, data);
  CHECK(post.prior > 0);
  CHECK(post.determined < 14);
  LaplaceOptions wrong;
  wrong.params = {"neural_ode.weight7"};
  CHECK_THROWS_AS(laplace_posterior(system, data, wrong), ParameterError);
  CHECK_THROWS_AS(laplace_posterior(systems::make("pendulum", {}, {}), data), Error);
  CHECK(last_layers(system) == std::vector<std::string>{"neural_ode.weight1", "neural_ode.bias1"});
}

}  // namespace cycloid
