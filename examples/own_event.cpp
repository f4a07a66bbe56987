// A law of your own with events: a runner turns round at a wall and arrives back home. When, and
// how does that time depend on where the wall is?
#include <cmath>
#include <cstdio>

#include "cycloid/cycloid.h"

struct Runner {
  static constexpr const char* kName = "runner";
  static constexpr std::array kState = {cycloid::BlockSpec{"place", 1, "m"},
                                        cycloid::BlockSpec{"speed", 1, "m/s"}};
  static constexpr std::array kParameters = {cycloid::ParameterSpec{"wall", 10.0, "m"},
                                             cycloid::ParameterSpec{"kept", 0.8, "1"}};
  static constexpr std::array kEvents = {
      cycloid::EventSpec{"turn", cycloid::EventDirection::rising, cycloid::EventEffect::reset},
      cycloid::EventSpec{"home", cycloid::EventDirection::falling, cycloid::EventEffect::end}};

  template <class S>
  void x_dot(const S& /*t*/, const S* x, const S* /*u*/, const S* /*p*/, S* dx) const {
    dx[0] = x[1];
    dx[1] = S(0);
  }
  template <class S>
  void events(const S& /*t*/, const S* x, const S* /*u*/, const S* p, S* g) const {
    g[0] = x[0] - p[0];
    g[1] = x[0];
  }
  template <class S>
  void reset(int /*event*/, const S& /*t*/, const S* x, const S*, const S* p, S* x_next) const {
    x_next[0] = x[0];
    x_next[1] = -p[1] * x[1];
  }
};

int main() {
  const cycloid::System system = cycloid::make_system(Runner{}, {.dt = 0.1});
  const std::vector<double> x0 = {1.0, 4.0};
  const auto run = cycloid::rollout(system, x0, 100);
  for (const cycloid::Event& e : run.events()) std::printf("%s\n", describe(e).c_str());

  // The gradient of the time of the second event; the states themselves do not matter.
  const std::vector<double> states_bar(run.states().size(), 0.0), times_bar = {0, 1};
  const auto g = run.pullback(states_bar, {.event_times_bar = times_bar});
  const double wall = 10, kept = 0.8, expected = (wall - 1) / 4 + wall / (kept * 4);
  std::printf("home after %.9f s (exactly %.9f)\n", run.events()[1].time, expected);
  std::printf("by the wall %.9f s/m, by the speed kept %.9f s\n", g.params[0], g.params[1]);
  const bool right = std::abs(run.events()[1].time - expected) < 1e-12 &&
                     std::abs(g.params[0] - (1 + 1 / kept) / 4) < 1e-12 &&
                     std::abs(g.params[1] + wall / (4 * kept * kept)) < 1e-11;
  return right ? 0 : 1;
}
