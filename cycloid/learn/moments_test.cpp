#include "cycloid/learn/moments.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/learn/dropout.h"
#include "cycloid/learn/gaussian_loss.h"
#include "cycloid/learn/laplace.h"
#include "cycloid/learn/uncertain_laws_test.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

// Standard deviations over members of their last states, (states).
std::vector<double> spread(const std::vector<double>& runs, std::size_t members, std::size_t n) {
  const std::size_t row = runs.size() / members;
  std::vector<double> out;
  for (std::size_t i = row - n; i < row; ++i) {
    double sum = 0, squares = 0;
    for (std::size_t k = 0; k < members; ++k) {
      const double x = runs[k * row + i];
      sum += x, squares += x * x;
    }
    const double mean = sum / static_cast<double>(members);
    out.push_back(std::sqrt(squares / static_cast<double>(members) - mean * mean));
  }
  return out;
}

void check_near(std::span<const double> a, std::span<const double> b, double tolerance) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    CHECK(a[i] == doctest::Approx(b[i]).epsilon(tolerance));
  }
}

}  // namespace

TEST_CASE("propagate_moments: a start's covariance goes through a linear System exactly") {
  const System chain = systems::make("spring_chain", {}, {.dt = 0.05});
  const std::size_t n = static_cast<std::size_t>(chain.states().size());
  std::vector<double> x0(n, 0.1), start(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) start[i * n + i] = 0.01 * static_cast<double>(i + 1);
  MomentOptions options;
  options.start = start;
  const MomentRun run = propagate_moments(chain, x0, {}, 40, options);
  // C = Σ of outer products of what unit starts become.
  std::vector<double> expected(n * n, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<double> moved = x0;
    moved[j] += 1;
    const auto a = rollout(chain, moved, 40), b = rollout(chain, x0, 40);
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < n; ++c) {
        const auto d = [&](std::size_t i) { return a.state(0, 40)[i] - b.state(0, 40)[i]; };
        expected[r * n + c] += start[j * n + j] * d(r) * d(c);
      }
    }
  }
  const std::span<const double> last = std::span(run.covariance).last(n * n);
  CHECK(test::relative_error(last, expected) < 1e-9);
}

TEST_CASE("propagate_moments: small noise, masks and draws of weights spread as samples do") {
  const System system = test::small_law();
  const Transitions data = test::spring_transitions(300, [](double) { return 0.01; });
  const std::vector<double> p = system.parameters().default_values(), x0 = {0.4, -0.3};
  const std::vector<double> u(10, 0.2);
  constexpr std::size_t kMembers = 1500;
  const auto members = [&](const auto& draw) {
    std::vector<double> all;
    for (std::size_t k = 0; k < kMembers; ++k) {
      const auto run = rollout(system, x0, Controls<double>(u, 10), draw(k));
      all.insert(all.end(), run.states().begin(), run.states().end());
    }
    return spread(all, kMembers, 2);
  };
  SUBCASE("noise") {
    const std::vector<double> first = {0.01, 0.02};
    const NoiseNetwork noise = make_noise_network(system, data, {4}, first, 1);
    MomentOptions options;
    options.noise = &noise;
    const MomentRun run = propagate_moments(system, x0, u, 10, options);
    const auto runs = sample_runs(system, noise, x0, u, 10, kMembers, 3, 1);
    check_near(std::span(run.std).last(2), spread(runs, kMembers, 2), 0.08);
  }
  SUBCASE("weights") {
    LaplacePosterior post = laplace_posterior(system, data);
    for (double& f : post.factor) f *= 0.1;
    const std::vector<double> directions = laplace_directions(post, p.size());
    MomentOptions options;
    options.directions = directions;
    const MomentRun run = propagate_moments(system, x0, u, 10, options);
    check_near(std::span(run.std).last(2), members([&](std::size_t k) {
                 return laplace_draw(post, p, 5, static_cast<std::uint32_t>(k));
               }),
               0.08);
  }
  SUBCASE("masks") {
    const Dropout dropout(system, 0.02, 1);
    const std::vector<double> directions = dropout.directions(p);
    MomentOptions options;
    options.directions = directions;
    const MomentRun run = propagate_moments(system, x0, u, 10, options);
    check_near(std::span(run.std).last(2),
               members([&](std::size_t k) { return dropout.masked(p, k); }), 0.15);
  }
  SUBCASE("wrong sizes are refused") {
    CHECK_THROWS_AS(propagate_moments(system, std::span(x0).first(x0.size() - 1), u, 10, {}),
                    Error);
    CHECK_THROWS_AS(propagate_moments(system, x0, std::span(u).first(u.size() - 1), 10, {}), Error);
  }
}

}  // namespace cycloid
