#include "cycloid/adjoint/events.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/systems.h"

namespace cycloid::events_test {

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

// x' = v. The gate at x = wall + at t lets through (its reset changes nothing), or ends.
template <EventDirection D, EventEffect E>
struct Gate {
  static constexpr const char* kName = "gate";
  static constexpr std::array kState = {BlockSpec{"x", 1, "m"}, BlockSpec{"v", 1, "m/s"}};
  static constexpr std::array kParameters = {ParameterSpec{"wall", 0.0, "m"},
                                             ParameterSpec{"at", 0.0, "m/s"}};
  static constexpr std::array kEvents = {EventSpec{"gate", D, E}};
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S*, S* dx) const {
    dx[0] = x[1];
    dx[1] = S(0);
  }
  template <class S>
  void events(const S& t, const S* x, const S*, const S* p, S* g) const {
    g[0] = x[0] - p[0] - p[1] * t;
  }
  template <class S>
  void reset(int, const S&, const S* x, const S*, const S*, S* x_next) const {
    x_next[0] = x[0];
    x_next[1] = x[1];
  }
};

// ẍ = -100 x, which notes where x falls through zero.
struct Wave {
  static constexpr const char* kName = "wave";
  static constexpr std::array kState = {BlockSpec{"x", 1, "m"}, BlockSpec{"v", 1, "m/s"}};
  static constexpr std::array kEvents = {EventSpec{"zero", EventDirection::falling}};
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S*, S* dx) const {
    dx[0] = x[1];
    dx[1] = S(-100) * x[0];
  }
  template <class S>
  void events(const S&, const S* x, const S*, const S*, S* g) const {
    g[0] = x[0];
  }
  template <class S>
  void reset(int, const S&, const S* x, const S*, const S*, S* x_next) const {
    x_next[0] = x[0];
    x_next[1] = x[1];
  }
};

// Two balls, each on a floor of its own; impacts of ball 1 come first in the list of events.
struct TwoBalls {
  static constexpr const char* kName = "two_balls";
  static constexpr std::array kState = {BlockSpec{"y", 2, "m"}, BlockSpec{"v", 2, "m/s"}};
  static constexpr std::array kParameters = {ParameterSpec{"floor", 0.0, "m"},
                                             ParameterSpec{"other_floor", 0.0, "m"}};
  static constexpr std::array kEvents = {EventSpec{"impact_1", EventDirection::falling},
                                         EventSpec{"impact_0", EventDirection::falling}};
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S*, S* dx) const {
    for (int i = 0; i < 2; ++i) {
      dx[i] = x[2 + i];
      dx[2 + i] = S(-8);
    }
  }
  template <class S>
  void events(const S&, const S* x, const S*, const S* p, S* g) const {
    g[0] = x[1] - p[1];
    g[1] = x[0] - p[0];
  }
  template <class S>
  void reset(int event, const S&, const S* x, const S*, const S*, S* x_next) const {
    for (int i = 0; i < 4; ++i) x_next[i] = x[i];
    x_next[3 - event] = S(-0.75) * x[3 - event];
  }
};

// A runner who cannot go on beyond `edge`: nothing is a number there.
template <EventEffect E>
struct Cliff {
  static constexpr const char* kName = "cliff";
  static constexpr std::array kState = {BlockSpec{"x", 1, "m"}};
  static constexpr std::array kParameters = {ParameterSpec{"wall", 1.0, "m"},
                                             ParameterSpec{"edge", 1.01, "m"}};
  static constexpr std::array kEvents = {EventSpec{"wall", EventDirection::rising, E}};
  static inline std::int64_t calls = 0;
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S* p, S* dx) const {
    dx[0] = S(1) + S(0) * sqrt(p[1] - x[0]);
  }
  template <class S>
  void events(const S&, const S* x, const S*, const S* p, S* g) const {
    if constexpr (std::is_same_v<S, Dual<double, 1>>) ++calls;  // of lanes that go their own way
    g[0] = x[0] - p[0];
  }
  template <class S>
  void reset(int, const S&, const S* x, const S*, const S*, S* x_next) const {
    x_next[0] = x[0] - S(1);
  }
};

// A ball in a relay that no implicit step can solve where y < 0 (mode 0) or everywhere (mode 1). At
// y = 0 it goes back up to ½, or in mode `trap` becomes unsolvable.
struct Relay {
  static constexpr const char* kName = "relay";
  static constexpr std::array kState = {BlockSpec{"y", 1, "m"}, BlockSpec{"mode", 1, "1"}};
  static constexpr std::array kParameters = {ParameterSpec{"trap", 0.0, "1"},
                                             ParameterSpec{"end", -9.0, "m"}};
  static constexpr std::array kEvents = {
      EventSpec{"bottom", EventDirection::falling},
      EventSpec{"end", EventDirection::falling, EventEffect::end}};
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S*, S* dx) const {
    const S relay = select(x[0] > S(-0.02), S(-9), S(9));
    const S high = select(x[0] > S(0.48), S(-9), S(9));
    dx[0] = select(x[1] > S(0.5), high, select(x[0] < S(0), relay, S(-1)));
    dx[1] = S(0);
  }
  template <class S>
  void events(const S&, const S* x, const S*, const S* p, S* g) const {
    g[0] = x[0];
    g[1] = x[0] - p[1];
  }
  template <class S>
  void reset(int, const S&, const S*, const S*, const S* p, S* x_next) const {
    x_next[0] = S(0.5);
    x_next[1] = p[0];
  }
};

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

// Batches of gates that are met on the ends of steps, exactly or to rounding, from below and from
// above; every environment must see its gate as often as its direction says.
template <EventDirection D, EventEffect E>
void check_gates(double dt, double at) {
  CAPTURE(dt);
  CAPTURE(at);
  const System system = make_system(Gate<D, E>{}, {.dt = dt, .vary = {"wall"}});
  Numbers x0, params, falls;
  for (int k = 0; k <= 20; ++k) {
    for (const double v : {1.0, -1.0}) {
      const double t = dt * k;  // when it passes
      x0.insert(x0.end(), {0.7 - (v - at) * dt * 10, v});
      params.insert(params.end(), {0.7 - (v - at) * dt * 10 + (v - at) * t, at, dt});
      falls.push_back(v - at < 0 ? 1 : 0);
    }
  }
  const std::size_t n = falls.size();
  const Trajectory<double> all = rollout(system, x0, 30, params);
  std::vector<int> count(n, 0);
  for (const Event& e : all.events()) ++count[static_cast<std::size_t>(e.environment)];
  for (std::size_t i = 0; i < n; ++i) {
    CAPTURE(i);
    const bool seen =
        D == EventDirection::both || (D == EventDirection::falling) == (falls[i] == 1);
    CHECK(count[i] == (seen ? 1 : 0));
    const Trajectory<double> lone =
        rollout(system, std::span(x0).subspan(2 * i, 2), 30, std::span(params).subspan(3 * i, 3));
    CHECK(lone.events().size() == (seen ? 1 : 0));
  }
}

template <EventDirection D>
void check_gates_of() {
  for (const double dt : {0.125, 0.1, 0.01, 1.0 / 3}) {
    for (const double at : {0.0, 0.25}) {
      check_gates<D, EventEffect::reset>(dt, at);
      check_gates<D, EventEffect::end>(dt, at);
    }
  }
}

TEST_CASE("events: one that falls on a step's end happens once, in every direction") {
  check_gates_of<EventDirection::falling>();
  check_gates_of<EventDirection::rising>();
  check_gates_of<EventDirection::both>();
}

TEST_CASE("events: two at the same time both happen, once each") {
  // Falls of ½, ½ ± a few roundings, and ½ on higher floors: impacts after exactly ¼ √2 s … each.
  const System system = make_system(TwoBalls{}, {.dt = 0.125, .vary = {"floor", "other_floor"}});
  Numbers x0, params;
  std::vector<double> offsets;
  for (const double a : {0.0, 1e-17, 1e-16, -1e-16, 3e-16, -3e-16, 1e-14, 1e-12, -1e-12}) {
    for (const double floor : {0.0, 0.7, 100.3}) {
      for (const double height : {0.25, 0.3}) {  // 0.25 m takes ¼ s: the end of a step
        x0.insert(x0.end(), {floor + height, floor + height + a, 0, 0});
        params.insert(params.end(), {floor, floor, 0.125});
      }
    }
  }
  const std::size_t n = x0.size() / 4;
  const Trajectory<double> run = rollout(system, x0, 7, params);
  CHECK(run.report().failed.empty());
  std::vector<std::array<int, 2>> count(n);
  for (const Event& e : run.events()) {
    ++count[static_cast<std::size_t>(e.environment)][e.name == "impact_1"];
    CHECK_FALSE(e.grazing);
  }
  for (std::size_t i = 0; i < n; ++i) {
    CAPTURE(i);
    // Impacts at s, s (1 + 2 · ¾), … with s = √(h/4): ¼ s, 0.625 s; 0.274 s, 0.685 s.
    CHECK(count[i] == std::array<int, 2>{2, 2});
    CHECK(run.state(static_cast<std::int64_t>(i), -1)[0] > params[3 * i]);
    CHECK(run.state(static_cast<std::int64_t>(i), -1)[1] > params[3 * i]);
  }
}

TEST_CASE("events: simultaneous ones have each their own ball's gradient") {
  const System system = make_system(TwoBalls{}, {.dt = 0.125});
  const Trajectory<double> run = rollout(system, Numbers{0.3, 0.3, 0, 0, 0.3, 0.31, 0, 0}, 4);
  REQUIRE(run.events().size() == 4);
  Numbers times_bar(4, 0.0);
  for (std::size_t i = 0; i < 4; ++i) {
    times_bar[i] = run.events()[i].name == "impact_1" ? 10 : 1;
  }
  PullbackOptions options;
  options.event_times_bar = times_bar;
  const Gradient<double> g = run.pullback(Numbers(run.states().size(), 0.0), options);
  for (std::size_t i = 0; i < 2; ++i) {  // t = √(y/4), dt/dy = 1/(4 √y) ·…
    const double other = i == 0 ? 0.3 : 0.31;
    CHECK(g.x0[4 * i] == doctest::Approx(0.25 / std::sqrt(0.3)).epsilon(1e-12));
    CHECK(g.x0[4 * i + 1] == doctest::Approx(2.5 / std::sqrt(other)).epsilon(1e-12));
  }
}

TEST_CASE("events: a surface before a singularity is found, and a lane that failed rests") {
  const auto check = [](const auto& law, std::size_t ends) {
    using Law = std::decay_t<decltype(law)>;
    const System system = make_system(law, {.dt = 0.3, .vary = {"wall"}});
    const Numbers x0 = {0.0, 0.25, 0.11, 0.0},
                  params = {1, 1.01, 0.3, 1, 1.01, 0.3, 1, 1.01, 0.3, 2, 1.01, 0.3};
    for (const int steps : {4, 40}) {
      Law::calls = 0;
      const Trajectory<double> run = rollout(system, x0, steps, params);
      std::vector<double> first(4, 0.0);
      for (const Event& e : run.events()) {
        double& t = first[static_cast<std::size_t>(e.environment)];
        if (t == 0) t = e.time;
      }
      CHECK(first[0] == doctest::Approx(1).epsilon(1e-12));
      CHECK(first[1] == doctest::Approx(0.75).epsilon(1e-12));
      CHECK(first[2] == doctest::Approx(0.89).epsilon(1e-12));
      REQUIRE(run.report().failed.size() == 1);
      CHECK(run.report().failed[0].environment == 3);
      CHECK(run.report().failed[0].step == 3);
      if (ends) CHECK(Law::calls < 1000);  // the lane that failed is not walked again
    }
    const Trajectory<double> lone = rollout(system, Numbers{0.0}, 4, Numbers{1, 1.01, 0.3});
    CHECK(lone.events().size() == 1);
  };
  check(Cliff<EventEffect::end>{}, 1);
  check(Cliff<EventEffect::reset>{}, 0);
}

TEST_CASE(
    "events: what an implicit step notes is of the stretches, not of the step without events") {
  const System system =
      make_system<ImplicitMidpoint>(Relay{}, {.dt = 0.1, .vary = {"trap", "end"}});
  // Environment 0 bounces and never enters what cannot be solved; 1 is trapped after its event; 2
  // has ended before, where the step that it does not take would not be solved.
  const Numbers x0 = {0.05, 0.0, 0.05, 0.0, 0.051, 0.0};
  const Numbers params = {0, -9, 0.1, 1, -9, 0.1, 0, 0.01, 0.1};
  for (const int steps : {1, 4}) {
    const Trajectory<double> run = rollout(system, x0, steps, params);
    REQUIRE(run.report().unsolved.size() == 1);
    CHECK(run.report().unsolved[0].environment == 1);
    CHECK(run.report().unsolved[0].step == 0);
    CHECK(run.report().failed.empty());
    CHECK(run.events().size() == 3);
  }
}

TEST_CASE("events: an adaptive step late in a float's time finds them where an early one does") {
  const System system = make_system<Dopri5>(Wave{}, {.dt = 1, .precision = Precision::float32});
  const std::vector<float> x0 = {1, 0, 0.5f, 3};
  RolloutOptions late;
  late.t0 = 1e6;  // where floats are 1/16 s apart
  const Trajectory<float> early_run = rollout(system, std::span<const float>(x0), 3);
  const Trajectory<float> late_run = rollout(system, std::span<const float>(x0), 3, {}, late);
  REQUIRE(early_run.events().size() == 10);
  REQUIRE(late_run.events().size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    // Bits of a float, and the tolerance of 1e-5 of substeps.
    CHECK(std::abs(late_run.events()[i].time - 1e6 - early_run.events()[i].time) < 1e-4);
  }
  for (std::size_t i = 0; i < 5; ++i) {
    const double expected = (0.5 + 2 * static_cast<double>(i)) * std::acos(-1.0) / 10;
    CHECK(early_run.events()[i].time == doctest::Approx(expected).epsilon(1e-4));
  }
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

TEST_CASE("events: a lane is the same in every place, whatever its neighbours do") {
  // Balls that bounce, come to rest, lie still, fly, and come near the floor without reaching it.
  const System system = systems::bouncing_ball({}, {.vary = {"restitution", "gravity"}});
  Numbers x0, params;
  for (std::size_t i = 0; i < 24; ++i) {
    const double s = static_cast<double>(i), e = i % 4 == 0 ? 0.0 : 0.99 - 0.02 * s;
    x0.insert(x0.end(), {i % 7 == 3 ? 0.0 : 0.02 + 0.03 * s, i % 7 == 3 ? 0.0 : -0.3 * s});
    params.insert(params.end(), {e, i % 5 == 1 ? -9.81 : 9.81, 0.01});
  }
  x0[2 * 6] = 0.0204 + 1e-7;  // gravity upside down: its least height is v²/(2 g) lower
  x0[2 * 6 + 1] = -std::sqrt(2 * 9.81 * 0.0204);
  const std::size_t row = 2 * 101;
  const Numbers bar(24 * row, 1.0);
  PullbackOptions skip;
  skip.failed = PullbackOptions::Failed::skip;
  const Trajectory<double> first = rollout(system, x0, 100, params);
  const Gradient<double> g = first.pullback(bar, skip);
  CHECK(first.report().failed.size() > 4);
  for (const std::ptrdiff_t shift : {1, 2, 5, 11, 18}) {
    Numbers turned_x0 = x0, turned_params = params;
    std::rotate(turned_x0.begin(), turned_x0.begin() + 2 * shift, turned_x0.end());
    std::rotate(turned_params.begin(), turned_params.begin() + 3 * shift, turned_params.end());
    const Trajectory<double> run = rollout(system, turned_x0, 100, turned_params);
    const Gradient<double> turned = run.pullback(bar, skip);
    for (std::size_t i = 0; i < 24; ++i) {
      const std::size_t from = (i + static_cast<std::size_t>(shift)) % 24;
      CAPTURE(from);
      CHECK(same_bits(run.states().subspan(i * row, row), first.states().subspan(from * row, row)));
      CHECK(
          same_bits(std::span(turned.x0).subspan(2 * i, 2), std::span(g.x0).subspan(2 * from, 2)));
      CHECK(same_bits(std::span(turned.params).subspan(3 * i, 3),
                      std::span(g.params).subspan(3 * from, 3)));
    }
  }
}

TEST_CASE("events: a gradient cut every k steps is that of the window") {
  const Balls balls(11);
  RolloutOptions options;
  options.memory = Memory::truncate(60);
  const Trajectory<double> cut = rollout(balls.system, balls.x0, 120, balls.params, options);
  const Trajectory<double> window = rollout(balls.system, balls.x0, 60, balls.params);
  PullbackOptions cut_back, window_back;
  Numbers cut_bar, window_bar;
  for (const Event& e : cut.events()) {
    cut_bar.push_back(1 + e.time);
    if (e.step < 60) window_bar.push_back(1 + e.time);
  }
  REQUIRE(window_bar.size() == window.events().size());
  CHECK(window_bar.size() > 3);
  CHECK(cut_bar.size() > window_bar.size());
  cut_back.event_times_bar = cut_bar;
  window_back.event_times_bar = window_bar;
  const Gradient<double> g = cut.pullback(Numbers(cut.states().size(), 1.0), cut_back);
  const Gradient<double> expected =
      window.pullback(Numbers(window.states().size(), 1.0), window_back);
  CHECK(same_bits(g.x0, expected.x0));
  options.memory = Memory::truncate(120);
  const Trajectory<double> whole = rollout(balls.system, balls.x0, 120, balls.params, options);
  const Trajectory<double> all = rollout(balls.system, balls.x0, 120, balls.params);
  CHECK(same_bits(whole.pullback(Numbers(all.states().size(), 1.0), cut_back).x0,
                  all.pullback(Numbers(all.states().size(), 1.0), cut_back).x0));
}

TEST_CASE("events: in float the gradient is that of double, to the rounding of floats") {
  const Balls balls(19);
  const System floats =
      systems::bouncing_ball({}, {.precision = Precision::float32, .vary = {"restitution"}});
  std::vector<float> x0(balls.x0.begin(), balls.x0.end());
  const Trajectory<float> run =
      rollout(floats, std::span<const float>(x0), 90, balls.params, {.save = Save::last()});
  const Numbers same_x0(x0.begin(), x0.end());
  const Trajectory<double> exact =
      rollout(balls.system, same_x0, 90, balls.params, {.save = Save::last()});
  REQUIRE(run.events().size() == exact.events().size());
  CHECK(run.events().size() > 19);
  const Numbers times_bar(run.events().size(), 1.0);
  PullbackOptions back;
  back.event_times_bar = times_bar;
  const Gradient<float> g = run.pullback(std::vector<float>(38, 1.0f), back);
  const Gradient<double> expected = exact.pullback(Numbers(38, 1.0), back);
  // 90 steps round by 6e-8 each of numbers up to 5, and up to three impacts enlarge that by 1/v.
  CHECK(worst({g.x0.begin(), g.x0.end()}, expected.x0) < 1e-4);
  CHECK(worst(g.params, expected.params) < 1e-4);
  for (std::size_t i = 0; i < times_bar.size(); ++i) {
    CHECK(run.events()[i].time == doctest::Approx(exact.events()[i].time).epsilon(1e-5));
  }
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
  CHECK(f.reason.find("4.06") != std::string::npos);
  // It stands after the last of 32 impacts in that step, and all of them are told.
  CHECK(run.state(0, -1)[0] == 0);
  CHECK(std::abs(run.state(0, -1)[1]) < 1e-4);
  CHECK(run.state(0, f.step + 1)[1] == run.state(0, -1)[1]);
  std::int64_t last = 0;
  for (const Event& e : run.events()) last += e.environment == 0 && e.step == f.step;
  CHECK(last == kMostEvents);
  CHECK_THROWS_AS(run.pullback(Numbers(run.states().size(), 1.0)), GradientError);
  PullbackOptions skip;
  skip.failed = PullbackOptions::Failed::skip;
  const Gradient<double> g = run.pullback(Numbers(run.states().size(), 1.0), skip);
  CHECK(g.x0[0] == 0);
  CHECK(g.x0[2] != 0);
}

TEST_CASE(
    "events: a ball without restitution has one impact and rests; one that lies there, none") {
  const System system = systems::bouncing_ball({}, {.vary = {"restitution"}});
  const Numbers x0 = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 5.0, 0.0};
  const Numbers params = {0.0, 9.81, 0.01, 0.8, 9.81, 0.01, 0.5, 9.81, 0.01, 0.8, 9.81, 0.01};
  const Trajectory<double> run = rollout(system, x0, 200, params);
  const double fall = std::sqrt(2 / 9.81);
  std::vector<Numbers> times(4);
  for (const Event& e : run.events())
    times[static_cast<std::size_t>(e.environment)].push_back(e.time);
  REQUIRE(run.report().failed.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const Failure& f = run.report().failed[i];
    CHECK(f.environment == static_cast<std::int64_t>(i));
    CHECK(f.body == "impact");
    CHECK(f.reason.find("Zeno") != std::string::npos);
    CHECK(run.state(f.environment, -1)[0] == 0);
    CHECK(std::abs(run.state(f.environment, -1)[1]) < 1e-4);
  }
  REQUIRE(times[0].size() == 1);
  CHECK(times[0][0] == doctest::Approx(fall).epsilon(1e-12));
  CHECK(run.state(0, -1)[1] == 0);
  CHECK(run.report().failed[0].reason.find("rest") != std::string::npos);
  CHECK(times[1].empty());
  CHECK(run.report().failed[1].step == 0);
  // Of e = ½ impact n is at fall (1 + 2 (1 - 2^-(n-1))); they pile up at 3 fall.
  CHECK(times[2].size() > 20);
  for (std::size_t n = 0; n < times[2].size(); ++n) {
    const double expected = fall * (3 - 2 * std::pow(0.5, double(n)));
    CHECK(times[2][n] == doctest::Approx(expected).epsilon(1e-11));
  }
  CHECK(times[3].size() == 1);
  CHECK(run.state(3, -1)[0] > 0.1);
  // The same alone.
  const Trajectory<double> lone = rollout(system, Numbers{1.0, 0.0}, 200, Numbers{0.0, 9.81, 0.01});
  CHECK(lone.events().size() == 1);
  CHECK(lone.report().failed.size() == 1);
  CHECK_THROWS_WITH_AS(lone.pullback(Numbers(lone.states().size(), 1.0)), doctest::Contains("Zeno"),
                       GradientError);
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
  // Lower by d it arrives at a speed √(2 d), at 1 - √(2 d). Grazing is d ≤ √ε σ with σ about 1:
  // 1.5e-8; an error of ε in the height is one of ε/(2 d) in the derivative, here with some steps'.
  for (const double d : {1e-2, 1e-4, 1e-6, 1e-7}) {
    CAPTURE(d);
    const Trajectory<double> arrives = run_to(top - d);
    REQUIRE(arrives.events().size() == 1);
    CHECK_FALSE(arrives.events()[0].grazing);
    CHECK(arrives.events()[0].time == doctest::Approx(1 - std::sqrt(2 * d)).epsilon(1e-9));
    const Numbers one = {1.0};
    PullbackOptions times;
    times.event_times_bar = one;
    const Gradient<double> g = arrives.pullback(Numbers(bar.size(), 0.0), times);
    CHECK(g.params[0] == doctest::Approx(1 / std::sqrt(2 * d)).epsilon(1e-12 + 2e-15 / d));
  }
  for (const double d : {1e-9, 1e-11, 1e-13}) {
    CAPTURE(d);
    const Trajectory<double> grazes = run_to(top - d);
    REQUIRE(grazes.events().size() == 1);
    CHECK(grazes.events()[0].grazing);
  }
  // A touch is no event, nor is a miss.
  for (const double d : {1e-9, 1e-13, 1e-15}) CHECK(run_to(top + d).events().empty());
}

TEST_CASE("events: grazing in some lanes leaves the others their gradient") {
  const System system = make_system(Runner{}, {.dt = 0.1, .vary = {"wall"}});
  const Numbers push(20, -1.0);
  Numbers params, x0;
  for (std::size_t i = 0; i < 12; ++i) {
    params.insert(params.end(), {i % 3 == 1 ? 0.5 - 1e-10 : i % 3 == 2 ? 0.6 : 0.4, 0.1});
    x0.insert(x0.end(), {0.0, 1.0});
  }
  const Trajectory<double> run = rollout(system, x0, Controls<double>(push, 20), params);
  REQUIRE(run.events().size() == 8);
  for (const Event& e : run.events()) CHECK(e.grazing == (e.environment % 3 == 1));
  const Numbers bar(run.states().size(), 1.0);
  CHECK_THROWS_WITH_AS(run.pullback(bar), doctest::Contains("grazing"), GradientError);
  PullbackOptions skip;
  skip.failed = PullbackOptions::Failed::skip;
  const Gradient<double> g = run.pullback(bar, skip);
  const Trajectory<double> fine = rollout(system, Numbers{0.0, 1.0, 0.0, 1.0},
                                          Controls<double>(push, 20), Numbers{0.4, 0.1, 0.6, 0.1});
  const Gradient<double> expected = fine.pullback(Numbers(fine.states().size(), 1.0));
  for (std::size_t i = 0; i < 12; ++i) {
    CAPTURE(i);
    const Numbers own = {g.x0[2 * i], g.x0[2 * i + 1]};
    if (i % 3 == 1) {
      CHECK(own == Numbers{0, 0});
    } else {
      const std::size_t k = i % 3 == 0 ? 0 : 2;
      CHECK(own == Numbers{expected.x0[k], expected.x0[k + 1]});
    }
  }
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

}  // namespace cycloid::events_test
