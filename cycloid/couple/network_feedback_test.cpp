#include "cycloid/couple/network_feedback.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/couple/close_loop.h"
#include "cycloid/couple/network_value_test.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/run_lanes.h"
#include "cycloid/system/systems.h"
#include "tests/support/pullback_check.h"
#include "tests/support/stepper_run.h"

namespace cycloid {
namespace {

using test::Numbers;
using test::value;

// A body that spins, with bounds on its inputs; it shows a tip that depends on its parameter.
struct Spinning {
  static constexpr const char* kName = "spinning";
  static constexpr std::array kState = {BlockSpec{"attitude", 4, "1", BlockKind::quaternion},
                                        BlockSpec{"rate", 3, "rad/s"}};
  static constexpr std::array kInput = {BlockSpec{"push", 2, "N"}};
  static constexpr std::array kParameters = {ParameterSpec{"inertia", 2.0, "kg·m²"}};
  static constexpr std::array kObservables = {BlockSpec{"tip", 3, "m"}};

  template <class S>
  void x_dot(const S&, const S* x, const S* u, const S* p, S* dx) const {
    for (int i = 0; i < 3; ++i) dx[i] = x[4 + i];
    for (int i = 3; i < 6; ++i) dx[i] = u[i % 2] / p[0];
  }
  template <class S>
  void observe(const S&, const S* x, const S*, const S* p, S* y) const {
    store(y, rotate(load_quat(x), Vec3<S>{S(1), x[5], p[0]}));
  }
};

System spinning(double reach) {
  SystemParts parts = make_system(Spinning{}).parts();
  if (reach > 0) parts.input_bounds = {{-reach, reach}, {-2 * reach, 3 * reach}};
  return System(parts);
}

Network policy(int inputs, int outputs) {
  Network n;
  n.shape.widths = {inputs, 6, 5, outputs};
  n.shape.input_shift.assign(static_cast<std::size_t>(inputs), 0.1);
  n.shape.input_scale.assign(static_cast<std::size_t>(inputs), 0.8);
  n.shape.output_shift.assign(static_cast<std::size_t>(outputs), 0.2);
  n.shape.output_scale.assign(static_cast<std::size_t>(outputs), 1.5);
  n.weights = initial_weights(n.shape, 1);
  return n;
}

Numbers spin(std::uint64_t seed) {
  Numbers x = test::FixedNumbers(seed).vector(7);
  make_system(Spinning{}).states().normalise(x.data());
  return x;
}

// One step of a System from x, in its scalar stepper, and the way back of a cotangent.
test::StepOutcome<double> run(const System& s, const Numbers& x, const Numbers& u, const Numbers& p,
                              const Numbers& bar) {
  return test::run_step(*s.steppers<double>().one, {x}, {u}, {p}, {bar});
}
Numbers step(const System& s, const Numbers& x, const Numbers& u, const Numbers& p) {
  return run(s, x, u, p, Numbers(6, 0.0)).x_next[0];
}

}  // namespace

TEST_CASE("network_feedback: a closed step is the inner one under the network's clipped output") {
  for (const Clip clip : {Clip::hard, Clip::tanh, Clip::none}) {
    const System open = spinning(0.3), closed = close_loop(open, policy(7, 2), {}, clip);
    CHECK(closed.inputs().size() == 0);
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Numbers x = spin(seed);
      Numbers u = value(policy(7, 2), x);
      for (std::size_t i = 0; i < 2; ++i) {
        const Bounds b = open.input_bounds(static_cast<int>(i));
        const double m = (b.low + b.high) / 2, r = (b.high - b.low) / 2;
        if (clip == Clip::hard) u[i] = std::clamp(u[i], b.low, b.high);
        if (clip == Clip::tanh) u[i] = m + r * std::tanh((u[i] - m) / r);
      }
      const Numbers expected = step(open, x, u, open.parameters().default_values()),
                    got = step(closed, x, {}, closed.parameters().default_values());
      CHECK(test::relative_error(got, expected) < 1e-13);
    }
  }
}

TEST_CASE("network_feedback: parameters are the arrays of the folded network") {
  const System closed = close_loop(spinning(0), policy(7, 2));
  const Parameter& w = closed.parameters().find("policy.weight0");
  CHECK(w.shape == std::vector<int>{6, 7});
  CHECK(w.array);
  CHECK(closed.parameters().find("policy.bias2").size == 2);
  const double folded = closed.parameters().default_values()[static_cast<std::size_t>(w.offset)];
  CHECK(folded == doctest::Approx(policy(7, 2).weights[0] / 0.8));
}

TEST_CASE(
    "network_feedback: pullbacks by state, weights and the law's parameters are differences") {
  for (const bool sensed : {false, true}) {
    for (const Clip clip : {Clip::tanh, Clip::none}) {
      const System open = spinning(0.5);
      const std::optional<std::vector<std::string>> names =
          sensed ? std::optional<std::vector<std::string>>({"tip", "rate"}) : std::nullopt;
      const System closed = close_loop(open, policy(sensed ? 6 : 7, 2), names, clip);
      const Numbers x = spin(5), p = closed.parameters().default_values(),
                    bar = test::FixedNumbers(6).vector(6);
      const auto out = run(closed, x, {}, p, bar);
      Numbers p_bar = out.p_bar[0];
      p_bar.insert(p_bar.end(), out.arrays_bar.begin(), out.arrays_bar.end());
      const auto loss = [&](const Numbers& at, const Numbers& params) {
        const Numbers next = step(closed, at, {}, params), base = step(closed, x, {}, p);
        Numbers d(6);
        closed.states().difference(base.data(), next.data(), d.data());
        return test::dot(bar, d);
      };
      const double e = 1e-6;
      for (std::size_t i = 0; i < 6; ++i) {
        const auto moved = [&](double by) {
          Numbers d(6, 0.0), to(7);
          d[i] = by;
          closed.states().retract(x.data(), d.data(), to.data());
          return loss(to, p);
        };
        CHECK(out.x_bar[0][i] == doctest::Approx((moved(e) - moved(-e)) / (2 * e)).epsilon(1e-6));
      }
      double largest = 0;
      REQUIRE(p_bar.size() == p.size());
      for (std::size_t i = 0; i < p.size(); ++i) {
        const auto moved = [&](double by) {
          Numbers to = p;
          to[i] += by;
          return loss(x, to);
        };
        const double difference = (moved(e) - moved(-e)) / (2 * e);
        CAPTURE(closed.parameters().number_name(static_cast<int>(i)));
        CHECK(std::abs(p_bar[i] - difference) < 1e-8);
        if (i >= 2) largest = std::max(largest, std::abs(difference));
      }
      CHECK(largest > 1e-4);
    }
  }
}

TEST_CASE(
    "network_feedback: noise is drawn by key, environment and step, and held on the way back") {
  const System open = spinning(0.5);
  const Network net = policy(7, 2);
  const System closed = close_loop(open, net, {}, Clip::tanh, {{0.3, 0.2}, 11});
  const Numbers x = spin(5), p = closed.parameters().default_values(),
                bar = test::FixedNumbers(6).vector(6);
  const auto at = [&](std::int64_t environment, std::int64_t step, const Numbers& params) {
    const RunLanes lanes(&environment);
    return test::run_step(*closed.steppers<double>().one, {x}, {{}}, {params}, {bar}, step);
  };
  double xi[2];
  policy_noise(11, 3, 7, 2, xi);
  Numbers u = value(net, x);
  for (std::size_t i = 0; i < 2; ++i) {
    const Bounds b = open.input_bounds(static_cast<int>(i));
    const double m = (b.low + b.high) / 2, r = (b.high - b.low) / 2;
    u[i] = m + r * std::tanh((u[i] + (i == 0 ? 0.3 : 0.2) * xi[i] - m) / r);
  }
  const auto out = at(3, 7, p);
  CHECK(test::relative_error(out.x_next[0], step(open, x, u, open.parameters().default_values())) <
        1e-13);
  CHECK(at(4, 7, p).x_next != out.x_next);
  CHECK(at(3, 8, p).x_next != out.x_next);
  // Without a run there is no noise.
  CHECK(run(closed, x, {}, p, bar).x_next ==
        run(close_loop(open, net, {}, Clip::tanh), x, {}, Numbers(p.begin(), p.end() - 3), bar)
            .x_next);
  const Parameter& sigma = closed.parameters().find("policy.noise");
  for (int i = 0; i < 2; ++i) {
    const auto moved = [&](double by) {
      Numbers to = p, d(6);
      to[static_cast<std::size_t>(sigma.offset + i)] += by;
      closed.states().difference(out.x_next[0].data(), at(3, 7, to).x_next[0].data(), d.data());
      return test::dot(bar, d);
    };
    const double difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
    CHECK(std::abs(difference) > 1e-5);
    CHECK(out.arrays_bar[static_cast<std::size_t>(sigma.offset - closed.parameters().lane_size() +
                                                  i)] == doctest::Approx(difference).epsilon(1e-6));
  }
  CHECK_THROWS_AS(close_loop(open, net, {}, Clip::tanh, {{0.3}, 0}), ModelError);
  CHECK_THROWS_AS(close_loop(open, net, {}, Clip::tanh, {{0.3, -0.1}, 0}), Error);
  CHECK_THROWS_AS(close_loop(open, net, {}, Clip::tanh, {{0.3, 0.1}, 1 << 24}), Error);
}

TEST_CASE("network_feedback: what does not fit is refused by name") {
  const System open = spinning(0.3);
  CHECK_THROWS_WITH_AS(close_loop(open, policy(5, 2)),
                       "close_loop: the network must have 7 inputs (the numbers of the state); it "
                       "has 5",
                       Error);
  CHECK_THROWS_WITH_AS(close_loop(open, policy(7, 3)),
                       "close_loop: the network must have 2 outputs (those of the system's "
                       "inputs); it has 3",
                       Error);
  Network short_of = policy(7, 2);
  short_of.weights.pop_back();
  CHECK_THROWS_AS(close_loop(open, short_of), Error);
  CHECK_THROWS_AS(close_loop(open, policy(3, 2), {{"tpi"}}), ModelError);
  SystemParts parts = open.parts();
  parts.input_bounds[1].high = HUGE_VAL;
  CHECK_THROWS_WITH_AS(close_loop(System(parts), policy(7, 2), {}, Clip::tanh),
                       "close_loop: clip = tanh needs two bounds, and input 1 has one; choose "
                       "hard or none",
                       Error);
  CHECK_THROWS_AS(close_loop(systems::lorenz(), policy(3, 1)), ModelError);
}

}  // namespace cycloid
