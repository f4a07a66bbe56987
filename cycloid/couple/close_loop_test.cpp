#include "cycloid/couple/close_loop.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/couple/linear_feedback.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/systems.h"
#include "tests/support/pullback_check.h"
#include "tests/support/stepper_run.h"
#include "tests/support/test_laws.h"

namespace cycloid {
namespace {

using test::Numbers;
using test::Rows;

struct Case {
  explicit Case(const System& system)
      : open(system),
        nu(system.inputs().size()),
        nt(system.states().tangent_size()),
        feedback{test::FixedNumbers(1).vector(static_cast<std::size_t>(nu * nt)),
                 system.initial_state(),
                 test::FixedNumbers(3).vector(static_cast<std::size_t>(nu))},
        closed(close_loop(system, feedback)) {
    test::FixedNumbers random(4);
    for (int l = 0; l < 5; ++l) {
      Numbers row = system.initial_state();
      for (double& v : row) v += 0.3 * random.next();
      system.states().normalise(row.data());
      x.push_back(row);
      bars.push_back(random.vector(static_cast<std::size_t>(nt)));
    }
  }
  Rows<double> inputs() const {
    Numbers p = feedback.gain;
    p.insert(p.end(), feedback.target.begin(), feedback.target.end());
    p.insert(p.end(), feedback.command.begin(), feedback.command.end());
    Rows<double> rows;
    for (const Numbers& row : x) {
      Numbers d(static_cast<std::size_t>(nt)), u(static_cast<std::size_t>(nu));
      linear_feedback({open.states(), nu}, p.data(), row.data(), 1, d.data(), u.data());
      rows.push_back(u);
    }
    return rows;
  }
  System open;
  int nu, nt;
  LinearFeedback feedback;
  System closed;
  Rows<double> x, bars;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  all.emplace_back(systems::pendulum());
  all.emplace_back(systems::double_pendulum({}, {.integrator = "dopri5"}));
  all.emplace_back(make_system(test::Dipole{}));
  return all;
}

}  // namespace

TEST_CASE("close_loop: a step is the inner step under the feedback's input") {
  for (const Case& c : cases()) {
    CAPTURE(c.open.name());
    CHECK(c.closed.inputs().size() == 0);
    for (const bool packed : {false, true}) {
      const auto pick = [&](const System& s) -> const Stepper<double>& {
        return packed ? *s.steppers<double>().packed : *s.steppers<double>().one;
      };
      const auto open = test::run_step<double>(pick(c.open), c.x, c.inputs(),
                                               {c.open.parameters().default_values()}, c.bars);
      const auto closed = test::run_step<double>(pick(c.closed), c.x, {{}},
                                                 {c.closed.parameters().default_values()}, c.bars);
      for (std::size_t l = 0; l < open.x_next.size(); ++l) {
        CHECK(test::relative_error(closed.x_next[l], open.x_next[l]) < 1e-14);
      }
    }
  }
}

TEST_CASE("close_loop: pullback equals central differences by state and every parameter") {
  for (const Case& c : cases()) {
    CAPTURE(c.open.name());
    const Stepper<double>& one = *c.closed.steppers<double>().one;
    const Numbers p = c.closed.parameters().default_values();
    const auto at = test::run_step<double>(one, {c.x[0]}, {{}}, {p}, {c.bars[0]});
    const Space& space = c.closed.states();
    const auto value = [&](const Numbers& x, const Numbers& params) {
      const auto moved = test::run_step<double>(one, {x}, {{}}, {params}, {c.bars[0]});
      Numbers d(c.bars[0].size());
      space.difference(at.x_next[0].data(), moved.x_next[0].data(), d.data());
      double sum = 0;
      for (std::size_t i = 0; i < d.size(); ++i) sum += c.bars[0][i] * d[i];
      return sum;
    };
    const double e = 1e-5;
    for (std::size_t i = 0; i < c.bars[0].size(); ++i) {
      Numbers unit(c.bars[0].size(), 0.0), up(c.x[0].size()), down(up);
      unit[i] = e;
      space.retract(c.x[0].data(), unit.data(), up.data());
      unit[i] = -e;
      space.retract(c.x[0].data(), unit.data(), down.data());
      CHECK(at.x_bar[0][i] ==
            doctest::Approx((value(up, p) - value(down, p)) / (2 * e)).epsilon(1e-7));
    }
    double largest = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      Numbers up = p, down = p;
      up[i] += e;
      down[i] -= e;
      const double difference = (value(c.x[0], up) - value(c.x[0], down)) / (2 * e);
      CAPTURE(c.closed.parameters().number_name(static_cast<int>(i)));
      CHECK(at.p_bar[0][i] == doctest::Approx(difference).epsilon(1e-6));
      largest = std::max(largest, std::abs(difference));
    }
    CHECK(largest > 1e-3);
  }
}

TEST_CASE("close_loop: dual kernels carry the tangent through the feedback") {
  for (const Case& c : cases()) {
    const Stepper<double>* dual = c.closed.steppers<double>().dual.get();
    CAPTURE(c.open.name());
    REQUIRE(dual);
    const int W = dual->sizes().lanes / 2;
    const Numbers p = c.closed.parameters().default_values();
    const Numbers direction = test::FixedNumbers(9).vector(p.size());
    Rows<double> x, params, bars;
    for (int l = 0; l < 2 * W; ++l) {
      x.push_back(l < W ? c.x[0] : Numbers(c.x[0].size(), 0.0));
      params.push_back(l < W ? p : direction);
      bars.emplace_back(c.bars[0].size(), 0.0);
    }
    const auto pair = test::run_step<double>(*dual, x, {{}}, params, bars);
    const double e = 1e-5;
    Numbers up = p, down = p;
    for (std::size_t i = 0; i < p.size(); ++i) {
      up[i] += e * direction[i];
      down[i] -= e * direction[i];
    }
    const Stepper<double>& one = *c.closed.steppers<double>().one;
    const auto above = test::run_step<double>(one, {c.x[0]}, {{}}, {up}, {c.bars[0]}),
               below = test::run_step<double>(one, {c.x[0]}, {{}}, {down}, {c.bars[0]});
    Numbers expected;
    for (std::size_t i = 0; i < c.x[0].size(); ++i) {
      expected.push_back((above.x_next[0][i] - below.x_next[0][i]) / (2 * e));
    }
    CHECK(test::relative_error(pair.x_next[static_cast<std::size_t>(W)], expected) < 1e-7);
    CHECK(std::abs(expected.back()) > 1e-4);
  }
}

TEST_CASE("close_loop: sizes that do not fit and systems without inputs are refused") {
  const System pendulum = systems::pendulum();
  CHECK_THROWS_AS(close_loop(pendulum, {{1.0}, {0, 0}, {0}}), ModelError);
  CHECK_THROWS_AS(close_loop(pendulum, {{1.0, 1.0}, {0}, {0}}), ModelError);
  CHECK_THROWS_AS(close_loop(pendulum, {{1.0, 1.0}, {0, 0}, {}}), ModelError);
  const System closed = close_loop(pendulum, {{1.0, 1.0}, {0, 0}, {0}});
  CHECK_THROWS_AS(close_loop(closed, {{}, {0, 0}, {}}), ModelError);
  CHECK_THROWS_AS(close_loop(systems::kepler(), {{}, {0, 0, 0, 0}, {}}), ModelError);
  CHECK(closed.parameters().contains("feedback.gain"));
  CHECK(closed.parameters().contains("length"));
}

}  // namespace cycloid
