// States at times of the user's choice, of Systems that take whole steps only.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "cycloid/adjoint/pushforward.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/system/make_system.h"

namespace cycloid::samples_test {

using Numbers = std::vector<double>;

// A pendulum with a clock, by a semi-implicit step of its own.
struct Swing {
  static constexpr const char* kName = "swing";
  static constexpr std::array kState = {BlockSpec{"angle", 1, "rad"},
                                        BlockSpec{"velocity", 1, "rad/s"}};
  static constexpr std::array kInput = {BlockSpec{"torque", 1, "1"}};
  static constexpr std::array kParameters = {ParameterSpec{"stiffness", 4.0, "1/s²"}};
  template <class S>
  void step(const S& t, const S& h, const S* x, const S* u, const S* p, S* x_next) const {
    x_next[1] = x[1] + h * (u[0] + sin(t) - p[0] * sin(x[0]));
    x_next[0] = x[0] + h * x_next[1];
  }
};

constexpr std::int64_t kSteps = 12;
constexpr double kStep = 0.05, kBegin = 0.3;

struct Case {
  System system = make_system(Swing{}, {.dt = kStep});
  Numbers x0, controls;
  std::int64_t batch;
  explicit Case(std::int64_t n) : batch(n) {
    for (std::int64_t e = 0; e < n; ++e) {
      x0.insert(x0.end(), {0.3 + 0.1 * static_cast<double>(e), -0.2});
      for (std::int64_t k = 0; k < kSteps; ++k) {
        controls.push_back(std::sin(static_cast<double>(3 * e + k)));
      }
    }
  }
  Trajectory<double> run(const RolloutOptions& options, const Numbers& params = {}) const {
    return rollout(system, x0, Controls<double>(controls, kSteps), params, options);
  }
};

RolloutOptions at(const Numbers& times, const Memory& memory = Memory::all()) {
  RolloutOptions options;
  options.times = times;
  options.t0 = kBegin;
  options.memory = memory;
  return options;
}

RolloutOptions every_step() {
  RolloutOptions options;
  options.t0 = kBegin;
  return options;
}

// The beginning, one inside the first step, two in one step, the end of a step, the last end.
const Numbers kShares = {0, 0.3, 4.25, 4.5, 7, 9.875, 12};

Numbers times_of(double h) {
  Numbers times;
  for (const double s : kShares) times.push_back(kBegin + s * h);
  return times;
}

Numbers bar_of(std::size_t n) {
  Numbers bar(n);
  for (std::size_t i = 0; i < n; ++i) bar[i] = std::cos(1.0 + 0.7 * static_cast<double>(i));
  return bar;
}

double distance(const Numbers& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

TEST_CASE("samples: lie on the line between the ends of their step, and on them bit for bit") {
  for (const std::int64_t batch : {1, 5, 11}) {
    const Case c(batch);
    const Trajectory<double> run = c.run(at(times_of(kStep))), steps = c.run(every_step());
    CHECK(run.times() == times_of(kStep));
    for (std::int64_t e = 0; e < batch; ++e) {
      for (std::size_t s = 0; s < kShares.size(); ++s) {
        const auto y = run.state(e, static_cast<std::int64_t>(s));
        const double whole = std::floor(kShares[s]), theta = kShares[s] - whole;
        const auto x = steps.state(e, static_cast<std::int64_t>(whole));
        if (theta == 0) {
          CHECK(std::memcmp(y.data(), x.data(), x.size_bytes()) == 0);
          continue;
        }
        const auto x_next = steps.state(e, static_cast<std::int64_t>(whole) + 1);
        for (std::size_t i = 0; i < 2; ++i) {
          CHECK(std::abs(y[i] - (x[i] + theta * (x_next[i] - x[i]))) < 1e-14);
        }
      }
    }
  }
}

TEST_CASE("samples: all rows are written, however late the run and near its start") {
  const Case c(3);
  for (const double t0 : {1e4, 1e6, 1.7e9}) {
    RolloutOptions options;
    options.t0 = t0;
    const Trajectory<double> steps = c.run(options);
    for (std::int64_t k = 0; k <= kSteps; ++k) {
      options.times.push_back(t0 + static_cast<double>(k) * kStep);
    }
    const Trajectory<double> run = c.run(options);
    CHECK(std::memcmp(run.states().data(), steps.states().data(), steps.states().size_bytes()) ==
          0);
    const Numbers bar = bar_of(run.states().size());
    CHECK(distance(run.pullback(bar).x0, steps.pullback(bar).x0) < 1e-12);
  }
  const Trajectory<double> run =
      c.run(at({kBegin, kBegin + 3e-10 * kStep, kBegin + kStep, kBegin + 2 * kStep}));
  const Trajectory<double> steps = c.run(every_step());
  for (std::int64_t e = 0; e < 3; ++e) {
    CHECK(run.state(e, 1)[0] == steps.state(e, 0)[0]);
    CHECK(run.state(e, 3)[0] == steps.state(e, 2)[0]);
  }
}

// The cotangent of a sample is shared out among the ends of its step; the sample stays at its time,
// so that θ = (t - t0)/h - k has a derivative too.
TEST_CASE("samples: the gradient is that of the ends of their steps, for every plan of memory") {
  for (const std::int64_t batch : {1, 5, 11}) {
    const Case c(batch);
    const Trajectory<double> steps = c.run(every_step());
    const std::size_t samples = kShares.size(), saved = kSteps + 1;
    const Numbers bar = bar_of(static_cast<std::size_t>(batch) * samples * 2);
    Numbers ends(static_cast<std::size_t>(batch) * saved * 2, 0.0);
    double h_bar = 0;
    for (std::size_t e = 0; e < static_cast<std::size_t>(batch); ++e) {
      for (std::size_t s = 1; s < samples; ++s) {
        const double k = std::ceil(kShares[s]) - 1, theta = kShares[s] - k;
        for (std::size_t i = 0; i < 2; ++i) {
          const std::size_t x = (e * saved + static_cast<std::size_t>(k)) * 2 + i;
          const double own = bar[(e * samples + s) * 2 + i];
          ends[x] += (1 - theta) * own;
          ends[x + 2] += theta * own;
          h_bar -= own * (steps.states()[x + 2] - steps.states()[x]) * kShares[s] / kStep;
        }
      }
      for (std::size_t i = 0; i < 2; ++i) ends[e * saved * 2 + i] += bar[e * samples * 2 + i];
    }
    Gradient<double> expected = steps.pullback(ends);
    expected.params[1] += h_bar;
    for (const Memory& memory : {Memory::all(), Memory::sqrt(), Memory::checkpoints(2)}) {
      const Gradient<double> g = c.run(at(times_of(kStep), memory)).pullback(bar);
      CHECK(distance(g.x0, expected.x0) < 1e-12);
      CHECK(distance(g.controls, expected.controls) < 1e-12);
      CHECK(distance(g.params, expected.params) < 1e-10);
    }
  }
}

TEST_CASE("samples: the derivative by the time step is that at fixed times") {
  const Case c(3);
  // None at the end of a step, where the path has a corner.
  const Numbers times = {kBegin, kBegin + 0.3 * kStep, kBegin + 4.25 * kStep,
                         kBegin + 11.5 * kStep};
  const Numbers bar = bar_of(3 * times.size() * 2);
  const auto loss = [&](double h) {
    const Trajectory<double> run = c.run(at(times), {4.0, h});
    double sum = 0;
    for (std::size_t i = 0; i < bar.size(); ++i) sum += bar[i] * run.states()[i];
    return sum;
  };
  const double e = 1e-5, slope = (8 * (loss(kStep + e) - loss(kStep - e)) -
                                  (loss(kStep + 2 * e) - loss(kStep - 2 * e))) /
                                 (12 * e);
  const double g = c.run(at(times)).pullback(bar).params[1];
  CHECK(std::abs(slope) > 1);
  CHECK(std::abs(g - slope) < 1e-9 * std::abs(slope));
}

TEST_CASE("samples: between the ends of a step a pushforward has none") {
  const Case c(1);
  CHECK_THROWS_WITH_AS(pushforward(c.system, c.x0, kSteps, {}, {}, at(times_of(kStep))),
                       "this system's pushforward gives tangents of states of steps; pass save = … "
                       "in place of times = …",
                       Error);
}

}  // namespace cycloid::samples_test
