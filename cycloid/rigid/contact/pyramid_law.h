// The law of a contact with a pyramidal cone, in contact space.
//
// Residual r, n = 3, 4 or 6 numbers: normal, then the directions k with friction g_k. Each
// direction has two edges, each a one-sided row:
//   e_k± = r₀ ± g_k r_k                                                  (1)
//   s    = ½ D₀ [r₀]₋² + Σ_k ½ D_k ([e_k+]₋² + [e_k-]₋²),  [e]₋ = min(e, 0)      (2)
//   f    = -∇s:   u = -D [e]₋,   f₀ = u₀ + Σ (u_k+ + u_k-),   f_k = g_k (u_k+ - u_k-)   (3)
//   K    = ∇²s:   h = D where e < 0, else 0;   an arrow (cone_stiffness.h)             (4)
//          k₀₀ = h₀ + Σ (h_k+ + h_k-),   c_k = g_k (h_k+ - h_k-),   k_k = g_k² (h_k+ + h_k-)
// A pyramid has D₀ = 0 and one D in all its directions. A frictionless contact among pyramids has
// D₀ alone, and a contact with fewer directions has D_k = 0 in those that it lacks.
// K jumps where an edge is zero; there the edge is taken as free. [MuJoCo, Computation: Friction]
#pragma once

#include "cycloid/rigid/solver/cone_stiffness.h"
#include "cycloid/rigid/solver/constraint_problem.h"

namespace cycloid::inline rigid {

template <int n, class S>
CYCLOID_INLINE ConeResponse<S, n> pyramid_response(const S* D, const S* g, const S* r) {
  ConeResponse<S, n> out;
  const S zero = S(0);
  out.f[0] = -D[0] * min(r[0], zero);
  out.K.diagonal[0] = select(r[0] < zero, D[0], zero);
  out.K.beta = zero;
#pragma GCC unroll 6
  for (int k = 1; k < n; ++k) {
    const S slope = g[k] * r[k];
    const S plus = r[0] + slope, minus = r[0] - slope;  // (1)
    const S u_plus = -D[k] * min(plus, zero), u_minus = -D[k] * min(minus, zero);
    out.f[0] += u_plus + u_minus;  // (3)
    out.f[k] = g[k] * (u_plus - u_minus);
    const S h_plus = select(plus < zero, D[k], zero), h_minus = select(minus < zero, D[k], zero);
    out.K.diagonal[0] += h_plus + h_minus;  // (4)
    out.K.cross[k] = g[k] * (h_plus - h_minus);
    out.K.diagonal[k] = g[k] * g[k] * (h_plus + h_minus);
    out.K.z[k] = zero;
  }
  return out;
}

// The force alone, an operator of (D, g, r).
template <int n, class S>
CYCLOID_INLINE void pyramid_force(const S* D, const S* g, const S* r, S* f) {
  const ConeResponse<S, n> out = pyramid_response<n>(D, g, r);
#pragma GCC unroll 6
  for (int k = 0; k < n; ++k) f[k] = out.f[k];
}

template <int n, class S>
CYCLOID_INLINE void pyramid_force_pullback(const S* D, const S* g, const S* r, const S* f_bar,
                                           S* D_bar, S* g_bar, S* r_bar) {
  const S zero = S(0);
  D_bar[0] -= min(r[0], zero) * f_bar[0];
  r_bar[0] -= select(r[0] < zero, D[0], zero) * f_bar[0];
#pragma GCC unroll 6
  for (int k = 1; k < n; ++k) {
    const S plus = r[0] + g[k] * r[k], minus = r[0] - g[k] * r[k];  // (1)
    const S plus_bar = f_bar[0] + g[k] * f_bar[k], minus_bar = f_bar[0] - g[k] * f_bar[k];
    const S in_plus = min(plus, zero), in_minus = min(minus, zero);
    D_bar[k] -= in_plus * plus_bar + in_minus * minus_bar;        // (3)
    const S e_plus = select(plus < zero, D[k], zero) * plus_bar;  // -(cotangents of (1))
    const S e_minus = select(minus < zero, D[k], zero) * minus_bar;
    r_bar[0] -= e_plus + e_minus;
    r_bar[k] -= g[k] * (e_plus - e_minus);
    g_bar[k] -= D[k] * (in_plus - in_minus) * f_bar[k] + (e_plus - e_minus) * r[k];
  }
}

// s.
template <int n, class S>
CYCLOID_INLINE S pyramid_cost(const S* D, const S* g, const S* r) {
  const S zero = S(0), normal = min(r[0], zero);
  S twice = D[0] * normal * normal;
#pragma GCC unroll 6
  for (int k = 1; k < n; ++k) {
    const S plus = min(r[0] + g[k] * r[k], zero), minus = min(r[0] - g[k] * r[k], zero);
    twice += D[k] * (plus * plus + minus * minus);  // (2)
  }
  return S(0.5) * twice;
}

// As contact_laws.h takes it.
struct PyramidLaw {
  static constexpr RowLaw kLaw = RowLaw::pyramid;
  static constexpr bool kArrow = true, kEdges = true, kFrictionReference = false;

  template <int n, class S>
  static CYCLOID_INLINE ConeResponse<S, n> response(const S* D, const S* g, const S* r) {
    return pyramid_response<n>(D, g, r);
  }
  template <int n, class S>
  static CYCLOID_INLINE void pull_force(const S* D, const S* g, const S* r, const S* f_bar,
                                        S* D_bar, S* g_bar, S* r_bar) {
    pyramid_force_pullback<n>(D, g, r, f_bar, D_bar, g_bar, r_bar);
  }
  template <int n, class S>
  static CYCLOID_INLINE S cost(const S* D, const S* g, const S* r) {
    return pyramid_cost<n>(D, g, r);
  }
};

}  // namespace cycloid::inline rigid
