// Semi-implicit Euler, order 1, symplectic for separable Hamiltonians, and its discrete adjoint.
//
// For x = [q, v] with q̇ = v:
//   a  = v̇(t, q, v, u, p)       (1)
//   v⁺ = v + h a                (2)
//   q⁺ = q ⊕ h v⁺               (3)
// Record: x_dot, of which a is the second half, and what the law saves. Source:
// HairerLubichWanner2006.
#pragma once

#include "cycloid/system/law/law_point.h"

namespace cycloid::inline system {

struct SemiImplicitEuler {
  static constexpr const char* kName = "semi_implicit";
  static constexpr int kStages = 1;

  template <class Law, class S>
  CYCLOID_INLINE static void step(const LawPoint<Law, S>& at, const S* x, S* x_next, S* record) {
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> d(scratch, at.shape.tangents);
    law_x_dot(at, at.t, x, record, record + at.shape.tangents);  // (1)
    displacement(at, x, record, d.data());
    law_retract(at.shape, x, d.data(), x_next);
  }

  template <class Law, class S>
  CYCLOID_INLINE static void step_pullback(const LawPoint<Law, S>& at, const S* x, const S* record,
                                           const S* x_next_bar, LawPointBar<S>& at_bar, S* x_bar) {
    const int n = at.shape.tangents, m = n / 2;
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> d(scratch, n), d_bar(scratch, n);
    const S* v = x + at.shape.states - m;
    const S* a = record + m;

    displacement(at, x, record, d.data());
    set_zero(d_bar.data(), n);
    law_retract_pullback(at.shape, x, d.data(), x_next_bar, x_bar, d_bar.data());
    for (int i = 0; i < m; ++i) {
      const S dq_bar = d_bar[i];
      at_bar.h += dq_bar * (v[i] + at.h * a[i]);  // (3)
      const S v_next_bar = at.h * dq_bar;
      x_bar[m + i] += v_next_bar;
      const S dv_bar = d_bar[m + i] + v_next_bar;  // (2)
      at_bar.h += dv_bar * a[i];
      d_bar[i] = S(0);
      d_bar[m + i] = at.h * dv_bar;
    }
    law_x_dot_pullback(at, at.t, x, record + n, d_bar.data(), at_bar.t, x_bar, at_bar.u,
                       at_bar.p);  // (1)
  }

 private:
  // d = [h v⁺, h a], so that x⁺ = x ⊕ d.
  template <class Law, class S>
  CYCLOID_INLINE static void displacement(const LawPoint<Law, S>& at, const S* x, const S* x_dot,
                                          S* d) {
    const int m = at.shape.tangents / 2;
    const S* v = x + at.shape.states - m;
    for (int i = 0; i < m; ++i) {
      d[m + i] = at.h * x_dot[m + i];   // (2)
      d[i] = at.h * (v[i] + d[m + i]);  // (3)
    }
  }
};

}  // namespace cycloid::inline system
