#include "cycloid/rigid/sense/camera_sensor.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid::camera_sensor_test {

// Two frames from [x_o, turn_o, x_c, turn_c], turns about fixed orientations.
template <class S>
SensedFrame<S> frame_of(const S* in, double along) {
  SensedFrame<S> f{};
  f.origin = {S(0.1 * along), S(0.2), S(-0.3 * along)};
  f.x = load_vec3(in);
  // A turn in world axes, on the left.
  const Quat<S> base = normalise(Quat<S>{S(0.8), S(0.3 * along), S(-0.2), S(0.4)});
  f.q = retract(Quat<S>{S(1), S(0), S(0), S(0)}, load_vec3(in + 3)) * base;
  return f;
}

Sensor sensor() {
  Sensor s;
  s.numbers = {300, 280, 160, 120};
  return s;
}

const test::Numbers kPoint = {0.3, -0.4, 0.9, 0, 0, 0, -0.5, 0.2, 0.1, 0, 0, 0};

TEST_CASE("pixel_sensor: what lies on the camera's axis is in the middle of the picture") {
  SensedFrame<double> camera{}, o{};
  camera.q = o.q = Quat<double>{1, 0, 0, 0};
  o.x = {0, 0, -2};
  double out[2];
  pixel_sensor(sensor(), o, camera, out);
  CHECK(out[0] == 160);
  CHECK(out[1] == 120);
  o.x = {0.5, 0, -2};  // to the right
  pixel_sensor(sensor(), o, camera, out);
  CHECK(out[0] == doctest::Approx(160 + 300 * 0.25));
}

TEST_CASE("pixel_sensor: pullback equals dual numbers in both frames") {
  const auto value = [](const auto* in, auto* out) {
    pixel_sensor(sensor(), frame_of(in, 1.0), frame_of(in + 6, -1.0), out);
  };
  const auto pullback = [](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    SensedFrameBars<S> o_bar, camera_bar;
    pixel_sensor_pullback(sensor(), frame_of(in, 1.0), frame_of(in + 6, -1.0), out_bar, o_bar,
                          camera_bar);
    add_to(in_bar, o_bar.x), add_to(in_bar + 3, o_bar.turn);
    add_to(in_bar + 6, camera_bar.x), add_to(in_bar + 9, camera_bar.turn);
  };
  test::check_pullback("pixel_sensor", 2, value, pullback, {kPoint});
}

TEST_CASE("flux_sensor: pullback equals dual numbers") {
  const auto value = [](const auto* in, auto* out) {
    flux_sensor(sensor(), frame_of(in, 1.0), out);
  };
  const auto pullback = [](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    SensedFrameBars<S> o_bar;
    flux_sensor_pullback(sensor(), frame_of(in, 1.0), out_bar, o_bar);
    add_to(in_bar + 3, o_bar.turn);
  };
  test::check_pullback("flux_sensor", 3, value, pullback, {kPoint});
}

}  // namespace cycloid::camera_sensor_test
