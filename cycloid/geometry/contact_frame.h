// The frame of a contact from its normal and raw tangent, and its pullback.
//
//   y₀ = the raw tangent if |y₀| ≥ ½, else (0,1,0) where |n_y| < ½ and (0,0,1) otherwise   (1)
//   t  = y₀ - n (n·y₀)                                                                     (2)
//   t₁ = t / |t|                                                                           (3)
//   t₂ = n × t₁                                                                            (4)
// n is a unit vector; it is differentiated as three free numbers, and so is y₀.
//
// The default tangent jumps where |n_y| = ½; its derivative is zero on both sides. Where y₀ is
// parallel to n (a capsule upright on a plane) t vanishes: below kLostSine the x axis takes the
// place of y₀, or the y axis where |n_x| ≥ ½. (MuJoCo takes the x axis as it is there; made
// orthogonal, it is the same one for a normal along y or z.) The derivative of (3), which grows as
// 1/|t|, is frozen at zero below kFrozenSine: t₁ keeps its value, and turns with nothing.
#pragma once

#include "cycloid/geometry/shape.h"

namespace cycloid::inline geometry {

// Rows of the frame.
template <class S>
struct ContactFrame {
  Vec3<S> n, t1, t2;
};

// What (3) is computed from.
template <class S>
struct FrameTangent {
  Vec3<S> y;       // y₀
  Mask<S> given;   // y₀ is the raw tangent
  Vec3<S> t1;      // its value
  S n_y, inverse;  // n·y₀; 1/|t|, zero where frozen
};

template <class S>
CYCLOID_INLINE FrameTangent<S> frame_tangent(const Vec3<S>& n, const Vec3<S>& tangent) {
  const Vec3<S> x{S(1), S(0), S(0)}, y{S(0), S(1), S(0)}, z{S(0), S(0), S(1)};
  FrameTangent<S> f;
  f.given = dot(tangent, tangent) >= S(0.25);
  f.y = select(f.given, tangent, select(abs(n.y) < S(0.5), y, z));  // (1)
  f.n_y = dot(n, f.y);
  Vec3<S> t = f.y - n * f.n_y;  // (2)
  t -= hold(n * dot(n, t));     // what rounding left of n in a short t
  S square = dot(t, t);
  const Mask<S> held = square < S(kFrozenSine<S> * kFrozenSine<S>);
  const Mask<S> lost = square < S(kLostSine<S> * kLostSine<S>);
  if (any(lost)) {
    const Vec3<S> other = select(abs(n.x) < S(0.5), x, y);
    t = select(lost, other - n * dot(n, other), t);
    square = dot(t, t);
  }
  const S inverse = S(1) / sqrt(square);
  f.t1 = t * inverse;  // (3)
  f.inverse = select(held, S(0), inverse);
  f.t1 = select(held, hold(f.t1), f.t1);
  return f;
}

template <class S>
CYCLOID_HD ContactFrame<S> contact_frame(const Vec3<S>& n, const Vec3<S>& tangent) {
  const Vec3<S> t1 = frame_tangent(n, tangent).t1;
  return {n, t1, cross(n, t1)};  // (4)
}

template <class S>
CYCLOID_HD void contact_frame_pullback(const Vec3<S>& n, const Vec3<S>& tangent,
                                       const ContactFrame<S>& out_bar, Vec3<S>& n_bar,
                                       Vec3<S>& tangent_bar) {
  const FrameTangent<S> f = frame_tangent(n, tangent);
  const Vec3<S> t1_bar = out_bar.t1 + cross(out_bar.t2, n);               // (4)
  const Vec3<S> t_bar = (t1_bar - f.t1 * dot(f.t1, t1_bar)) * f.inverse;  // (3)
  const S n_t = dot(n, t_bar);
  n_bar += out_bar.n + cross(f.t1, out_bar.t2) - t_bar * f.n_y - f.y * n_t;    // (4), (2)
  tangent_bar += select(f.given, t_bar - n * n_t, Vec3<S>{S(0), S(0), S(0)});  // (2), (1)
}

}  // namespace cycloid::inline geometry
