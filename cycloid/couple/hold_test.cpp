#include "cycloid/couple/hold.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"
#include "cycloid/couple/close_loop.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/systems.h"
#include "tests/support/pullback_check.h"
#include "tests/support/stepper_run.h"
#include "tests/support/test_laws.h"

namespace cycloid {
namespace {

using test::Numbers;
using test::Rows;

constexpr int kHeld = 3;

struct HoldCase {
  explicit HoldCase(const System& system) : inner(system), held(hold(system, kHeld)) {
    test::FixedNumbers random(5);
    for (int l = 0; l < 5; ++l) {
      Numbers row = system.initial_state();
      for (double& v : row) v += 0.3 * random.next();
      system.states().normalise(row.data());
      x.push_back(row);
      u.push_back(random.vector(static_cast<std::size_t>(system.inputs().size())));
      bars.push_back(random.vector(static_cast<std::size_t>(system.states().tangent_size())));
    }
    p = system.parameters().default_values();
  }
  System inner, held;
  Rows<double> x, u, bars;
  Numbers p;
};

std::vector<HoldCase> hold_cases() {
  std::vector<HoldCase> all;
  all.emplace_back(systems::pendulum());
  all.emplace_back(systems::double_pendulum({}, {.integrator = "dopri5"}));
  all.emplace_back(make_system(test::Dipole{}));  // with a unit quaternion
  return all;
}

const Stepper<double>& picked(const System& s, bool packed) {
  return packed ? *s.steppers<double>().packed : *s.steppers<double>().one;
}

}  // namespace

TEST_CASE("hold: a step is several inner steps under one input, and its pullback theirs in turn") {
  for (const HoldCase& c : hold_cases()) {
    CAPTURE(c.inner.name());
    CHECK(c.held.timestep() == doctest::Approx(kHeld * c.inner.timestep()));
    for (const bool packed : {false, true}) {
      const auto held = test::run_step<double>(picked(c.held, packed), c.x, c.u, {c.p}, c.bars);
      const Stepper<double>& one = picked(c.inner, packed);
      std::vector<Rows<double>> states = {c.x};
      for (int i = 0; i < kHeld; ++i) {
        states.push_back(test::run_step<double>(one, states.back(), c.u, {c.p}, c.bars, i).x_next);
      }
      Rows<double> bars = c.bars, u_bar, p_bar;
      for (int i = kHeld; i-- > 0;) {
        const auto back =
            test::run_step<double>(one, states[static_cast<std::size_t>(i)], c.u, {c.p}, bars, i);
        bars = back.x_bar;
        if (u_bar.empty()) {
          u_bar = back.u_bar, p_bar = back.p_bar;
          continue;
        }
        for (std::size_t l = 0; l < u_bar.size(); ++l) {
          for (std::size_t k = 0; k < u_bar[l].size(); ++k) u_bar[l][k] += back.u_bar[l][k];
          for (std::size_t k = 0; k < p_bar[l].size(); ++k) p_bar[l][k] += back.p_bar[l][k];
        }
      }
      for (std::size_t l = 0; l < held.x_next.size(); ++l) {
        CHECK(held.x_next[l] == states.back()[l]);
        CHECK(test::relative_error(held.x_bar[l], bars[l]) < 1e-13);
        CHECK(test::relative_error(held.u_bar[l], u_bar[l]) < 1e-13);
        CHECK(test::relative_error(held.p_bar[l], p_bar[l]) < 1e-12);
      }
    }
  }
}

TEST_CASE("hold: dual kernels carry a tangent of the input through every inner step") {
  const HoldCase c(systems::pendulum());
  const Stepper<double>* dual = c.held.steppers<double>().dual.get();
  REQUIRE(dual);
  const int W = dual->sizes().lanes / 2;
  Rows<double> x, u, params, bars;
  for (int l = 0; l < 2 * W; ++l) {
    x.push_back(l < W ? c.x[0] : Numbers(2, 0.0));
    u.push_back(l < W ? c.u[0] : Numbers(1, 1.0));
    params.push_back(l < W ? c.p : Numbers(c.p.size(), 0.0));
    bars.emplace_back(2, 0.0);
  }
  const auto pair = test::run_step<double>(*dual, x, u, params, bars);
  const Stepper<double>& one = *c.held.steppers<double>().one;
  for (std::size_t k = 0; k < 2; ++k) {
    Numbers bar(2, 0.0);
    bar[k] = 1;
    const auto back = test::run_step<double>(one, {c.x[0]}, {c.u[0]}, {c.p}, {bar});
    CHECK(pair.x_next[static_cast<std::size_t>(W)][k] ==
          doctest::Approx(back.u_bar[0][0]).epsilon(1e-12));
    CHECK(std::abs(back.u_bar[0][0]) > 1e-5);
  }
}

TEST_CASE("hold: a feedback acts once per held step") {
  const System closed = close_loop(hold(systems::pendulum(), kHeld), {{2.0, 1.0}, {0, 0}, {0.5}});
  const HoldCase c(systems::pendulum());
  const Numbers u = {0.5 - 2.0 * c.x[0][0] - 1.0 * c.x[0][1]};
  const auto held =
      test::run_step<double>(*c.held.steppers<double>().one, {c.x[0]}, {u}, {c.p}, {c.bars[0]});
  const auto looped = test::run_step<double>(*closed.steppers<double>().one, {c.x[0]}, {{}},
                                             {closed.parameters().default_values()}, {c.bars[0]});
  CHECK(test::relative_error(looped.x_next[0], held.x_next[0]) < 1e-14);
}

TEST_CASE("hold: what cannot be held is refused") {
  CHECK_THROWS_AS(hold(systems::pendulum(), 0), Error);
  CHECK_THROWS_AS(hold(systems::bouncing_ball(), 2), ModelError);
  CHECK_FALSE(hold(systems::pendulum(), 2).parameters().contains(kTimestepName));
  CHECK(hold(systems::pendulum(), 2).parameters().contains("inner.timestep"));
}

}  // namespace cycloid
