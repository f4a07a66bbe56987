#include "cycloid/couple/add_network.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/couple/network_value_test.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/systems.h"
#include "tests/support/pullback_check.h"
#include "tests/support/stepper_run.h"

namespace cycloid {
namespace {

using test::Numbers;
using test::value;

// A body that spins under a force of the user's, "qfrc_applied", and a push.
struct Pushed {
  static constexpr const char* kName = "pushed";
  static constexpr std::array kState = {BlockSpec{"attitude", 4, "1", BlockKind::quaternion},
                                        BlockSpec{"rate", 3, "rad/s"}};
  static constexpr std::array kInput = {BlockSpec{"push", 1, "N"},
                                        BlockSpec{"qfrc_applied", 3, "N·m"}};

  template <class S>
  void x_dot(const S&, const S* x, const S* u, const S*, S* dx) const {
    for (int i = 0; i < 3; ++i) dx[i] = x[4 + i];
    for (int i = 0; i < 3; ++i) dx[3 + i] = u[0] + u[1 + i];
  }
};

Network residual(int inputs, int outputs) {
  Network n;
  n.shape.widths = {inputs, 5, outputs};
  n.shape.input_shift.assign(static_cast<std::size_t>(inputs), -0.2);
  n.shape.input_scale.assign(static_cast<std::size_t>(inputs), 1.3);
  n.weights = initial_weights(n.shape, 2);
  return n;
}

Numbers seen(const Numbers& x, const Numbers& u, std::size_t open) {
  Numbers o = x;
  o.insert(o.end(), u.begin(), u.begin() + static_cast<std::ptrdiff_t>(open));
  return o;
}

Numbers start(const System& s, std::uint64_t seed) {
  Numbers x = test::FixedNumbers(seed).vector(static_cast<std::size_t>(s.states().size()));
  s.states().normalise(x.data());
  return x;
}

test::StepOutcome<double> run(const System& s, const Numbers& x, const Numbers& u, const Numbers& p,
                              const Numbers& bar) {
  return test::run_step(*s.steppers<double>().one, {x}, {u}, {p}, {bar});
}

// The step's pullback against central differences by everything.
void check_step_gradient(const System& s, const Numbers& x, const Numbers& u) {
  const std::size_t nt = static_cast<std::size_t>(s.states().tangent_size());
  const Numbers p = s.parameters().default_values(), bar = test::FixedNumbers(6).vector(nt),
                zeros(nt, 0.0);
  const auto out = run(s, x, u, p, bar);
  const auto loss = [&](const Numbers& at, const Numbers& input, const Numbers& params) {
    Numbers d(nt);
    s.states().difference(out.x_next[0].data(), run(s, at, input, params, zeros).x_next[0].data(),
                          d.data());
    return test::dot(bar, d);
  };
  const double e = 1e-6;
  const auto slope = [&](auto moved) { return (moved(e) - moved(-e)) / (2 * e); };
  for (std::size_t i = 0; i < nt; ++i) {
    CHECK(out.x_bar[0][i] == doctest::Approx(slope([&](double by) {
                               Numbers d(nt, 0.0), to(x.size());
                               d[i] = by;
                               s.states().retract(x.data(), d.data(), to.data());
                               return loss(to, u, p);
                             })).epsilon(1e-6));
  }
  for (std::size_t i = 0; i < u.size(); ++i) {
    CHECK(out.u_bar[0][i] == doctest::Approx(slope([&](double by) {
                               Numbers to = u;
                               to[i] += by;
                               return loss(x, to, p);
                             })).epsilon(1e-6));
  }
  Numbers p_bar = out.p_bar[0];
  p_bar.insert(p_bar.end(), out.arrays_bar.begin(), out.arrays_bar.end());
  double largest = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double difference = slope([&](double by) {
      Numbers to = p;
      to[i] += by;
      return loss(x, u, to);
    });
    CAPTURE(s.parameters().number_name(static_cast<int>(i)));
    CHECK(std::abs(p_bar[i] - difference) < 1e-8);
    if (i + out.arrays_bar.size() >= p.size()) largest = std::max(largest, std::abs(difference));
  }
  CHECK(largest > 1e-3);
}

}  // namespace

TEST_CASE("add_in_tangents: pullback equals dual numbers on vectors and is exact on quaternions") {
  const Space space({{"place", 2, "m"}, {"attitude", 4, "1", BlockKind::quaternion}});
  const Numbers y = test::FixedNumbers(1).vector(5), bar = test::FixedNumbers(2).vector(5);
  Numbers x = test::FixedNumbers(3).vector(6), inner(5, 0.0), y_bar(5, 0.0);
  space.normalise(x.data());
  Numbers next = x;
  add_in_tangents(space, y.data(), 1, next.data());
  add_in_tangents_pullback(space, y.data(), bar.data(), 1, inner.data(), y_bar.data());
  const auto loss = [&](const Numbers& d, const Numbers& by) {
    Numbers from(6), to(5);
    space.retract(x.data(), d.data(), from.data());
    add_in_tangents(space, by.data(), 1, from.data());
    space.difference(next.data(), from.data(), to.data());
    return test::dot(bar, to);
  };
  const double e = 1e-6;
  for (std::size_t i = 0; i < 5; ++i) {
    Numbers up(5, 0.0), down(5, 0.0), more = y, less = y;
    up[i] = e, down[i] = -e, more[i] += e, less[i] -= e;
    CHECK(inner[i] == doctest::Approx((loss(up, y) - loss(down, y)) / (2 * e)).epsilon(1e-7));
    CHECK(y_bar[i] ==
          doctest::Approx((loss(Numbers(5, 0.0), more) - loss(Numbers(5, 0.0), less)) / (2 * e))
              .epsilon(1e-7));
  }
  test::mark_operator_tested("add_in_tangents");
}

TEST_CASE("add_network_to_next: the next state moves by the network's output, in tangents") {
  const System open = make_system(Pushed{}), hybrid = add_network_to_next(open, residual(11, 6));
  CHECK(hybrid.inputs().size() == 4);
  const Numbers x = start(open, 3), u = test::FixedNumbers(4).vector(4), zeros(6, 0.0);
  const Numbers inner = run(open, x, u, open.parameters().default_values(), zeros).x_next[0],
                y = value(residual(11, 6), seen(x, u, 4));
  Numbers expected(7);
  open.states().retract(inner.data(), y.data(), expected.data());
  const Numbers got = run(hybrid, x, u, hybrid.parameters().default_values(), zeros).x_next[0];
  CHECK(test::relative_error(got, expected) < 1e-13);
  check_step_gradient(hybrid, x, u);
}

TEST_CASE("add_network_to_robot: adds to the force, whether it stays an input or not") {
  const System open = make_system(Pushed{});
  for (const int kept : {1, 4}) {
    const System hybrid = add_network_to_robot(open, residual(7 + kept, 3), kept, TermPlace::force);
    CHECK(hybrid.inputs().size() == kept);
    const Numbers x = start(open, 5), zeros(6, 0.0);
    Numbers u = test::FixedNumbers(7).vector(4);
    for (std::size_t i = static_cast<std::size_t>(kept); i < 4; ++i) u[i] = 0;
    const Numbers f = value(residual(7 + kept, 3), seen(x, u, static_cast<std::size_t>(kept)));
    Numbers pushed = u;
    for (std::size_t i = 0; i < 3; ++i) pushed[1 + i] += f[i];
    const Numbers given(u.begin(), u.begin() + kept);
    const Numbers expected =
                      run(open, x, pushed, open.parameters().default_values(), zeros).x_next[0],
                  got =
                      run(hybrid, x, given, hybrid.parameters().default_values(), zeros).x_next[0];
    CHECK(test::relative_error(got, expected) < 1e-13);
    check_step_gradient(hybrid, x, given);
  }
}

TEST_CASE("add_network_to_law: one Euler step adds where it says; gradients are differences") {
  const double h = 0.01;
  const System open = systems::pendulum({}, {.dt = h, .integrator = "euler"});
  const Numbers x = {0.7, -0.4}, u = {0.3}, p = open.parameters().default_values(), zeros(2, 0.0);
  const Numbers plain = run(open, x, u, p, zeros).x_next[0];
  for (const TermPlace place : {TermPlace::rate, TermPlace::acceleration, TermPlace::force}) {
    const int outputs = place == TermPlace::rate ? 2 : 1;
    const Network net = residual(3, outputs);
    const Numbers y = value(net, {0.7, -0.4, 0.3});
    Numbers expected = plain;
    if (place == TermPlace::rate) expected[0] += h * y[0], expected[1] += h * y[1];
    else expected[1] += h * y[0];  // of a mass 1 at length 1 a torque is an acceleration
    const System euler =
        add_network_to_law("pendulum", {}, {.dt = h, .integrator = "euler"}, 1, net, place);
    const Numbers got = run(euler, x, u, euler.parameters().default_values(), zeros).x_next[0];
    CHECK(test::relative_error(got, expected) < 1e-14);
    for (const char* integrator : {"rk4", "implicit_midpoint", "verlet"}) {
      if (place == TermPlace::rate && std::string(integrator) == "verlet") continue;
      CAPTURE(integrator);
      const System s = add_network_to_law("pendulum", {{"damping", {0.2}}},
                                          {.dt = 0.1, .integrator = integrator}, 1, net, place);
      check_step_gradient(s, x, u);
    }
  }
  CHECK_THROWS_AS(add_network_to_law("pendulum", {}, {.integrator = "verlet"}, 1, residual(3, 2),
                                     TermPlace::rate),
                  ModelError);
  CHECK_THROWS_AS(add_network_to_law("lorenz", {}, {}, 1, residual(3, 1), TermPlace::acceleration),
                  Error);
  CHECK_THROWS_AS(add_network_to_law("kepler", {}, {}, 1, residual(4, 2), TermPlace::force), Error);
  CHECK_THROWS_AS(add_network_to_law("bouncing_ball", {}, {}, 1, residual(2, 2), TermPlace::rate),
                  ModelError);
}

TEST_CASE("add_network: what does not fit is refused by name") {
  const System pendulum = systems::pendulum();
  CHECK_THROWS_WITH_AS(add_network_to_next(pendulum, residual(2, 2)),
                       "add_network: the network must have 3 inputs (the numbers of what it "
                       "observes and of the inputs); it has 2",
                       Error);
  CHECK_THROWS_WITH_AS(add_network_to_next(pendulum, residual(3, 1)),
                       "add_network: the network must have 2 outputs (those of the state's "
                       "tangents); it has 1",
                       Error);
  CHECK_THROWS_AS(add_network_to_robot(pendulum, residual(3, 1), 1, TermPlace::force), ModelError);
  CHECK_THROWS_AS(add_network_to_next(systems::bouncing_ball(), residual(2, 2)), ModelError);
  const System twice = add_network_to_next(pendulum, residual(3, 2));
  CHECK_THROWS_AS(add_network_to_next(twice, residual(3, 2)), ModelError);
}

}  // namespace cycloid
