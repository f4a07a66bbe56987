// Sensors of a frame besides those of frame_sensor.h: the magnetic flux, and a camera's picture.
//
//   flux      R_oᵀ b                       b: of the model, constant in the world            (1)
//   pixel     (c_x - f_x d_x/d_z,  c_y + f_y d_y/d_z),   d = R_cᵀ (x_o - x_c)                (2)
// The camera c looks along its -z; f and c are focal lengths and centre in pixels. A point in its
// plane (d_z = 0) has no pixel: the derivative is infinite there.
// Source: MuJoCo's manual, sensors magnetometer and camprojection.
//
// Pullback of (2): d̄ = (-f_x ū/d_z, f_y v̄/d_z, (f_x d_x ū - f_y d_y v̄)/d_z²), and R_c, x_o, x_c
// by (5) of frame_sensor.h.                                                                    (3)
#pragma once

#include "cycloid/rigid/sense/frame_sensor.h"

namespace cycloid::inline rigid {

template <class S>
CYCLOID_INLINE S sensor_number(const Sensor& s, std::size_t i) {
  return S(static_cast<Scalar<S>>(s.numbers[i]));
}

// (1), three numbers.
template <class S>
CYCLOID_HD void flux_sensor(const Sensor& s, const SensedFrame<S>& o, S* out) {
  const Vec3<S> b{sensor_number<S>(s, 0), sensor_number<S>(s, 1), sensor_number<S>(s, 2)};
  store(out, rotate_inverse(o.q, b));
}
template <class S>
void flux_sensor_pullback(const Sensor& s, const SensedFrame<S>& o, const S* out_bar,
                          SensedFrameBars<S>& o_bar) {
  const Vec3<S> b{sensor_number<S>(s, 0), sensor_number<S>(s, 1), sensor_number<S>(s, 2)};
  o_bar.turn -= cross(b, rotate(o.q, load_vec3(out_bar)));
}

// (2), two numbers.
template <class S>
CYCLOID_HD void pixel_sensor(const Sensor& s, const SensedFrame<S>& o, const SensedFrame<S>& camera,
                             S* out) {
  const Vec3<S> d = rotate_inverse(camera.q, frame_distance(o, camera));
  out[0] = sensor_number<S>(s, 2) - sensor_number<S>(s, 0) * d.x / d.z;
  out[1] = sensor_number<S>(s, 3) + sensor_number<S>(s, 1) * d.y / d.z;
}
template <class S>
void pixel_sensor_pullback(const Sensor& s, const SensedFrame<S>& o, const SensedFrame<S>& camera,
                           const S* out_bar, SensedFrameBars<S>& o_bar,
                           SensedFrameBars<S>& camera_bar) {
  const Vec3<S> from = frame_distance(o, camera), d = rotate_inverse(camera.q, from);
  const S u = -sensor_number<S>(s, 0) * out_bar[0] / d.z,
          v = sensor_number<S>(s, 1) * out_bar[1] / d.z;
  const Vec3<S> bar = rotate(camera.q, Vec3<S>{u, v, -(u * d.x + v * d.y) / d.z});  // (3)
  o_bar.x += bar;
  camera_bar.x -= bar;
  camera_bar.turn -= cross(from, bar);
}

}  // namespace cycloid::inline rigid
