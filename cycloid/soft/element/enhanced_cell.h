// A cell with inner nodes: their positions α are those of least elastic energy, given the others x.
//
//   energy(x) = min_α ψ(x, α),   g(x, α) = ∂ψ/∂α = 0                              (1)
// by Newton's method, from α = 0 always: what a cell does depends on where it is alone. Then
//   f = ∂energy/∂x = ∂ψ/∂x at (x, α)                                              (2)
//   K = K_xx - K_xα K_αα⁻¹ K_αx                                                   (3)
// and, since (1) holds along with every change, ∂(f̄·f)/∂(all else) is that of an ordinary cell
// (cell.h) whose f̄ is continued to the inner nodes by
//   λ = -K_αα⁻¹ K_αx f̄                                                            (4)
// and of a cotangent ᾱ of the inner positions themselves, by f̄ = [0, λ] with
//   λ = -K_αα⁻¹ ᾱ                                                                 (5)
// Damping sees the vertices alone (CellLaw::elastic).
#pragma once

#include <limits>

#include "cycloid/math/cholesky.h"
#include "cycloid/soft/element/cell_stiffness.h"

namespace cycloid::inline soft {

template <class E>
inline constexpr int kInnerNumbers = 3 * (E::kNodes - E::kOuter);

template <class E, class S>
using InnerMatrix = Mat<S, kInnerNumbers<E>, kInnerNumbers<E>>;

// K_αα, factored. Says which lanes have a positive one.
template <class E, class S>
Mask<S> factor_inner(const CellLaw& law, const Cell<E, S>& cell, bool positive,
                     InnerMatrix<E, S>& K) {
  cell_stiffness<E, S, E::kOuter>(law, cell, positive, K);
  for (int i = 0; i < kInnerNumbers<E>; ++i) {
    for (int j = 0; j < i; ++j) K(i, j) = K(j, i);
  }
  Mask<S> good = ldlt_factor(kInnerNumbers<E>, K.e);
  for (int i = 0; i < kInnerNumbers<E>; ++i) good = good & (K(i, i) > S(0));
  return good;
}

// (1): writes the inner nodes of cell.now. Not a number where there is no such minimum.
template <class E, class S>
void relax_inner(const CellLaw& law, Cell<E, S>& cell) {
  constexpr int kSteps = 30, kHalvings = 12, kInner = E::kNodes - E::kOuter;
  Vec3<S>* const alpha = cell.now + E::kOuter;
  for (int k = 0; k < kInner; ++k) alpha[k] = {S(0), S(0), S(0)};
  S volume(0);
  for (int q = 0; q < E::kPoints; ++q) volume += rest_point<E, S>(cell.rest, q).volume;
  const S small = S(1e-22) * cell.c.mu * volume;  // [J]: strains of 1e-11, before the last step
  // Near the minimum energies differ by that alone.
  const S rounding = S(1e-14) * (cell.c.mu + abs(cell.c.lam)) * volume;
  S energy = cell_energy<E, S>(law, cell);
  Mask<S> done = energy != energy;  // a vertex cell without energy has no minimum to look for
  for (int step = 0; step < kSteps && !all(done); ++step) {
    Vec3<S> f[E::kNodes];
    for (auto& x : f) x = {S(0), S(0), S(0)};
    cell_force<E, S>(law, cell, f);
    InnerMatrix<E, S> K;
    Vec3<S> d[kInner];
    const auto solve = [&](Vec3<S>* to) {
      S b[kInnerNumbers<E>];
      for (int i = 0; i < kInnerNumbers<E>; ++i) b[i] = -f[E::kOuter + i / 3][i % 3];
      ldlt_solve(kInnerNumbers<E>, K.e, b);
      for (int i = 0; i < kInnerNumbers<E>; ++i) to[i / 3][i % 3] = b[i];
    };
    const Mask<S> good = factor_inner<E, S>(law, cell, false, K);
    solve(d);
    if (!all(good | done)) {
      Vec3<S> downhill[kInner];
      factor_inner<E, S>(law, cell, true, K);
      solve(downhill);
      for (int k = 0; k < kInner; ++k) {
        for (int i = 0; i < 3; ++i) d[k][i] = select(good, d[k][i], downhill[k][i]);
      }
    }
    S decrement(0);
    for (int k = 0; k < kInner; ++k) decrement -= dot(f[E::kOuter + k], d[k]);
    const Mask<S> last = good & (abs(decrement) <= small);
    Vec3<S> from[kInner];
    for (int k = 0; k < kInner; ++k) from[k] = alpha[k];
    S t(1);
    Mask<S> settled = done;
    for (int halving = 0; halving < kHalvings && !all(settled); ++halving) {
      for (int k = 0; k < kInner; ++k) {
        for (int i = 0; i < 3; ++i) {
          alpha[k][i] = select(settled, alpha[k][i], from[k][i] + t * d[k][i]);
        }
      }
      const S next = cell_energy<E, S>(law, cell);
      const Mask<S> lower = last | (next <= energy - S(1e-4) * t * decrement + rounding);
      const Mask<S> takes = lower & !settled;
      energy = select(takes, next, energy);
      settled = settled | lower;
      t = select(settled, t, S(0.5) * t);
    }
    done = done | last;
  }
  const S nothing(std::numeric_limits<double>::quiet_NaN());
  for (int k = 0; k < kInner; ++k) {
    for (int i = 0; i < 3; ++i) alpha[k][i] = select(done, alpha[k][i], nothing);
  }
}

// b becomes -K_αα⁻¹ b, of the inner nodes.
template <class E, class S>
void answer_inner(const CellLaw& law, const Cell<E, S>& cell, Vec3<S>* b) {
  InnerMatrix<E, S> K;
  factor_inner<E, S>(law, cell, false, K);
  S x[kInnerNumbers<E>];
  for (int i = 0; i < kInnerNumbers<E>; ++i) x[i] = -b[i / 3][i % 3];
  ldlt_solve(kInnerNumbers<E>, K.e, x);
  for (int i = 0; i < kInnerNumbers<E>; ++i) b[i / 3][i % 3] = x[i];
}

// (4): continues v (kNodes), given at the vertices, to the inner nodes.
template <class E, class S>
void follow_inner(const CellLaw& law, const Cell<E, S>& cell, Vec3<S>* v) {
  constexpr int kInner = E::kNodes - E::kOuter;
  Vec3<S> r[kInner];
  for (auto& x : r) x = {S(0), S(0), S(0)};
  for (int k = 0; k < kInner; ++k) v[E::kOuter + k] = {S(0), S(0), S(0)};
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(cell.rest, q);
    const Mat3<S> F = gradient_at(at, cell.now);
    Mat3<S> along = F * S(0);
    Coefficients<S> unused{S(0), S(0), S(0)};
    // ∂P/∂F is symmetric.
    piola_stress_pullback(law.material, cell.c, F, gradient_at(at, v) * at.volume, unused, along);
    for (int k = 0; k < kInner; ++k) r[k] += along * at.slope[E::kOuter + k];
  }
  answer_inner<E, S>(law, cell, r);
  for (int k = 0; k < kInner; ++k) v[E::kOuter + k] = r[k];
}

// (2) with (4): f_bar (kNodes) of the vertices; its inner part is written.
template <class E, class S>
void enhanced_force_pullback(const CellLaw& law, const Cell<E, S>& cell, Vec3<S>* f_bar,
                             Cell<E, S>& cell_bar) {
  follow_inner<E, S>(law, cell, f_bar);
  cell_force_pullback<E, S>(law, cell, f_bar, cell_bar);
}

// mean_stress of cell.h, with (5).
template <class E, class S>
void enhanced_stress_pullback(const CellLaw& law, const Cell<E, S>& cell, const Mat3<S>& P_bar,
                              Cell<E, S>& cell_bar) {
  Vec3<S> f_bar[E::kNodes];
  for (auto& x : f_bar) x = {S(0), S(0), S(0)};
  for (int k = E::kOuter; k < E::kNodes; ++k) cell_bar.now[k] = {S(0), S(0), S(0)};
  mean_stress_pullback<E, S>(law, cell, P_bar, cell_bar);
  for (int k = E::kOuter; k < E::kNodes; ++k) f_bar[k] = cell_bar.now[k];
  answer_inner<E, S>(law, cell, f_bar + E::kOuter);
  cell_force_pullback<E, S>(law, cell, f_bar, cell_bar);
}

// (3), of the blocks K_ab with a <= b of a matrix over all nodes, in place.
template <class E, class S>
void condense(Mat<S, 3 * E::kNodes, 3 * E::kNodes>& K) {
  constexpr int kIn = kInnerNumbers<E>, kOut = 3 * E::kOuter;
  InnerMatrix<E, S> inner;
  for (int i = 0; i < kIn; ++i) {
    for (int j = 0; j <= i; ++j) inner(i, j) = inner(j, i) = K(kOut + j, kOut + i);
  }
  ldlt_factor(kIn, inner.e);
  for (int c = 0; c < kOut; ++c) {
    S x[kIn];
    for (int i = 0; i < kIn; ++i) x[i] = K(c, kOut + i);
    ldlt_solve(kIn, inner.e, x);
    for (int r = 0; r < 3 * (c / 3 + 1); ++r) {
      S sum(0);
      for (int i = 0; i < kIn; ++i) sum += K(r, kOut + i) * x[i];
      K(r, c) -= sum;
    }
  }
}

}  // namespace cycloid::inline soft
