#include "cycloid/rigid/sense/frame_sensor.h"

#include "tests/support/pullback_check.h"

namespace cycloid::frame_sensor_test {

using test::Numbers;

// Two frames of 24 numbers each: origin, x, turn (of a fixed orientation), u, ω, z, α, which is
// also how their cotangents lie.
template <class S>
SensedFrame<S> frame_of(const S* in, double w) {
  const double length = std::sqrt(w * w + 0.4 * 0.4 + 0.1 * 0.1 + 0.3 * 0.3);
  const Quat<S> base{S(w / length), S(0.4 / length), S(-0.1 / length), S(0.3 / length)};
  return {0,
          Vec3<S>{},
          load_vec3(in),
          quaternion_exp(load_vec3(in + 3)) * base,  // a turn in world axes
          load_vec3(in + 6),
          load_vec3(in + 9),
          load_vec3(in + 12),
          load_vec3(in + 15)};
}

template <class S>
void store_bars(const SensedFrameBars<S>& bar, S* out) {
  int n = 0;
  for (const Vec3<S>& b : {bar.x, bar.turn, bar.u, bar.omega, bar.z, bar.alpha}) {
    add_to(out + 3 * n++, b);
  }
}

Numbers point() {
  Numbers p = test::FixedNumbers(3).vector(36);
  for (const std::size_t turn : {3u, 21u}) std::fill_n(p.begin() + static_cast<long>(turn), 3, 0.0);
  return p;
}

void check(SensorKind kind, bool relative) {
  const auto value = [=](const auto* in, auto* out) {
    const auto o = frame_of(in, 0.8), r = frame_of(in + 18, -0.5);
    frame_sensor(kind, o, relative ? &r : nullptr, out);
  };
  const auto pullback = [=](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const auto o = frame_of(in, 0.8), r = frame_of(in + 18, -0.5);
    SensedFrameBars<S> o_bar, r_bar;
    frame_sensor_pullback(kind, o, relative ? &r : nullptr, out_bar, o_bar, r_bar);
    store_bars(o_bar, in_bar);
    store_bars(r_bar, in_bar + 18);
  };
  CAPTURE(static_cast<int>(kind));
  test::check_pullback("frame_sensor", kind == SensorKind::frame_quaternion ? 4 : 3, value,
                       pullback, {point()});
}

TEST_CASE("frame_sensor: pullback equals dual numbers, alone and seen from a reference") {
  using enum SensorKind;
  for (const SensorKind kind : {frame_position, frame_quaternion, frame_x_axis, frame_y_axis,
                                frame_z_axis, frame_linear_velocity, frame_angular_velocity}) {
    check(kind, false);
    check(kind, true);
  }
  for (const SensorKind kind :
       {velocimeter, gyro, accelerometer, frame_linear_acceleration, frame_angular_acceleration}) {
    check(kind, false);
  }
}

TEST_CASE("frame_sensor: a point at rest in a turning frame has no velocity there") {
  const Numbers p = point();
  SensedFrame<double> r = frame_of(p.data(), 0.8), o = frame_of(p.data() + 18, 0.2);
  o.u = r.u + cross(r.omega, o.x - r.x);
  double out[3];
  frame_sensor(SensorKind::frame_linear_velocity, o, &r, out);
  for (const double v : out) CHECK(std::abs(v) < 1e-15);  // numbers of order one: rounding
}

}  // namespace cycloid::frame_sensor_test
