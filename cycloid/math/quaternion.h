// Quaternions (w, x, y, z) and the rotations that unit quaternions stand for.
//
//   q = (w; u),   a ⊗ b = (a_w b_w - a_u·b_u ; a_w b_u + b_w a_u + a_u × b_u)   Hamilton   (1)
//   rotate(q, v) = v + 2 w t + 2 u × t,  t = u × v: from body axes to world axes           (2)
//   to_matrix(q) = R,  R v = rotate(q, v)                                                  (3)
//   normalise(q) = q / |q|; at q = 0 the identity, with derivative zero                    (4)
//
// Cotangents come in two kinds. Ambient: four numbers, one per coordinate, as in multivariable
// calculus; (2) and (3) are then differentiated as the polynomials they are. Tangent: three numbers
// in the body's axes, for the displacement q ⊗ exp(δ) of a unit quaternion:
//   tangent_from_ambient:  δ̄ = ½ vec(q* ⊗ q̄)                                             (5)
//   ambient_from_tangent:  q̄ = 2 q̂ ⊗ (0; δ̄) / |q|,  where q is normalised to q̂ on entry  (6)
// (6) is orthogonal to q, because the length of q does not matter to what follows. rotation.h has
// exp, log and displacements.
#pragma once

#include "cycloid/math/matrix.h"
#include "cycloid/math/norm.h"

namespace cycloid::inline math {

template <class S>
struct Quat {
  S w, x, y, z;
};

template <class S>
CYCLOID_INLINE Quat<S> identity_quaternion() {
  return {S(1), S(0), S(0), S(0)};
}
template <class S>
CYCLOID_INLINE Vec3<S> vector_part(const Quat<S>& q) {
  return {q.x, q.y, q.z};
}
template <class S>
CYCLOID_INLINE Quat<S> make_quaternion(const S& w, const Vec3<S>& u) {
  return {w, u.x, u.y, u.z};
}
template <class S>
CYCLOID_INLINE Quat<S>& operator+=(Quat<S>& a, const Quat<S>& b) {
  a.w += b.w, a.x += b.x, a.y += b.y, a.z += b.z;
  return a;
}
template <class S>
CYCLOID_INLINE Quat<S> operator*(const Quat<S>& a, const std::type_identity_t<S>& s) {
  return {a.w * s, a.x * s, a.y * s, a.z * s};
}
template <class S>
CYCLOID_INLINE S dot(const Quat<S>& a, const Quat<S>& b) {
  return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class S>
CYCLOID_INLINE Quat<S> conjugate(const Quat<S>& q) {
  return {q.w, -q.x, -q.y, -q.z};
}

template <class S>
CYCLOID_INLINE Quat<S> hamilton_product(const Quat<S>& a, const Quat<S>& b) {
  return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
          a.w * b.x + b.w * a.x + (a.y * b.z - a.z * b.y),
          a.w * b.y + b.w * a.y + (a.z * b.x - a.x * b.z),
          a.w * b.z + b.w * a.z + (a.x * b.y - a.y * b.x)};  // (1)
}

// Multiplication by a unit quaternion is orthogonal: its transpose multiplies by the conjugate.
template <class S>
CYCLOID_INLINE void hamilton_product_pullback(const Quat<S>& a, const Quat<S>& b,
                                              const Quat<S>& c_bar, Quat<S>& a_bar,
                                              Quat<S>& b_bar) {
  a_bar += hamilton_product(c_bar, conjugate(b));  // (1)
  b_bar += hamilton_product(conjugate(a), c_bar);
}

template <class S>
CYCLOID_INLINE Quat<S> operator*(const Quat<S>& a, const Quat<S>& b) {
  return hamilton_product(a, b);
}

template <class S>
CYCLOID_INLINE Vec3<S> rotate(const Quat<S>& q, const Vec3<S>& v) {
  const Vec3<S> u = vector_part(q), t = cross(u, v) * S(2);
  return v + t * q.w + cross(u, t);  // (2)
}

template <class S>
CYCLOID_INLINE void rotate_pullback(const Quat<S>& q, const Vec3<S>& v, const Vec3<S>& out_bar,
                                    Quat<S>& q_bar, Vec3<S>& v_bar) {
  const Vec3<S> u = vector_part(q), t = cross(u, v) * S(2);
  const Vec3<S> t_bar = (out_bar * q.w + cross(out_bar, u)) * S(2);  // (2)
  q_bar += make_quaternion(dot(out_bar, t), cross(t, out_bar) + cross(v, t_bar));
  v_bar += out_bar + cross(t_bar, u);
}

// q_bar in tangents: R(q exp(δ)) v = R v + R (δ × v).
template <class S>
CYCLOID_INLINE void rotate_tangent_pullback(const Quat<S>& q, const Vec3<S>& v,
                                            const Vec3<S>& out_bar, Vec3<S>& q_bar,
                                            Vec3<S>& v_bar) {
  const Vec3<S> back = rotate(conjugate(q), out_bar);
  q_bar += cross(v, back);
  v_bar += back;
}

// World axes to body axes: R(q)ᵀ v.
template <class S>
CYCLOID_INLINE Vec3<S> rotate_inverse(const Quat<S>& q, const Vec3<S>& v) {
  return rotate(conjugate(q), v);
}

template <class S>
CYCLOID_INLINE void rotate_inverse_pullback(const Quat<S>& q, const Vec3<S>& v,
                                            const Vec3<S>& out_bar, Quat<S>& q_bar,
                                            Vec3<S>& v_bar) {
  Quat<S> conjugate_bar{};
  rotate_pullback(conjugate(q), v, out_bar, conjugate_bar, v_bar);
  q_bar += conjugate(conjugate_bar);
}

// q_bar in tangents: R(q exp(δ))ᵀ v = out - δ × out.
template <class S>
CYCLOID_INLINE void rotate_inverse_tangent_pullback(const Quat<S>& q, const Vec3<S>& v,
                                                    const Vec3<S>& out_bar, Vec3<S>& q_bar,
                                                    Vec3<S>& v_bar) {
  q_bar += cross(out_bar, rotate_inverse(q, v));
  v_bar += rotate(q, out_bar);
}

template <class S>
CYCLOID_HD Mat3<S> to_matrix(const Quat<S>& q) {
  const S x2 = q.x + q.x, y2 = q.y + q.y, z2 = q.z + q.z;
  const S xx = q.x * x2, yy = q.y * y2, zz = q.z * z2;
  const S xy = q.x * y2, xz = q.x * z2, yz = q.y * z2;
  const S wx = q.w * x2, wy = q.w * y2, wz = q.w * z2;
  return {{S(1) - (yy + zz), xy - wz, xz + wy,    //
           xy + wz, S(1) - (xx + zz), yz - wx,    //
           xz - wy, yz + wx, S(1) - (xx + yy)}};  // (3)
}

template <class S>
CYCLOID_HD void to_matrix_pullback(const Quat<S>& q, const Mat3<S>& m, Quat<S>& q_bar) {
  const Vec3<S> skew{m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1)};
  const S xy = m(0, 1) + m(1, 0), xz = m(0, 2) + m(2, 0), yz = m(1, 2) + m(2, 1);
  const Vec3<S> u = vector_part(q);
  const Vec3<S> u_bar{xy * q.y + xz * q.z - S(2) * q.x * (m(1, 1) + m(2, 2)),
                      xy * q.x + yz * q.z - S(2) * q.y * (m(0, 0) + m(2, 2)),
                      xz * q.x + yz * q.y - S(2) * q.z * (m(0, 0) + m(1, 1))};
  q_bar += make_quaternion(dot(u, skew), u_bar + skew * q.w) * S(2);  // (3), m is R̄
}

// The unit quaternion of a rotation matrix, w >= 0 unless another entry is larger (Shepperd 1978:
// the largest entry is found first, so that no digits are lost).
template <class S>
CYCLOID_HD Quat<S> from_matrix(const Mat3<S>& r) {
  const S one = S(1), trace = r(0, 0) + r(1, 1) + r(2, 2);
  const Vec3<S> skew{r(2, 1) - r(1, 2), r(0, 2) - r(2, 0), r(1, 0) - r(0, 1)};
  const S xy = r(0, 1) + r(1, 0), xz = r(0, 2) + r(2, 0), yz = r(1, 2) + r(2, 1);
  Quat<S> q{one + trace, skew.x, skew.y, skew.z};  // 4 w (w, x, y, z), and so on for x, y, z
  S largest = trace;
  const auto keep_larger = [&](const S& entry, const Quat<S>& candidate) {
    const Mask<S> better = entry > largest;
    q = {select(better, candidate.w, q.w), select(better, candidate.x, q.x),
         select(better, candidate.y, q.y), select(better, candidate.z, q.z)};
    largest = select(better, entry, largest);
  };
  keep_larger(r(0, 0), {skew.x, one + S(2) * r(0, 0) - trace, xy, xz});
  keep_larger(r(1, 1), {skew.y, xy, one + S(2) * r(1, 1) - trace, yz});
  keep_larger(r(2, 2), {skew.z, xz, yz, one + S(2) * r(2, 2) - trace});
  return normalise(q);
}

template <class S>
CYCLOID_HD Quat<S> normalise(const Quat<S>& q) {
  const Vec<S, 4> u = normalise(Vec<S, 4>{{q.w, q.x, q.y, q.z}});
  const Mask<S> zero = (q.w == S(0)) & (q.x == S(0)) & (q.y == S(0)) & (q.z == S(0));
  return {select(zero, S(1), u[0]), u[1], u[2], u[3]};  // (4)
}

template <class S>
CYCLOID_HD void normalise_pullback(const Quat<S>& q, const Quat<S>& out_bar, Quat<S>& q_bar) {
  Vec<S, 4> bar{{q_bar.w, q_bar.x, q_bar.y, q_bar.z}};
  normalise_pullback(Vec<S, 4>{{q.w, q.x, q.y, q.z}},
                     Vec<S, 4>{{out_bar.w, out_bar.x, out_bar.y, out_bar.z}}, bar);
  q_bar = {bar[0], bar[1], bar[2], bar[3]};  // (4)
}

template <class S>
CYCLOID_INLINE Vec3<S> tangent_from_ambient_cotangent(const Quat<S>& q, const Quat<S>& q_bar) {
  return vector_part(hamilton_product(conjugate(q), q_bar)) * S(0.5);  // (5)
}

// q as it was before normalisation; a unit quaternion where there was none.
template <class S>
CYCLOID_INLINE Quat<S> ambient_from_tangent_cotangent(const Quat<S>& q, const Vec3<S>& delta_bar) {
  const S square = dot(q, q);
  const S inverse = select(square == S(0), S(0), S(2) / square);
  return hamilton_product(q, make_quaternion(S(0), delta_bar)) * inverse;  // (6)
}

template <class S>
CYCLOID_INLINE Quat<S> load_quat(const S* p) {
  return {p[0], p[1], p[2], p[3]};
}
template <class S>
CYCLOID_INLINE void store(S* p, const Quat<S>& q) {
  p[0] = q.w, p[1] = q.x, p[2] = q.y, p[3] = q.z;
}
template <class S>
CYCLOID_INLINE void add_to(S* p, const Quat<S>& q) {
  p[0] += q.w, p[1] += q.x, p[2] += q.y, p[3] += q.z;
}

}  // namespace cycloid::inline math
