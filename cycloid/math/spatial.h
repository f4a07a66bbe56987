// Spatial vectors: motion and force of rigid bodies, world axes, one common origin for all bodies.
//
// A motion y = (y_ω; y_o) has an angular part, and the linear velocity of the body's point that is
// at the origin. A force W = (n; f) has a torque about the origin, and a force. The cotangent of a
// motion is a force and the reverse: W·y is what pairs them.
//   y(x) = y_o + y_ω × x                        linear part of y at the point x               (1)
//   wrench(f, x, n) = (x × f + n ; f)           force f at x with couple n                    (2)
//   a × b = (a_ω × b_ω ; a_ω × b_o + a_o × b_ω)      motion on motion                         (3)
//   a ×* f = (a_ω × n + a_o × f ; a_ω × f)           motion on force, (a ×*) = -(a ×)ᵀ          (4)
//   W·y = n·y_ω + f·y_o                         power                                         (5)
//   I y = wrench(m y(c), c, J y_ω)              mass m, com c, J about c, all in world axes   (6)
// I is symmetric: the cotangent x of I y gives ȳ = I x, and for the parameters
//   m̄ = x(c)·y(c),   c̄ = m (y(c) × x_ω + x(c) × y_ω),   J̄ = sym(x_ω y_ωᵀ)               (7)
// After Featherstone 2008 [Featherstone2008], with a common origin in place of body frames.
#pragma once

#include "cycloid/math/vector.h"

namespace cycloid::inline math {

template <class S>
struct Motion {
  Vec3<S> angular, linear;  // [rad/s], [m/s], or any field of that kind
};

template <class S>
struct Force {
  Vec3<S> torque, force;  // [N·m], [N]
};

// A symmetric 3×3 matrix. As a cotangent, xy is that of the number which stands at both places.
template <class S>
struct SymMat3 {
  S xx, yy, zz, xy, xz, yz;
};

template <class S>
struct SpatialInertia {
  S mass;              // [kg]
  Vec3<S> com;         // from the common origin [m]
  SymMat3<S> inertia;  // about the com [kg·m²]
};

template <class S>
CYCLOID_INLINE Motion<S>& operator+=(Motion<S>& a, const Motion<S>& b) {
  a.angular += b.angular, a.linear += b.linear;
  return a;
}
template <class S>
CYCLOID_INLINE Motion<S>& operator-=(Motion<S>& a, const Motion<S>& b) {
  a.angular -= b.angular, a.linear -= b.linear;
  return a;
}
template <class S>
CYCLOID_INLINE Motion<S> operator+(Motion<S> a, const Motion<S>& b) {
  return a += b;
}
template <class S>
CYCLOID_INLINE Motion<S> operator-(Motion<S> a, const Motion<S>& b) {
  return a -= b;
}
template <class S>
CYCLOID_INLINE Motion<S> operator*(const Motion<S>& a, const std::type_identity_t<S>& s) {
  return {a.angular * s, a.linear * s};
}
template <class S>
CYCLOID_INLINE Force<S>& operator+=(Force<S>& a, const Force<S>& b) {
  a.torque += b.torque, a.force += b.force;
  return a;
}
template <class S>
CYCLOID_INLINE Force<S>& operator-=(Force<S>& a, const Force<S>& b) {
  a.torque -= b.torque, a.force -= b.force;
  return a;
}
template <class S>
CYCLOID_INLINE Force<S> operator+(Force<S> a, const Force<S>& b) {
  return a += b;
}
template <class S>
CYCLOID_INLINE Force<S> operator-(Force<S> a, const Force<S>& b) {
  return a -= b;
}
template <class S>
CYCLOID_INLINE Force<S> operator*(const Force<S>& a, const std::type_identity_t<S>& s) {
  return {a.torque * s, a.force * s};
}

template <class S>
CYCLOID_INLINE Vec3<S> operator*(const SymMat3<S>& j, const Vec3<S>& v) {
  return {j.xx * v.x + j.xy * v.y + j.xz * v.z, j.xy * v.x + j.yy * v.y + j.yz * v.z,
          j.xz * v.x + j.yz * v.y + j.zz * v.z};
}

template <class S>
CYCLOID_INLINE Vec3<S> field_at(const Motion<S>& y, const Vec3<S>& x) {
  Vec3<S> at = y.linear;
  add_cross(at, y.angular, x);  // (1)
  return at;
}

template <class S>
CYCLOID_INLINE Force<S> wrench(const Vec3<S>& f, const Vec3<S>& x, const Vec3<S>& n) {
  Force<S> w{n, f};
  add_cross(w.torque, x, f);  // (2)
  return w;
}

// (1) and (2) are each other's transpose.
template <class S>
CYCLOID_INLINE void field_at_pullback(const Motion<S>& y, const Vec3<S>& x, const Vec3<S>& out_bar,
                                      Force<S>& y_bar, Vec3<S>& x_bar) {
  y_bar += Force<S>{cross(x, out_bar), out_bar};  // (1)
  x_bar += cross(out_bar, y.angular);
}

template <class S>
CYCLOID_INLINE void wrench_pullback(const Vec3<S>& f, const Vec3<S>& x, const Motion<S>& out_bar,
                                    Vec3<S>& f_bar, Vec3<S>& x_bar, Vec3<S>& n_bar) {
  f_bar += field_at(out_bar, x);  // (2)
  x_bar += cross(f, out_bar.angular);
  n_bar += out_bar.angular;
}

// (3) and (4), and the same added to or subtracted from what is there.
template <class S>
CYCLOID_INLINE Motion<S> cross_motion(const Motion<S>& a, const Motion<S>& b) {
  Motion<S> out{cross(a.angular, b.angular), cross(a.angular, b.linear)};
  add_cross(out.linear, a.linear, b.angular);  // (3)
  return out;
}
template <class S>
CYCLOID_INLINE void add_cross_motion(Motion<S>& out, const Motion<S>& a, const Motion<S>& b) {
  add_cross(out.angular, a.angular, b.angular);
  add_cross(out.linear, a.angular, b.linear);
  add_cross(out.linear, a.linear, b.angular);  // (3)
}

template <class S>
CYCLOID_INLINE Force<S> cross_force(const Motion<S>& a, const Force<S>& f) {
  Force<S> out{cross(a.angular, f.torque), cross(a.angular, f.force)};
  add_cross(out.torque, a.linear, f.force);  // (4)
  return out;
}
template <class S>
CYCLOID_INLINE void add_cross_force(Force<S>& out, const Motion<S>& a, const Force<S>& f) {
  add_cross(out.torque, a.angular, f.torque);
  add_cross(out.torque, a.linear, f.force);
  add_cross(out.force, a.angular, f.force);  // (4)
}
template <class S>
CYCLOID_INLINE void subtract_cross_force(Force<S>& out, const Motion<S>& a, const Force<S>& f) {
  subtract_cross(out.torque, a.angular, f.torque);
  subtract_cross(out.torque, a.linear, f.force);
  subtract_cross(out.force, a.angular, f.force);  // (4)
}

// W·(a × b) = a·(b ×* W) = -b·(a ×* W).
template <class S>
CYCLOID_INLINE void cross_motion_pullback(const Motion<S>& a, const Motion<S>& b,
                                          const Force<S>& out_bar, Force<S>& a_bar,
                                          Force<S>& b_bar) {
  a_bar += cross_force(b, out_bar);  // (3)
  b_bar -= cross_force(a, out_bar);
}

// x·(a ×* f) = -f·(a × x) = -a·(x ×* f).
template <class S>
CYCLOID_INLINE void cross_force_pullback(const Motion<S>& a, const Force<S>& f,
                                         const Motion<S>& out_bar, Force<S>& a_bar,
                                         Motion<S>& f_bar) {
  a_bar -= cross_force(out_bar, f);  // (4)
  f_bar -= cross_motion(a, out_bar);
}

template <class S>
CYCLOID_INLINE S power(const Force<S>& w, const Motion<S>& y) {
  S sum = dot(w.torque, y.angular);
  sum += w.force.x * y.linear.x, sum += w.force.y * y.linear.y, sum += w.force.z * y.linear.z;
  return sum;  // (5)
}

template <class S>
CYCLOID_INLINE void power_pullback(const Force<S>& w, const Motion<S>& y, const S& out_bar,
                                   Motion<S>& w_bar, Force<S>& y_bar) {
  w_bar += y * out_bar;  // (5)
  y_bar += w * out_bar;
}

template <class S>
CYCLOID_INLINE Force<S> inertia_apply(const SpatialInertia<S>& i, const Motion<S>& y) {
  return wrench(field_at(y, i.com) * i.mass, i.com, i.inertia * y.angular);  // (6)
}

// out_bar is the motion x of (7).
template <class S>
CYCLOID_HD void inertia_apply_pullback(const SpatialInertia<S>& i, const Motion<S>& y,
                                       const Motion<S>& out_bar, SpatialInertia<S>& i_bar,
                                       Force<S>& y_bar) {
  const Vec3<S> x_c = field_at(out_bar, i.com), y_c = field_at(y, i.com);
  const Vec3<S>&a = out_bar.angular, &b = y.angular;
  i_bar.mass += dot(x_c, y_c);  // (7)
  i_bar.com += (cross(y_c, a) + cross(x_c, b)) * i.mass;
  i_bar.inertia.xx += a.x * b.x;
  i_bar.inertia.yy += a.y * b.y;
  i_bar.inertia.zz += a.z * b.z;
  i_bar.inertia.xy += a.x * b.y + a.y * b.x;
  i_bar.inertia.xz += a.x * b.z + a.z * b.x;
  i_bar.inertia.yz += a.y * b.z + a.z * b.y;
  y_bar += inertia_apply(i, out_bar);
}

}  // namespace cycloid::inline math
