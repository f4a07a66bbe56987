#include "cycloid/adjoint/lane_engine.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/thread_pool.h"
#include "tests/support/rollout_cases.h"

namespace cycloid {
namespace {

using test::Numbers;
using test::same_bits;

// A world with everything that lanes do not have: x⁺ = x + h c x with c an array of n numbers that
// environments share, a record that is an object as large as the state, a counter of steps that is
// carried on but not differentiated, and a step that spreads over its threads.
class Field final : public Stepper<double> {
 public:
  Field(int n, int lanes) : Stepper<double>(sizes(n, lanes)) {}

  struct Own final : StepWorkspace {
    explicit Own(int n) : threads(n) {}
    int threads;
    StepParameters<double> p;
  };
  struct Kept final : RecordObject {
    std::size_t bytes() const override { return sizeof(double) * x.size(); }
    Numbers x;
  };

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Own>(resources.threads);
  }
  void begin(const StepParameters<double>& p, StepWorkspace& w) const override {
    static_cast<Own&>(w).p = p;
  }
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& w) const override {
    const Own& own = static_cast<const Own&>(w);
    const int W = sizes_.lanes, n = sizes_.state;
    parallel_for(static_cast<std::size_t>(n), own.threads, [&](std::size_t i) {
      for (int l = 0; l < W; ++l) {
        const std::size_t at = i * static_cast<std::size_t>(W) + static_cast<std::size_t>(l);
        x_next[at] = in.x[at] + own.p.lanes[l] * own.p.arrays[0][i] * in.x[at];
      }
    });
    for (int l = 0; l < W; ++l) x_next[n * W + l] = in.x[n * W + l] + 1;
    most_threads = std::max(most_threads.load(), own.threads);
    last_count = x_next[n * W];
    if (record) {
      auto kept = std::make_unique<Kept>();
      kept->x.assign(in.x, in.x + n * W);
      record->object = std::move(kept);
      record->bytes = 0;
    }
    ++steps;
    return StepStatus::ok;
  }
  void pullback(const StepInput<double>&, const StepRecord& record, const double* x_next_bar,
                double* x_bar, double*, StepWorkspace& w) const override {
    const Own& own = static_cast<const Own&>(w);
    const Numbers& x = static_cast<const Kept&>(*record.object).x;
    const int W = sizes_.lanes;
    for (int i = 0; i < sizes_.state; ++i) {
      for (int l = 0; l < W; ++l) {
        const std::size_t at = static_cast<std::size_t>(i * W + l);
        const double c = own.p.arrays[0][i], h = own.p.lanes[l];
        x_bar[at] += (1 + h * c) * x_next_bar[at];
        if (own.p.arrays_bar && !(own.p.left_out && own.p.left_out[l])) {
          own.p.arrays_bar[0][i] += h * x[at] * x_next_bar[at];
        }
      }
    }
  }
  void finish(StepWorkspace&, double* p_bar) const override {
    std::fill_n(p_bar, sizes_.lanes, 0.0);
  }
  StepTrouble explain(const StepInput<double>&, int, StepWorkspace&) const override { return {}; }

  mutable std::atomic<int> most_threads{0}, steps{0};
  mutable std::atomic<double> last_count{0};

 private:
  static StepperSizes sizes(int n, int lanes) {
    StepperSizes s;
    s.lanes = lanes;
    s.state = s.tangent = n;
    s.parameters = 1;
    s.arrays = {n};
    s.carry = 1;
    s.record_is_costly = s.spreads = true;
    return s;
  }
};

struct World {
  World(int n, int lanes)
      : one(std::make_shared<Field>(n, 1)), packed(std::make_shared<Field>(n, lanes)), system([&] {
          SystemParts parts;
          parts.name = "field";
          parts.timestep = 1;
          parts.states = Space({{"x", n, "1"}});
          Parameter h, c;
          h.name = "rate";
          h.not_differentiable = "a number of the test";
          c.name = "field";
          c.shape = {n};
          c.array = true;
          Numbers values(static_cast<std::size_t>(n));
          for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = 0.1 + 0.01 * i;
          parts.parameters.add(h, Numbers{0.5});
          parts.parameters.add(c, values);
          parts.vary = {"field"};
          parts.initial_state.assign(static_cast<std::size_t>(n), 1.0);
          parts.float64 = {one, packed, nullptr};
          return System(std::move(parts));
        }()) {}
  std::shared_ptr<Field> one, packed;
  System system;
};

}  // namespace

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

}  // namespace cycloid
