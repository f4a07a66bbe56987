// Explicit Euler, order 1, and its discrete adjoint.
//
//   f  = x_dot(t, x, u, p)      (1)
//   x⁺ = x ⊕ h f                (2)
// Record: f, and what the law saves. Source: HairerNorsettWanner1993.
#pragma once

#include "cycloid/system/law/law_point.h"

namespace cycloid::inline system {

struct Euler {
  static constexpr const char* kName = "euler";
  static constexpr int kStages = 1;

  template <class Law, class S>
  CYCLOID_INLINE static void step(const LawPoint<Law, S>& at, const S* x, S* x_next, S* record) {
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> d(scratch, at.shape.tangents);
    S* f = record;
    law_x_dot(at, at.t, x, f, record + at.shape.tangents);  // (1)
    for (int i = 0; i < at.shape.tangents; ++i) d[i] = at.h * f[i];
    law_retract(at.shape, x, d.data(), x_next);  // (2)
  }

  template <class Law, class S>
  CYCLOID_INLINE static void step_pullback(const LawPoint<Law, S>& at, const S* x, const S* record,
                                           const S* x_next_bar, LawPointBar<S>& at_bar, S* x_bar) {
    const int n = at.shape.tangents;
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> d(scratch, n), d_bar(scratch, n);
    const S* f = record;

    for (int i = 0; i < n; ++i) d[i] = at.h * f[i];  // (2)
    set_zero(d_bar.data(), n);
    law_retract_pullback(at.shape, x, d.data(), x_next_bar, x_bar, d_bar.data());
    for (int i = 0; i < n; ++i) {
      at_bar.h += d_bar[i] * f[i];
      d_bar[i] *= at.h;
    }
    law_x_dot_pullback(at, at.t, x, record + n, d_bar.data(), at_bar.t, x_bar, at_bar.u,
                       at_bar.p);  // (1)
  }
};

}  // namespace cycloid::inline system
