#include "cycloid/adjoint/advance.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/systems.h"

namespace cycloid::advance_test {

using Numbers = std::vector<double>;

// Shows [ state 1 | input | t ] of a system with two states and one input.
struct Eyes final : DifferentiableObserver {
  explicit Eyes(int lanes) : DifferentiableObserver(lanes, 3) {}
  std::unique_ptr<StepWorkspace> make_workspace(const StepResources&) const override {
    return std::make_unique<StepWorkspace>();
  }
  void begin(const StepParameters<double>&, StepWorkspace&) const override {}
  void observe(const ObservedPoint<double>& at, double* y, StepWorkspace&) const override {
    const int W = lanes();
    for (int l = 0; l < W; ++l) y[l] = at.x[W + l], y[W + l] = at.u[l], y[2 * W + l] = at.t;
  }
  void pullback(const ObservedPoint<double>&, const double*, double*, double*,
                StepWorkspace&) const override {}
  void finish(StepWorkspace&, double*) const override {}
};

struct AllEyes final : Observables {
  std::vector<Observable> listed() const override { return {{"seen", "", {3}}}; }
  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>&,
                                                      int) const override {
    return nullptr;
  }
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>&,
                                                       int lanes) const override {
    return std::make_shared<Eyes>(lanes);
  }
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>&) const override {
    return std::make_shared<Eyes>(1);
  }
};

System pendulum_with_eyes() {
  SystemParts parts = law_parts(Pendulum{}, {});
  parts.float64 = float64_steppers<Pendulum, Rk4>(Pendulum{});
  parts.observables = std::make_shared<AllEyes>();
  return System(std::move(parts));
}

Numbers states_of(std::int64_t batch) {
  Numbers x;
  for (std::int64_t i = 0; i < batch; ++i) {
    x.push_back(0.1 * static_cast<double>(i + 1));
    x.push_back(-0.2);
  }
  return x;
}

TEST_CASE("advance: the states of a rollout with the same input in every step, bit for bit") {
  const System system = systems::pendulum();
  for (const std::int64_t batch : {1, 5, 37}) {
    const Numbers x = states_of(batch);
    Numbers u, held;
    for (std::int64_t i = 0; i < batch; ++i) {
      u.push_back(0.3 * static_cast<double>(i));
      held.insert(held.end(), 6, u.back());
    }
    RolloutOptions last;
    last.save = Save::last();
    const auto run = rollout(system, x, Controls<double>(held, 6), {}, last);
    const Numbers expected(run.states().begin(), run.states().end());
    for (const int threads : {1, 2}) {
      const Advanced<double> next = advance(system, x, u, 6, {}, {.threads = threads}, nullptr);
      CHECK(next.states == expected);
      CHECK(next.values.empty());
    }
    CHECK(advance(system, x, Numbers{0.3}, 6, {}, {}, nullptr).states.size() == x.size());
  }
}

TEST_CASE("advance: an observer looks at the new state, or at what a step leaves but for blocks") {
  const System system = pendulum_with_eyes();
  const Observer observer(system, {{"seen", "angle"}});
  const double h = system.timestep();
  for (const std::int64_t batch : {1, 19}) {
    const Numbers x = states_of(batch), u(static_cast<std::size_t>(batch), 0.4);
    const Numbers before = advance(system, x, u, 2, {}, {}, nullptr).states,
                  after = advance(system, x, u, 3, {}, {}, nullptr).states;
    for (const bool lagging : {false, true}) {
      const Advanced<double> next =
          advance(system, x, u, 3, {}, {.t0 = 1, .lagging = lagging}, &observer);
      CHECK(next.states == after);
      REQUIRE(next.values.size() == 4 * u.size());
      for (std::size_t i = 0; i < u.size(); ++i) {
        CHECK(next.values[4 * i] == (lagging ? before : after)[2 * i + 1]);
        CHECK(next.values[4 * i + 1] == 0.4);
        CHECK(next.values[4 * i + 2] == 1 + (lagging ? 2 : 3) * h);
        CHECK(next.values[4 * i + 3] == after[2 * i]);
      }
    }
  }
}

TEST_CASE("advance: a law shows what it shows to observe, in the precision of its steps") {
  const System system = systems::pendulum();
  const Observer observer(system, {{"angular_velocity", "energy"}});
  const System single = systems::pendulum({}, {.precision = Precision::float32});
  const Observer of_single(single, {{"energy"}});
  for (const std::int64_t batch : {1, 19}) {
    const Numbers x = states_of(batch);
    const Advanced<double> next = advance(system, x, {}, 2, {}, {}, &observer);
    CHECK(next.values == observe(observer, {.states = next.states}).values());
    const std::vector<float> y(x.begin(), x.end());
    const Advanced<float> rough = advance(single, y, {}, 2, {}, {}, &of_single);
    for (std::size_t i = 0; i < rough.values.size(); ++i) {
      CHECK(rough.values[i] == doctest::Approx(next.values[2 * i + 1]).epsilon(1e-5));
    }
  }
}

TEST_CASE("advance: an environment that fails stands still and is reported") {
  const System system = systems::kepler();
  const Numbers x = {1, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0.7};  // the second is in the centre
  const Advanced<double> next = advance(system, x, {}, 4, {}, {.lagging = true}, nullptr);
  REQUIRE(next.report.failed.size() == 1);
  CHECK(next.report.failed[0].environment == 1);
  for (std::size_t i = 4; i < 8; ++i) CHECK(next.states[i] == 0);
  CHECK(next.states[0] != 1);
}

TEST_CASE("advance: what does not fit is refused") {
  const System system = systems::pendulum();
  const Numbers x = {0.1, 0.2}, bad = {0.1, NAN};
  CHECK_THROWS_AS(advance(system, x, {}, 0, {}, {}, nullptr), Error);
  CHECK_THROWS_AS(advance(system, x, Numbers{0.1}, 0, {}, {}, nullptr), Error);
  CHECK_THROWS_AS(advance(system, x, Numbers{0.1, 0.2, 0.3, 0.4, NAN}, 2, {}, {}, nullptr), Error);
  CHECK_THROWS_AS(advance(system, bad, {}, 2, {}, {}, nullptr), Error);
}

}  // namespace cycloid::advance_test
