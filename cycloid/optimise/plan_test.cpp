#include "cycloid/optimise/plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/optimise/mpc.h"
#include "cycloid/optimise/planning/multiple_shooting.h"
#include "cycloid/optimise/planning/sampling.h"
#include "cycloid/system/systems.h"

namespace cycloid::plan_test {

using Vector = std::vector<double>;

constexpr double kPi = 3.14159265358979323846;

System pendulum() { return systems::pendulum({.damping = 0.1}, {.dt = 0.02}); }

Cost swing_up() { return Reach{"state", {kPi, 0.0}, {100.0}} + Cost(Effort{{0.01}}); }

PlanOptions with_limits(double most, const std::string& method = "ilqr") {
  PlanOptions o;
  o.method = method;
  o.low = {-most};
  o.high = {most};
  return o;
}

// ∂J/∂u of the whole, by central differences of rollouts; largest over inputs inside the bounds.
double slope_inside(const System& system, const Vector& x0, const Cost& terms, const Plan& p,
                    double most) {
  const std::int64_t T = std::ssize(p.controls) / system.inputs().size();
  const auto J = [&](const Vector& u) {
    PlanOptions once;
    once.start = u;
    once.iterations = 0;
    return plan(system, x0, terms, T, once).cost;
  };
  double largest = 0;
  for (std::size_t i = 0; i < p.controls.size(); i += 7) {
    if (std::abs(p.controls[i]) > most - 1e-3) continue;
    Vector up = p.controls, down = p.controls;
    up[i] += 1e-5;
    down[i] -= 1e-5;
    largest = std::max(largest, std::abs(J(up) - J(down)) / 2e-5);
  }
  return largest;
}

TEST_CASE("plan: ilqr and multiple shooting solve a linear quadratic problem in one step") {
  // Masses on springs with forces: linear dynamics.
  const System chain = systems::spring_chain(3, {}, {.dt = 0.05});
  const Vector x0{0.3, -0.2, 0.1, 0, 0.5, 0};
  const Cost terms = Reach{"state", {0, 0, 0, 0, 0, 0}, {1.0}, When::all()} + Cost(Effort{{0.1}});
  PlanOptions o;
  const Plan a = plan(chain, x0, terms, 40, o);
  o.method = "multiple_shooting";
  const Plan b = plan(chain, x0, terms, 40, o);
  CHECK(a.converged);
  CHECK(b.converged);
  CHECK(a.iterations <= 3);
  CHECK(a.history[1] == doctest::Approx(a.cost).epsilon(1e-6));
  CHECK(b.cost == doctest::Approx(a.cost).epsilon(1e-9));
  CHECK(slope_inside(chain, x0, terms, a, INFINITY) < 1e-5);
  // The gains are those of the optimal controller: from another start they give its plan too.
  const Vector y0{0.1, 0.2, -0.3, 0.4, 0, 0};
  const Plan other = plan(chain, y0, terms, 40, {});
  for (int i = 0; i < 3; ++i) {
    double u = a.controls[i];
    for (int j = 0; j < 6; ++j) u -= a.gains[i * 6 + j] * (y0[j] - x0[j]);
    // Both end after one step, whose damping is 1e-6 beside curvatures of 0.2.
    CHECK(u == doctest::Approx(other.controls[i]).epsilon(5e-5).scale(1));
  }
}

TEST_CASE("plan: Smooth is part of the optimum, with gains that leave out the previous input") {
  const System chain = systems::spring_chain(2, {}, {.dt = 0.05});
  const Vector x0{0.3, -0.2, 0, 0.5};
  const Cost terms =
      Reach{"state", {0, 0, 0, 0}, {1.0}, When::all()} + Cost(Effort{{0.1}}) + Cost(Smooth{{0.5}});
  for (const char* method : {"ilqr", "multiple_shooting"}) {
    PlanOptions o;
    o.method = method;
    const Plan p = plan(chain, x0, terms, 30, o);
    CHECK(p.converged);
    CHECK(p.iterations <= 3);
    CHECK(slope_inside(chain, x0, terms, p, INFINITY) < 1e-5);
    CHECK(p.gains.size() == 30u * 2 * 4);
  }
}

TEST_CASE("plan: every method swings a pendulum up within its bounds") {
  for (const std::string& method : plan_methods()) {
    CAPTURE(method);
    PlanOptions o = with_limits(12, method);
    if (method == "cem" || method == "mppi") o.iterations = 60;
    const Plan p = plan(pendulum(), Vector{0, 0}, swing_up(), 100, o);
    CHECK(std::abs(p.states[200] - kPi) < 0.3);
    CHECK(*std::max_element(p.controls.begin(), p.controls.end()) <= 12);
    CHECK(*std::min_element(p.controls.begin(), p.controls.end()) >= -12);
    CHECK(p.cost < 0.1 * p.history.front());
    CHECK(p.history.size() == static_cast<std::size_t>(p.iterations) + 1);
    CHECK(std::is_sorted(p.history.rbegin(), p.history.rend()));
    // States and cost are those of a rollout of the controls.
    const Trajectory<double> run =
        rollout(pendulum(), Vector{0, 0}, Controls<double>(p.controls, 100));
    CHECK(std::equal(p.states.begin(), p.states.end(), run.states().begin()));
    if (method == "ilqr" || method == "multiple_shooting") {
      CHECK(p.converged);
      CHECK(slope_inside(pendulum(), {0, 0}, swing_up(), p, 12) < 1e-3);
    }
    // The same numbers again.
    const Plan again = plan(pendulum(), Vector{0, 0}, swing_up(), 100, o);
    CHECK(again.controls == p.controls);
  }
}

TEST_CASE("plan: full second derivatives converge in fewer iterations near the optimum") {
  PlanOptions o;
  o.tolerance = 1e-13;
  const Plan newton_start = plan(pendulum(), Vector{0, 0}, swing_up(), 80, o);
  o.start = newton_start.controls;
  for (double& v : o.start) v += 0.02;
  const Plan half = plan(pendulum(), Vector{0, 0}, swing_up(), 80, o);
  o.full_hessian = true;
  const Plan full = plan(pendulum(), Vector{0, 0}, swing_up(), 80, o);
  CHECK(full.converged);
  CHECK(full.cost == doctest::Approx(half.cost).epsilon(1e-8));
  CHECK(full.iterations < half.iterations);
}

TEST_CASE("plan: Keep holds along the path, and the plan costs more for it") {
  const Cost terms = Reach{"state", {1.0, 0.0}, {100.0}} + Cost(Effort{{0.01}});
  const Plan free = plan(pendulum(), Vector{0, 0}, terms, 60, {});
  double fastest = 0;
  for (int t = 0; t <= 60; ++t) fastest = std::max(fastest, free.states[t * 2 + 1]);
  REQUIRE(fastest > 1.2);
  for (const char* method : {"ilqr", "multiple_shooting"}) {
    PlanOptions o;
    o.method = method;
    const Plan kept =
        plan(pendulum(), Vector{0, 0}, terms + Keep{"angular_velocity", {-10.0}, {1.0}}, 60, o);
    CHECK(kept.converged);
    CHECK(kept.violation <= 1e-4);
    for (int t = 0; t <= 60; ++t) CHECK(kept.states[t * 2 + 1] <= 1 + 1e-4);
    CHECK(kept.cost > free.cost);
  }
}

TEST_CASE("plan: a start that hangs still where no input has a slope is nudged") {
  // Only the energy is wanted: at rest its slope by every input vanishes.
  const Cost terms = Reach{"energy", {-5.0}} + Cost(Effort{{1e-4}});
  const Plan p = plan(pendulum(), Vector{0, 0}, terms, 100, with_limits(2));
  CHECK(p.cost < 0.2 * p.history.front());
}

TEST_CASE("plan: a target out of reach ends with the best and says so") {
  const Plan p = plan(pendulum(), Vector{0, 0}, swing_up(), 10, with_limits(0.1));
  CHECK(p.message.find("out of reach") != std::string::npos);
  CHECK(p.cost < p.history.front());
}

TEST_CASE("plan: time, iterations and callbacks end it with the best so far") {
  PlanOptions o = with_limits(3);
  o.time_limit = 0;
  const Plan none = plan(pendulum(), Vector{0, 0}, swing_up(), 100, o);
  CHECK(none.iterations == 0);
  CHECK_FALSE(none.converged);
  CHECK(none.message.find("time limit") != std::string::npos);
  o.time_limit = {};
  o.iterations = 2;
  const Plan two = plan(pendulum(), Vector{0, 0}, swing_up(), 100, o);
  CHECK(two.iterations == 2);
  CHECK_FALSE(two.converged);
  o.iterations = 200;
  o.watch = [](const Progress& now) { return now.iteration < 3; };
  const Plan three = plan(pendulum(), Vector{0, 0}, swing_up(), 100, o);
  CHECK(three.iterations == 3);
  CHECK(three.status == OptimiserStatus::stopped);
  o.watch = {};
  int asked = 0;
  o.keep_going = [&] { return ++asked < 1; };
  for (const std::string& method : plan_methods()) {
    asked = 0;
    o.method = method;
    o.keep_going = [&] { return false; };
    try {
      const Plan p = plan(pendulum(), Vector{0, 0}, swing_up(), 5000, o);
      CHECK_FALSE(p.converged);
      CHECK(p.states.size() == 5001u * 2);
    } catch (const Interrupted&) {  // before there was anything
    }
  }
  o.method = "mppi";  // many short iterations, none of which asks by itself
  o.iterations = 1'000'000;
  o.tolerance = 0;
  o.time_limit = 60;
  asked = 0;
  o.keep_going = [&] { return ++asked < 2; };
  const Plan stopped = plan(pendulum(), Vector{0, 0}, swing_up(), 1000, o);
  CHECK(stopped.status == OptimiserStatus::stopped);
  CHECK(asked == 2);
  CHECK(stopped.seconds < 30);
}

TEST_CASE("plan: what cannot be is refused with a reason") {
  const auto refused = [](const Cost& terms, const PlanOptions& o, Vector x0 = {0, 0},
                          std::int64_t T = 10) {
    try {
      plan(pendulum(), x0, terms, T, o);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto says = [](const std::string& text, const char* word) {
    CAPTURE(text);
    return text.find(word) != std::string::npos;
  };
  PlanOptions o;
  CHECK(says(refused(swing_up(), o, {0, NAN}), "x0 must be finite"));
  CHECK(says(refused(swing_up(), o, {0, 0, 0}), "x0 must have 2"));
  CHECK(says(refused(swing_up(), o, {0, 0}, 0), "steps"));
  CHECK(says(refused(Cost(), o), "no terms"));
  o.start = Vector(10, 0.0);
  o.start[3] = NAN;
  CHECK(says(refused(swing_up(), o), "step 3"));
  o.start = Vector(9, 0.0);
  CHECK(says(refused(swing_up(), o), "start must have 10"));
  o = with_limits(1);
  o.start = Vector(10, 0.0);
  o.start[4] = 2;
  CHECK(says(refused(swing_up(), o), "exclude the start"));
  o = {};
  o.low = {1};
  o.high = {-1};
  CHECK(says(refused(swing_up(), o), "low must not exceed high"));
  o = {};
  o.method = "ilqg";
  CHECK(says(refused(swing_up(), o), "\"ilqr\""));
  const Function own{
      "mine", [](std::int64_t, const double*, const double*, double*, double*, double*) {}, false};
  o.method = "ilqr";
  CHECK(says(refused(swing_up() + own, o), "Function(mine)"));
  o.method = "lbfgs";
  CHECK(says(refused(swing_up() + own, o), "Function(mine)"));
  CHECK_THROWS_AS(plan(systems::lorenz(), Vector{1, 1, 1}, Reach{"x", {0.0}}, 5), Error);
}

TEST_CASE("gaps_of: a rollout has none, and a moved state two") {
  Planner p(pendulum(), Vector{0.3, 0}, swing_up(), 5, {});
  Vector states, controls(5, 0.4);
  REQUIRE(p.roll_out(controls, states));
  const auto largest = [](const Vector& d) {
    double most = 0;
    for (const double v : d) most = std::max(most, std::abs(v));
    return most;
  };
  CHECK(largest(gaps_of(p, states, controls, 1).d) < 1e-12);
  states[3 * 2] += 0.1;
  const Vector d = gaps_of(p, states, controls, 1).d;
  CHECK(d[2 * 2] == doctest::Approx(-0.1));
  CHECK(std::abs(d[3 * 2]) > 0.05);
}

TEST_CASE("knotted_noise: depends on seed, iteration and sample, and is linear between knots") {
  const Vector a = knotted_noise(1, 2, 3, 21, 1, 5);
  CHECK(a == knotted_noise(1, 2, 3, 21, 1, 5));
  CHECK(a != knotted_noise(1, 2, 4, 21, 1, 5));
  CHECK(a != knotted_noise(1, 3, 3, 21, 1, 5));
  CHECK(a[2] - a[1] == doctest::Approx(a[1] - a[0]).epsilon(1e-9));
  CHECK(a[5] - a[4] == doctest::Approx(a[4] - a[3]).epsilon(1e-9));
}

TEST_CASE("mppi_weights: sum to one, prefer the cheap, and leave out what failed") {
  const Vector w = mppi_weights({2, 1, INFINITY, 5}, 0.5);
  CHECK(w[0] + w[1] + w[3] == doctest::Approx(1));
  CHECK(w[2] == 0);
  CHECK(w[1] > w[0]);
  CHECK(w[0] > w[3]);
  CHECK(mppi_weights({INFINITY, INFINITY}, 1) == Vector{0, 0});
}

TEST_CASE("Mpc: holds an inverted pendulum against pushes, within bounds, with time and without") {
  const System system = pendulum();
  const Cost terms = Reach{"state", {kPi, 0.0}, {1.0}, When::all()} + Cost(Effort{{0.01}});
  MpcOptions o;
  o.plan.low = {-8};
  o.plan.high = {8};
  Mpc mpc(system, terms, 30, o);
  CHECK_THROWS_AS(mpc.plan(), Error);
  Vector x{kPi - 0.4, 0};
  for (int t = 0; t < 120; ++t) {
    const Vector u = mpc.control(x);
    CHECK(std::abs(u[0]) <= 8);
    x = step(system, x, u);
    if (t == 60) x[1] += 0.8;
  }
  CHECK(std::abs(x[0] - kPi) < 0.06);
  CHECK(mpc.calls() == 120);
  CHECK(mpc.plan().iterations <= 12);
  CHECK_THROWS_AS(mpc.control(Vector{NAN, 0}), Error);
  CHECK_THROWS_AS(mpc.feedback(x, 30), Error);
}

TEST_CASE("Mpc: with feedback between calls a plan may be made now and then only") {
  const System system = pendulum();
  const Cost terms = Reach{"state", {kPi, 0.0}, {1.0}, When::all()} + Cost(Effort{{0.01}});
  MpcOptions o;
  o.every = 10;
  Mpc mpc(system, terms, 40, o);
  Vector x{kPi - 0.2, 0};
  for (int t = 0; t < 120; ++t) {
    if (t % 10 == 0) mpc.control(x);
    x = step(system, x, mpc.feedback(x, t % 10));
    if (t % 7 == 0) x[1] += 0.05;
  }
  CHECK(std::abs(x[0] - kPi) < 0.05);
  CHECK(mpc.calls() == 12);
  o.every = 41;
  CHECK_THROWS_AS(Mpc(system, terms, 40, o), Error);
}

}  // namespace cycloid::plan_test
