#include "cycloid/system/event/event_lanes.h"

#include <doctest/doctest.h>

#include "cycloid/math/pack.h"
#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/law/law_stepper.h"
#include "tests/support/stepper_run.h"

namespace cycloid::event_lanes_test {

using Lanes = Pack<double, 4>;

template <class S>
inline constexpr bool kWide = false;
template <class T, int N>
inline constexpr bool kWide<Pack<T, N>> = true;
template <class S, int N>
inline constexpr bool kWide<Dual<S, N>> = kWide<S>;

// x' = rate, in lanes; a scalar is a sixteenth faster, so that numbers tell who has made them.
struct Witness {
  static constexpr const char* kName = "witness";
  static constexpr std::array kState = {BlockSpec{"x", 1, "m"}};
  static constexpr std::array kParameters = {ParameterSpec{"rate", 1.0, "m/s"}};
  static constexpr std::array kEvents = {
      EventSpec{"zero", EventDirection::falling, EventEffect::end}};
  template <class S>
  void x_dot(const S&, const S*, const S*, const S* p, S* dx) const {
    dx[0] = S(kWide<S> ? 1 : 1.0625) * p[0];
  }
  template <class S>
  void events(const S&, const S* x, const S*, const S*, S* g) const {
    g[0] = x[0];
  }
};

TEST_CASE("EventLanes: a lane that is looked at closer is the scalar's work, there and back") {
  // Steps of ½: far away; near the surface at the beginning, which it leaves; through the surface
  // from below, which is no event; through it from above, which ends the run.
  const test::Rows<double> x = {{5}, {0.015625}, {-0.25}, {0.25}};
  const test::Rows<double> params = {{1, 0.5}, {1, 0.5}, {1, 0.5}, {-1, 0.5}};
  const test::Rows<double> bars = {{1}, {1}, {1}, {1}}, none = {{}, {}, {}, {}};
  const auto out =
      test::run_step(LawStepper<Witness, Rk4, Lanes>(Witness{}), x, none, params, bars, 0);
  const double lanes = 0.5, scalar = 0.53125;
  CHECK(out.x_next[0][0] == 5 + lanes);
  CHECK(out.x_next[1][0] == 0.015625 + scalar);
  CHECK(out.x_next[2][0] == -0.25 + scalar);
  CHECK(out.x_next[3][0] == doctest::Approx(0).epsilon(1e-15));
  CHECK(out.p_bar[0][0] == doctest::Approx(lanes).epsilon(1e-14));
  CHECK(out.p_bar[1][0] == doctest::Approx(scalar).epsilon(1e-14));
  CHECK(out.p_bar[2][0] == doctest::Approx(scalar).epsilon(1e-14));
  CHECK(out.p_bar[3][0] == doctest::Approx(0).epsilon(1e-15));  // it ends on the surface
  for (std::size_t l = 0; l < 3; ++l) CHECK(out.x_bar[l][0] == doctest::Approx(1).epsilon(1e-14));
  CHECK(out.x_bar[3][0] == doctest::Approx(0).epsilon(1e-15));
}

}  // namespace cycloid::event_lanes_test
