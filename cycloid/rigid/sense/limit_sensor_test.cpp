#include "cycloid/rigid/sense/limit_sensor.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid::limit_sensor_test {

TEST_CASE("limit_sensor: at the low side, at the high one, between them, and where both act") {
  CHECK(limit_sensor(false, -0.95, 2.0, -1.0, 3.0, 0.1) == doctest::Approx(-0.05));
  CHECK(limit_sensor(true, -0.95, 2.0, -1.0, 3.0, 0.1) == 2.0);
  CHECK(limit_sensor(false, 3.2, 2.0, -1.0, 3.0, 0.1) == doctest::Approx(-0.3));
  CHECK(limit_sensor(true, 3.2, 2.0, -1.0, 3.0, 0.1) == -2.0);
  CHECK(limit_sensor(false, 1.0, 2.0, -1.0, 3.0, 0.1) == 0.0);
  CHECK(limit_sensor(true, 1.0, 2.0, -1.0, 3.0, 0.1) == 0.0);
  CHECK(limit_sensor(true, 0.9, 2.0, 0.8, 1.0, 0.5) == 2.0);  // MuJoCo's first row
}

TEST_CASE("limit_sensor: pullback equals dual numbers") {
  // [x, ẋ, low, high]; both sensors.
  const auto value = [](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    for (const bool rate : {false, true}) {
      out[rate] = limit_sensor(rate, in[0], in[1], in[2], in[3], S(0.1));
    }
  };
  const auto pullback = [](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    for (const bool rate : {false, true}) {
      limit_sensor_pullback(rate, in[0], in[2], in[3], S(0.1), out_bar[rate], in_bar[0], in_bar[1],
                            in_bar + 2);
    }
  };
  test::check_pullback("limit_sensor", 2, value, pullback,
                       {{-0.95, 2.0, -1.0, 3.0}, {3.2, 2.0, -1.0, 3.0}});
}

TEST_CASE("ball_turn: pullback equals dual numbers") {
  // [a turn of quat, rate] to the angle and its rate.
  const double quat[4] = {0.8, 0.4, -0.2, 0.4};
  const auto turned = [&]<class S>(const S* in) {
    const Quat<S> q =
        Quat<S>{S(quat[0]), S(quat[1]), S(quat[2]), S(quat[3])} * quaternion_exp(load_vec3(in));
    std::array<S, 4> out;
    store(out.data(), q);
    return BallTurn<S>(out.data());
  };
  test::check_pullback(
      "ball_turn", 2,
      [&](const auto* in, auto* out) {
        const auto turn = turned(in);
        out[0] = turn.angle, out[1] = dot(turn.u, load_vec3(in + 3));
      },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        ball_turn_pullback(turned(in), load_vec3(in + 3), out_bar[0], out_bar[1], in_bar,
                           in_bar + 3);
      },
      {{0, 0, 0, 0.3, -1.2, 0.7}});
}

}  // namespace cycloid::limit_sensor_test
