// Vec<S,N> and Vec3<S>: short vectors and their products.
//
// Vec3<S> is Vec<S,3> with fields x, y, z; other lengths have numbered entries. Vec3<S>{} is zero.
// A factor may be an S or what converts to it silently: 2.0 * v.
//   c = a × b,    ā += b × c̄,    b̄ += c̄ × a                       (1)
//   s = a · b,    ā += s̄ b,      b̄ += s̄ a                         (2)
#pragma once

#include "cycloid/math/scalar.h"

namespace cycloid::inline math {

template <class S, int N>
struct Vec {
  S e[N];

  CYCLOID_INLINE S& operator[](int i) { return e[i]; }
  CYCLOID_INLINE const S& operator[](int i) const { return e[i]; }
};

template <class S>
struct Vec<S, 3> {
  S x, y, z;

  CYCLOID_INLINE S& operator[](int i) { return i == 0 ? x : i == 1 ? y : z; }
  CYCLOID_INLINE const S& operator[](int i) const { return i == 0 ? x : i == 1 ? y : z; }
};

template <class S>
using Vec3 = Vec<S, 3>;

template <class S, int N>
CYCLOID_INLINE Vec<S, N>& operator+=(Vec<S, N>& a, const Vec<S, N>& b) {
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) a[i] += b[i];
  return a;
}
template <class S, int N>
CYCLOID_INLINE Vec<S, N>& operator-=(Vec<S, N>& a, const Vec<S, N>& b) {
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) a[i] -= b[i];
  return a;
}
template <class S, int N>
CYCLOID_INLINE Vec<S, N>& operator*=(Vec<S, N>& a, const std::type_identity_t<S>& s) {
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) a[i] *= s;
  return a;
}
template <class S, int N>
CYCLOID_INLINE Vec<S, N> operator+(Vec<S, N> a, const Vec<S, N>& b) {
  return a += b;
}
template <class S, int N>
CYCLOID_INLINE Vec<S, N> operator-(Vec<S, N> a, const Vec<S, N>& b) {
  return a -= b;
}
template <class S, int N>
CYCLOID_INLINE Vec<S, N> operator-(Vec<S, N> a) {
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) a[i] = -a[i];
  return a;
}
template <class S, int N>
CYCLOID_INLINE Vec<S, N> operator*(Vec<S, N> a, const std::type_identity_t<S>& s) {
  return a *= s;
}
template <class S, int N>
CYCLOID_INLINE Vec<S, N> operator*(const std::type_identity_t<S>& s, Vec<S, N> a) {
  return a *= s;
}
template <class S, int N>
CYCLOID_INLINE Vec<S, N> operator/(const Vec<S, N>& a, const std::type_identity_t<S>& s) {
  return a * (S(1) / s);
}

template <class S, int N>
CYCLOID_INLINE Vec<S, N> select(const Mask<S>& m, Vec<S, N> a, const Vec<S, N>& b) {
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) a[i] = select(m, a[i], b[i]);
  return a;
}

template <class S, int N>
CYCLOID_INLINE S dot(const Vec<S, N>& a, const Vec<S, N>& b) {
  S sum = a[0] * b[0];
#pragma GCC unroll 8
  for (int i = 1; i < N; ++i) sum += a[i] * b[i];
  return sum;  // (2)
}

template <class S, int N>
CYCLOID_INLINE void dot_pullback(const Vec<S, N>& a, const Vec<S, N>& b, const S& s_bar,
                                 Vec<S, N>& a_bar, Vec<S, N>& b_bar) {
  a_bar += b * s_bar;  // (2)
  b_bar += a * s_bar;
}

template <class S>
CYCLOID_INLINE Vec3<S> cross(const Vec3<S>& a, const Vec3<S>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};  // (1)
}

// v += a × b, and v -= a × b: two fused operations a number, where the sum of products takes three.
template <class S>
CYCLOID_INLINE void add_cross(Vec3<S>& v, const Vec3<S>& a, const Vec3<S>& b) {
  v.x += a.y * b.z, v.y += a.z * b.x, v.z += a.x * b.y;  // (1)
  v.x -= a.z * b.y, v.y -= a.x * b.z, v.z -= a.y * b.x;
}
template <class S>
CYCLOID_INLINE void subtract_cross(Vec3<S>& v, const Vec3<S>& a, const Vec3<S>& b) {
  add_cross(v, b, a);
}

template <class S>
CYCLOID_INLINE void cross_pullback(const Vec3<S>& a, const Vec3<S>& b, const Vec3<S>& c_bar,
                                   Vec3<S>& a_bar, Vec3<S>& b_bar) {
  a_bar += cross(b, c_bar);  // (1)
  b_bar += cross(c_bar, a);
}

// Vectors in flat arrays.
template <int N, class S>
CYCLOID_INLINE Vec<S, N> load_vec(const S* p) {
  Vec<S, N> v;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) v[i] = p[i];
  return v;
}
template <class S>
CYCLOID_INLINE Vec3<S> load_vec3(const S* p) {
  return {p[0], p[1], p[2]};
}
template <class S, int N>
CYCLOID_INLINE void store(S* p, const Vec<S, N>& v) {
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) p[i] = v[i];
}
template <class S, int N>
CYCLOID_INLINE void add_to(S* p, const Vec<S, N>& v) {
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) p[i] += v[i];
}

}  // namespace cycloid::inline math
