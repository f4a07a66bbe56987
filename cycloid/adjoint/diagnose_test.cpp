#include "cycloid/adjoint/diagnose.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "cycloid/adjoint/linearise.h"
#include "cycloid/base/error.h"
#include "cycloid/system/make_system.h"
#include "tests/support/failing_laws.h"
#include "tests/support/rollout_cases.h"
#include "tests/support/test_laws.h"

namespace cycloid::diagnose_test {

using test::contains;
using test::Numbers;
using test::rollout_case;
using test::RolloutCase;
using test::text_of_error;

// ẋ = rate x, and a y that does nothing.
struct Growth {
  static constexpr const char* kName = "growth";
  static constexpr std::array kState = {BlockSpec{"x", 1, "1"}, BlockSpec{"y", 1, "1"}};
  static constexpr std::array kParameters = {ParameterSpec{"rate", 1.0, "1/s"}};
  template <class S>
  CYCLOID_HD void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    dx[0] = p[0] * x[0];
    dx[1] = S(0);
  }
};

template <class T>
Diagnosis diagnose_ones(const Trajectory<T>& run) {
  return diagnose(run, std::vector<T>(run.states().size(), T(1)));
}

Trajectory<double> last_of(const System& system, const Numbers& x0, std::int64_t steps,
                           const Numbers& params = {}) {
  RolloutOptions options;
  options.save = Save::last();
  return rollout(system, x0, steps, params, options);
}

// Starts on the attractor's two wings.
template <class T>
std::vector<T> lorenz_starts(int batch) {
  std::vector<T> x0;
  for (int b = 0; b < batch; ++b) {
    x0.insert(x0.end(), {T(b % 2 ? -8 : 8) + T(0.1) * T(b), T(7), T(27)});
  }
  return x0;
}

TEST_CASE("diagnose: Lorenz's largest exponent is 0.906 within 5 %, and it is called chaotic") {
  const System system = systems::lorenz();
  const Trajectory<double> run = last_of(system, lorenz_starts<double>(16), 100000);
  // Over 1000 s the cotangent itself overflows; the diagnosis goes on.
  CHECK_THROWS_AS((void)run.pullback(Numbers(48, 1.0)), GradientError);
  const Diagnosis d = diagnose_ones(run);
  REQUIRE(d.lyapunov.size() == 16);
  double mean = 0;
  for (const double exponent : d.lyapunov) {
    CHECK(std::abs(exponent / 0.906 - 1) < 0.05);
    mean += exponent / 16;
  }
  CHECK(std::abs(mean / 0.906 - 1) < 0.02);
  CHECK(d.verdict == Verdict::chaotic);
  for (const Verdict v : d.verdicts) CHECK(v == Verdict::chaotic);
  CHECK(!d.reliable);
  CHECK(!d.first_nonfinite);
  CHECK(d.horizon == doctest::Approx(std::log(1000.0) / 0.906).epsilon(0.1));
  CHECK(contains(d.advice, "Chaotic in 16 of 16 environments"));
  CHECK(contains(d.advice, "Truncate(k)"));
}

TEST_CASE("diagnose: ... in float32 as well, where cotangents would overflow sooner") {
  const System system = systems::lorenz({}, {.precision = Precision::float32});
  const std::vector<float> x0 = lorenz_starts<float>(16);
  RolloutOptions options;
  options.save = Save::last();
  const Diagnosis d = diagnose_ones(rollout(system, x0, 20000, {}, options));
  double mean = 0;
  for (const double exponent : d.lyapunov) mean += exponent / 16;
  CHECK(std::abs(mean / 0.906 - 1) < 0.05);
  CHECK(d.verdict == Verdict::chaotic);
  for (const double g : d.growth) REQUIRE(std::isfinite(g));
}

TEST_CASE("diagnose: a damped pendulum is called vanishing, and the gradient reliable") {
  const System system = systems::pendulum({.damping = 0.5});
  const Diagnosis d = diagnose_ones(rollout(system, Numbers{1, 0}, 5000));
  CHECK(d.verdict == Verdict::vanishing);
  CHECK(d.reliable);
  CHECK(std::isinf(d.horizon));
  CHECK(contains(d.advice, "Vanishing: over 50 s"));
  // Small swings are damped at d / (2 m l²).
  CHECK(d.lyapunov[0] == doctest::Approx(-0.25).epsilon(0.05));
}

TEST_CASE("diagnose: unstable growth is called exploding at its rate") {
  const System system = make_system(Growth{});
  const Diagnosis d = diagnose_ones(last_of(system, {1, 0}, 2000));
  CHECK(d.verdict == Verdict::exploding);
  CHECK(!d.reliable);
  // The unit cotangent starts with half its square along x: ½ log 2 less, over 20 s.
  CHECK(d.lyapunov[0] == doctest::Approx(1.0 - 0.5 * std::log(2.0) / 20).epsilon(1e-6));
  CHECK(d.horizon == doctest::Approx(std::log(1000.0)).epsilon(0.03));
  CHECK(contains(d.advice, "Exploding"));
  CHECK(contains(d.advice, "clip"));
}

TEST_CASE(
    "diagnose: an unstable equilibrium is exploding, for nothing moves that could be chaotic") {
  CHECK(diagnose_ones(last_of(make_system(Growth{}), {0, 0.5}, 2000)).verdict ==
        Verdict::exploding);
  const Diagnosis upright = diagnose_ones(last_of(systems::pendulum(), {std::numbers::pi, 0}, 500));
  CHECK(upright.verdict == Verdict::exploding);
}

TEST_CASE("diagnose: a short swing is fine") {
  const Diagnosis d = diagnose_ones(rollout(systems::pendulum(), Numbers{0.5, 0}, 200));
  CHECK(d.verdict == Verdict::fine);
  CHECK(d.reliable);
  CHECK(contains(d.advice, "Fine"));
  CHECK(d.switch_fraction == 0);
}

TEST_CASE("diagnose: the verdict of a batch is its gravest, and each has its own") {
  const System system = make_system(Growth{}, {.vary = {"rate"}});
  const Numbers params = {1, 0.01, -1, 0.01, 0.01, 0.01};
  const Numbers x0 = {1, 0, 1, 0, 1, 0};
  Numbers bar(6, 0.0);
  for (const std::size_t i : {0u, 2u, 4u}) bar[i] = 1;
  const Diagnosis d = diagnose(last_of(system, x0, 2000, params), bar);
  CHECK(d.verdicts == std::vector<Verdict>{Verdict::exploding, Verdict::vanishing, Verdict::fine});
  CHECK(d.verdict == Verdict::exploding);
  CHECK(contains(d.advice, "in 1 of 3 environments"));
  CHECK(d.lyapunov[0] == doctest::Approx(1.0).epsilon(1e-6));
  CHECK(d.lyapunov[1] == doctest::Approx(-1.0).epsilon(1e-6));
  CHECK(std::abs(d.lyapunov[2] - 0.01) < 1e-6);
}

TEST_CASE("diagnose: exponents are per second of each environment's own time") {
  const System system = make_system(Growth{}, {.vary = {"option.timestep"}});
  const Diagnosis d =
      diagnose(last_of(system, {1, 0, 1, 0}, 1000, {1, 0.01, 1, 0.02}), Numbers{1, 0, 1, 0});
  CHECK(d.lyapunov[0] == doctest::Approx(1.0).epsilon(1e-6));
  CHECK(d.lyapunov[1] == doctest::Approx(1.0).epsilon(1e-6));
}

TEST_CASE("diagnose: growth is (batch, T), the factor of each step, and 1 behind the loss") {
  const RolloutCase<double> c = rollout_case<double>(systems::double_pendulum(), 2, 30);
  RolloutOptions options;
  options.save = Save::at({5, 20, 25});
  options.memory = Memory::checkpoints(3);
  const Trajectory<double> run = c.run(options);
  Numbers bar(run.states().size(), 0.0);
  // The loss looks at step 20 last in environment 0, at step 25 in environment 1.
  for (int i = 0; i < 4; ++i)
    bar[static_cast<std::size_t>(4 + i)] = bar[static_cast<std::size_t>(20 + i)] = 0.1 * (i + 1);
  const Diagnosis d = diagnose(run, bar);
  REQUIRE(d.growth.size() == 60);
  CHECK(d.batch == 2);
  CHECK(d.steps == 30);
  for (std::size_t k = 20; k < 30; ++k) CHECK(d.growth[k] == 1);
  for (std::size_t k = 25; k < 30; ++k) CHECK(d.growth[30 + k] == 1);
  CHECK(d.growth[19] != 1);
  CHECK(d.growth[30 + 24] != 1);

  // Environment 0 by hand: xᵀ A of each step, normalised.
  const Trajectory<double> full = c.run();
  Numbers x_bar = {0.1, 0.2, 0.3, 0.4};
  const auto norm = [](const Numbers& v) {
    double sum = 0;
    for (const double x : v) sum += x * x;
    return std::sqrt(sum);
  };
  double log_sum = 0;
  for (std::int64_t k = 19; k >= 0; --k) {
    const Numbers u(c.controls.begin() + 2 * k, c.controls.begin() + 2 * (k + 1));
    const Linearisation<double> lin = linearise(c.system, full.state(0, k), u, c.params);
    Numbers before(4, 0.0);
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) before[j] += x_bar[i] * lin.A[i * 4 + j];
    }
    const double growth = norm(before) / norm(x_bar);
    CHECK(d.growth[static_cast<std::size_t>(k)] == doctest::Approx(growth).epsilon(1e-10));
    log_sum += std::log(growth);
    x_bar = before;
  }
  CHECK(d.lyapunov[0] == doctest::Approx(log_sum / (20 * c.params.back())).epsilon(1e-9));
}

TEST_CASE("diagnose: a loss that looks at the start alone, or at nothing, is traced from the end") {
  RolloutOptions options;
  options.save = Save::at({0, -1});
  const Trajectory<double> run = rollout(make_system(Growth{}), Numbers{1, 0}, 100, {}, options);
  const Diagnosis end = diagnose(run, Numbers{0, 0, 1, 1});
  CHECK(end.lyapunov[0] > 0.1);
  CHECK(diagnose(run, Numbers{1, 1, 0, 0}).growth == end.growth);
  CHECK(diagnose(run, Numbers{0, 0, 0, 0}).growth == end.growth);
}

TEST_CASE("diagnose: the size of the loss does not matter, only its direction") {
  const Trajectory<double> run = last_of(systems::pendulum(), {0.5, 0.1}, 100);
  const Diagnosis d = diagnose(run, Numbers{1, 2});
  for (const double scale : {1e-250, 1e-30, 1e30, 1e250}) {
    const Diagnosis same = diagnose(run, Numbers{scale, 2 * scale});
    CHECK(same.lyapunov[0] == doctest::Approx(d.lyapunov[0]).epsilon(1e-10));
  }
}

TEST_CASE("diagnose: the first number that is not finite on the way forward has step and block") {
  const System system = make_system(test::Brittle{}, {.dt = 0.1, .vary = {"breaks_at"}});
  RolloutCase<double> c = rollout_case<double>(system, 3, 20);
  c.params = {2, 1e9, 0.1, 2, 1.25, 0.1, 2, 1e9, 0.1};
  const Diagnosis d = diagnose_ones(c.run());
  REQUIRE(d.first_nonfinite);
  CHECK(d.first_nonfinite->environment == 1);
  CHECK(d.first_nonfinite->step == 12);
  CHECK(d.first_nonfinite->block == "v");
  CHECK(d.first_nonfinite->forward);
  CHECK(d.verdict == Verdict::non_finite);
  CHECK(d.verdicts[0] == Verdict::fine);
  CHECK(d.verdicts[1] == Verdict::non_finite);
  CHECK(std::isnan(d.lyapunov[1]));
  CHECK(std::isfinite(d.lyapunov[2]));
  CHECK(contains(
      d.advice, "Not finite in 1 of 3 environments: first in state v of environment 1 at step 12"));
}

TEST_CASE("diagnose: the first cotangent that is not finite has step and block") {
  const System system = make_system(test::RootsOfCountdown{});
  const Diagnosis d = diagnose_ones(rollout(system, Numbers{20.5, 0, 6, 0}, 10));
  REQUIRE(d.first_nonfinite);
  CHECK(d.first_nonfinite->environment == 1);
  CHECK(d.first_nonfinite->step == 6);
  CHECK(d.first_nonfinite->block == "n");
  CHECK(!d.first_nonfinite->forward);
  CHECK(d.verdict == Verdict::non_finite);
  CHECK(d.verdicts[0] == Verdict::fine);
  CHECK(contains(d.advice, "the cotangent of n of environment 1 at step 6"));
}

TEST_CASE("diagnose: works on quaternions, in tangents") {
  const RolloutCase<double> c = rollout_case<double>(make_system(test::Dipole{}), 3, 50);
  const Diagnosis d = diagnose_ones(c.run());
  CHECK(d.verdict == Verdict::fine);
  CHECK(d.growth.size() == 150);
}

TEST_CASE("diagnose: states_bar of a wrong size or not finite is refused") {
  const Trajectory<double> run = rollout(systems::pendulum(), Numbers{1, 0}, 5);
  CHECK(contains(text_of_error([&] { (void)diagnose(run, Numbers(5, 1.0)); }),
                 "states_bar has 5 numbers, the saved states have 12"));
  Numbers bad(12, 1.0);
  bad[3] = std::nan("");
  CHECK(contains(text_of_error([&] { (void)diagnose(run, bad); }), "must be finite"));
}

TEST_CASE("diagnose: events that pile up are named as such") {
  const Trajectory<double> run =
      rollout(systems::bouncing_ball(), Numbers{9.0, 0.0, 1.0, 0.0}, 500);
  const Diagnosis d = diagnose_ones(run);
  REQUIRE(d.first_nonfinite);
  CHECK(d.first_nonfinite->event);
  CHECK(contains(d.advice, "Stopped in 1 of 2 environments: first environment 1 at step 40"));
  CHECK(contains(d.advice, "event impact happens ever faster"));
  CHECK(!contains(d.advice, "state impact"));
}

}  // namespace cycloid::diagnose_test
