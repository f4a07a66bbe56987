// The implicit midpoint rule, order 2, and its discrete adjoint.
//
//   k  = x_dot(t + ½ h, x + ½ h k, u, p)      (1)  solved by Newton's method (newton.h)
//   x⁺ = x + h k                              (2)
// It keeps every quadratic invariant of the law (angular momentum, the energy of springs) to the
// rounding of (1), is symplectic, time-reversible and stable for any h. Source:
// HairerLubichWanner2006. For laws without quaternions: the sum in (1) is a plain one.
// Record: k. Where (1) is not solved, the step goes on with the best k that was found, and its
// note says so.
#pragma once

#include "cycloid/system/integrator/newton.h"
#include "cycloid/system/integrator/scheme.h"

namespace cycloid::inline system {

struct ImplicitMidpoint {
  static constexpr const char* kName = "implicit_midpoint";
  static constexpr bool kGivesNotes = true, kRecordIsCostly = true, kReversible = true;

  template <class Law>
  static int record_numbers(const LawShape<Law>& shape) {
    return shape.tangents;
  }
  template <class Law>
  static std::size_t scratch_numbers(const LawShape<Law>& shape) {
    return newton_scratch(shape);
  }

  template <class Law, class S>
  CYCLOID_HD static void step(const LawPoint<Law, S>& at, const S* x, S* x_next, S* k) {
    const int n = at.shape.tangents;
    const S half_h = S(0.5) * at.h;
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::saved> saved(scratch, LawShape<Law>::saved);
    law_x_dot(at, at.t, x, k, saved.data());                          // a first guess
    const S residual = solve_stage(at, at.t + half_h, x, half_h, k);  // (1)
    for (int i = 0; i < n; ++i) x_next[i] = x[i] + at.h * k[i];       // (2)
    note_residuals(at, residual);
  }

  template <class Law, class S>
  CYCLOID_HD static void step_pullback(const LawPoint<Law, S>& at, const S* x, const S* k,
                                       const S* x_next_bar, LawPointBar<S>& at_bar, S* x_bar) {
    const int n = at.shape.tangents;
    const S half_h = S(0.5) * at.h;
    Scratch scratch = at.scratch;
    LocalArray<S, LawShape<Law>::kTangents> k_bar(scratch, n);
    for (int i = 0; i < n; ++i) {  // (2)
      x_bar[i] += x_next_bar[i];
      at_bar.h += x_next_bar[i] * k[i];
      k_bar[i] = at.h * x_next_bar[i];
    }
    LawPoint<Law, S> within = at;
    within.scratch = scratch;
    S t_bar(0), half_h_bar(0);
    solve_stage_pullback(within, at.t + half_h, x, half_h, k, k_bar.data(), t_bar, x_bar,
                         half_h_bar, at_bar);  // (1)
    at_bar.t += t_bar;
    at_bar.h += S(0.5) * (t_bar + half_h_bar);
  }
};

}  // namespace cycloid::inline system
