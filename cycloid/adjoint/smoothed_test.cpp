#include "cycloid/adjoint/smoothed.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

namespace cycloid::smoothed_test {

constexpr std::int64_t kSteps = 6;

// The angle of a pendulum after a few steps, by its torques.
struct Swing {
  System system = systems::make("pendulum", {}, {.dt = 0.1}, 1);
  std::vector<double> x0 = {0.3, 0.1, 1.2, -0.4};
  std::vector<double> u = std::vector<double>(2 * kSteps, 0.2);
  Trajectory<double> run =
      rollout(system, x0, Controls<double>(u, kSteps), {}, {.save = Save::last()});
  std::vector<double> bar = {1, 0.5, -1, 2};

  Gradient<double> pull(const GradientMode& mode, PullbackOptions options = {}) const {
    options.gradient = mode;
    return run.pullback(bar, options);
  }
};

// Of the mean, from many more samples than a test can do without.
Smoothed many(Smoothed::Order order, std::uint64_t seed = 1) {
  return {.sigma = 2.0, .samples = 4000, .seed = seed, .order = order};
}

TEST_CASE("smoothed: for small noise it is the exact gradient, with a variance that says so") {
  const Swing swing;
  const Gradient<double> exact = swing.pull(ExactGradient{});
  const Gradient<double> g = swing.pull(Smoothed{.sigma = 1e-5, .samples = 8});
  REQUIRE(g.variance);
  for (std::size_t i = 0; i < exact.controls.size(); ++i) {
    CHECK(g.controls[i] == doctest::Approx(exact.controls[i]).epsilon(1e-4));
    CHECK(g.variance->controls[i] >= 0);
    CHECK(g.variance->controls[i] < 1e-10);
  }
  for (std::size_t i = 0; i < exact.x0.size(); ++i) {
    CHECK(g.x0[i] == doctest::Approx(exact.x0[i]).epsilon(1e-4));
  }
  for (std::size_t i = 0; i < exact.params.size(); ++i) {
    CHECK(g.params[i] == doctest::Approx(exact.params[i]).epsilon(1e-3));
  }
  CHECK(!exact.variance);
}

TEST_CASE("smoothed: first and zeroth order estimate one and the same, within their variances") {
  const Swing swing;
  const Gradient<double> first = swing.pull(many(Smoothed::Order::first)),
                         zeroth = swing.pull(many(Smoothed::Order::zeroth, 2)),
                         mix = swing.pull(many(Smoothed::Order::mix, 3)),
                         exact = swing.pull(ExactGradient{});
  double apart = 0, from_exact = 0;
  for (std::size_t i = 0; i < first.controls.size(); ++i) {
    const double v = first.variance->controls[i] + zeroth.variance->controls[i];
    REQUIRE(v > 0);
    apart += std::pow(first.controls[i] - zeroth.controls[i], 2) / v;
    CHECK(std::pow(mix.controls[i] - first.controls[i], 2) <
          25 * (mix.variance->controls[i] + first.variance->controls[i]));
    CHECK(mix.variance->controls[i] <= first.variance->controls[i] * 1.3);
    from_exact = std::max(from_exact, std::pow(first.controls[i] - exact.controls[i], 2) /
                                          first.variance->controls[i]);
  }
  const double numbers = static_cast<double>(first.controls.size());
  CHECK(apart < numbers + 5 * std::sqrt(2 * numbers));
  CHECK(from_exact > 100);  // the noise is large: the mean's gradient is another
}

TEST_CASE("smoothed: errors over seeds are as large as the stated variance says") {
  const Swing swing;
  const Gradient<double> mean =
      swing.pull({Smoothed{.sigma = 1, .samples = 20000, .order = Smoothed::Order::first}});
  for (const auto order : {Smoothed::Order::first, Smoothed::Order::zeroth, Smoothed::Order::mix}) {
    CAPTURE(static_cast<int>(order));
    int within_one = 0, within_three = 0, all = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const Gradient<double> g =
          swing.pull(Smoothed{.sigma = 1, .samples = 64, .seed = seed, .order = order});
      for (std::size_t i = 0; i < g.controls.size(); ++i, ++all) {
        const double error = std::abs(g.controls[i] - mean.controls[i]),
                     deviation = std::sqrt(g.variance->controls[i] + mean.variance->controls[i]);
        within_one += error < deviation;
        within_three += error < 3 * deviation;
      }
    }
    CHECK(static_cast<double>(within_one) / all == doctest::Approx(0.683).epsilon(0.08));
    CHECK(static_cast<double>(within_three) / all > 0.98);
  }
}

TEST_CASE("smoothed: an environment's estimate depends on neither its neighbours nor threads") {
  const Swing swing;
  const Smoothed how{.sigma = 0.5, .samples = 16};
  const Gradient<double> both = swing.pull(how);
  const Trajectory<double> one_thread =
      rollout(swing.system, swing.x0, Controls<double>(swing.u, kSteps), {},
              {.save = Save::last(), .threads = 1, .gradient = how});
  CHECK(one_thread.pullback(swing.bar).controls == both.controls);
  PullbackOptions each;
  each.each = true;
  CHECK(swing.pull(how, each).x0 == both.x0);
}

TEST_CASE("smoothed: shared inputs, starts and parameters have the sum over environments") {
  const Swing swing;
  const std::vector<double> shared(kSteps, 0.2);
  const Smoothed how{.sigma = 0.5, .samples = 16};
  const Gradient<double> apart = swing.pull(how);
  const Gradient<double> together =
      rollout(swing.system, swing.x0, Controls<double>(shared, kSteps), {},
              {.save = Save::last(), .gradient = how})
          .pullback(swing.bar);
  REQUIRE(together.controls.size() == kSteps);
  for (std::size_t i = 0; i < kSteps; ++i) {
    CHECK(together.controls[i] == doctest::Approx(apart.controls[i] + apart.controls[kSteps + i]));
    CHECK(together.variance->controls[i] ==
          doctest::Approx(apart.variance->controls[i] + apart.variance->controls[kSteps + i]));
  }
}

TEST_CASE("smoothed: what means nothing is refused by name") {
  const Swing swing;
  CHECK_THROWS_WITH_AS(swing.pull(Smoothed{.sigma = 0}), "Smoothed: sigma must be positive; got 0",
                       Error);
  CHECK_THROWS_AS(swing.pull(Smoothed{.samples = 1}), Error);
  CHECK_THROWS_AS(swing.pull(FromDistance{0.1}), Error);
  const System lorenz = systems::make("lorenz", {}, {}, 1);
  const std::vector<double> x0 = {1, 1, 20}, bar = {1, 0, 0};
  const auto run = rollout(lorenz, x0, 5, {}, {.save = Save::last(), .gradient = Smoothed{}});
  CHECK_THROWS_WITH_AS(run.pullback(bar),
                       "a smoothed gradient is that of a mean over noise on the inputs, and system "
                       "\"lorenz\" has none",
                       Error);
}

}  // namespace cycloid::smoothed_test
