// Sphere and box: one touch, the centre outside or inside, and its pullback.
//
// Sphere of radius r at c₁; box at c₂ with axes R and half-lengths s:
//   v = c₁ - c₂,   l = Rᵀ v                                                                (1)
//   outside, l_i beyond ±s_i in some i:   d_i = ±s_i - l_i there, 0 elsewhere
//                  n = R d / |d|,   gap = |d|                                               (2)
//   inside or on the surface, nearest face (axis k, sign σ):
//                  n = -σ R e_k,    gap = σ l_k - s_k                                       (3)
//   the touch is the ball's along n (sphere_sphere.h)                                       (4)
// Among equally near faces the first of -x, +x, -y, +y, -z, +z is taken. Kinks where l_i = ±s_i
// (within kMinLength l_i counts as inside) and where the nearest face changes.
// feature: outside, Σ 3^i (0: l_i within, 1: beyond +s_i, 2: beyond -s_i); inside, 27 + face.
#pragma once

#include "cycloid/geometry/pair/sphere_sphere.h"

namespace cycloid::inline geometry {

inline constexpr int kSphereBoxTouches = 1;
inline constexpr int kInsideBox = 27;

template <class S>
CYCLOID_INLINE S box_feature(const Vec3<S>& l, const Vec3<S>& s) {
  S outside = S(0), face = S(0), nearest = S(0);
  for (int i = 0, weight = 1; i < 3; ++i, weight *= 3) {
    const S low = s[i] + l[i], high = s[i] - l[i], beyond = S(-kMinLength);
    outside = outside + select(high < beyond, S(weight), select(low < beyond, S(2 * weight), S(0)));
    if (i == 0) nearest = low;
    face = select(low < nearest, S(2 * i), face);
    nearest = select(low < nearest, low, nearest);
    face = select(high < nearest, S(2 * i + 1), face);
    nearest = select(high < nearest, high, nearest);
  }
  return select(outside > S(0), outside, face + S(kInsideBox));
}

// Per axis the side of a feature: +1, -1, or 0 where the axis plays no part.
template <class S>
CYCLOID_INLINE Vec3<S> box_sides(const S& feature) {
  const Mask<S> inside = feature >= S(kInsideBox);
  Vec3<S> side{};
  S rest = feature;
  for (int i = 2, weight = 9; i >= 0; --i, weight /= 3) {
    const S digit = select(rest >= S(2 * weight), S(2), select(rest >= S(weight), S(1), S(0)));
    rest = rest - digit * S(weight);
    const S outside = select(digit == S(2), S(-1), digit);
    const S low = S(kInsideBox + 2 * i), high = S(kInsideBox + 2 * i + 1);
    const S face = select(feature == low, S(-1), select(feature == high, S(1), S(0)));
    side[i] = select(inside, face, outside);
  }
  return side;
}

template <class S>
struct BoxTouch {
  Mask<S> inside;
  Vec3<S> v, side;
  Vec3<S> n;       // in the world
  Direction<S> d;  // in the box's axes; inverse is 0 inside
  S gap;
};

template <class S>
CYCLOID_INLINE BoxTouch<S> box_touch(const Vec3<S>& v, const Pose<S>& box, const Vec3<S>& s,
                                     const S& feature) {
  BoxTouch<S> t;
  t.v = v;
  t.inside = feature >= S(kInsideBox);
  t.side = box_sides(feature);
  const Vec3<S> l = transpose_vector_product(box.R, v);  // (1)
  Vec3<S> d;
  for (int i = 0; i < 3; ++i) d[i] = select(t.side[i] == S(0), S(0), t.side[i] * s[i] - l[i]);
  t.d = direction(d, Vec3<S>{S(1), S(0), S(0)});  // (2)
  t.d.u = select(t.inside, -t.side, t.d.u);
  t.d.inverse = select(t.inside, S(0), t.d.inverse);
  t.n = box.R * t.d.u;
  t.gap = select(t.inside, -dot(t.side, d), t.d.length);  // (3), (2)
  return t;
}

template <class S>
CYCLOID_HD void collide_sphere_box(const S* size1, const Pose<S>& sphere, const S* size2,
                                   const Pose<S>& box, const std::type_identity_t<S>& margin,
                                   Touch<S>* out, S* feature) {
  const Vec3<S> v = sphere.p - box.p, s = load_vec3(size2);
  const S code = box_feature(transpose_vector_product(box.R, v), s);
  const BoxTouch<S> t = box_touch(v, box, s, code);
  const Touch<S> touch = touch_along(sphere.p, size1[0], t.n, t.gap);  // (4)
  write_touch(touch.dist <= margin, touch, code, out[0], feature[0]);
}

template <class S>
CYCLOID_HD void collide_sphere_box_pullback(const S* size1, const Pose<S>& sphere, const S* size2,
                                            const Pose<S>& box, const S* feature,
                                            const TouchBar<S>* out_bar, PoseBar<S>& sphere_bar,
                                            PoseBar<S>& box_bar, S* size1_bar, S* size2_bar) {
  const BoxTouch<S> t = box_touch(sphere.p - box.p, box, load_vec3(size2), feature[0]);
  S gap_bar;
  Vec3<S> n_bar;
  touch_along_bar(size1[0], t.n, t.gap, used_bar(feature[0], out_bar[0]), sphere_bar.force,
                  size1_bar[0], gap_bar, n_bar);  // (4)

  add_direction(box_bar, t.n, n_bar);  // R in (2), (3)
  const Vec3<S> u_bar = transpose_vector_product(box.R, n_bar);
  const Vec3<S> outside_bar = t.d.u * gap_bar + direction_bar(t.d, u_bar);  // (2)
  const Vec3<S> d_bar = select(t.inside, t.side * -gap_bar, outside_bar);   // (3)
  Vec3<S> l_bar;
  for (int i = 0; i < 3; ++i) l_bar[i] = select(t.side[i] == S(0), S(0), -d_bar[i]);
  add_to(size2_bar, componentwise(t.side, -l_bar));
  const Vec3<S> v_bar = box.R * l_bar;  // (1)
  sphere_bar.force += v_bar;
  box_bar.force -= v_bar;
  box_bar.torque += cross(v_bar, t.v);
}

}  // namespace cycloid::inline geometry
