// The exponential map of rotations: exp, log, displacements, the right Jacobian, and pullbacks.
//
// φ, δ, v are rotation vectors and angular velocities in the body's axes, θ = |φ|, q = (w; u); c_k
// are Stumpff's functions of θ² or θ²/4 (rotation_series.h).
//   exp(φ) = (cos θ/2 ; φ sin(θ/2)/θ) = (c0 ; ½ c1 φ)  at θ²/4                      (1)
//   log(q) = 2 atan2(|u|, w) u/|u|  for w >= 0,  log(-q)  for w < 0                 (2)
//   atan2(|u|, w) = 4 atan z,   z = t/(1 + √(1+t²)),   t = |u|/(|q| + w)            (3)
//   retract(q, δ) = q ⊗ exp(δ)        difference(a, b) = log(a* ⊗ b)                (4)
//   J_r(φ) v = v - c2 φ×v + c3 φ×(φ×v)  at θ²                                       (5)
//   J_r⁻¹(φ) v = v + ½ φ×v + κ φ×(φ×v),   κ = (1 - (θ/2) cot(θ/2))/θ²
//                                           = (c2 - c3)/(4 c1)  at θ²/4             (6)
//   R(φ) v = v + c1 φ×v + c2 φ×(φ×v)  at θ²: rotate(exp(φ), v)                      (7)
//   exp(φ + dφ) = exp(φ) ⊗ exp(J_r(φ) dφ);   J_rᵀ(φ) = J_r(-φ) = R(φ) J_r(φ)    (8)
//
// Everything is smooth at φ = 0, derivatives included; (3) needs no branch. (2) goes the shortest
// way, |log| <= π, and jumps at θ = π (w = 0), where the side of +u is taken; there the derivative
// is that of this side. (6) has a pole at θ = 2π.
//
// quaternion_exp and quaternion_log have ambient cotangents (four numbers per quaternion); retract
// and difference have tangent ones (three, body axes). After Solà, Deray, Atchuthan 2018
// [Sola2018].
#pragma once

#include "cycloid/math/quaternion.h"
#include "cycloid/math/rotation_series.h"

namespace cycloid::inline math {

template <class S>
CYCLOID_HD Quat<S> quaternion_exp(const Vec3<S>& phi) {
  const Stumpff<S> c = stumpff(dot(phi, phi) * S(0.25));
  return make_quaternion(c.c0, phi * (S(0.5) * c.c1));  // (1)
}

// J_r(φ) v.
template <class S>
CYCLOID_HD Vec3<S> right_jacobian_apply(const Vec3<S>& phi, const Vec3<S>& v) {
  const Stumpff<S> c = stumpff(dot(phi, phi));
  const Vec3<S> p = cross(phi, v);
  return v - p * c.c2 + cross(phi, p) * c.c3;  // (5)
}

template <class S>
CYCLOID_HD void right_jacobian_apply_pullback(const Vec3<S>& phi, const Vec3<S>& v,
                                              const Vec3<S>& out_bar, Vec3<S>& phi_bar,
                                              Vec3<S>& v_bar) {
  const Stumpff<S> c = stumpff(dot(phi, phi));
  const S dc2 = c.c4 - S(0.5) * c.c3, dc3 = S(1.5) * c.c5 - S(0.5) * c.c4;  // per θ²
  const Vec3<S> p = cross(phi, v), r = cross(phi, out_bar);
  v_bar += out_bar + r * c.c2 + cross(phi, r) * c.c3;  // (5)
  phi_bar += cross(out_bar, v) * c.c2 + (cross(p, out_bar) - cross(v, r)) * c.c3;
  phi_bar += phi * (S(2) * (dc3 * dot(out_bar, cross(phi, p)) - dc2 * dot(out_bar, p)));
}

// κ of (6) and dκ/d(θ²), from c_k at θ²/4.
template <class S>
CYCLOID_INLINE S inverse_jacobian_kappa(const Stumpff<S>& c) {
  return (c.c2 - c.c3) / (S(4) * c.c1);
}
template <class S>
CYCLOID_INLINE S inverse_jacobian_kappa_slope(const Stumpff<S>& c, const S& kappa) {
  return S(0.5) * kappa * kappa - (c.c3 - S(3) * (c.c4 - c.c5)) / (S(32) * c.c1);
}

// J_r⁻¹(φ) v.
template <class S>
CYCLOID_HD Vec3<S> right_jacobian_inverse_apply(const Vec3<S>& phi, const Vec3<S>& v) {
  const S kappa = inverse_jacobian_kappa(stumpff(dot(phi, phi) * S(0.25)));
  const Vec3<S> p = cross(phi, v);
  return v + p * S(0.5) + cross(phi, p) * kappa;  // (6)
}

template <class S>
CYCLOID_HD void right_jacobian_inverse_apply_pullback(const Vec3<S>& phi, const Vec3<S>& v,
                                                      const Vec3<S>& out_bar, Vec3<S>& phi_bar,
                                                      Vec3<S>& v_bar) {
  const Stumpff<S> c = stumpff(dot(phi, phi) * S(0.25));
  const S kappa = inverse_jacobian_kappa(c), slope = inverse_jacobian_kappa_slope(c, kappa);
  const Vec3<S> p = cross(phi, v), r = cross(phi, out_bar);
  v_bar += out_bar - r * S(0.5) + cross(phi, r) * kappa;  // (6)
  phi_bar += cross(v, out_bar) * S(0.5) + (cross(p, out_bar) - cross(v, r)) * kappa;
  phi_bar += phi * (S(2) * slope * dot(out_bar, cross(phi, p)));
}

// exp stays on the unit sphere: the radial part of out_bar has no effect.
template <class S>
CYCLOID_HD void quaternion_exp_pullback(const Vec3<S>& phi, const Quat<S>& out_bar,
                                        Vec3<S>& phi_bar) {
  const Vec3<S> tangent_bar = tangent_from_ambient_cotangent(quaternion_exp(phi), out_bar);
  phi_bar += right_jacobian_apply(-phi, tangent_bar);  // (8)
}

// Of q / |q|: the length of q does not matter. q = 0 has no logarithm.
template <class S>
CYCLOID_HD Vec3<S> quaternion_log(const Quat<S>& q) {
  const Vec3<S> u = vector_part(q);
  const S sign = select(q.w < S(0), S(-1), S(1));
  const S uu = dot(u, u), w = q.w * sign;  // (2)
  const S t_per_u = S(1) / (sqrt(uu + w * w) + w);
  const S z_per_u = t_per_u / (S(1) + sqrt(S(1) + uu * t_per_u * t_per_u));
  return u * (S(8) * sign * z_per_u * arctangent_ratio(uu * z_per_u * z_per_u));  // (3)
}

// `phi` is quaternion_log(q).
template <class S>
CYCLOID_HD void quaternion_log_pullback(const Quat<S>& q, const Vec3<S>& phi,
                                        const Vec3<S>& phi_bar, Quat<S>& q_bar) {
  q_bar += ambient_from_tangent_cotangent(q, right_jacobian_inverse_apply(-phi, phi_bar));  // (6)
}

template <class S>
CYCLOID_HD Quat<S> retract(const Quat<S>& q, const Vec3<S>& delta) {
  return hamilton_product(q, quaternion_exp(delta));  // (4)
}

// All cotangents in tangents: q̄ = R(δ) out_bar, δ̄ = J_rᵀ(δ) out_bar.
template <class S>
CYCLOID_HD void retract_tangent_pullback(const Quat<S>& /*q*/, const Vec3<S>& delta,
                                         const Vec3<S>& out_bar, Vec3<S>& q_bar,
                                         Vec3<S>& delta_bar) {
  const Stumpff<S> c = stumpff(dot(delta, delta));
  const Vec3<S> p = cross(delta, out_bar), pp = cross(delta, p);
  q_bar += out_bar + p * c.c1 + pp * c.c2;      // (7)
  delta_bar += out_bar + p * c.c2 + pp * c.c3;  // (5), (8)
}

template <class S>
CYCLOID_HD Vec3<S> difference(const Quat<S>& a, const Quat<S>& b) {
  return quaternion_log(hamilton_product(conjugate(a), b));  // (4)
}

// a_bar and b_bar in tangents; `phi` is difference(a, b), and a and b matter through it alone:
// b̄ = J_r⁻ᵀ(φ) φ̄,  ā = -R(φ) b̄ = -J_r⁻¹(φ) φ̄ by (8).
template <class S>
CYCLOID_HD void difference_tangent_pullback(const Vec3<S>& phi, const Vec3<S>& phi_bar,
                                            Vec3<S>& a_bar, Vec3<S>& b_bar) {
  const S kappa = inverse_jacobian_kappa(stumpff(dot(phi, phi) * S(0.25)));
  const Vec3<S> p = cross(phi, phi_bar) * S(0.5), pp = cross(phi, cross(phi, phi_bar)) * kappa;
  a_bar -= phi_bar + p + pp;  // (6)
  b_bar += phi_bar - p + pp;
}

}  // namespace cycloid::inline math
