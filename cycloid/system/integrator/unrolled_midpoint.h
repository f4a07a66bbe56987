// The implicit midpoint rule by a fixed number of iterations, differentiated through all of them.
//
//   k_0 = x_dot(t, x),  k_{j+1} = x_dot(t + ½ h, x + ½ h k_j),  j < K      (1)
//   x⁺  = x + h k_K                                                       (2)
// It is what implicit_midpoint.h is held against: the pullback of (1), (2) has to keep every k_j,
// and evaluate the law's pullback K + 1 times, where the implicit derivative needs k_K and one of
// each. (1) contracts only while h times the law's Jacobian is small.
// Record: k_0 … k_K.
#pragma once

#include "cycloid/system/integrator/scheme.h"

namespace cycloid::inline system {

template <int K>
struct UnrolledMidpoint {
  static constexpr const char* kName = "unrolled_midpoint";

  template <class Law>
  static int record_numbers(const LawShape<Law>& shape) {
    return (K + 1) * shape.tangents;
  }

  template <class Law, class S>
  CYCLOID_HD static void step(const LawPoint<Law, S>& at, const S* x, S* x_next, S* k) {
    const int n = at.shape.tangents;
    const S half_h = S(0.5) * at.h;
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::saved> saved(scratch, LawShape<Law>::saved);
    law_x_dot(at, at.t, x, k, saved.data());
    for (int j = 0; j < K; ++j, k += n) {
      for (int i = 0; i < n; ++i) x_next[i] = x[i] + half_h * k[i];
      law_x_dot(at, at.t + half_h, x_next, k + n, saved.data());  // (1)
    }
    for (int i = 0; i < n; ++i) x_next[i] = x[i] + at.h * k[i];  // (2)
  }

  template <class Law, class S>
  CYCLOID_HD static void step_pullback(const LawPoint<Law, S>& at, const S* x, const S* k,
                                       const S* x_next_bar, LawPointBar<S>& at_bar, S* x_bar) {
    const int n = at.shape.tangents;
    const S half_h = S(0.5) * at.h;
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> k_bar(scratch, n), X(scratch, n), X_bar(scratch, n);
    for (int i = 0; i < n; ++i) {  // (2)
      x_bar[i] += x_next_bar[i];
      at_bar.h += x_next_bar[i] * k[K * n + i];
      k_bar[i] = at.h * x_next_bar[i];
    }
    for (int j = K - 1; j >= 0; --j) {  // (1)
      const S* k_j = k + j * n;
      for (int i = 0; i < n; ++i) X[i] = x[i] + half_h * k_j[i];
      set_zero(X_bar.data(), n);
      S t_bar(0);
      pull_law_back(at, at.t + half_h, X.data(), k_bar.data(), t_bar, X_bar.data(), at_bar.u,
                    at_bar.p, scratch);
      at_bar.t += t_bar;
      at_bar.h += S(0.5) * t_bar;
      for (int i = 0; i < n; ++i) {
        x_bar[i] += X_bar[i];
        at_bar.h += S(0.5) * X_bar[i] * k_j[i];
        k_bar[i] = half_h * X_bar[i];
      }
    }
    pull_law_back(at, at.t, x, k_bar.data(), at_bar.t, x_bar, at_bar.u, at_bar.p, scratch);
  }
};

}  // namespace cycloid::inline system
