// How the frames of a rod's segments turn about their tangents.
//
// P(a→b) is the smallest turn from unit vector a to unit vector b (parallel transport):
//   P k = k + w × k + w × (w × k)/(1 + a·b),  w = a × b                              (1)
// Two such turns after each other differ from the direct one by a turn about the end, the area of
// the triangle a b c on the unit sphere:
//   P(b→c) P(a→b) = Rot(c, Ω(a, b, c)) P(a→c)                                        (2)
//   Ω = 2 atan2(a·(b × c), 1 + a·b + b·c + c·a)  [rad]  (VanOosteromStrackee1983)    (3)
// Where a = -b the smallest turn is not unique, and (1) and (3) have no derivative.
#pragma once

#include "cycloid/math/norm.h"

namespace cycloid::inline soft {

// P(a→b) k, (1).
template <class S>
CYCLOID_HD Vec3<S> transported(const Vec3<S>& a, const Vec3<S>& b, const Vec3<S>& k) {
  const Vec3<S> w = cross(a, b), turned = cross(w, k);
  return k + turned + cross(w, turned) * (S(1) / (S(1) + dot(a, b)));
}

// Ω(a, b, c), (3).
template <class S>
CYCLOID_HD S turn_around(const Vec3<S>& a, const Vec3<S>& b, const Vec3<S>& c) {
  return S(2) * atan2(dot(a, cross(b, c)), S(1) + dot(a, b) + dot(b, c) + dot(c, a));
}

// The same of the segments of a rod that go from x[0] to x[1].
template <class S>
CYCLOID_HD S turn_of_segment(const Vec3<S>* rest, const Vec3<S>* before, const Vec3<S>* now) {
  return turn_around(unit_and_norm(rest[1] - rest[0]).unit,
                     unit_and_norm(before[1] - before[0]).unit,
                     unit_and_norm(now[1] - now[0]).unit);
}

}  // namespace cycloid::inline soft
