#include "cycloid/adjoint/advance.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

using namespace cycloid;

namespace {

using Numbers = std::vector<double>;

// Shows [ state 1 | state 0 | input | t ] of a system with two states and one input; a step
// leaves behind what its first state shows.
struct Eyes final : ChunkSenses<double> {
  explicit Eyes(int lanes) : W(lanes) {}
  std::size_t workspace() const override { return 128; }
  void begin(const double*, std::byte*) const override {}
  void sense(const double* x, const double* u, double t, double* out, std::byte*) const override {
    for (int l = 0; l < W; ++l) {
      out[l] = x[W + l], out[W + l] = x[l], out[2 * W + l] = u[l], out[3 * W + l] = t;
    }
  }
  void sense_behind(const SensedStep<double>& step, double* out, std::byte* memory) const override {
    sense(step.x, step.u, step.t, out, memory);
  }
  int W;
};

Senses<double> eyes(const System& system) {
  Senses<double> out;
  out.size = 4;
  out.copies = {{1, 0, 1}};
  out.one = std::make_shared<Eyes>(1);
  out.packed = std::make_shared<Eyes>(system.steppers<double>().packed->sizes().lanes);
  return out;
}

Numbers states_of(std::int64_t batch) {
  Numbers x;
  for (std::int64_t i = 0; i < batch; ++i) {
    x.push_back(0.1 * static_cast<double>(i + 1));
    x.push_back(-0.2);
  }
  return x;
}

}  // namespace

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

TEST_CASE("advance: senses look at the new state, or at what a step leaves but for copies") {
  const System system = systems::pendulum();
  const Senses<double> senses = eyes(system);
  const double h = system.timestep();
  for (const std::int64_t batch : {1, 19}) {
    const Numbers x = states_of(batch), u(static_cast<std::size_t>(batch), 0.4);
    const Numbers before = advance(system, x, u, 2, {}, {}, nullptr).states,
                  after = advance(system, x, u, 3, {}, {}, nullptr).states;
    for (const bool lagging : {false, true}) {
      const Advanced<double> next =
          advance(system, x, u, 3, {}, {.t0 = 1, .lagging = lagging}, &senses);
      CHECK(next.states == after);
      REQUIRE(next.values.size() == 4 * u.size());
      for (std::size_t i = 0; i < u.size(); ++i) {
        CHECK(next.values[4 * i] == (lagging ? before : after)[2 * i + 1]);
        CHECK(next.values[4 * i + 1] == after[2 * i]);
        CHECK(next.values[4 * i + 2] == 0.4);
        CHECK(next.values[4 * i + 3] == 1 + (lagging ? 2 : 3) * h);
      }
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
