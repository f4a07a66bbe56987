#include "cycloid/learn/gaussian_loss.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "cycloid/learn/train.h"
#include "cycloid/learn/uncertain_laws_test.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

NoiseNetwork noise_for(const System& system, const Transitions& data) {
  const std::vector<double> first = {0.05, 0.05};
  return make_noise_network(system, data, {8}, first, 1);
}

}  // namespace

TEST_CASE("gaussian_loss: the gradient by law and noise equals a stencil along a direction") {
  const System system = test::small_law();
  const Transitions data = test::spring_transitions(40, [](double) { return 0.02; });
  for (const GaussianScore score : {GaussianScore::likelihood, GaussianScore::crps}) {
    const auto loss = gaussian_loss(system, data, noise_for(system, data), score, 1);
    std::vector<double> p = system.parameters().default_values(), bar;
    const std::size_t first = p.size();
    const std::vector<double> own = loss->own_numbers();
    p.insert(p.end(), own.begin(), own.end());
    std::vector<double> d = test::FixedNumbers(3).vector(p.size());
    d[0] = 0;  // the time step stays
    std::vector<std::int64_t> rows(40);
    std::iota(rows.begin(), rows.end(), 0);
    loss->value(p, {rows, 1, 0}, &bar);
    CHECK(test::largest(std::span(bar).subspan(first)) > 1e-4);
    const auto at = [&](double s) {
      std::vector<double> moved = p;
      for (std::size_t i = 0; i < p.size(); ++i) moved[i] += s * d[i];
      return loss->value(moved, {rows, 1, 0}, nullptr);
    };
    const double h = 1e-3, slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    CHECK(test::dot(bar, d) == doctest::Approx(slope).epsilon(1e-6));
  }
}

TEST_CASE("gaussian_loss: training finds noise that grows with the state, by either score") {
  const System system = test::small_law({16});
  const auto truth = [](double q) { return 0.03 * std::exp(q); };
  const Transitions data = test::spring_transitions(1500, truth);
  for (const GaussianScore score : {GaussianScore::likelihood, GaussianScore::crps}) {
    NoiseNetwork noise = noise_for(system, data);
    const auto loss = gaussian_loss(system, data, noise, score, 1);
    TrainOptions options;
    options.steps = 1200, options.batch = 250, options.learning_rate = 1e-2;
    options.schedule = RateSchedule::cosine;
    const TrainRun run = train(system, *loss, options);
    REQUIRE(run.own.size() == noise.weights.size());
    CHECK(run.params.size() == static_cast<std::size_t>(system.parameters().size()));
    for (const double q : {-0.9, 0.0, 0.9}) {
      const std::vector<double> x = {q, 0.1}, u = {0.0};
      const std::vector<double> s = noise.stated(noise.features(x, u, 1), run.own, 1);
      CHECK(s[0] / truth(q) == doctest::Approx(1).epsilon(0.35));
      CHECK(s[1] / truth(q) == doctest::Approx(1).epsilon(0.35));
    }
  }
}

TEST_CASE("sample_runs: the spread of one step is the stated one, and runs do not depend on rows") {
  const System system = test::small_law();
  const Transitions data = test::spring_transitions(40, [](double) { return 0.02; });
  const NoiseNetwork noise = noise_for(system, data);
  const std::vector<double> x0 = {0.3, -0.2}, u = {0.5, 0.1};
  constexpr std::int64_t kMembers = 4000;
  const std::vector<double> runs = sample_runs(system, noise, x0, u, 2, kMembers, 7, 1);
  const std::vector<double> first = {u[0]};
  const std::vector<double> s = noise.stated(noise.features(x0, first, 1), noise.weights, 1);
  const std::vector<double> mean = step(system, x0, first);
  for (std::size_t i = 0; i < 2; ++i) {
    double sum = 0, squares = 0;
    for (std::size_t k = 0; k < kMembers; ++k) {
      const double off = runs[(k * 3 + 1) * 2 + i] - mean[i];
      sum += off, squares += off * off;
    }
    CHECK(std::abs(sum / kMembers) < 4 * s[i] / std::sqrt(static_cast<double>(kMembers)));
    CHECK(std::sqrt(squares / kMembers) == doctest::Approx(s[i]).epsilon(0.05));
  }
}

}  // namespace cycloid
