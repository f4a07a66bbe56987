#include "cycloid/system/event/event_search.h"

#include <doctest/doctest.h>

#include <vector>

#include "cycloid/math/pack.h"
#include "cycloid/system/integrator/dopri5.h"
#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/laws/bouncing_ball.h"

namespace cycloid::event_search_test {

using Lanes = Pack<double, 4>;

// Free fall of four balls for one second.
struct Fall {
  Lanes x[2], x_next[2], p[2] = {Lanes(0.8), Lanes(10)};
  BouncingBall law;
  LawShape<BouncingBall> shape{law};
  LawPoint<BouncingBall, Lanes> at{law, shape, Lanes(0), Lanes(1), nullptr, p, {nullptr}};

  Fall(const std::vector<double>& y, const std::vector<double>& v) {
    for (int l = 0; l < 4; ++l) {
      x[0].set(l, y[static_cast<std::size_t>(l)]);
      x[1].set(l, v[static_cast<std::size_t>(l)]);
    }
    x_next[0] = x[0] + x[1] - Lanes(5);
    x_next[1] = x[1] - Lanes(10);
  }
  std::vector<bool> near() const {
    const Lanes flags = select(lanes_with_events(at, x, x_next), Lanes(1), Lanes(0));
    return {flags[0] == 1, flags[1] == 1, flags[2] == 1, flags[3] == 1};
  }
};

TEST_CASE("lanes_with_events: a change of sign, a start on the surface, and what stays away") {
  // Reaches the floor; does not; begins on it and leaves; comes near without bending towards it.
  CHECK(Fall({1, 9, 0, 5.1}, {0, 0, 20, 0}).near() == std::vector<bool>{true, false, true, false});
}

TEST_CASE("lanes_with_events: a pair of crossings, and a step that is not finite") {
  // Gravity upside down: 2 - 4 t + 5 t²/… would dip below the floor between the ends.
  Fall fall({0.5, 0.9, 3, 1}, {-4, -4, -4, 0});
  fall.p[1] = Lanes(-10);
  fall.x_next[0] = fall.x[0] + fall.x[1] + Lanes(5);  // least y: 0.5 - 0.8, 0.9 - 0.8, 3 - 0.8
  fall.x_next[1] = fall.x[1] + Lanes(10);
  fall.x_next[0].set(3, std::numeric_limits<double>::quiet_NaN());
  const std::vector<bool> near = fall.near();
  CHECK(near[0]);
  CHECK_FALSE(near[2]);
  CHECK(near[3]);
}

TEST_CASE("step_through: a fixed step is its only part; dopri5's parts fill the step") {
  const BouncingBall law;
  const LawShape<BouncingBall> shape(law);
  const double p[] = {0.8, 9.81}, x[] = {100.0, 3.0};
  double x_next[2], record[16];
  std::vector<double> scratch(10000);
  const LawPoint<BouncingBall, double> at{
      law, shape, 0.5, 2.0, nullptr, p, {reinterpret_cast<std::byte*>(scratch.data())}};
  int parts = 0;
  step_through(
      Rk4{}, at, x, x_next, record,
      [&](const auto& sub, double since, const double* before, const double* after, bool taken) {
        ++parts;
        CHECK(since == 0);
        CHECK(taken);
        CHECK(sub.h == 2);
        CHECK(before == x);
        CHECK(after == x_next);
      });
  CHECK(parts == 1);
  double covered = 0;
  step_through(Dopri5{}, at, x, x_next, record,
               [&](const auto& sub, double since, const double*, const double*, bool taken) {
                 if (!taken) return;
                 CHECK(since == doctest::Approx(covered));
                 CHECK(sub.t == doctest::Approx(0.5 + covered));
                 covered += sub.h;
                 ++parts;
               });
  CHECK(parts > 2);
  CHECK(covered == doctest::Approx(2));
  CHECK(x_next[0] == doctest::Approx(100 + 6 - 2 * 9.81));
}

}  // namespace cycloid::event_search_test
