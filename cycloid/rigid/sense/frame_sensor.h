// What a sensor reads off a frame, alone or as seen from a reference frame.
//
// o the object, r the reference, d = x_o - x_r, R the orientation of r (alone: 1, and d, u, ω from
// the world); e_k the k-th axis of o:
//   position    Rᵀ d                    quaternion   q_r* q_o             axis   Rᵀ e_k        (1)
//   velocity    Rᵀ (u_o - u_r - ω_r × d)             Rᵀ (ω_o - ω_r)                            (2)
//   acceleration (no reference)   z_o                α_o                                       (3)
//   velocimeter R_oᵀ u_o          gyro R_oᵀ ω_o      accelerometer R_oᵀ z_o                    (4)
// Source: MuJoCo's manual, sensors.
//
// All but the quaternion are Fᵀ y of a world vector y in the axes of a frame F: its cotangent out̄
// gives ȳ = F out̄ and turns F by -y × ȳ. A quaternion's cotangent has four numbers.     (5)
#pragma once

#include "cycloid/rigid/sense/sensed_frame.h"

namespace cycloid::inline rigid {

// The k-th axis of a frame.
template <class S>
CYCLOID_INLINE Vec3<S> frame_axis(const SensedFrame<S>& o, SensorKind kind) {
  Vec3<S> e{};
  e[static_cast<int>(kind) - static_cast<int>(SensorKind::frame_x_axis)] = S(1);
  return rotate(o.q, e);
}

template <class S>
CYCLOID_INLINE Vec3<S> frame_distance(const SensedFrame<S>& o, const SensedFrame<S>& r) {
  return (o.origin - r.origin) + (o.x - r.x);
}

// y of (5). r: the reference, or null.
template <class S>
CYCLOID_INLINE Vec3<S> frame_vector(SensorKind kind, const SensedFrame<S>& o,
                                    const SensedFrame<S>* r) {
  switch (kind) {
    case SensorKind::frame_position: return r ? frame_distance(o, *r) : o.origin + o.x;
    case SensorKind::frame_linear_velocity:
      return r ? o.u - r->u - cross(r->omega, frame_distance(o, *r)) : o.u;  // (2)
    case SensorKind::frame_angular_velocity: return r ? o.omega - r->omega : o.omega;
    case SensorKind::velocimeter: return o.u;
    case SensorKind::gyro: return o.omega;
    case SensorKind::accelerometer:
    case SensorKind::frame_linear_acceleration: return o.z;  // (3)
    case SensorKind::frame_angular_acceleration: return o.alpha;
    default: return frame_axis(o, kind);
  }
}

// (4): in the object's own axes.
CYCLOID_HD inline bool in_own_axes(SensorKind kind) {
  return kind == SensorKind::velocimeter || kind == SensorKind::gyro ||
         kind == SensorKind::accelerometer;
}

// Writes 3 numbers, or 4 for a quaternion.
template <class S>
CYCLOID_HD void frame_sensor(SensorKind kind, const SensedFrame<S>& o, const SensedFrame<S>* r,
                             S* out) {
  if (kind == SensorKind::frame_quaternion) {
    store(out, r ? conjugate(r->q) * o.q : o.q);  // (1)
    return;
  }
  const SensedFrame<S>* const axes = in_own_axes(kind) ? &o : r;
  const Vec3<S> y = frame_vector(kind, o, r);
  store(out, axes ? rotate_inverse(axes->q, y) : y);
}

// Adds to o_bar, and to r_bar where there is a reference.
template <class S>
void frame_sensor_pullback(SensorKind kind, const SensedFrame<S>& o, const SensedFrame<S>* r,
                           const S* out_bar, SensedFrameBars<S>& o_bar, SensedFrameBars<S>& r_bar) {
  if (kind == SensorKind::frame_quaternion) {
    const Quat<S> out = r ? conjugate(r->q) * o.q : o.q;
    const Vec3<S> turn =
        rotate(o.q, tangent_from_ambient_cotangent(out, load_quat(out_bar)));  // (1)
    o_bar.turn += turn;
    if (r) r_bar.turn -= turn;
    return;
  }
  const SensedFrame<S>* const axes = in_own_axes(kind) ? &o : r;
  Vec3<S> y_bar = load_vec3(out_bar);
  if (axes) {  // (5)
    y_bar = rotate(axes->q, y_bar);
    (axes == r ? r_bar : o_bar).turn -= cross(frame_vector(kind, o, r), y_bar);
  }
  switch (kind) {
    case SensorKind::frame_position:
      o_bar.x += y_bar;
      if (r) r_bar.x -= y_bar;
      break;
    case SensorKind::frame_linear_velocity:
      o_bar.u += y_bar;
      if (r) {  // (2)
        const Vec3<S> d_bar = cross(r->omega, y_bar);
        r_bar.u -= y_bar;
        r_bar.omega -= cross(frame_distance(o, *r), y_bar);
        o_bar.x += d_bar;
        r_bar.x -= d_bar;
      }
      break;
    case SensorKind::frame_angular_velocity:
      o_bar.omega += y_bar;
      if (r) r_bar.omega -= y_bar;
      break;
    case SensorKind::velocimeter: o_bar.u += y_bar; break;  // (4)
    case SensorKind::gyro: o_bar.omega += y_bar; break;
    case SensorKind::accelerometer:
    case SensorKind::frame_linear_acceleration: o_bar.z += y_bar; break;  // (3)
    case SensorKind::frame_angular_acceleration: o_bar.alpha += y_bar; break;
    default: o_bar.turn += cross(frame_axis(o, kind), y_bar); break;  // (1)
  }
}

}  // namespace cycloid::inline rigid
