// The inertia of bodies, in world axes.
//
//   c = r + R com                                     (1)  centre of mass [m]
//   J = R I_com Rᵀ                                    (2)  about it [kg·m²]
// and of two bodies that move as one, with masses m₁, m₂ and d = c₂ - c₁:
//   m = m₁ + m₂,   c = c₁ + d m₂/m,   J = J₁ + J₂ + (m₁ m₂/m)(|d|² 1 - d dᵀ)     (3)
// Numbers about the centre of mass keep the digits of a light body that is far from the origin;
// about the origin the square of the distance would drown them:
//   h = m c,   I_o = J + m (|c|² 1 - c cᵀ)            (4)
//
// With the cotangent Ī = Σ sym(x yᵀ) on I, given by pairs of motions (x, y), for the parameters
//   m̄ = Σ x(c)·y(c),  com̄ = m Rᵀ Σ (y(c) × x_ω + x(c) × y_ω),  Ī_com = Rᵀ sym(Σ x_ω y_ωᵀ) R  (5)
// The pose's share is part of the sweep's rigid motions (motion_pullback.h).
#pragma once

#include <array>

#include "cycloid/rigid/tree/kinematics.h"

namespace cycloid::inline rigid {

template <class S>
CYCLOID_INLINE Force<S> operator*(const SpatialInertia<S>& i, const Motion<S>& y) {
  return inertia_apply(i, y);
}

// J += m (|d|² 1 - d dᵀ).
template <class S>
CYCLOID_INLINE void add_point_mass(const S& m, const Vec3<S>& d, SymMat3<S>& J) {
  const Vec3<S> h = d * m;
  const S xx = h.x * d.x, yy = h.y * d.y, zz = h.z * d.z;
  J.xx += yy + zz, J.yy += xx + zz, J.zz += xx + yy;
  J.xy -= h.x * d.y, J.xz -= h.x * d.z, J.yz -= h.y * d.z;
}

template <class S>
CYCLOID_INLINE SpatialInertia<S>& operator+=(SpatialInertia<S>& a, const SpatialInertia<S>& b) {
  const S m = a.mass + b.mass;
  const S share = select(m > S(0), b.mass / m, S(0));
  const Vec3<S> d = b.com - a.com;
  a.inertia.xx += b.inertia.xx, a.inertia.yy += b.inertia.yy, a.inertia.zz += b.inertia.zz;
  a.inertia.xy += b.inertia.xy, a.inertia.xz += b.inertia.xz, a.inertia.yz += b.inertia.yz;
  add_point_mass(a.mass * share, d, a.inertia);  // (3)
  a.com += d * share;
  a.mass = m;
  return a;
}

// (4).
template <class S>
CYCLOID_INLINE Vec3<S> first_moment(const SpatialInertia<S>& i) {
  return i.com * i.mass;
}
template <class S>
CYCLOID_INLINE SymMat3<S> inertia_at_origin(const SpatialInertia<S>& i) {
  SymMat3<S> I = i.inertia;
  add_point_mass(i.mass, i.com, I);
  return I;
}

// R J Rᵀ.
template <class S>
CYCLOID_INLINE SymMat3<S> turn(const Mat3<S>& R, const SymMat3<S>& J) {
  const Vec3<S> x = J * Vec3<S>{R(0, 0), R(0, 1), R(0, 2)};
  const Vec3<S> y = J * Vec3<S>{R(1, 0), R(1, 1), R(1, 2)};
  const Vec3<S> z = J * Vec3<S>{R(2, 0), R(2, 1), R(2, 2)};
  const auto row = [&](int i, const Vec3<S>& v) {
    return R(i, 0) * v.x + R(i, 1) * v.y + R(i, 2) * v.z;
  };
  return {row(0, x), row(1, y), row(2, z), row(0, y), row(0, z), row(1, z)};
}

template <class S, class P>
CYCLOID_INLINE SpatialInertia<S> body_inertia(const BodyPlaces& at, const P* p, const Mat3<S>& R,
                                              const Vec3<S>& r) {
  const P* J = p + at.inertia;
  return {S(p[at.mass]), r + R * vec3_of<S>(p + at.com),                               // (1)
          turn(R, SymMat3<S>{S(J[0]), S(J[1]), S(J[2]), S(J[3]), S(J[4]), S(J[5])})};  // (2)
}

// The cotangents of a symmetric matrix J in aᵀJ b.
template <class S>
CYCLOID_INLINE void add_symmetric_product(const Vec3<S>& a, const Vec3<S>& b, S* J_bar) {
  J_bar[0] += a.x * b.x;
  J_bar[1] += a.y * b.y;
  J_bar[2] += a.z * b.z;
  J_bar[3] += a.x * b.y + a.y * b.x;
  J_bar[4] += a.x * b.z + a.z * b.x;
  J_bar[5] += a.y * b.z + a.z * b.y;
}

// Two motions x, y of a body, of which xᵀI y is taken.
template <class S>
struct InertiaForm {
  const Motion<S>*x, *y;
};

// Adds the cotangents of mass, com and inertia for some pairs at once: `scale` Σ sym(x yᵀ).
template <class S, class P, std::size_t n>
CYCLOID_INLINE void body_inertia_pullback(const BodyPlaces& at, const P* p, const Mat3<S>& R,
                                          const Vec3<S>& r,
                                          const std::array<InertiaForm<S>, n>& forms,
                                          const S& scale, S* p_bar) {
  const Vec3<S> c = r + R * vec3_of<S>(p + at.com);
  S mass_bar(0), I_bar[6] = {S(0), S(0), S(0), S(0), S(0), S(0)};
  Vec3<S> along{};
  for (const InertiaForm<S>& form : forms) {
    const Motion<S>&x = *form.x, &y = *form.y;
    const Vec3<S> x_c = field_at(x, c), y_c = field_at(y, c);
    mass_bar += dot(x_c, y_c);  // (5)
    add_cross(along, y_c, x.angular);
    add_cross(along, x_c, y.angular);
    const Vec3<S> a = transpose_vector_product(R, x.angular),
                  b = transpose_vector_product(R, y.angular);
    add_symmetric_product(a, b, I_bar);
  }
  p_bar[at.mass] += scale * mass_bar;
  add_to(p_bar + at.com, transpose_vector_product(R, along) * (scale * S(p[at.mass])));
  for (int i = 0; i < 6; ++i) p_bar[at.inertia + i] += scale * I_bar[i];
}

}  // namespace cycloid::inline rigid
