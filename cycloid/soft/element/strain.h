// The mean Green strain of a cell, and its pullback.
//
//   E_mean = Σ w E(F) / Σ w,   E = ½ (FᵀF - I)                            (1)
//   F̄ = w/Σw F sym(Ē),   w̄ = (E - E_mean) : Ē / Σ w                       (2)
// over the points of integration, with w and F of rest_point.h. sym: the symmetric part.
#pragma once

#include "cycloid/soft/element/cell.h"

namespace cycloid::inline soft {

template <class E, class S>
Mat3<S> mean_strain(const Vec3<S>* rest, const Vec3<S>* now) {
  Mat3<S> sum{};
  S volume(0);
  for (S& e : sum.e) e = S(0);
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(rest, q);
    sum += green_strain(gradient_at(at, now)) * at.volume;
    volume += at.volume;
  }
  return sum * (S(1) / volume);  // (1)
}

template <class E, class S>
void mean_strain_pullback(const Vec3<S>* rest, const Vec3<S>* now, const Mat3<S>& strain_bar,
                          Vec3<S>* rest_bar, Vec3<S>* now_bar) {
  const Mat3<S> mean = mean_strain<E, S>(rest, now);
  S volume(0);
  for (int q = 0; q < E::kPoints; ++q) volume += rest_point<E, S>(rest, q).volume;
  const Mat3<S> share = symmetric_part(strain_bar) * (S(1) / volume);
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(rest, q);
    auto at_bar = zero_rest_point<E, S>();
    const Mat3<S> F = gradient_at(at, now);
    at_bar.volume = contract(green_strain(F) - mean, share);  // (2)
    gradient_at_pullback(at, now, F * (share * at.volume), now_bar, at_bar);
    rest_point_pullback(at, q, at_bar, rest_bar);
  }
}

}  // namespace cycloid::inline soft
