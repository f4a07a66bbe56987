// The stage of an implicit method, solved by Newton's method in lanes, and its implicit pullback.
//
//   k = x_dot(t, b + a k, u, p)                      (1)  the stage; b a state, a [s] a number
//   r = k - x_dot(t, b + a k),  M = I - a ∂x_dot/∂x   (2)
//   k ← k - M⁻¹ r                                    (3)
// Each iteration first tries the factor of the one before. That correction d, after the correction
// d₀ of which the factor was new, leaves an error of about |d|²/|d₀|; when this is within a few
// units in the last place of the state, or d itself is what rounding leaves, it is taken and the
// lane is done, else M is made anew. So a linear law costs one factor, and the last digit none. A
// lane that is done is frozen: it never depends on its neighbours.
//
// Pullback, by the implicit function theorem at the solution, never through the iterations:
//   λ = M⁻ᵀ k̄                                        (4)
//   (t̄, b̄, ū, p̄) += λᵀ ∂x_dot/∂(t, x, u, p),  ā += b̄_of_this · k     (5)
// In dual numbers the iterations find the value. Its tangents are (3) once more from a k without
// tangents, since (2) is linear in them: the implicit function theorem again.
// Where M is singular at the solution the stage has no derivative; the cotangent is then infinite,
// and reported as such.
#pragma once

#include <limits>

#include "cycloid/math/dual_levels.h"
#include "cycloid/math/lu.h"
#include "cycloid/system/law/law_jacobian.h"

namespace cycloid::inline system {

inline constexpr int kMostNewtonIterations = 20;
inline constexpr int kMostNewtonTangents = 512;  // M is dense: beyond, memory is the limit

// Numbers that solve_stage and its pullback take from the scratch memory of a law of run-time size.
template <class Law>
std::size_t newton_scratch(const LawShape<Law>& shape) {
  if constexpr (StaticLaw<Law>) return 0;
  const std::size_t n = static_cast<std::size_t>(shape.tangents);
  return n * n + 6 * n;
}

template <class Law, class S>
struct NewtonMemory {
  static constexpr int N = LawShape<Law>::kTangents;
  NewtonMemory(Scratch& scratch, int n)
      : M(scratch, n * n),
        exchanged(scratch, n),
        X(scratch, n),
        r(scratch, n),
        d(scratch, n),
        saved(scratch, LawShape<Law>::saved) {}
  LocalArray<S, N == kDynamic ? kDynamic : N * N> M;
  LocalArray<S, N> exchanged, X, r, d;
  LocalArray<S, LawShape<Law>::saved> saved;
};

// M of (2) at b + a k, factored. Returns the lanes in which that succeeded.
template <class Law, class S>
CYCLOID_HD Mask<S> factor_stage(LawPoint<Law, S> at, const S& t, const S* X, const S& a,
                                const Scratch& scratch, NewtonMemory<Law, S>& memory) {
  const int n = at.shape.tangents;
  S* M = memory.M.data();
  at.scratch = scratch;
  law_jacobian(at, t, X, M);
  for (int i = 0; i < n * n; ++i) M[i] = -a * M[i];
  for (int i = 0; i < n; ++i) M[i * n + i] += S(1);
  return lu_factor(n, M, memory.exchanged.data());
}

// The largest of |a d_i|; NaN where one is.
template <class S>
CYCLOID_INLINE S largest_move(int n, const S& a, const S* d) {
  S size(0), sum(0);
  for (int i = 0; i < n; ++i) {
    size = max(abs(a * d[i]), size);
    sum += d[i];
  }
  return select(is_finite(sum), size, sum - sum);
}

// The largest of |b_i| + |a k_i|.
template <class S>
CYCLOID_INLINE S stage_size(int n, const S* b, const S& a, const S* k) {
  S size(std::numeric_limits<Scalar<S>>::min());
  for (int i = 0; i < n; ++i) size = max(abs(b[i]) + abs(a * k[i]), size);
  return size;
}

// The tangents of k, whose value is a solution and stays, at every level of dual numbers.
template <class Law, class S>
CYCLOID_HD void solve_tangents(const LawPoint<Law, S>& at, const S& t, const S* b, const S& a, S* k,
                               const Scratch& scratch, NewtonMemory<Law, S>& memory) {
  const int n = at.shape.tangents;
  for (int i = 0; i < n; ++i) k[i] = S(primal(k[i]));
  for (int level = 0; level < kDualLevels<S>; ++level) {
    for (int i = 0; i < n; ++i) memory.X[i] = b[i] + a * k[i];
    law_x_dot(at, t, memory.X.data(), memory.d.data(), memory.saved.data());
    for (int i = 0; i < n; ++i) memory.d[i] = k[i] - memory.d[i];  // (2)
    factor_stage(at, t, memory.X.data(), a, scratch, memory);
    lu_solve(n, memory.M.data(), memory.exchanged.data(), memory.d.data());
    for (int i = 0; i < n; ++i) k[i] -= memory.d[i] - S(primal(memory.d[i]));  // (3)
  }
}

// Turns k, a first guess, into the solution of (1). Returns 0 in lanes that are solved, else the
// size of the last correction relative to the state; NaN where x_dot is not finite.
template <class Law, class S>
CYCLOID_HD S solve_stage(const LawPoint<Law, S>& at, const S& t, const S* b, const S& a, S* k) {
  using T = Scalar<S>;
  constexpr T kEnough = 4 * std::numeric_limits<T>::epsilon(), kRounding = 16 * kEnough;
  const int n = at.shape.tangents;
  Scratch scratch = at.scratch;
  NewtonMemory<Law, S> memory(scratch, n);
  Mask<S> active = Mask<S>(true);
  S residual(0), before(0);
  const auto correct = [&](const Mask<S>& where) {
    for (int i = 0; i < n; ++i) k[i] = select(where, k[i] - memory.d[i], k[i]);
  };
  for (int iteration = 0; iteration <= kMostNewtonIterations; ++iteration) {
    for (int i = 0; i < n; ++i) memory.X[i] = b[i] + a * k[i];
    law_x_dot(at, t, memory.X.data(), memory.r.data(), memory.saved.data());
    for (int i = 0; i < n; ++i) memory.r[i] = k[i] - memory.r[i];  // (2)
    if (iteration > 0) {
      for (int i = 0; i < n; ++i) memory.d[i] = memory.r[i];
      lu_solve(n, memory.M.data(), memory.exchanged.data(), memory.d.data());
      const S move = largest_move(n, a, memory.d.data()), size = stage_size(n, b, a, k);
      residual = select(active, move / size, residual);
      const Mask<S> done =
          active & ((move <= S(kRounding) * size) | (move * move <= S(kEnough) * size * before));
      correct(done);
      residual = select(done, S(0), residual);
      active = active & !done & is_finite(residual);
      if (!any(active) || iteration == kMostNewtonIterations) break;
    }
    factor_stage(at, t, memory.X.data(), a, scratch, memory);
    for (int i = 0; i < n; ++i) memory.d[i] = memory.r[i];
    lu_solve(n, memory.M.data(), memory.exchanged.data(), memory.d.data());
    before = largest_move(n, a, memory.d.data());
    correct(active);  // (3)
  }
  if constexpr (kDualLevels<S> > 0) solve_tangents(at, t, b, a, k, scratch, memory);
  return residual;
}

// Adds the cotangents of t, b, a and of the law's input and parameters (at_bar.u, at_bar.p).
template <class Law, class S>
CYCLOID_HD void solve_stage_pullback(const LawPoint<Law, S>& at, const S& t, const S* b, const S& a,
                                     const S* k, const S* k_bar, S& t_bar, S* b_bar, S& a_bar,
                                     LawPointBar<S>& at_bar) {
  const int n = at.shape.tangents;
  Scratch scratch = at.scratch;
  NewtonMemory<Law, S> memory(scratch, n);
  S *X = memory.X.data(), *X_bar = memory.r.data(), *lambda = memory.d.data();
  for (int i = 0; i < n; ++i) X[i] = b[i] + a * k[i];
  factor_stage(at, t, X, a, scratch, memory);
  for (int i = 0; i < n; ++i) lambda[i] = k_bar[i];
  lu_solve_transposed(n, memory.M.data(), memory.exchanged.data(), lambda);  // (4)
  set_zero(X_bar, n);
  pull_law_back(at, t, X, lambda, t_bar, X_bar, at_bar.u, at_bar.p, scratch);  // (5)
  for (int i = 0; i < n; ++i) {
    b_bar[i] += X_bar[i];
    a_bar += X_bar[i] * k[i];
  }
}

}  // namespace cycloid::inline system
