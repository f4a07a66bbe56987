#include "cycloid/system/event/event_walk.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "cycloid/system/integrator/rk4.h"

namespace cycloid::event_walk_test {

using Numbers = std::vector<double>;

// A swinging state with gates at heights of the parameters: x' = y + u, y' = -x - ½ t. Gate "low"
// turns y around and shrinks it with time, gate "high" ends the run.
struct Swing {
  static constexpr const char* kName = "swing";
  static constexpr std::array kState = {BlockSpec{"x", 1, "m"}, BlockSpec{"y", 1, "m"}};
  static constexpr std::array kInput = {BlockSpec{"u", 1, "m/s"}};
  static constexpr std::array kParameters = {ParameterSpec{"low", 0.0, "m"},
                                             ParameterSpec{"high", 2.0, "m"}};
  static constexpr std::array kEvents = {
      EventSpec{"low", EventDirection::falling, EventEffect::reset},
      EventSpec{"high", EventDirection::rising, EventEffect::end}};
  template <class S>
  void x_dot(const S& t, const S* x, const S* u, const S*, S* dx) const {
    dx[0] = x[1] + u[0];
    dx[1] = -x[0] - S(0.5) * t;
  }
  template <class S>
  void events(const S& t, const S* x, const S*, const S* p, S* g) const {
    g[0] = x[0] + S(0.1) * x[1] * x[1] - p[0] + S(0.05) * t;
    g[1] = x[0] - p[1] * (S(1) + S(0.1) * t);
  }
  template <class S>
  void reset(int, const S& t, const S* x, const S* u, const S* p, S* x_next) const {
    x_next[0] = x[0] + S(0.3) * p[0];
    x_next[1] = -x[1] * (S(0.9) - S(0.1) * t) + S(0.2) * u[0];
  }
};

using Walk = EventWalk<Swing, Rk4, double>;

// [x, y, u, low, high, t, h] to [x⁺, y⁺, time of each event].
struct Walked {
  Walk::End end;
  Numbers out;
  std::vector<int> events;
};

struct Walker {
  Swing law;
  LawShape<Swing> shape{law};
  Numbers memory = Numbers(static_cast<std::size_t>(Walk::numbers(shape)));
  Rk4 scheme;
  Walk walk{law, scheme, shape, memory.data(), {nullptr}};

  Walked forward(const Numbers& in) {
    std::copy_n(in.begin(), 2, walk.start());
    walk.input()[0] = in[2];
    std::copy_n(in.begin() + 3, 2, walk.parameters());
    Walked w;
    w.out.resize(2);
    w.end = walk.forward(in[5], in[6], in[5] + in[6], w.out.data());
    for (int i = 0; i < walk.count(); ++i) {
      w.out.push_back(walk.mark(i).t + walk.mark(i).tau);
      w.events.push_back(walk.mark(i).event);
    }
    return w;
  }

  Numbers reverse(const Numbers& in, const Numbers& out_bar) {
    forward(in);
    Numbers in_bar(7, 0.0);
    LawPointBar<double> bar{0, 0, &in_bar[2], &in_bar[3]};
    walk.reverse(out_bar.data(), out_bar.data() + 2, bar, in_bar.data());
    in_bar[5] = bar.t;
    in_bar[6] = bar.h;
    return in_bar;
  }
};

// Central differences with Richardson's extrapolation: error of order step⁴, and rounding/step.
double difference(const std::function<double(double)>& f, double step) {
  const auto central = [&](double s) { return (f(s) - f(-s)) / (2 * s); };
  return (4 * central(step / 2) - central(step)) / 3;
}

void check_reverse(const Numbers& in, std::size_t events, Walk::End end) {
  Walker walker;
  const Walked w = walker.forward(in);
  REQUIRE(w.events.size() == events);
  REQUIRE(w.end == end);
  for (std::size_t o = 0; o < w.out.size(); ++o) {
    Numbers bar(w.out.size(), 0.0);
    bar[o] = 1;
    const Numbers in_bar = walker.reverse(in, bar);
    for (std::size_t i = 0; i < in.size(); ++i) {
      CAPTURE(o);
      CAPTURE(i);
      const double expected = difference(
          [&](double s) {
            Numbers moved = in;
            moved[i] += s;
            return walker.forward(moved).out.at(o);
          },
          1e-3);
      CHECK(in_bar[i] == doctest::Approx(expected).epsilon(1e-8).scale(1));
    }
  }
}

// g = x along x' = 1 - 2 t, from a height: a parabola that passes or misses its axis.
struct Dip {
  static constexpr const char* kName = "dip";
  static constexpr std::array kState = {BlockSpec{"x", 1, "m"}};
  static constexpr std::array kEvents = {EventSpec{"down", EventDirection::falling},
                                         EventSpec{"up", EventDirection::rising}};
  template <class S>
  void x_dot(const S& t, const S*, const S*, const S*, S* dx) const {
    dx[0] = S(2) * t - S(1);
  }
  template <class S>
  void events(const S&, const S* x, const S*, const S*, S* g) const {
    g[0] = g[1] = x[0];
  }
  template <class S>
  void reset(int, const S&, const S* x, const S*, const S*, S* x_next) const {
    x_next[0] = x[0];
  }
};

std::vector<std::pair<int, double>> dip_events(double x, double t, double h) {
  using DipWalk = EventWalk<Dip, Rk4, double>;
  const Dip law;
  const LawShape<Dip> shape(law);
  Numbers memory(static_cast<std::size_t>(DipWalk::numbers(shape)));
  const Rk4 scheme;
  DipWalk walk(law, scheme, shape, memory.data(), {nullptr});
  walk.start()[0] = x;
  double out;
  walk.forward(t, h, t + h, &out);
  std::vector<std::pair<int, double>> found;
  for (int i = 0; i < walk.count(); ++i) {
    found.emplace_back(walk.mark(i).event, walk.mark(i).t + walk.mark(i).tau);
  }
  return found;
}

TEST_CASE("EventWalk: its way back equals differences: no event, one, several, an end") {
  using End = Walk::End;
  check_reverse({1.0, 0.2, 0.1, 0.3, 9.0, 0.0, 0.3}, 0, End::whole);
  check_reverse({1.0, 0.2, 0.1, 0.3, 9.0, 0.4, 1.6}, 1, End::whole);
  check_reverse({1.0, 0.2, 0.1, 0.3, 9.0, 0.4, 3.2}, 2, End::whole);
  check_reverse({1.0, 2.0, 0.1, 0.3, 1.6, 0.2, 1.0}, 1, End::ended);
  check_reverse({0.8, -1.5, 0.1, 0.3, 0.6, 0.2, 2.0}, 2, End::ended);
}

TEST_CASE("EventWalk: the state is on the event's surface where the event is, to rounding") {
  Walker walker;
  const Walked w = walker.forward({1.0, 2.0, 0.1, 0.3, 1.6, 0.2, 1.0});
  REQUIRE(w.end == Walk::End::ended);
  CHECK(w.events == std::vector<int>{1});
  CHECK(w.out[0] == doctest::Approx(1.6 * (1 + 0.1 * w.out[2])).epsilon(1e-15));
}

TEST_CASE("EventWalk: a pair of crossings between two looks is not lost") {
  // x = x₀ - t + t² has its least value x₀ - ¼ at t = ½; from 0.3, 0 is never reached.
  CHECK(dip_events(0.3, 0, 1).empty());
  for (const double depth : {0.1, 1e-3, 1e-6, 1e-9}) {
    CAPTURE(depth);
    for (const double h : {1.0, 0.9, 1.7, 3.0}) {
      CAPTURE(h);
      const auto found = dip_events(0.25 - depth, 0, h);
      REQUIRE(found.size() == 2);
      CHECK(found[0].first == 0);
      CHECK(found[0].second == doctest::Approx(0.5 - std::sqrt(depth)).epsilon(1e-9));
      CHECK(found[1].first == 1);
      CHECK(found[1].second == doctest::Approx(0.5 + std::sqrt(depth)).epsilon(1e-9));
    }
  }
}

TEST_CASE("EventWalk: an event passes once, also where its reset leaves the state on its surface") {
  const auto found = dip_events(0.0, -0.5, 1.0);  // x = t² - t - ¾ from t = -½: only falls at 0 …
  REQUIRE(found.size() == 1);
  CHECK(found[0].first == 0);
  CHECK(found[0].second == -0.5);
}

}  // namespace cycloid::event_walk_test
