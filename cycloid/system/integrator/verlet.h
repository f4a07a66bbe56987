// Velocity Verlet, order 2, and its discrete adjoint.
//
// For x = [q, v] with q̇ = v:
//   a₁ = v̇(t, q, v)                          (1)
//   q⁺ = q ⊕ (h v + ½ h² a₁)                  (2)
//   a₂ = v̇(t + h, q⁺, v + h a₁)              (3)
//   v⁺ = v + ½ h (a₁ + a₂)                    (4)
// When the force does not depend on velocity this is the symplectic, time-reversible scheme of
// Verlet1967, and a step of length -h undoes it; otherwise (3) uses a predicted velocity, which
// keeps order 2 and is not reversible (sweep.h looks before it relies on it). Order 2 on
// flat positions; with quaternions (2) is still second order in the body's axes.
// Record: x_dot of (1) and of (3), each with what the law saves.
#pragma once

#include "cycloid/system/law/law_point.h"

namespace cycloid::inline system {

struct VelocityVerlet {
  static constexpr const char* kName = "verlet";
  static constexpr int kStages = 2;
  static constexpr bool kReversible = true;

  template <class Law, class S>
  CYCLOID_INLINE static void step(const LawPoint<Law, S>& at, const S* x, S* x_next, S* record) {
    const int n = at.shape.tangents, m = n / 2;
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> d(scratch, n);
    LocalArray<S, LawShape<Law>::kStates> middle(scratch, at.shape.states);
    const S* a1 = record + m;
    S* second = record + n + at.shape.saved;
    law_x_dot(at, at.t, x, record, record + n);                     // (1)
    predict(at, x, a1, d.data(), middle.data());                    // (2)
    law_x_dot(at, at.t + at.h, middle.data(), second, second + n);  // (3)
    const int v = at.shape.states - m;
    for (int i = 0; i < v; ++i) x_next[i] = middle[i];
    const S half_h = S(0.5) * at.h;
    for (int i = 0; i < m; ++i) x_next[v + i] = x[v + i] + half_h * (a1[i] + second[m + i]);  // (4)
  }

  template <class Law, class S>
  CYCLOID_INLINE static void step_pullback(const LawPoint<Law, S>& at, const S* x, const S* record,
                                           const S* x_next_bar, LawPointBar<S>& at_bar, S* x_bar) {
    const int n = at.shape.tangents, m = n / 2;
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> d(scratch, n), d_bar(scratch, n), f_bar(scratch, n),
        middle_bar(scratch, n);
    LocalArray<S, LawShape<Law>::kStates> middle(scratch, at.shape.states);
    const S* v = x + at.shape.states - m;
    const S* a1 = record + m;
    const S* second = record + n + at.shape.saved;
    const S* a2 = second + m;
    const S half_h = S(0.5) * at.h;
    predict(at, x, a1, d.data(), middle.data());

    set_zero(f_bar.data(), m);
    for (int i = 0; i < m; ++i) {
      const S v_next_bar = x_next_bar[m + i];  // (4)
      x_bar[m + i] += v_next_bar;
      at_bar.h += S(0.5) * v_next_bar * (a1[i] + a2[i]);
      f_bar[m + i] = half_h * v_next_bar;
      middle_bar[i] = x_next_bar[i];
      middle_bar[m + i] = S(0);
    }
    S t2_bar(0);  // (3)
    law_x_dot_pullback(at, at.t + at.h, middle.data(), second + n, f_bar.data(), t2_bar,
                       middle_bar.data(), at_bar.u, at_bar.p);
    at_bar.t += t2_bar;
    at_bar.h += t2_bar;

    set_zero(d_bar.data(), n);  // (2)
    law_retract_pullback(at.shape, x, d.data(), middle_bar.data(), x_bar, d_bar.data());
    for (int i = 0; i < m; ++i) {
      at_bar.h += d_bar[i] * (v[i] + at.h * a1[i]) + d_bar[m + i] * a1[i];
      x_bar[m + i] += at.h * d_bar[i];
      f_bar[m + i] += at.h * (half_h * d_bar[i] + d_bar[m + i]);
    }
    law_x_dot_pullback(at, at.t, x, record + n, f_bar.data(), at_bar.t, x_bar, at_bar.u,
                       at_bar.p);  // (1)
  }

 private:
  // middle = x ⊕ d = [q⁺, v + h a₁].
  template <class Law, class S>
  CYCLOID_INLINE static void predict(const LawPoint<Law, S>& at, const S* x, const S* a1, S* d,
                                     S* middle) {
    const int m = at.shape.tangents / 2;
    const S* v = x + at.shape.states - m;
    const S half_h = S(0.5) * at.h;
    for (int i = 0; i < m; ++i) {
      d[i] = at.h * (v[i] + half_h * a1[i]);
      d[m + i] = at.h * a1[i];
    }
    law_retract(at.shape, x, d, middle);
  }
};

}  // namespace cycloid::inline system
