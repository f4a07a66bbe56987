// States at given times, of integrators that take a part of the step again for each of them (rk4)
// and of those that take all samples of a step at once (dopri5, sdirk4).
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>

#include "cycloid/system/integrator/dopri5.h"
#include "cycloid/system/make_system.h"
#include "tests/support/rollout_cases.h"

namespace cycloid::times_test {

using test::Numbers;
using test::relative_error;
using test::rollout_case;
using test::RolloutCase;

constexpr double kStep = 0.005;
constexpr int kSteps = 50;

// The start, several in a step, ends of steps, and the end of the run.
const Numbers kTimes = {0,     0.0001,  0.0028, 0.005,  0.00501, 0.00502,
                        0.085, 0.08525, 0.0875, 0.1944, 0.245,   0.25};

System pendulum(const std::string& integrator, Precision precision = Precision::float64) {
  systems::Settings settings{.dt = kStep, .integrator = integrator, .precision = precision};
  if (integrator != "rk4" && precision == Precision::float64) settings.rtol = settings.atol = 1e-11;
  return systems::pendulum({}, settings);
}

template <class T = double>
Trajectory<T> sampled(const RolloutCase<T>& c, const Numbers& times,
                      const Memory& memory = Memory::automatic()) {
  RolloutOptions options;
  options.times = times;
  options.memory = memory;
  return c.run(options);
}

template <class T = double>
Numbers wide(std::span<const T> numbers) {
  return {numbers.begin(), numbers.end()};
}

template <class T>
std::vector<T> bars(const Trajectory<T>& run) {
  return test::seeded<T>(11, run.states().size());
}

TEST_CASE("times: samples and their gradient do not depend on how an integrator makes them") {
  for (const std::int64_t batch : {1, 5}) {
    const auto reference = sampled(rollout_case<double>(pendulum("rk4"), batch, kSteps), kTimes);
    const Gradient<double> r = reference.pullback(bars(reference));
    for (const char* integrator : {"dopri5", "sdirk4"}) {
      CAPTURE(integrator);
      const RolloutCase<double> c = rollout_case<double>(pendulum(integrator), batch, kSteps);
      const auto run = sampled(c, kTimes);
      // rk4 with this step is off by 1e-9.
      CHECK(relative_error(wide(run.states()), wide(reference.states())) < 1e-8);
      const Gradient<double> g = run.pullback(bars(run));
      CHECK(relative_error(g.x0, r.x0) < 1e-7);
      CHECK(relative_error(g.controls, r.controls) < 1e-7);
      CHECK(relative_error(g.params, r.params) < 1e-7);  // with option.timestep
    }
  }
}

TEST_CASE("times: samples at ends of steps are the states there, bit for bit") {
  for (const char* integrator : {"dopri5", "sdirk4"}) {
    RolloutCase<double> c = rollout_case<double>(pendulum(integrator), 3, kSteps);
    c.params = {};
    const auto all = c.run();
    const auto run = sampled(c, kTimes);
    for (std::int64_t e = 0; e < 3; ++e) {
      for (const auto& [sample, step] :
           {std::pair{0, 0}, std::pair{3, 1}, std::pair{6, 17}, std::pair{10, 49}, {11, 50}}) {
        CHECK(test::same_bits(run.state(e, sample), all.state(e, step)));
      }
    }
  }
}

// Late times have few digits left for their place in a step, and running sums have lost some more.
TEST_CASE("times: all rows are written and pulled back, however late the run") {
  for (const char* integrator : {"rk4", "dopri5", "sdirk4"}) {
    for (const double t0 : {-3.0, 1e4, 1e6, 1.7e9}) {
      CAPTURE(integrator);
      CAPTURE(t0);
      RolloutCase<double> c = rollout_case<double>(pendulum(integrator), 3, kSteps);
      c.params = {};
      RolloutOptions options;
      options.t0 = t0;
      const auto steps = c.run(options);
      Numbers running = {t0};
      for (int k = 0; k <= kSteps; ++k) {
        options.times.push_back(t0 + k * kStep);
        if (k < kSteps) running.push_back(running.back() + kStep);
      }
      const auto run = c.run(options);
      CHECK(test::same_bits(run.states(), steps.states()));
      const Gradient<double> g = run.pullback(bars(run)), s = steps.pullback(bars(steps));
      CHECK(relative_error(g.x0, s.x0) < 1e-12);
      CHECK(relative_error(g.controls, s.controls) < 1e-12);
      options.times = running;
      // Rates are below 10, and every sum is off by half of its last digit at most.
      const double most = 10 * kSteps * 1.2e-16 * (1 + std::abs(t0));
      CHECK(relative_error(wide(c.run(options).states()), wide(steps.states())) < most + 1e-12);
    }
  }
}

TEST_CASE("times: several at the start are all the start") {
  for (const char* integrator : {"rk4", "dopri5"}) {
    RolloutCase<double> c = rollout_case<double>(pendulum(integrator), 3, kSteps);
    c.params = {};
    const Numbers start = {0, 1e-10 * kStep, 3e-10 * kStep, 0.3 * kStep};
    const auto run = sampled(c, start), once = sampled(c, {0, 0.3 * kStep});
    Numbers bar = bars(run), sum;
    for (std::int64_t e = 0; e < 3; ++e) {
      for (const std::int64_t s : {1, 2}) CHECK(test::same_bits(run.state(e, s), run.state(e, 0)));
      CHECK(test::same_bits(run.state(e, 3), once.state(e, 1)));
      const double* const own = bar.data() + e * 8;
      for (int i = 0; i < 2; ++i) sum.push_back(own[i] + own[2 + i] + own[4 + i]);
      sum.insert(sum.end(), own + 6, own + 8);
    }
    CHECK(relative_error(run.pullback(bar).x0, once.pullback(sum).x0) < 1e-14);
  }
}

TEST_CASE("times: every plan of memory gives the same gradient, bit for bit") {
  const RolloutCase<double> c = rollout_case<double>(pendulum("dopri5"), 3, kSteps);
  const auto run = sampled(c, kTimes, Memory::all());
  const Gradient<double> g = run.pullback(bars(run));
  for (const Memory& memory : {Memory::sqrt(), Memory::checkpoints(3)}) {
    const auto again = sampled(c, kTimes, memory);
    CHECK(test::same_bits(again.states(), run.states()));
    CHECK(test::same_gradient(again.pullback(bars(again)), g));
  }
}

TEST_CASE("times: hundreds of samples in a single step, whose length they do not depend on") {
  const Numbers x0 = {1, 0, 0, 1, 1, 0, 0.2, 1.1, 0.8, 0.1, 0, 1.2};
  const RolloutCase<double> one{
      systems::kepler({}, {.dt = 10, .integrator = "dopri5"}), 3, 1, x0, {}},
      many{systems::kepler({}, {.dt = 0.001}), 3, 10000, x0, {}};
  Numbers times;
  for (int i = 1; i <= 300; ++i) times.push_back(10 * std::pow(i / 300.0, 1.5));
  const auto ours = sampled(one, times), theirs = sampled(many, times);
  CHECK(relative_error(wide(ours.states()), wide(theirs.states())) < 1e-7);
  const Gradient<double> g = ours.pullback(bars(ours)), r = theirs.pullback(bars(theirs));
  CHECK(relative_error(g.x0, r.x0) < 1e-6);
  CHECK(std::abs(g.params[0] / r.params[0] - 1) < 1e-6);
  // The motion at a fixed time does not know how long steps are.
  CHECK(std::abs(g.params[1]) < 1e-6 * std::abs(g.params[0]));
}

TEST_CASE("times: float32 samples and gradients are close to float64's") {
  const auto run = sampled(rollout_case<double>(pendulum("dopri5"), 5, kSteps), kTimes);
  const auto narrow =
      sampled(rollout_case<float>(pendulum("dopri5", Precision::float32), 5, kSteps), kTimes);
  CHECK(relative_error(wide(narrow.states()), wide(run.states())) < 1e-4);
  const Gradient<double> g = run.pullback(bars(run));
  const Gradient<float> f = narrow.pullback(bars(narrow));
  CHECK(relative_error(wide(std::span<const float>(f.x0)), g.x0) < 1e-3);
  CHECK(relative_error(f.params, g.params) < 1e-3);
}

TEST_CASE("times: an environment that fails stays where its failing step began") {
  const System system = systems::kepler({}, {.dt = 1, .integrator = "dopri5"});
  const RolloutCase<double> c{system, 2, 3, {1, 0, 0, 0, 1, 0, 0, 1}, {}};
  const auto run = sampled(c, {0.5, 1.0, 1.05, 2.5});
  REQUIRE(run.report().failed.size() == 1);
  CHECK(run.state(0, 0)[0] < 1);
  CHECK(test::same_bits(run.state(0, 2), run.state(0, 1)));
  CHECK(test::same_bits(run.state(0, 3), run.state(0, 1)));
  CHECK(run.state(1, 3)[0] == doctest::Approx(std::cos(2.5)));
}

TEST_CASE("rollout: an adaptive integrator reports how many substeps it took") {
  const System system =
      systems::kepler({}, {.dt = 2, .integrator = "dopri5", .rtol = 1e-6, .atol = 1e-6});
  const Numbers easy = {1, 0, 0, 1}, hard = {1, 0, 0, 0.05};
  Numbers both = easy;
  both.insert(both.end(), hard.begin(), hard.end());
  const auto substeps = [&](const Numbers& x0) { return rollout(system, x0, 2).report(); };
  const Report of_easy = substeps(easy), of_hard = substeps(hard), of_both = substeps(both);
  CHECK(of_easy.total("substeps") >= 2);
  CHECK(of_easy.total("rejected_substeps") == 0);
  CHECK(of_hard.total("substeps") > 5 * of_easy.total("substeps"));
  CHECK(of_hard.total("rejected_substeps") > 0);
  CHECK(of_both.total("substeps") == of_easy.total("substeps") + of_hard.total("substeps"));
  CHECK(of_both.total("rejected_substeps") == of_hard.total("rejected_substeps"));
  CHECK(rollout(systems::kepler(), easy, 2).report().total("substeps") == 0);
}

TEST_CASE("rollout: substeps are counted through events, those of every stretch") {
  const auto wheel = [](double dt) {
    return systems::rimless_wheel({}, {.dt = dt, .integrator = "dopri5"});
  };
  const auto one = rollout(wheel(2.9), Numbers{0, 1}, 1),
             many = rollout(wheel(0.1), Numbers{0, 1}, 29);
  REQUIRE(one.events().size() == many.events().size());
  CHECK(one.events().size() > 1);
  CHECK(one.report().total("substeps") > static_cast<std::int64_t>(one.events().size()));
  CHECK(many.report().total("substeps") >= 29 + static_cast<std::int64_t>(many.events().size()));
}

// ẋ = x², which is infinite 1/x(0) seconds later.
struct Explosion {
  static constexpr const char* kName = "explosion";
  static constexpr std::array kState = {BlockSpec{"x", 1, ""}};
  static constexpr std::array kParameters = {ParameterSpec{"unused", 0.0, ""}};
  static inline std::atomic<std::int64_t> evaluations = 0;
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S*, S* dx) const {
    ++evaluations;
    dx[0] = x[0] * x[0];
  }
};

TEST_CASE("rollout: an environment that failed is not integrated any more") {
  const System system = make_system<Dopri5>(Explosion{}, {.dt = 2});
  const auto evaluations = [&](std::int64_t steps) {
    Explosion::evaluations = 0;
    CHECK(rollout(system, Numbers{1}, steps).report().failed.size() == 1);
    return Explosion::evaluations.load();
  };
  const std::int64_t at_once = evaluations(1);
  CHECK(at_once > 100);
  CHECK(evaluations(101) < at_once + 4 * 100);  // for the guess of a first length
}

}  // namespace cycloid::times_test
