#include "cycloid/adjoint/events.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/systems.h"

namespace cycloid {
namespace {

using Numbers = std::vector<double>;

// A ball from (y, v) through its bounces to time T, in closed form, with derivatives by y, v, e, g.
// Between bounces y + v s - g s²/2; a bounce after s = (v + √(v² + 2 g y))/g.
struct ClosedForm {
  double y, v;
  Numbers times;
  // Derivatives of y, v and of each time by (y₀, v₀, e, g).
  Numbers y_by{1, 0, 0, 0}, v_by{0, 1, 0, 0};
  std::vector<Numbers> times_by = {};
};

ClosedForm closed_form(double y, double v, double e, double g, double T) {
  ClosedForm c{.y = y, .v = v, .times = {}};
  double t = 0;
  Numbers t_by(4, 0.0);
  for (;;) {
    const double root = std::sqrt(c.v * c.v + 2 * g * c.y), s = (c.v + root) / g;
    if (t + s > T) break;
    Numbers s_by(4);
    for (std::size_t i = 0; i < 4; ++i) {
      const double g_by = i == 3 ? 1.0 : 0.0;
      const double root_by = (c.v * c.v_by[i] + g * c.y_by[i] + g_by * c.y) / root;
      s_by[i] = (c.v_by[i] + root_by) / g - s * g_by / g;
      t_by[i] += s_by[i];
      // The speed of impact is `root`.
      c.v_by[i] = e * root_by + (i == 2 ? root : 0.0);
      c.y_by[i] = 0;
    }
    c.v = e * root;
    c.y = 0;
    t += s;
    c.times.push_back(t);
    c.times_by.push_back(t_by);
  }
  const double r = T - t;
  for (std::size_t i = 0; i < 4; ++i) {
    const double g_by = i == 3 ? 1.0 : 0.0, rate = c.v - g * r;
    c.y_by[i] += c.v_by[i] * r - rate * t_by[i] - 0.5 * g_by * r * r;
    c.v_by[i] += g * t_by[i] - g_by * r;
  }
  c.y += c.v * r - 0.5 * g * r * r;
  c.v -= g * r;
  return c;
}

double worst(const Numbers& a, const Numbers& b) {
  double difference = 0, size = 1e-3;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return difference / size;
}

// By (y₀, v₀, e, g).
Numbers gradient_of(const Gradient<double>& g) {
  return {g.x0[0], g.x0[1], g.params[0], g.params[1]};
}

// Rounding of a few thousand operations on numbers of order ten.
constexpr double kRounding = 1e-11;

// Balls of different heights, speeds and restitutions, so that lanes bounce at different times.
struct Balls {
  System system = systems::bouncing_ball({}, {.vary = {"restitution"}});
  Numbers x0, params;
  explicit Balls(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const double s = static_cast<double>(i);
      x0.insert(x0.end(), {0.4 + 0.13 * s, std::sin(s)});
      params.insert(params.end(), {0.95 - 0.02 * s, 9.81, 0.01});
    }
  }
  std::span<const double> row(std::size_t i) const { return std::span(x0).subspan(2 * i, 2); }
  std::span<const double> param_row(std::size_t i) const {
    return std::span(params).subspan(3 * i, 3);
  }
};

bool same_bits(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// A particle that reaches a wall at x = 1 with speed v after a drift, and stays there.
struct Runner {
  static constexpr const char* kName = "runner";
  static constexpr std::array kState = {BlockSpec{"place", 1, "m"}, BlockSpec{"speed", 1, "m/s"}};
  static constexpr std::array kInput = {BlockSpec{"push", 1, "m/s²"}};
  static constexpr std::array kParameters = {ParameterSpec{"wall", 1.0, "m"}};
  static constexpr std::array kEvents = {
      EventSpec{"arrival", EventDirection::rising, EventEffect::end}};
  template <class S>
  void x_dot(const S&, const S* x, const S* u, const S*, S* dx) const {
    dx[0] = x[1];
    dx[1] = u[0];
  }
  template <class S>
  void events(const S&, const S* x, const S*, const S* p, S* g) const {
    g[0] = x[0] - p[0];
  }
};

// A clock that is set back: x' = 1, and at time `at` and whenever x reaches 1, x becomes x / 2.
struct Clock {
  static constexpr const char* kName = "clock";
  static constexpr std::array kState = {BlockSpec{"x", 1, "s"}};
  static constexpr std::array kParameters = {ParameterSpec{"at", 0.52, "s"}};
  static constexpr std::array kEvents = {
      EventSpec{"alarm", EventDirection::rising, EventEffect::reset},
      EventSpec{"full", EventDirection::rising, EventEffect::reset}};
  template <class S>
  void x_dot(const S&, const S*, const S*, const S*, S* dx) const {
    dx[0] = S(1);
  }
  template <class S>
  void events(const S& t, const S* x, const S*, const S* p, S* g) const {
    g[0] = t - p[0];
    g[1] = x[0] - S(1);
  }
  template <class S>
  void reset(int, const S&, const S* x, const S*, const S*, S* x_next) const {
    x_next[0] = S(0.5) * x[0];
  }
};

}  // namespace

TEST_CASE("events: a bouncing ball has the closed form's states, times and derivatives") {
  for (const double e : {1.0, 0.8}) {
    const int last = e == 1.0 ? 480 : 300;
    for (std::size_t bounces = 1; bounces <= 5; ++bounces) {
      const int steps = 100 + (last - 100) * static_cast<int>(bounces - 1) / 4;
      CAPTURE(e);
      CAPTURE(steps);
      const System system = systems::bouncing_ball({.restitution = e});
      const Trajectory<double> run =
          rollout(system, Numbers{1.1, 0.3}, steps, {}, {.save = Save::last()});
      const ClosedForm c = closed_form(1.1, 0.3, e, 9.81, 0.01 * steps);
      REQUIRE(c.times.size() == bounces);
      REQUIRE(run.events().size() == bounces);
      CHECK(worst({run.states()[0], run.states()[1]}, {c.y, c.v}) < kRounding);
      CHECK(worst(gradient_of(run.pullback(Numbers{1, 0})), c.y_by) < kRounding);
      CHECK(worst(gradient_of(run.pullback(Numbers{0, 1})), c.v_by) < kRounding);
      for (std::size_t i = 0; i < bounces; ++i) {
        CHECK(run.events()[i].name == "impact");
        CHECK_FALSE(run.events()[i].grazing);
        CHECK(run.events()[i].time == doctest::Approx(c.times[i]).epsilon(kRounding));
        CHECK(run.events()[i].step == static_cast<std::int64_t>(c.times[i] / 0.01));
        Numbers bar(bounces, 0.0);
        bar[i] = 1;
        PullbackOptions options;
        options.event_times_bar = bar;
        CHECK(worst(gradient_of(run.pullback(Numbers{0, 0}, options)), c.times_by[i]) < kRounding);
      }
    }
  }
}

TEST_CASE("events: several in one step, and the derivative by the length of the step") {
  // Two, three and five bounces in one step of the whole duration.
  for (const double T : {1.4, 2.0, 2.9}) {
    const System system = systems::bouncing_ball({}, {.dt = T});
    const Trajectory<double> run =
        rollout(system, Numbers{1.1, 0.3}, 1, {}, {.save = Save::last()});
    const ClosedForm c = closed_form(1.1, 0.3, 0.8, 9.81, T);
    REQUIRE(c.times.size() >= 2);
    CHECK(run.events().size() == c.times.size());
    CHECK(worst({run.states()[0], run.states()[1]}, {c.y, c.v}) < kRounding);
    const Gradient<double> g = run.pullback(Numbers{1, 0});
    CHECK(worst(gradient_of(g), c.y_by) < kRounding);
    CHECK(g.params[2] == doctest::Approx(c.v).epsilon(1e-10));  // dy/dT
  }
}

TEST_CASE("events: a reset may depend on time, and an alarm's time is its parameter's") {
  const System system = make_system(Clock{}, {.dt = 0.1});
  const Trajectory<double> run = rollout(system, Numbers{0.9}, 10, {}, {.save = Save::last()});
  // 0.9 → 1 at 0.1 → ½; at 0.52 it shows 0.92 → 0.46; at 1 it shows 0.94.
  REQUIRE(run.events().size() == 2);
  CHECK(run.events()[0].name == "full");
  CHECK(run.events()[0].time == doctest::Approx(0.1).epsilon(1e-14));
  CHECK(run.events()[1].name == "alarm");
  CHECK(run.events()[1].time == doctest::Approx(0.52).epsilon(1e-14));
  CHECK(run.states()[0] == doctest::Approx(0.94).epsilon(1e-14));
  PullbackOptions options;
  const Gradient<double> state = run.pullback(Numbers{1}, options);
  // x(1) = ½(½ + at - t₁) + 1 - at with t₁ = 1 - x₀.
  CHECK(state.x0[0] == doctest::Approx(0.5).epsilon(1e-13));
  CHECK(state.params[0] == doctest::Approx(-0.5).epsilon(1e-13));
  const Numbers bar = {1, 10};
  options.event_times_bar = bar;
  const Gradient<double> times = run.pullback(Numbers{0}, options);
  CHECK(times.x0[0] == doctest::Approx(-1).epsilon(1e-13));
  CHECK(times.params[0] == doctest::Approx(10).epsilon(1e-13));
  CHECK(std::abs(times.params[1]) < 1e-12);  // the events do not know about steps
}

TEST_CASE("events: an event in a step's end does not happen twice") {
  // Steps of 1/8 s, exact in binary: the alarm is at the border of two steps.
  const System system = make_system(Clock{}, {.dt = 0.125, .values = {{"at", {0.5}}}});
  const Trajectory<double> run = rollout(system, Numbers{0.0}, 6);
  REQUIRE(run.events().size() == 1);
  CHECK(run.events()[0].time == 0.5);
  CHECK(run.state(0, -1)[0] == doctest::Approx(0.5).epsilon(1e-14));
}

TEST_CASE("events: lanes do not depend on their neighbours, and differ little from scalars") {
  const Balls balls(19);
  const Trajectory<double> all = rollout(balls.system, balls.x0, 250, balls.params);
  REQUIRE(all.report().failed.empty());
  Numbers bar(all.states().size());
  for (std::size_t i = 0; i < bar.size(); ++i) bar[i] = std::cos(0.37 * static_cast<double>(i));
  const Gradient<double> g = all.pullback(bar);
  const std::size_t row = 2 * 251;
  std::size_t events = 0;
  for (std::size_t i = 0; i < 19; ++i) {
    // Twice the same environment: lanes again, with another neighbour.
    Numbers x0, params, two_bar;
    for (int twice = 0; twice < 2; ++twice) {
      x0.insert(x0.end(), balls.row(i).begin(), balls.row(i).end());
      params.insert(params.end(), balls.param_row(i).begin(), balls.param_row(i).end());
      two_bar.insert(two_bar.end(), bar.begin() + static_cast<std::ptrdiff_t>(i * row),
                     bar.begin() + static_cast<std::ptrdiff_t>((i + 1) * row));
    }
    const Trajectory<double> pair = rollout(balls.system, x0, 250, params);
    CHECK(same_bits(pair.states().first(row), all.states().subspan(i * row, row)));
    const Numbers x0_bar = pair.pullback(two_bar).x0;
    CHECK(same_bits(std::span(x0_bar).first(2), std::span(g.x0).subspan(2 * i, 2)));
    const Trajectory<double> lone = rollout(balls.system, balls.row(i), 250, balls.param_row(i));
    CHECK(worst({lone.states().begin(), lone.states().end()},
                {pair.states().begin(), pair.states().begin() + static_cast<std::ptrdiff_t>(row)}) <
          1e-11);
    events += lone.events().size();
  }
  CHECK(events == all.events().size());
  CHECK(events > 50);
}

TEST_CASE("events: every memory plan gives the same gradient, bit for bit") {
  const Balls balls(11);
  Gradient<double> first;
  Numbers times_bar;
  for (const Memory& memory : {Memory::all(), Memory::sqrt(), Memory::checkpoints(5),
                               Memory::checkpoints(1), Memory::budget(40000)}) {
    for (const int threads : {1, 2}) {
      RolloutOptions options;
      options.memory = memory;
      options.threads = threads;
      options.save = Save::last();
      const Trajectory<double> run = rollout(balls.system, balls.x0, 120, balls.params, options);
      times_bar.resize(run.events().size());
      for (std::size_t i = 0; i < times_bar.size(); ++i) times_bar[i] = 1 + 0.1 * double(i);
      PullbackOptions back;
      back.event_times_bar = times_bar;
      const Gradient<double> g = run.pullback(Numbers(run.states().size(), 1.0), back);
      if (first.x0.empty()) first = g;
      CHECK(same_bits(g.x0, first.x0));
      CHECK(same_bits(g.params, first.params));
    }
  }
  CHECK(times_bar.size() > 10);
}

TEST_CASE("events: one that ends the run leaves the state where it is, with its time's gradient") {
  const System system = make_system(Runner{});
  // Two runners; the second has not arrived at 1 s. Lanes go on independently.
  const Numbers x0 = {0.0, 2.0, 0.0, 0.4};
  const Trajectory<double> run = rollout(system, x0, 100);
  REQUIRE(run.events().size() == 1);
  CHECK(run.events()[0].name == "arrival");
  CHECK(run.events()[0].environment == 0);
  CHECK(run.events()[0].time == doctest::Approx(0.5).epsilon(1e-14));
  CHECK(run.state(0, -1)[0] == doctest::Approx(1).epsilon(1e-14));
  CHECK(run.state(0, 70)[0] == run.state(0, -1)[0]);
  CHECK(run.state(1, -1)[0] == doctest::Approx(0.4).epsilon(1e-13));
  // The final place is the wall's, whatever x0; the final speed is v + u t.
  Numbers bar(run.states().size(), 0.0), times_bar = {1.0};
  bar[2 * 100] = 1;
  Gradient<double> g = run.pullback(bar);
  CHECK(std::abs(g.x0[0]) < 1e-13);
  CHECK(std::abs(g.x0[1]) < 1e-13);
  CHECK(g.params[0] == doctest::Approx(1).epsilon(1e-13));
  double pushes = 0;
  for (const double u : g.controls) pushes += u;
  CHECK(std::abs(pushes) < 1e-12);
  // t = (wall - x)/v.
  PullbackOptions options;
  options.event_times_bar = times_bar;
  g = run.pullback(Numbers(run.states().size(), 0.0), options);
  CHECK(g.x0[0] == doctest::Approx(-0.5).epsilon(1e-12));
  CHECK(g.x0[1] == doctest::Approx(-0.25).epsilon(1e-12));
  CHECK(g.params[0] == doctest::Approx(0.5).epsilon(1e-12));
  for (std::size_t k = 50; k < 100; ++k) CHECK(g.controls[k] == 0);  // after it arrived
  CHECK(g.controls[10] < 0);
}

TEST_CASE("events: too many in a step stop the environment, which says so, and no other") {
  const System system = systems::bouncing_ball();
  // From 1 m they pile up at √(2/g) · 9 = 4.06 s.
  const Trajectory<double> run = rollout(system, Numbers{1.0, 0.0, 5.0, 0.0}, 500);
  REQUIRE(run.report().failed.size() == 1);
  const Failure& f = run.report().failed[0];
  CHECK(f.environment == 0);
  CHECK(f.body == "impact");
  CHECK(f.reason.find("Zeno") != std::string::npos);
  CHECK(f.step * 0.01 == doctest::Approx(4.06).epsilon(0.01));
  CHECK(run.state(0, -1)[0] < 1e-4);
  for (const Event& e : run.events()) CHECK(e.step < 500);
  CHECK_THROWS_AS(run.pullback(Numbers(run.states().size(), 1.0)), GradientError);
  PullbackOptions skip;
  skip.failed = PullbackOptions::Failed::skip;
  const Gradient<double> g = run.pullback(Numbers(run.states().size(), 1.0), skip);
  CHECK(g.x0[0] == 0);
  CHECK(g.x0[2] != 0);
  // A ball that lies on the floor would bounce forever too.
  CHECK(rollout(system, Numbers{0.0, 0.0}, 1).report().failed.size() == 1);
}

TEST_CASE("events: one that the state hardly reaches is grazing, and has no gradient") {
  // Thrown up against nothing: the top of the flight touches a ceiling from below, x = wall.
  const System system = make_system(Runner{}, {.dt = 0.1});
  const double top = 0.5;  // of 0 + v t - t²/2 with v = 1, at t = 1
  const Numbers push(20, -1.0);
  const auto run_to = [&](double wall) {
    return rollout(system, Numbers{0.0, 1.0}, Controls<double>(push, 20), Numbers{wall, 0.1});
  };
  const Trajectory<double> touch = run_to(top - 1e-16);
  REQUIRE(touch.events().size() == 1);
  CHECK(touch.events()[0].grazing);
  const Numbers bar(touch.states().size(), 1.0);
  CHECK_THROWS_WITH_AS(touch.pullback(bar), doctest::Contains("grazing"), GradientError);
  PullbackOptions skip;
  skip.failed = PullbackOptions::Failed::skip;
  CHECK(touch.pullback(bar, skip).x0[0] == 0);
  // A little lower it arrives before the top, at a speed √(2 · 0.01); higher it never does.
  const Trajectory<double> arrives = run_to(top - 0.01);
  REQUIRE(arrives.events().size() == 1);
  CHECK_FALSE(arrives.events()[0].grazing);
  CHECK(arrives.events()[0].time == doctest::Approx(1 - std::sqrt(0.02)).epsilon(1e-12));
  CHECK(run_to(top + 1e-9).events().empty());
}

TEST_CASE("events: a step with an impact is linearised with its jump") {
  const System system = systems::bouncing_ball();
  const double y = 0.01, v = -3, e = 0.8, g = 9.81;
  const Linearisation<double> lin = linearise(system, Numbers{y, v}, {}, {}, {.params = true});
  const ClosedForm c = closed_form(y, v, e, g, 0.01);
  REQUIRE(c.times.size() == 1);
  CHECK(worst({lin.A[0], lin.A[1], lin.P[0], lin.P[1]}, c.y_by) < kRounding);
  CHECK(worst({lin.A[2], lin.A[3], lin.P[3], lin.P[4]}, c.v_by) < kRounding);
}

TEST_CASE("events: other integrators, and float, find them too") {
  for (const char* integrator : {"euler", "semi_implicit", "verlet", "rk4"}) {
    CAPTURE(integrator);
    const System system = systems::bouncing_ball({}, {.dt = 1e-3, .integrator = integrator});
    const Trajectory<double> run = rollout(system, Numbers{1.1, 0.3}, 1400);
    const ClosedForm c = closed_form(1.1, 0.3, 0.8, 9.81, 1.4);
    CHECK(run.events().size() == 2);
    CHECK(run.events()[1].time == doctest::Approx(c.times[1]).epsilon(1e-2));
    // Verlet is exact for a constant force, as rk4 is.
    if (std::strcmp(integrator, "verlet") == 0) {
      CHECK(run.events()[1].time == doctest::Approx(c.times[1]).epsilon(1e-12));
    }
  }
  const System system = systems::bouncing_ball({}, {.precision = Precision::float32});
  const std::vector<float> x0 = {1.1f, 0.3f, 1.2f, 0.3f};
  const Trajectory<float> run = rollout(system, std::span<const float>(x0), 140);
  const ClosedForm c = closed_form(1.1f, 0.3f, 0.8, 9.81, 1.4);
  REQUIRE(run.events().size() == 4);
  CHECK(run.events()[1].time == doctest::Approx(c.times[1]).epsilon(1e-5));
  const Gradient<float> g = run.pullback(std::vector<float>(run.states().size(), 0.0f));
  CHECK(g.x0[0] == 0);
}

TEST_CASE("events: describe names environment, step and time") {
  CHECK(describe(Event{3, 17, "impact", 0.1702}) == "environment 3, step 17: impact at 0.1702 s");
}

TEST_CASE("events: cotangents of times must be as many as there are events") {
  const Trajectory<double> run = rollout(systems::bouncing_ball(), Numbers{1.0, 0.0}, 60);
  const Numbers bar(run.states().size(), 0.0), times_bar(3, 1.0);
  PullbackOptions options;
  options.event_times_bar = times_bar;
  CHECK_THROWS_WITH_AS(run.pullback(bar, options), doctest::Contains("1 events"), Error);
}

}  // namespace cycloid
