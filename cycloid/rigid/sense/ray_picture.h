// The rays of a rangefinder, and what it shows of each.
//
// A site has one ray, along its z axis. A camera has one through each pixel, by rows from the top
// left; in its axes, with focal lengths f and centre c in pixels (f in pixels per metre where the
// rays are parallel), pixel (i, j) is at x = (i + ½ - c_x)/f_x, y = (c_y - j - ½)/f_y and
//   lens       o = 0,           d = (x, y, -1)/|(x, y, -1)|                                  (1)
//   parallel   o = (x, y, 0),   d = (0, 0, -1)                                               (2)
// In the world the ray begins at x_o and goes along e; with t and n of ray_sensor.h it shows
//   t,  e,  x_o,  x_o + t e,  n,  t |d_z|                                                    (3)
// those of them that are asked for, and -1, 0, x_o, 0, 0, -1 where it meets nothing.
// Source: MuJoCo's manual, sensor rangefinder.
#pragma once

#include "cycloid/rigid/force/actuator.h"
#include "cycloid/rigid/sense/ray_sensor.h"

namespace cycloid::inline rigid {

// Bits of Sensor::fields (mjtRayDataField), and how many numbers each has.
enum class RayField : int { distance, direction, origin, point, normal, depth };
inline constexpr int kRayFields = 6, kRayNumbers[kRayFields] = {1, 3, 3, 3, 3, 1};
inline constexpr int kMostRayNumbers = 14;

inline bool shows(const Sensor& s, RayField field) {
  return s.fields >> static_cast<int>(field) & 1;
}
inline int ray_numbers(const Sensor& s) {
  int sum = 0;
  for (int k = 0; k < kRayFields; ++k) sum += (s.fields >> k & 1) * kRayNumbers[k];
  return sum;
}
inline int ray_count(const Sensor& s) { return s.columns > 0 ? s.columns * s.rows : 1; }

// o and d of ray k.
struct PixelRay {
  Vec3<double> o{0, 0, 0}, d{0, 0, 1};
};
inline PixelRay pixel_ray(const Sensor& s, int k) {
  if (s.columns == 0) return {};
  const double x = (k % s.columns + 0.5 - s.numbers[2]) / s.numbers[0];
  const double y = (s.numbers[3] - k / s.columns - 0.5) / s.numbers[1];
  if (s.parallel) return {{x, y, 0}, {0, 0, -1}};  // (2)
  const double length = std::sqrt(x * x + y * y + 1);
  return {{0, 0, 0}, {x / length, y / length, -1 / length}};  // (1)
}

template <class S>
Ray<S> ray_from(const SensedFrame<S>& frame, const PixelRay& at) {
  const auto turned = [&](const Vec3<double>& v) {
    return rotate(frame.q, Vec3<S>{number<S>(v.x), number<S>(v.y), number<S>(v.z)});
  };
  return {frame.body, frame.origin, frame.x + turned(at.o), turned(at.d)};
}

// (3) of one ray. depth: |d_z|.
template <class S>
void show_ray(const Sensor& s, const Ray<S>& ray, const RayHit<S>& hit, const Vec3<S>& n,
              const S& depth, S* out) {
  const Mask<S> met = hit.t >= S(0);
  const Vec3<S> zero{};
  const auto put = [&](RayField field, const Vec3<S>& v) {
    if (shows(s, field)) store(out, v), out += 3;
  };
  if (shows(s, RayField::distance)) *out++ = hit.t;
  put(RayField::direction, select(met, ray.e, zero));
  put(RayField::origin, ray.origin + ray.x);
  put(RayField::point, select(met, ray.origin + ray.x + ray.e * hit.t, zero));
  put(RayField::normal, select(met, n, zero));
  if (shows(s, RayField::depth)) *out++ = select(met, hit.t * depth, S(-1));
}

// Adds to the cotangents of the hit and of the ray.
template <class S>
void show_ray_bar(const Sensor& s, const Ray<S>& ray, const RayHit<S>& hit, const S& depth,
                  const S* out_bar, HitBars<S>& hit_bar, RayBars<S>& ray_bar) {
  const Mask<S> met = hit.t >= S(0);
  const Vec3<S> zero{};
  const auto take = [&](RayField field) {
    if (!shows(s, field)) return zero;
    out_bar += 3;
    return load_vec3(out_bar - 3);
  };
  if (shows(s, RayField::distance)) hit_bar.t += *out_bar++;
  ray_bar.e += select(met, take(RayField::direction), zero);
  ray_bar.x += take(RayField::origin);
  const Vec3<S> point = select(met, take(RayField::point), zero);
  ray_bar.x += point;
  ray_bar.e += point * hit.t;
  hit_bar.t += dot(point, ray.e);
  hit_bar.n += select(met, take(RayField::normal), zero);
  if (shows(s, RayField::depth)) hit_bar.t += select(met, *out_bar++ * depth, S(0));
}

// All rays of a sensor.
template <class S, class P>
void ray_picture(const TreeView& tree, const P* p, const Sensor& s, const SensedFrame<S>& frame,
                 const Frames<S>& f, const Motion<S>* v, const Motion<S>* a,
                 const RaySolids& solids, S* out) {
  const int numbers = ray_numbers(s);
  for (int k = 0; k < ray_count(s); ++k, out += numbers) {
    const PixelRay at = pixel_ray(s, k);
    const Ray<S> ray = ray_from(frame, at);
    const RayHit<S> hit = cast_ray(tree, p, ray, f, v, a, solids);
    Vec3<S> n{};
    if (shows(s, RayField::normal)) n = hit_normal(tree, p, ray, f, v, a, hit, solids);
    show_ray(s, ray, hit, n, number<S>(std::abs(at.d.z)), out);
  }
}

// Adds to frame_bar, to the bodies of the geoms that are hit, and to p_bar unless it is null. What
// the sensor's cutoff holds has no derivative.
template <class S, class P>
void ray_picture_pullback(const TreeView& tree, const P* p, const Sensor& s,
                          const SensedFrame<S>& frame, const Frames<S>& f, const Motion<S>* v,
                          const Motion<S>* a, const RaySolids& solids, const S* out_bar,
                          SensedFrameBars<S>& frame_bar, const BodyBars<S>& bars, S* p_bar) {
  const int numbers = ray_numbers(s);
  for (int k = 0; k < ray_count(s); ++k, out_bar += numbers) {
    const PixelRay at = pixel_ray(s, k);
    const Ray<S> ray = ray_from(frame, at);
    const RayHit<S> hit = cast_ray(tree, p, ray, f, v, a, solids);
    const S depth = number<S>(std::abs(at.d.z));
    S bar[kMostRayNumbers]{}, shown[kMostRayNumbers]{};
    std::copy_n(out_bar, numbers, bar);
    if (s.cutoff > 0) {
      show_ray(s, ray, hit, hit_normal(tree, p, ray, f, v, a, hit, solids), depth, shown);
      for (int i = 0; i < numbers; ++i) bar[i] *= inside({true, -s.cutoff, s.cutoff}, shown[i]);
    }
    HitBars<S> hit_bar;
    RayBars<S> ray_bar;
    show_ray_bar(s, ray, hit, depth, static_cast<const S*>(bar), hit_bar, ray_bar);
    cast_ray_pullback(tree, p, ray, f, v, a, hit, hit_bar, ray_bar, bars, p_bar, solids);
    frame_bar.x += ray_bar.x;
    frame_bar.turn += cross(ray.x - frame.x, ray_bar.x) + cross(ray.e, ray_bar.e);
  }
}

}  // namespace cycloid::inline rigid
