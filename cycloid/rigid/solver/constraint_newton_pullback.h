// The pullback of the constrained acceleration (constraint_newton.h), by the implicit function
// theorem.
//
//   H μ = ā                                                                                 (1)
//   Φ = -μᵀ M (a-a₀) + (J μ)·f(J a - a_ref; D, friction),   a and μ fixed;   θ̄ = ∂Φ/∂θ     (2)
//   w = J μ,   w̄ = f,   r̄ = -K w;   D̄, friction¯ from the rows' forces with f̄ = w         (3)
//   (a_ref)¯ = -r̄,   J̄ = f μᵀ + r̄ aᵀ,   M̄ = -sym(μ (a-a₀)ᵀ),   ā₀ = M μ                     (4)
// Where the rows' forces have a cotangent f̄ of their own, they are a function of a and of the
// rows' numbers: ā gains -Jᵀ K f̄ before (1), and in (3) w + f̄ takes the place of w          (5)
// A step does not form (4): it needs μ, f, w and r̄, and M's part is a sweep over the bodies. H and
// K are those at a. There is one assembly, one factor, one solve; of forward only a is needed.
//
// (1) to (3) hold at the minimum: a is within the tolerance, or as near as rounding allows, where
// one more Newton step brings nothing. A lane that is neither is reported and has no gradient.
#pragma once

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/solver/constraint_newton.h"

namespace cycloid::inline rigid {

// Cotangents of the rows' numbers (all rows each), added to.
template <class S>
struct RowCotangents {
  S *a_ref, *D, *friction;
};

// (3) for every row, from f̄ = w; r_bar is added to.
template <class S>
CYCLOID_HD void add_row_cotangents(const ConstraintProblem<S>& problem, const S* r, const S* f_bar,
                                   const RowCotangents<S>& bar, S* r_bar) {
  const auto single = [&](RowLaw law, int i) {
    row_force_pullback(law, problem.D[i], problem.friction[i], r[i], f_bar[i], bar.D[i],
                       bar.friction[i], r_bar[i]);
  };
  for_each_law(problem, single, [&]<class Law, int n>(Law, RowCount<n>, int row) {
    Law::template pull_force<n>(problem.D + row, problem.friction + row, r + row, f_bar + row,
                                bar.D + row, bar.friction + row, r_bar + row);
  });
}

// Adds the rows' cotangents, given a_bar at the minimum a, and f_bar (all rows) unless it is null.
// Leaves μ in `mu`, and f, w and r̄ of (3) in w.at.f, w.w and w.r_bar. again: w has H's factor of a
// call before, at the same a.
template <class S>
CYCLOID_STAGE void solve_newton_pullback(const ConstraintProblem<S>& problem, const S* a,
                                         const S* a_bar, const NewtonSpace<S>& w, S* mu,
                                         const RowCotangents<S>& bar, const S* f_bar = nullptr,
                                         bool again = false) {
  if (!again) {
    row_residuals(problem, a, w.r);
    respond(problem, w.r, w.at);
    factor_hessian(problem, Mask<S>(true), w);
  }
  for (int i = 0; i < problem.size(); ++i) mu[i] = a_bar[i];
  for (int i = 0; i < problem.all_rows(); ++i) w.r_bar[i] = S(0);
  if (f_bar) {  // (5)
    add_row_cotangents(problem, static_cast<const S*>(w.r), f_bar, bar, w.r_bar);
    for (int i = 0; i < problem.all_rows(); ++i) w.w[i] = -w.r_bar[i];
    subtract_row_forces(problem, static_cast<const S*>(w.w), mu);
  }
  solve_blocks(problem.hessian, static_cast<const S*>(w.V), mu);  // (1)
  row_products(problem, static_cast<const S*>(mu), w.w);
  add_row_cotangents(problem, static_cast<const S*>(w.r), static_cast<const S*>(w.w), bar,
                     w.r_bar);                                              // (3)
  for (int i = 0; i < problem.all_rows(); ++i) bar.a_ref[i] -= w.r_bar[i];  // (4)
}

}  // namespace cycloid::inline rigid
