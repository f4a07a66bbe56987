// A point of integration in the rest shape: the slopes of the shape functions there, in metres.
//
// X_a are the rest vertices of a cell, b_a the slopes in the element's own frame (shape_table.h):
//   M = Σ X_a b_aᵀ                                                  (1)
//   B_a = M⁻ᵀ b_a                                                   (2)   [1/m]
//   w = weight · det M                                              (3)   [m³]
//   F(x) = Σ x_a B_aᵀ                                               (4)   of any vertices x
// With cotangents of B and w:
//   M̄ = w̄ w M⁻ᵀ - Σ B_a (M⁻¹ B̄_a)ᵀ,   X̄_a += M̄ b_a                 (5)
// and of F:  x̄_a += F̄ B_a,   B̄_a += F̄ᵀ x_a                          (6)
// Inner nodes k (shape_table.h) have no rest vertex; their slopes are brought to metres by M₀,
// M at the centre, and have no mean, so that a constant strain needs none of them:
//   B_k = (det M₀ / det M) M₀⁻ᵀ b_k                                 (7)
//   r = Σ B̄_k · B_k,   M̄₀ = r M₀⁻ᵀ - Σ B_k (M₀⁻¹ B̄_k)ᵀ,   M̄ -= r M⁻ᵀ   (8)
#pragma once

#include "cycloid/soft/element/shape_table.h"
#include "cycloid/soft/material/deformation.h"

namespace cycloid::inline soft {

template <class E, class S>
struct RestPoint {
  Vec3<S> slope[E::kNodes];  // B_a
  S volume;                  // w
  Mat3<S> inverse;           // M⁻¹
  Mat3<S> centre_inverse;    // M₀⁻¹, where there are inner nodes
};

template <class E, class S>
CYCLOID_INLINE Vec3<S> own_slope(int q, int a) {
  const auto& b = kShape<E>.slope[static_cast<std::size_t>(q)][static_cast<std::size_t>(a)];
  return {S(b[0]), S(b[1]), S(b[2])};
}

// Of a hexahedron's vertex at its centre.
template <class S>
CYCLOID_INLINE Vec3<S> centre_slope(int a) {
  const auto& corner = Hex8::kCorner[a];
  return {S(0.125 * corner[0]), S(0.125 * corner[1]), S(0.125 * corner[2])};
}

template <class E, class S>
CYCLOID_INLINE RestPoint<E, S> rest_point(const Vec3<S>* X, int q) {
  Mat3<S> M{};
  for (int a = 0; a < E::kOuter; ++a) M += outer(X[a], own_slope<E, S>(q, a));  // (1)
  RestPoint<E, S> at;
  at.inverse = inverse(M);
  const S size = determinant(M);
  at.volume = size * S(kShape<E>.weight[static_cast<std::size_t>(q)]);  // (3)
  for (int a = 0; a < E::kOuter; ++a) {
    at.slope[a] = transpose_vector_product(at.inverse, own_slope<E, S>(q, a));  // (2)
  }
  if constexpr (E::kNodes > E::kOuter) {
    Mat3<S> centre{};
    for (int a = 0; a < E::kOuter; ++a) centre += outer(X[a], centre_slope<S>(a));
    at.centre_inverse = inverse(centre);
    const S ratio = determinant(centre) / size;
    for (int k = E::kOuter; k < E::kNodes; ++k) {
      at.slope[k] =
          transpose_vector_product(at.centre_inverse, own_slope<E, S>(q, k)) * ratio;  // (7)
    }
  }
  return at;
}

// at_bar: cotangents of slope and volume; its inverse is not looked at.
template <class E, class S>
CYCLOID_INLINE void rest_point_pullback(const RestPoint<E, S>& at, int q,
                                        const RestPoint<E, S>& at_bar, Vec3<S>* X_bar) {
  Mat3<S> M_bar = transpose(at.inverse) * (at_bar.volume * at.volume);
  for (int a = 0; a < E::kOuter; ++a) {
    M_bar -= outer(at.slope[a], at.inverse * at_bar.slope[a]);
  }
  if constexpr (E::kNodes > E::kOuter) {  // (8)
    S r(0);
    for (int k = E::kOuter; k < E::kNodes; ++k) r += dot(at_bar.slope[k], at.slope[k]);
    Mat3<S> centre_bar = transpose(at.centre_inverse) * r;
    for (int k = E::kOuter; k < E::kNodes; ++k) {
      centre_bar -= outer(at.slope[k], at.centre_inverse * at_bar.slope[k]);
    }
    M_bar -= transpose(at.inverse) * r;
    for (int a = 0; a < E::kOuter; ++a) X_bar[a] += centre_bar * centre_slope<S>(a);
  }
  for (int a = 0; a < E::kOuter; ++a) X_bar[a] += M_bar * own_slope<E, S>(q, a);  // (5)
}

template <class E, class S>
CYCLOID_INLINE Mat3<S> gradient_at(const RestPoint<E, S>& at, const Vec3<S>* x) {
  Mat3<S> F = outer(x[0], at.slope[0]);
  for (int a = 1; a < E::kNodes; ++a) F += outer(x[a], at.slope[a]);  // (4)
  return F;
}

template <class E, class S>
CYCLOID_INLINE void gradient_at_pullback(const RestPoint<E, S>& at, const Vec3<S>* x,
                                         const Mat3<S>& F_bar, Vec3<S>* x_bar,
                                         RestPoint<E, S>& at_bar) {
  for (int a = 0; a < E::kNodes; ++a) {
    x_bar[a] += F_bar * at.slope[a];  // (6)
    at_bar.slope[a] += transpose_vector_product(F_bar, x[a]);
  }
}

}  // namespace cycloid::inline soft
