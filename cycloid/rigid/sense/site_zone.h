// The volume of a site: whether a point is inside, and whether a ray meets it.
//
// Sizes as of geoms: radius; radius and half length along z; half axes; half sides. Both answers
// are decisions and have no derivative. A ray p + t d, t ≥ 0, meets a convex volume where the
// stretch of t in which the line is inside ends at t ≥ 0; a capsule is a cylinder and two balls.
#pragma once

#include "cycloid/math/spatial.h"
#include "cycloid/model/model.h"

namespace cycloid::inline rigid {

// The stretch of a line inside a volume; empty where low > high.
template <class S>
struct Stretch {
  S low, high;
  Mask<S> ahead() const { return (low <= high) & (high >= S(0)); }
};

// Of a ball about the origin, whose radius has this square.
template <class S>
Stretch<S> line_in_ball(const Vec3<S>& p, const Vec3<S>& d, const S& square) {
  const S a = dot(d, d), b = dot(p, d), c = dot(p, p) - square, root = b * b - a * c;
  const S half = sqrt(select(root > S(0), root, S(0)));
  const Mask<S> misses = root < S(0);
  return {select(misses, S(1), (-b - half) / a), select(misses, S(-1), (-b + half) / a)};
}

// Of the slab |p_i + t d_i| ≤ half.
template <class S>
Stretch<S> line_in_slab(const S& p, const S& d, const S& half) {
  const S far = S(1e30);
  const Mask<S> along = abs(d) < S(1e-15);
  const S by = select(along, S(1), d), one = (-half - p) / by, two = (half - p) / by;
  const Mask<S> in = abs(p) <= half;
  return {select(along, select(in, -far, far), min(one, two)),
          select(along, select(in, far, -far), max(one, two))};
}
template <class S>
Stretch<S> common(const Stretch<S>& a, const Stretch<S>& b) {
  return {max(a.low, b.low), min(a.high, b.high)};
}

// Of an endless cylinder about z.
template <class S>
Stretch<S> line_in_tube(const Vec3<S>& p, const Vec3<S>& d, const S& square) {
  const Vec3<S> across{d.x, d.y, S(0)}, from{p.x, p.y, S(0)};
  const Mask<S> along = dot(across, across) < S(1e-30);
  const Vec3<S> other{S(1), S(0), S(0)};
  const Stretch<S> s = line_in_ball(from, select(along, other, across), square);
  const Mask<S> in = dot(from, from) <= square;
  const S far = S(1e30);
  return {select(along, select(in, -far, far), s.low),
          select(along, select(in, far, -far), s.high)};
}

template <class S>
CYCLOID_HD Vec3<S> zone_size(const Sensor& s) {
  const auto n = [&](std::size_t i) { return S(static_cast<Scalar<S>>(s.zone_size[i])); };
  return {n(0), n(1), n(2)};
}
template <class S>
CYCLOID_HD Vec3<S> divided(const Vec3<S>& a, const Vec3<S>& b) {
  return {a.x / b.x, a.y / b.y, a.z / b.z};
}

// p, d: point and direction in the site's axes.
template <class S>
Mask<S> meets_zone(const Sensor& s, const Vec3<S>& p, const Vec3<S>& d) {
  const Vec3<S> size = zone_size<S>(s);
  const S square = size.x * size.x;
  switch (s.zone) {
    case Shape::sphere: return line_in_ball(p, d, square).ahead();
    case Shape::ellipsoid: return line_in_ball(divided(p, size), divided(d, size), S(1)).ahead();
    case Shape::box:
      return common(common(line_in_slab(p.x, d.x, size.x), line_in_slab(p.y, d.y, size.y)),
                    line_in_slab(p.z, d.z, size.z))
          .ahead();
    default: break;
  }
  const Mask<S> tube = common(line_in_tube(p, d, square), line_in_slab(p.z, d.z, size.y)).ahead();
  if (s.zone == Shape::cylinder) return tube;
  const Vec3<S> end{S(0), S(0), size.y};
  return tube | line_in_ball(p - end, d, square).ahead() | line_in_ball(p + end, d, square).ahead();
}

template <class S>
CYCLOID_HD Mask<S> inside_zone(const Sensor& s, const Vec3<S>& p) {
  const Vec3<S> size = zone_size<S>(s);
  const S square = size.x * size.x, across = p.x * p.x + p.y * p.y;
  switch (s.zone) {
    case Shape::sphere: return dot(p, p) < square;
    case Shape::capsule: {
      const S beyond = p.z - min(max(p.z, -size.y), size.y);
      return across + beyond * beyond < square;
    }
    case Shape::ellipsoid: {
      const Vec3<S> q = divided(p, size);
      return dot(q, q) < S(1);
    }
    case Shape::cylinder: return (abs(p.z) < size.y) & (across < square);
    default: return (abs(p.x) < size.x) & (abs(p.y) < size.y) & (abs(p.z) < size.z);
  }
}

}  // namespace cycloid::inline rigid
