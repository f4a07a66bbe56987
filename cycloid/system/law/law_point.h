// One evaluation of a law, and its pullback, written by the user or taken from dual numbers.
//
// LawPoint gathers what stays fixed within a step: the law, its sizes, time, step, input,
// parameters. The integrators call it and never ask how a law's pullback is made.
#pragma once

#include <algorithm>
#include <cstring>

#include "cycloid/system/law/law_space.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline system {

template <class Law, class S>
struct LawPoint {
  const Law& law;
  LawShape<Law> shape;
  S t, h;      // time and length of the step [s]
  const S* u;  // (inputs)
  const S* p;  // (parameters)
  Scratch scratch;
  LaneNote* notes = nullptr;    // of each lane, for an integrator that has something to say
  const bool* ended = nullptr;  // of each lane: its run is over, and nobody reads its step
};

// t0 + k h, the product formed in double: a float's 24 bits do not hold a long run's step count.
template <class S>
CYCLOID_INLINE S time_of_step(double t0, std::int64_t step, const S& h) {
  using T = Scalar<S>;
  if constexpr (std::is_same_v<T, double>) {
    return S(t0) + S(static_cast<double>(step)) * h;
  } else {
    constexpr int n = static_cast<int>(sizeof(S) / sizeof(T));
    alignas(S) T lanes[n];
    std::memcpy(lanes, &h, sizeof(S));
    for (int i = 0; i < n; ++i) {
      lanes[i] = static_cast<T>(t0 + static_cast<double>(step) * static_cast<double>(lanes[i]));
    }
    S t;
    std::memcpy(&t, lanes, sizeof(S));
    return t;
  }
}

// Cotangents of a LawPoint.
template <class S>
struct LawPointBar {
  S t, h;
  S* u;
  S* p;
};

// dx = x_dot(t, x, u, p). `saved` receives shape.saved numbers.
template <class Law, class S>
CYCLOID_INLINE void law_x_dot(const LawPoint<Law, S>& at, const S& t, const S* x, S* dx, S* saved) {
  if constexpr (SavesValues<Law>) {
    at.law.x_dot(t, x, at.u, at.p, dx, saved);
  } else {
    (void)saved;
    at.law.x_dot(t, x, at.u, at.p, dx);
  }
}

// The contraction of dx_bar with the law's Jacobian, kDualWidth columns per evaluation. Column
// order: t, the state's tangents, u, p. A tangent of a quaternion is seeded through x ⊕ d at d = 0.
// kOutputs: the most that `function` writes, where that may be more than there are states.
template <int kOutputs = 0, class Law, class S, class Function>
CYCLOID_HD void pull_back_by_duals(const LawPoint<Law, S>& at, const S& t, const S* x,
                                   const S* dx_bar, S& t_bar, S* x_bar, S* u_bar, S* p_bar,
                                   Function function, int outputs) {
  static_assert(StaticLaw<Law>, "a law of run-time size writes its own pullback");
  using Shape = LawShape<Law>;
  constexpr int nt = Shape::kTangents, nu = Shape::kInputs, np = Shape::kParameters;
  constexpr int columns = 1 + nt + nu + np;
  static_assert(columns <= kMaxDualInputs,
                "this law is too large for dual numbers: write x_dot_pullback (system/law.h)");
  using D = Dual<S, kDualWidth>;
  Scratch none{nullptr};
  LocalArray<D, Shape::kStates> x_dual(none, 0), base(none, 0);
  LocalArray<D, std::max(Shape::kStates, kOutputs)> dx(none, 0);
  LocalArray<D, nt> d(none, 0);
  LocalArray<D, nu> u_dual(none, 0);
  LocalArray<D, np> p_dual(none, 0);
  for (int first = 0; first < columns; first += kDualWidth) {
    const auto seed = [&](const S& value, int column) {
      D s(value);
      if (column >= first && column < first + kDualWidth) s.tangent[column - first] = S(1);
      return s;
    };
    const D t_dual = seed(t, 0);
    for (int i = 0; i < nt; ++i) d[i] = seed(S(0), 1 + i);
    for (int i = 0; i < at.shape.states; ++i) base[i] = D(x[i]);
    law_retract(at.shape, base.data(), d.data(), x_dual.data());
    for (int i = 0; i < nu; ++i) u_dual[i] = seed(at.u[i], 1 + nt + i);
    for (int i = 0; i < np; ++i) p_dual[i] = seed(at.p[i], 1 + nt + nu + i);
    function(t_dual, x_dual.data(), u_dual.data(), p_dual.data(), dx.data());
    for (int j = 0; j < kDualWidth && first + j < columns; ++j) {
      S sum(0);
      for (int i = 0; i < outputs; ++i) sum += dx_bar[i] * dx[i].tangent[j];
      const int c = first + j;
      (c == 0         ? t_bar
       : c <= nt      ? x_bar[c - 1]
       : c <= nt + nu ? u_bar[c - 1 - nt]
                      : p_bar[c - 1 - nt - nu]) += sum;
    }
  }
}

// Adds the cotangents of t, x (tangents), u and p of dx = x_dot(t, x, u, p).
template <class Law, class S>
CYCLOID_INLINE void law_x_dot_pullback(const LawPoint<Law, S>& at, const S& t, const S* x,
                                       const S* saved, const S* dx_bar, S& t_bar, S* x_bar,
                                       S* u_bar, S* p_bar) {
  if constexpr (HasPullback<Law> && SavesValues<Law>) {
    at.law.x_dot_pullback(t, x, at.u, at.p, saved, dx_bar, t_bar, x_bar, u_bar, p_bar);
  } else if constexpr (HasPullback<Law>) {
    at.law.x_dot_pullback(t, x, at.u, at.p, dx_bar, t_bar, x_bar, u_bar, p_bar);
  } else {
    static_assert(!NamesPullback<Law>,
                  "x_dot_pullback has other arguments than system/law.h lists");
    pull_back_by_duals(
        at, t, x, dx_bar, t_bar, x_bar, u_bar, p_bar,
        [&](const auto& td, const auto* xd, const auto* ud, const auto* pd, auto* dx) {
          if constexpr (SavesValues<Law>) {
            std::remove_pointer_t<decltype(dx)> unused[Law::kSaved];
            at.law.x_dot(td, xd, ud, pd, dx, unused);
          } else {
            at.law.x_dot(td, xd, ud, pd, dx);
          }
        },
        at.shape.tangents);
  }
}

// The same where nothing was saved; `memory` is for tangents and saved numbers.
template <class Law, class S>
CYCLOID_INLINE void pull_law_back(const LawPoint<Law, S>& at, const S& t, const S* x,
                                  const S* dx_bar, S& t_bar, S* x_bar, S* u_bar, S* p_bar,
                                  Scratch memory) {
  LocalArray<S, LawShape<Law>::saved> saved(memory, LawShape<Law>::saved);
  if constexpr (SavesValues<Law>) {
    LocalArray<S, LawShape<Law>::kTangents> dx(memory, at.shape.tangents);
    law_x_dot(at, t, x, dx.data(), saved.data());
  }
  law_x_dot_pullback(at, t, x, saved.data(), dx_bar, t_bar, x_bar, u_bar, p_bar);
}

}  // namespace cycloid::inline system
