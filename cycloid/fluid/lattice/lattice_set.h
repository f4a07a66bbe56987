// Sets of lattice velocities: D2Q9 in the plane, D3Q19 in space (QianEtAl1992).
//
// Direction 0 rests; directions 2 k + 1 and 2 k + 2 are opposite to each other. Axes are those of
// grid_box.h: a plane has axes 1 and 2. Of the weights w and the speed of sound c_s² = 1/3:
//   Σ w = 1,  Σ w c_a c_b = c_s² δ_ab,  Σ w (c_a c_b - c_s² δ_ab)(c_e c_f - c_s² δ_ef)
//     = c_s⁴ (δ_ae δ_bf + δ_af δ_be)                                                  (1)
#pragma once

#include <utility>

#include "cycloid/math/scalar.h"

namespace cycloid::inline fluid {

struct D2Q9 {
  static constexpr int kDirections = 9, kDimensions = 2, kFirst = 1;
  static constexpr int c[9][3] = {{0, 0, 0}, {0, 1, 0},   {0, -1, 0}, {0, 0, 1}, {0, 0, -1},
                                  {0, 1, 1}, {0, -1, -1}, {0, 1, -1}, {0, -1, 1}};
  static constexpr double w[9] = {4. / 9,  1. / 9,  1. / 9,  1. / 9, 1. / 9,
                                  1. / 36, 1. / 36, 1. / 36, 1. / 36};
};

struct D3Q19 {
  static constexpr int kDirections = 19, kDimensions = 3, kFirst = 0;
  static constexpr int c[19][3] = {{0, 0, 0},  {1, 0, 0},   {-1, 0, 0},  {0, 1, 0},   {0, -1, 0},
                                   {0, 0, 1},  {0, 0, -1},  {1, 1, 0},   {-1, -1, 0}, {1, -1, 0},
                                   {-1, 1, 0}, {1, 0, 1},   {-1, 0, -1}, {1, 0, -1},  {-1, 0, 1},
                                   {0, 1, 1},  {0, -1, -1}, {0, 1, -1},  {0, -1, 1}};
  static constexpr double w[19] = {1. / 3,  1. / 18, 1. / 18, 1. / 18, 1. / 18, 1. / 18, 1. / 18,
                                   1. / 36, 1. / 36, 1. / 36, 1. / 36, 1. / 36, 1. / 36, 1. / 36,
                                   1. / 36, 1. / 36, 1. / 36, 1. / 36, 1. / 36};
};

inline constexpr int kMostDirections = 19;

constexpr int opposite(int i) { return i == 0 ? 0 : i % 2 ? i + 1 : i - 1; }

// A set at run time.
struct LatticeSet {
  int directions, first;
  const int (*c)[3];
  const double* w;
};
inline LatticeSet lattice_set(int dimensions) {
  if (dimensions == 2) return {9, D2Q9::kFirst, D2Q9::c, D2Q9::w};
  return {19, D3Q19::kFirst, D3Q19::c, D3Q19::w};
}

// Calls visit(std::integral_constant<int, k>) for k = 0 … N - 1.
template <int N, class Visit>
CYCLOID_INLINE constexpr void for_each_constant(Visit&& visit) {
  [&]<int... k>(std::integer_sequence<int, k...>) {
    (visit(std::integral_constant<int, k>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

// c_i · v over the axes a … 2, without products by 0 and 1.
template <class L, int i, int a, class S>
CYCLOID_INLINE S along(const S* v) {
  constexpr int c = L::c[i][a];
  if constexpr (a == 2) {
    return c == 0 ? S(0) : c > 0 ? v[2] : -v[2];
  } else {
    bool more = false;
    for (int b = a + 1; b < 3; ++b) more = more || L::c[i][b] != 0;
    if constexpr (c == 0) return along<L, i, a + 1>(v);
    else if (!more) return c > 0 ? v[a] : -v[a];
    else if (c > 0) return along<L, i, a + 1>(v) + v[a];
    else return along<L, i, a + 1>(v) - v[a];
  }
}
template <class L, int i, class S>
CYCLOID_INLINE S along(const S* v) {
  return along<L, i, L::kFirst>(v);
}

// v += x c_i
template <class L, int i, class S>
CYCLOID_INLINE void add_along(const S& x, S* v) {
  for_each_constant<3>([&](auto a) {
    if constexpr (L::c[i][a()] > 0) v[a()] = v[a()] + x;
    else if constexpr (L::c[i][a()] < 0) v[a()] = v[a()] - x;
  });
}

}  // namespace cycloid::inline fluid
