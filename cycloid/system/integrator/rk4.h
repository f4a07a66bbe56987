// The classical Runge–Kutta method, order 4, in the chart of the state, and its discrete adjoint.
//
// A = (0, ½, ½, 1), w = (1, 2, 2, 1)/6, stages i = 1…4, k₀ = 0:
//   d_i = h A_i k_{i-1}                     (1)  displacement
//   X_i = x ⊕ d_i                           (2)  stage state
//   f_i = x_dot(t + A_i h, X_i, u, p)       (3)
//   k_i = J_r⁻¹(d_i) f_i                    (4)  in the chart; k_i = f_i on vector blocks
//   x⁺  = x ⊕ h Σ w_i k_i                   (5)
// (2), (4) and (5) make it of order 4 with quaternions too (MuntheKaas1998). The input is held.
// Record: f_i of each stage, each followed by what the law saves. Source: HairerNorsettWanner1993.
#pragma once

#include "cycloid/system/law/law_point.h"

namespace cycloid::inline system {

struct Rk4 {
  static constexpr const char* kName = "rk4";
  static constexpr int kStages = 4;
  // A and w of stage s + 1; functions, since a device reaches no table of the host's.
  static constexpr double A(int s) { return s == 0 ? 0.0 : s == 3 ? 1.0 : 0.5; }
  static constexpr double w(int s) { return s == 0 || s == 3 ? 1.0 / 6 : 1.0 / 3; }

  template <class Law, class S>
  CYCLOID_INLINE static void step(const LawPoint<Law, S>& at, const S* x, S* x_next, S* record) {
    const int n = at.shape.tangents, stride = n + at.shape.saved;
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> d(scratch, n), storage(scratch, n), sum(scratch, n);
    LocalArray<S, LawShape<Law>::kStates> X(scratch, at.shape.states);
    law_x_dot(at, at.t, x, record, record + n);  // (3), i = 1
    const S* k = record;                         // (4), d_1 = 0
    for (int i = 0; i < n; ++i) sum[i] = S(w(0)) * at.h * k[i];
    for (int s = 1; s < 4; ++s) {
      const S a_h = S(A(s)) * at.h, w_h = S(w(s)) * at.h;
      record += stride;
      for (int i = 0; i < n; ++i) d[i] = a_h * k[i];               // (1)
      law_retract(at.shape, x, d.data(), X.data());                // (2)
      law_x_dot(at, at.t + a_h, X.data(), record, record + n);     // (3)
      k = chart_view(at.shape, d.data(), record, storage.data());  // (4)
      for (int i = 0; i < n; ++i) sum[i] += w_h * k[i];
    }
    law_retract(at.shape, x, sum.data(), x_next);  // (5)
  }

  template <class Law, class S>
  CYCLOID_INLINE static void step_pullback(const LawPoint<Law, S>& at, const S* x, const S* record,
                                           const S* x_next_bar, LawPointBar<S>& at_bar, S* x_bar) {
    constexpr int N = LawShape<Law>::kTangents;
    const int n = at.shape.tangents, stride = n + at.shape.saved;
    Scratch scratch = at.scratch;
    LocalArray<S, N> k1(scratch, n), k2(scratch, n), k3(scratch, n);
    LocalArray<S, N> d(scratch, n), d_bar(scratch, n), chart_bar(scratch, n), f_storage(scratch, n),
        k_bar(scratch, n), sum(scratch, n), sum_bar(scratch, n), X_bar(scratch, n);
    LocalArray<S, LawShape<Law>::kStates> X(scratch, at.shape.states);

    // The chart velocities again, from the recorded f_i; in a flat space they are the f_i.
    S* const storage[4] = {nullptr, k1.data(), k2.data(), k3.data()};
    const S* k[4] = {record};
    for (int s = 1; s < 4; ++s) {
      for (int i = 0; i < n; ++i) d[i] = S(A(s)) * at.h * k[s - 1][i];
      k[s] = chart_view(at.shape, d.data(), record + s * stride, storage[s]);
    }

    for (int i = 0; i < n; ++i) {  // (5)
      sum[i] = S(w(0)) * k[0][i] + S(w(1)) * k[1][i] + S(w(2)) * k[2][i] + S(w(3)) * k[3][i];
      d[i] = at.h * sum[i];
    }
    const S* end_bar = retract_bar_view(at.shape, x, d.data(), x_next_bar, x_bar, d_bar.data());
    for (int i = 0; i < n; ++i) {
      at_bar.h += end_bar[i] * sum[i];
      sum_bar[i] = at.h * end_bar[i];
      k_bar[i] = S(w(3)) * sum_bar[i];
    }

    for (int s = 3; s >= 1; --s) {
      const S a = S(A(s));
      const S a_h = a * at.h;
      const S* f = record + s * stride;
      for (int i = 0; i < n; ++i) d[i] = a_h * k[s - 1][i];
      law_retract(at.shape, x, d.data(), X.data());
      set_zero(chart_bar.data(), n);
      const S* f_bar = chart_bar_view(at.shape, d.data(), f, k_bar.data(), chart_bar.data(),
                                      f_storage.data());  // (4)
      set_zero(X_bar.data(), n);
      S t_bar(0);
      law_x_dot_pullback(at, at.t + a_h, X.data(), f + n, f_bar, t_bar, X_bar.data(), at_bar.u,
                         at_bar.p);  // (3)
      at_bar.t += t_bar;
      at_bar.h += a * t_bar;
      const S* stage_bar =
          retract_bar_view(at.shape, x, d.data(), X_bar.data(), x_bar, d_bar.data());  // (2)
      S along(0);
      for (int i = 0; i < n; ++i) {  // (1)
        const S d_i_bar = LawShape<Law>::kFlat ? stage_bar[i] : stage_bar[i] + chart_bar[i];
        along += d_i_bar * k[s - 1][i];
        k_bar[i] = S(w(s - 1)) * sum_bar[i] + a_h * d_i_bar;
      }
      at_bar.h += a * along;
    }
    law_x_dot_pullback(at, at.t, x, record + n, k_bar.data(), at_bar.t, x_bar, at_bar.u, at_bar.p);
  }
};

}  // namespace cycloid::inline system
