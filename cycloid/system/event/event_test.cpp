#include "cycloid/system/event/event.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/pullback_check.h"

namespace cycloid::event_test {

// Everything depends on everything: two states, an input, a parameter and time.
struct Gate {
  static constexpr const char* kName = "gate";
  static constexpr std::array kState = {BlockSpec{"x", 2, "m"}};
  static constexpr std::array kInput = {BlockSpec{"u", 1, "m"}};
  static constexpr std::array kParameters = {ParameterSpec{"p", 1.0, "1"}};
  static constexpr std::array kEvents = {EventSpec{"first"}, EventSpec{"second"},
                                         EventSpec{"third", EventDirection::rising}};
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S*, S* dx) const {
    dx[0] = x[1];
    dx[1] = -x[0];
  }
  template <class S>
  void events(const S& t, const S* x, const S* u, const S* p, S* g) const {
    g[0] = x[0] * x[1] - p[0] * t;
    g[1] = sin(x[0]) + u[0] * x[1];
    g[2] = p[0] * p[0] - u[0] * t;
  }
  template <class S>
  void reset(int event, const S& t, const S* x, const S* u, const S* p, S* x_next) const {
    x_next[0] = event == 0 ? -p[0] * x[0] : x[1] * t;
    x_next[1] = x[0] * u[0] + p[0] * x[1];
  }
};

// The same with pullbacks of its own, each counted.
struct OwnPullbacks : Gate {
  static inline int calls = 0;
  template <class S>
  void events_pullback(const S& t, const S* x, const S* u, const S* p, const S* g_bar, S& t_bar,
                       S* x_bar, S* u_bar, S* p_bar) const {
    ++calls;
    t_bar -= p[0] * g_bar[0] + u[0] * g_bar[2];
    x_bar[0] += x[1] * g_bar[0] + cos(x[0]) * g_bar[1];
    x_bar[1] += x[0] * g_bar[0] + u[0] * g_bar[1];
    u_bar[0] += x[1] * g_bar[1] - t * g_bar[2];
    p_bar[0] += S(2) * p[0] * g_bar[2] - t * g_bar[0];
  }
  template <class S>
  void reset_pullback(int, const S&, const S* x, const S* u, const S* p, const S* bar, S&, S* x_bar,
                      S* u_bar, S* p_bar) const {
    ++calls;  // of event 0
    x_bar[0] += u[0] * bar[1] - p[0] * bar[0];
    x_bar[1] += p[0] * bar[1];
    u_bar[0] += x[0] * bar[1];
    p_bar[0] += x[1] * bar[1] - x[0] * bar[0];
  }
};

// Points are [t, x, u, p].
const std::vector<test::Numbers> kPoints = {
    {0.3, 0.7, -1.2, 0.4, 1.1}, {-2.0, 0.1, 0.0, -3.0, 0.5}, {0.0, -1.5, 2.0, 0.9, -0.7}};

template <class Law, class S>
LawPoint<Law, S> point(const Law& law, const S* in) {
  return {law, LawShape<Law>(law), in[0], S(0), in + 3, in + 4, Scratch{nullptr}};
}

template <class Law>
void check_events() {
  const Law law;
  test::check_pullback(
      "law_events", 3,
      [&]<class S>(const S* in, S* out) { law_events(point(law, in), in[0], in + 1, out); },
      [&]<class S>(const S* in, const S* out_bar, S* in_bar) {
        law_events_pullback(point(law, in), in[0], in + 1, out_bar, in_bar[0], in_bar + 1,
                            in_bar + 3, in_bar + 4);
      },
      kPoints);
}

template <class Law>
void check_reset(int event) {
  const Law law;
  test::check_pullback(
      "law_reset", 2,
      [&]<class S>(const S* in, S* out) { law_reset(point(law, in), event, in[0], in + 1, out); },
      [&]<class S>(const S* in, const S* out_bar, S* in_bar) {
        law_reset_pullback(point(law, in), event, in[0], in + 1, out_bar, in_bar[0], in_bar + 1,
                           in_bar + 3, in_bar + 4);
      },
      kPoints);
}

TEST_CASE("law_events: pullback equals dual numbers, with more events than states") {
  check_events<Gate>();
}

TEST_CASE("law_reset: pullback equals dual numbers, for each event") {
  check_reset<Gate>(0);
  check_reset<Gate>(1);
}

TEST_CASE("law_events, law_reset: a law's own pullbacks are used") {
  OwnPullbacks::calls = 0;
  check_events<OwnPullbacks>();
  const int events = OwnPullbacks::calls;
  CHECK(events > 0);
  check_reset<OwnPullbacks>(0);
  CHECK(OwnPullbacks::calls > events);
}

TEST_CASE("law_events_rate: the rate along the motion, with that of time") {
  const Gate law;
  const double in[] = {0.3, 0.7, -1.2, 0.4, 1.1}, f[] = {0.2, -0.5};
  double g[3], g_dot[3];
  law_events_rate(point(law, in), in[0], in + 1, f, g, g_dot);
  CHECK(g[0] == doctest::Approx(0.7 * -1.2 - 1.1 * 0.3));
  CHECK(g_dot[0] == doctest::Approx(0.2 * -1.2 + 0.7 * -0.5 - 1.1));
  CHECK(g_dot[1] == doctest::Approx(std::cos(0.7) * 0.2 + 0.4 * -0.5));
  CHECK(g_dot[2] == doctest::Approx(-0.4));
}

}  // namespace cycloid::event_test
