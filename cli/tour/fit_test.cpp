#include "cli/tour/fit.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::tour {
namespace {

constexpr std::size_t kSeeds = 200;

}  // namespace

TEST_CASE("fit: a recording without noise gives its pendulum back") {
  const Swing truth{.length = 0.6, .damping = 0.08, .angle = -0.9, .velocity = 0.7};
  const PendulumFit fit = fit_pendulum(simulate_pendulum(truth, 201), FitProblem{}.guess);
  CHECK(fit.converged);
  CHECK(fit.length.value == doctest::Approx(truth.length).epsilon(1e-8));
  CHECK(fit.damping.value == doctest::Approx(truth.damping).epsilon(1e-8));
  CHECK(fit.angle.value == doctest::Approx(truth.angle).epsilon(1e-8));
  CHECK(fit.velocity.value == doctest::Approx(truth.velocity).epsilon(1e-8));
  CHECK(fit.noise < 1e-8);
}

// Binomial bounds for 200 experiments, outside of which a right method falls in fewer than one of a
// hundred cases: 95 % gives 190 ± 3.1, 68.3 % gives 136.5 ± 6.6.
TEST_CASE("fit: over 200 seeds the error bars contain the truth as often as they should") {
  const FitProblem p;
  std::size_t length_95 = 0, damping_95 = 0, length_68 = 0, damping_68 = 0;
  double length_pull = 0, damping_pull = 0;
  for (std::size_t seed = 0; seed < kSeeds; ++seed) {
    const Recording recording = record_pendulum(p.truth, p.samples, p.noise, 1000 + seed);
    const PendulumFit fit = fit_pendulum(recording, p.guess);
    CAPTURE(seed);
    REQUIRE(fit.converged);
    length_95 += fit.length.covers(p.truth.length);
    damping_95 += fit.damping.covers(p.truth.damping);
    length_68 += fit.length.covers(p.truth.length, 1);
    damping_68 += fit.damping.covers(p.truth.damping, 1);
    length_pull += (fit.length.value - p.truth.length) / fit.length.standard_error / kSeeds;
    damping_pull += (fit.damping.value - p.truth.damping) / fit.damping.standard_error / kSeeds;
  }
  MESSAGE("95 % bars cover the length ", length_95, " and the damping ", damping_95, " times of ",
          kSeeds, ", one standard error ", length_68, " and ", damping_68, " times");
  for (const std::size_t covered : {length_95, damping_95}) {
    CHECK(covered >= 181);
    CHECK(covered <= 198);
  }
  for (const std::size_t covered : {length_68, damping_68}) {
    CHECK(covered >= 119);
    CHECK(covered <= 154);
  }
  // The mean of 200 errors in units of their standard error: no bias beyond three of its own.
  CHECK(std::abs(length_pull) < 3 / std::sqrt(kSeeds));
  CHECK(std::abs(damping_pull) < 3 / std::sqrt(kSeeds));
}

TEST_CASE("fit: the noise is estimated, and bars shrink as the recording grows") {
  const FitProblem p;
  const PendulumFit part = fit_pendulum(record_pendulum(p.truth, 76, p.noise, 5), p.guess);
  const PendulumFit whole = fit_pendulum(record_pendulum(p.truth, 501, p.noise, 5), p.guess);
  CHECK(whole.noise == doctest::Approx(p.noise).epsilon(0.15));  // four of 1/√(2·497)
  CHECK(whole.length.standard_error < 0.3 * part.length.standard_error);
  CHECK(whole.damping.standard_error < 0.3 * part.damping.standard_error);
}

TEST_CASE("fit: an undamped pendulum ends at the border, not in an exception") {
  Swing truth;
  truth.damping = 0;
  const FitProblem p;
  const PendulumFit fit = fit_pendulum(record_pendulum(truth, p.samples, p.noise, 2), p.guess);
  CHECK(fit.length.value == doctest::Approx(truth.length).epsilon(0.01));
  CHECK(fit.damping.value < 0.01);
}

TEST_CASE("recover_pendulum: the same numbers for a seed, others for another [threads]") {
  FitProblem p;
  p.repeats = 4;
  std::size_t done = 0;
  int windows = 0;
  const FitResult a = recover_pendulum(
      p, 7, {}, [&](double, const PendulumFit&) { ++windows; }, [&](std::size_t n) { done = n; });
  const FitResult b = recover_pendulum(p, 7), c = recover_pendulum(p, 8);
  CHECK(done == 4);
  CHECK(windows >= 3);
  CHECK(a.recording.angles == b.recording.angles);
  CHECK(a.fit.length.value == b.fit.length.value);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(a.repeats[i].damping.value == b.repeats[i].damping.value);
    CHECK(a.repeats[i].length.value != a.fit.length.value);
  }
  CHECK(a.fit.length.value != c.fit.length.value);
  CHECK(a.found());
  CHECK(a.length_covered(1e9) == 4);
  CHECK(a.length_covered(0) == 0);
}

TEST_CASE("fit: refuses recordings it cannot use, and stops when asked") {
  const Swing guess = FitProblem{}.guess;
  Recording recording = simulate_pendulum({}, 50);
  CHECK_THROWS_AS(fit_pendulum(recording, guess, [] { return false; }), Interrupted);
  recording.interval = 0.015;
  CHECK_THROWS_WITH_AS(fit_pendulum(recording, guess), doctest::Contains("multiple of"), Error);
  recording.interval = 0.04;
  recording.angles[17] = std::nan("");
  CHECK_THROWS_WITH_AS(fit_pendulum(recording, guess), doctest::Contains("sample 17"), Error);
  recording.angles.resize(5);
  CHECK_THROWS_WITH_AS(fit_pendulum(recording, guess), doctest::Contains("at least 8"), Error);
}

}  // namespace cycloid::tour
