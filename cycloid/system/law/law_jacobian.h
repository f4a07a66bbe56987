// The Jacobian of a law with respect to its state, J = ∂x_dot/∂x, row by row.
//
// A law that brings its pullback gives a row by each; another is evaluated in dual numbers,
// kDualWidth columns at a time, which takes about as long. A law may have a way of its own:
//   x_dot_jacobian(t, x, u, p, J, scratch)
// For flat spaces: implicit integrators solve for a displacement by plain addition.
#pragma once

#include "cycloid/system/law/law_point.h"

namespace cycloid::inline system {

template <class Law>
concept HasJacobian = requires(const Law& law, const double* c, double* m, Scratch scratch) {
  law.x_dot_jacobian(0.0, c, c, c, m, scratch);
};

template <class Law, class S>
CYCLOID_HD void law_jacobian_by_duals(const LawPoint<Law, S>& at, const S& t, const S* x, S* J) {
  using D = Dual<S, kDualWidth>;
  using Shape = LawShape<Law>;
  constexpr int n = Shape::kStates;
  Scratch none{nullptr};
  LocalArray<D, n> x_dual(none, 0), dx(none, 0);
  LocalArray<D, Shape::kInputs> u_dual(none, 0);
  LocalArray<D, Shape::kParameters> p_dual(none, 0);
  LocalArray<D, Shape::saved> saved(none, 0);
  for (int i = 0; i < Shape::kInputs; ++i) u_dual[i] = D(at.u[i]);
  for (int i = 0; i < Shape::kParameters; ++i) p_dual[i] = D(at.p[i]);
  for (int first = 0; first < n; first += kDualWidth) {
    for (int i = 0; i < n; ++i) {
      const bool seeded = i >= first && i < first + kDualWidth;
      x_dual[i] = seeded ? D::variable(x[i], i - first) : D(x[i]);
    }
    if constexpr (SavesValues<Law>) {
      at.law.x_dot(D(t), x_dual.data(), u_dual.data(), p_dual.data(), dx.data(), saved.data());
    } else {
      at.law.x_dot(D(t), x_dual.data(), u_dual.data(), p_dual.data(), dx.data());
    }
    for (int i = 0; i < n; ++i) {
      for (int j = first; j < n && j < first + kDualWidth; ++j) {
        J[i * n + j] = dx[i].tangent[j - first];
      }
    }
  }
}

template <class Law, class S>
CYCLOID_HD void law_jacobian_by_rows(const LawPoint<Law, S>& at, const S& t, const S* x, S* J) {
  const int n = at.shape.tangents;
  Scratch scratch = at.scratch;
  LocalArray<S, LawShape<Law>::kTangents> unit(scratch, n);
  LocalArray<S, LawShape<Law>::kInputs> u_bar(scratch, at.shape.inputs);
  LocalArray<S, LawShape<Law>::kParameters> p_bar(scratch, at.shape.parameters);
  LocalArray<S, LawShape<Law>::saved> saved(scratch, at.shape.saved);
  if constexpr (SavesValues<Law>) law_x_dot(at, t, x, unit.data(), saved.data());
  set_zero(unit.data(), n);
  set_zero(u_bar.data(), at.shape.inputs);
  set_zero(p_bar.data(), at.shape.parameters);
  set_zero(J, n * n);
  S t_bar(0);
  for (int i = 0; i < n; ++i) {
    unit[i] = S(1);
    law_x_dot_pullback(at, t, x, saved.data(), unit.data(), t_bar, J + i * n, u_bar.data(),
                       p_bar.data());
    unit[i] = S(0);
  }
}

template <class Law, class S>
CYCLOID_HD void law_jacobian(const LawPoint<Law, S>& at, const S& t, const S* x, S* J) {
  static_assert(
      LawShape<Law>::kFlat,
      "this integrator is for laws without quaternions: use rk4 (system/integrator/rk4.h)");
  if constexpr (HasJacobian<Law>) {
    at.law.x_dot_jacobian(t, x, at.u, at.p, J, at.scratch);
  } else if constexpr (HasPullback<Law>) {
    law_jacobian_by_rows(at, t, x, J);
  } else {
    law_jacobian_by_duals(at, t, x, J);
  }
}

}  // namespace cycloid::inline system
