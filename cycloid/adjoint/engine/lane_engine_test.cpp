#include "cycloid/adjoint/engine/lane_engine.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "tests/support/field_world.h"
#include "tests/support/rollout_cases.h"

namespace cycloid::lane_engine_test {

using test::Numbers;
using test::same_bits;
using World = test::FieldWorld;

TEST_CASE("LaneEngine: arrays are shared by lanes, and their gradient is the sum over them") {
  const World world(3, 4);
  const std::int64_t batch = 10, steps = 7;
  const Numbers x0 = test::seeded<double>(5, static_cast<std::size_t>(3 * batch)),
                bar = test::seeded<double>(6, static_cast<std::size_t>(3 * batch));
  RolloutOptions options;
  options.save = Save::last();
  const auto run = rollout(world.system, x0, steps, {}, options);
  const Gradient<double> g = run.pullback(bar);
  REQUIRE(g.params.size() == 4);
  CHECK(std::isnan(g.params[0]));
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = 0.1 + 0.01 * static_cast<double>(i), growth = std::pow(1 + 0.5 * c, 7);
    double expected = 0;
    for (std::size_t e = 0; e < static_cast<std::size_t>(batch); ++e) {
      CHECK(run.states()[3 * e + i] == doctest::Approx(growth * x0[3 * e + i]));
      expected += bar[3 * e + i] * x0[3 * e + i] * 7 * 0.5 * growth / (1 + 0.5 * c);
    }
    CHECK(g.params[1 + i] == doctest::Approx(expected).epsilon(1e-12));
    CHECK(expected != 0);
  }
}

TEST_CASE("LaneEngine: environments may have arrays of their own, and then their own gradients") {
  const World world(3, 4);
  const Numbers x0 = {1, 2, 3}, bar = {1, 0, 0, 0, 1, 0};
  const Numbers params = {0.5, 0.1, 0.2, 0.3, 0.5, 0.4, 0.5, 0.6};
  RolloutOptions options;
  options.save = Save::last();
  const auto run = rollout(world.system, x0, 1, params, options);
  CHECK(run.states()[4] == doctest::Approx(2 * (1 + 0.5 * 0.5)));
  const Gradient<double> g = run.pullback(bar);
  REQUIRE(g.params.size() == 8);
  CHECK(g.params[1] == doctest::Approx(0.5 * 1));
  CHECK(g.params[6] == doctest::Approx(0.5 * 2));
  CHECK(g.params[2] == 0);
  CHECK(g.params[5] == 0);
}

TEST_CASE("LaneEngine: a lone world has all threads, and no number depends on how many") {
  Numbers reference;
  for (const int threads : {1, 2, 4}) {
    const World world(257, 4);
    const Numbers x0 = test::seeded<double>(1, 257), bar(257, 1.0);
    RolloutOptions options;
    options.save = Save::last();
    options.threads = threads;
    const auto run = rollout(world.system, x0, 5, {}, options);
    Numbers found(run.states().begin(), run.states().end());
    const Gradient<double> g = run.pullback(bar);
    found.insert(found.end(), g.params.begin() + 1, g.params.end());
    CHECK(world.one->most_threads == threads);
    if (reference.empty()) reference = found;
    CHECK(same_bits(found, reference));
  }
}

TEST_CASE("LaneEngine: no gradient depends on which records were kept, or what is carried on") {
  const std::int64_t steps = 30;
  const std::size_t n = 50;
  const World world(static_cast<int>(n), 4);
  const Numbers x0 = test::seeded<double>(2, n), bar(n, 1.0);
  Numbers reference;
  // All records; eight of them besides all states; none, with states made again; checkpoints.
  for (const Memory& memory : {Memory::all(), Memory::budget(51 * 8 * 30 + 8 * 400 + 300),
                               Memory::budget(9000), Memory::sqrt(), Memory::checkpoints(3)}) {
    RolloutOptions options;
    options.save = Save::last();
    options.memory = memory;
    const auto run = rollout(world.system, x0, steps, {}, options);
    CHECK(world.one->last_count == static_cast<double>(steps));
    if (memory.kind == Memory::Kind::budget) {
      CHECK(run.report().tape_bytes <= static_cast<std::uint64_t>(memory.value));
    }
    if (memory.kind == Memory::Kind::budget && memory.value > 9000) {
      CHECK(test::contains(run.report().memory, "and 8 of 30 records"));
    }
    const Gradient<double> g = run.pullback(bar);
    Numbers found = g.x0;
    found.insert(found.end(), g.params.begin() + 1, g.params.end());
    if (reference.empty()) reference = found;
    CHECK(same_bits(found, reference));
  }
}

TEST_CASE("LaneEngine: an array's part that is not finite is named by its environment") {
  const World world(2, 4);
  Numbers x0(2 * 6, 1.0), bar(2 * 6, 1.0);
  x0[2 * 4] = 1e300;
  bar[2 * 4] = 1e300;
  RolloutOptions options;
  options.save = Save::last();
  const auto run = rollout(world.system, x0, 1, {}, options);
  CHECK(test::contains(test::text_of_error([&] { run.pullback(bar); }), "environment 4"));
  PullbackOptions skip;
  skip.failed = PullbackOptions::Failed::skip;
  const Gradient<double> g = run.pullback(bar, skip);
  CHECK(g.params[1] == doctest::Approx(5 * 0.5));
  CHECK(g.x0[2 * 4] == 0);
}

}  // namespace cycloid::lane_engine_test
