// The constrained acceleration by Newton's method, in lanes.
//
//   a = argmin_x ½ (x-a₀)ᵀ M (x-a₀) + s(J x - a_ref)                                            (1)
//   g = M (x - a₀) - Jᵀ f,   H = M + Jᵀ K J,   p = -H⁻¹ g,   x ← x + α p                        (2)
// M p and q = J p are found once per step, and M (x - a₀) and r go on by α times them: a difference
// of residuals would lose the digits of a p that is small against a_ref, and with them the slope.
// The minimum is unique; where s is piecewise quadratic (everything but elliptic cones that slip)
// the method ends after finitely many steps, elsewhere it converges quadratically.
//
// The full step α = 1 is taken where it is good enough: the slope along p falls to 0.3 of what it
// was (0.01 after eight steps), the gradient falls to a tenth of the smallest so far, or no row
// changes its zone, which makes the step exact. Other lanes search along p (line_search.h).
// The start is a₀: the acceleration of the step before was measured to need more steps.
//
// A lane leaves when its residual, ‖g‖ times `scale`, is within tolerance (in float, a hundred
// times that where the step was exact), or when rounding forbids more: twice, the slope at x was
// lost in the rounding of the terms that it is the sum of, and the residual did not fall. From then
// on its x is not touched. Such a lane, and one that has used up its steps, is solved if the
// residual is below a hundred tolerances, relative to forces above 1. A lane with NaN or infinity
// leaves at once, marked. The loop ends when no lane is left.
//
// In dual numbers the loop looks at values alone, and the tangents lag behind. Those of the
// minimum are the implicit function theorem's, which is one step more from an x without tangents:
//   H ẋ = -ġ,   ġ the tangent of g at fixed x                                                   (3)
#pragma once

#include "cycloid/base/device_stage.h"
#include "cycloid/math/dual_levels.h"
#include "cycloid/rigid/solver/constraint_hessian.h"
#include "cycloid/rigid/solver/line_search.h"

namespace cycloid::inline rigid {

struct NewtonOptions {
  double scale = 1;  // of the residual: 1 / (mean inertia · max(1, nv))
  double tolerance = 1e-10;
  int most = 100;  // steps
};

// Tolerances that the scalar's rounding allows.
template <class T>
inline constexpr double kNewtonTolerance = sizeof(T) == 4 ? 1e-5 : 1e-10;

// Tolerances that a lane may be off, relative to forces above 1, when it comes no nearer.
inline constexpr double kRoundedTolerances = 100;

template <class S>
struct NewtonResult {
  S residual, steps;
  Mask<S> solved;  // within tolerance, or near it and as far as rounding allows
  Mask<S> finite;
  Mask<S> rounded = Mask<S>(false);  // left where rounding allows no better, or out of steps
};

// n: of whole blocks. What is summed with what depends on places within blocks alone: an island
// (islands.h) has the same sum as a part of more.
template <class S>
CYCLOID_HD S inner_product(int n, const S* a, const S* b) {
  S sum[kBlock] = {S(0), S(0), S(0)};
  for (int i = 0; i < n; i += kBlock) {
#pragma GCC unroll 3
    for (int k = 0; k < kBlock; ++k) sum[k] += a[i + k] * b[i + k];
  }
  return sum[0] + sum[1] + sum[2];
}

// M (x - a₀) and r at x; x - a₀ into `difference`.
template <class S>
void evaluate(const ConstraintProblem<S>& problem, const S* x, S* difference, S* Md, S* r) {
  for (int i = 0; i < problem.size(); ++i) difference[i] = x[i] - problem.a0[i];
  multiply_blocks(problem.mass, problem.M, static_cast<const S*>(difference), Md);
  row_residuals(problem, x, r);
}

// M p, q = J p, and the residuals r + q of the full step.
template <class S>
CYCLOID_HD void look_along(const ConstraintProblem<S>& problem, const NewtonSpace<S>& w) {
  multiply_blocks(problem.mass, problem.M, static_cast<const S*>(w.p), w.Mp);
  row_products(problem, static_cast<const S*>(w.p), w.q);
  for (int i = 0; i < problem.all_rows(); ++i) w.r1[i] = w.r[i] + w.q[i];
}

// g of (2) at M (x - a₀) = Md and the forces f, and its norm.
template <class S>
CYCLOID_HD S gradient(const ConstraintProblem<S>& problem, const S* Md, const S* f, S* g) {
  const int n = problem.size();
  for (int i = 0; i < n; ++i) g[i] = Md[i];
  subtract_row_forces(problem, f, g);
  return sqrt(inner_product(n, static_cast<const S*>(g), static_cast<const S*>(g)));
}
// The same at x + αp, whose response is in w.at.
template <class S>
CYCLOID_HD S gradient_along(const ConstraintProblem<S>& problem, const S& alpha,
                            const NewtonSpace<S>& w) {
  for (int i = 0; i < problem.size(); ++i) w.Md1[i] = w.Md[i] + alpha * w.Mp[i];
  return gradient(problem, static_cast<const S*>(w.Md1), static_cast<const S*>(w.at.f), w.g);
}

// p of (2) with the factor at hand. Returns the slope g·p ≤ 0.
template <class S>
CYCLOID_HD S newton_direction(const ConstraintProblem<S>& problem, const NewtonSpace<S>& w) {
  const int n = problem.size();
  for (int i = 0; i < n; ++i) w.p[i] = -w.g[i];
  solve_blocks(problem.hessian, static_cast<const S*>(w.V), w.p);
  return inner_product<S>(n, w.g, w.p);
}

// Sets x, M (x - a₀), r, and the response there.
template <class S>
CYCLOID_HD void start_newton(const ConstraintProblem<S>& problem, const NewtonSpace<S>& w, S* x) {
  for (int i = 0; i < problem.size(); ++i) {
    x[i] = problem.a0[i];
    w.Md[i] = S(0);
  }
  row_residuals(problem, problem.a0, w.r);
  respond(problem, w.r, w.at);
}

// Replaces the full step α = 1 by that of the line search in the lanes of `searching`. Returns ‖g‖
// at the new point.
template <class S>
CYCLOID_STAGE S shorten_step(const ConstraintProblem<S>& problem, const S& slope0, const S& slope1,
                             const S& enough, const Mask<S>& searching, const NewtonSpace<S>& w,
                             S& alpha) {
  const int n = problem.size();
  const S m0 = inner_product<S>(n, w.p, w.Md), m1 = inner_product<S>(n, w.p, w.Mp);
  LineSlope<S> first = row_slopes(problem, w.r, w.q, S(1));
  first.slope = slope1;
  first.curvature += m1;
  alpha = line_search(problem, Line<S>{w.r, w.q, m0, m1, slope0}, first, enough, searching);
  for (int i = 0; i < problem.all_rows(); ++i) w.r1[i] = w.r[i] + alpha * w.q[i];
  respond(problem, w.r1, w.at);
  return gradient_along(problem, alpha, w);
}

// Rounding of the slope at x, from the sizes of what it is the sum of. A residual is
// known to the rounding of a_ref, and its force to the stiffness times that; x - a₀ to the rounding
// of a₀.
template <class S>
CYCLOID_HD S slope_rounding(const ConstraintProblem<S>& problem, const S* x,
                            const NewtonSpace<S>& w) {
  S size = S(0);
  for (int I = 0; I < problem.mass.blocks; ++I) {
    const S* M = problem.M + problem.mass.place(I, I) * kBlockEntries;
    for (int i = 0; i < kBlock; ++i) {
      const int k = I * kBlock + i;
      const S inertia = M[i * (kBlock + 1)] * (abs(problem.a0[k]) + abs(x[k]));
      size += abs(w.p[k]) * (abs(w.Md[k]) + inertia);
    }
  }
  for (int i = 0; i < problem.all_rows(); ++i) {
    const S force = abs(w.at.f[i]) + w.at.diagonal[i] * (abs(problem.a_ref[i]) + abs(w.r[i]));
    size += force * abs(w.q[i]);
  }
  return S(8 * std::numeric_limits<Scalar<S>>::epsilon()) * size;
}

// Goes to the next point, x + αp, in the lanes of `moves`.
template <class S>
CYCLOID_HD void move(const ConstraintProblem<S>& problem, const S& alpha, const Mask<S>& moves,
                     const NewtonSpace<S>& w, S* x) {
  for (int i = 0; i < problem.size(); ++i) {
    x[i] = select(moves, x[i] + alpha * w.p[i], x[i]);
    w.Md[i] = select(moves, w.Md1[i], w.Md[i]);
  }
  for (int i = 0; i < problem.all_rows(); ++i) w.r[i] = select(moves, w.r1[i], w.r[i]);
}

// (3), for each level of dual numbers; x keeps its value.
template <class S, int N>
void settle_tangents(const ConstraintProblem<Dual<S, N>>& problem, const NewtonSpace<Dual<S, N>>& w,
                     Dual<S, N>* x) {
  using D = Dual<S, N>;
  for (int i = 0; i < problem.size(); ++i) x[i] = D(primal(x[i]));
  for (int level = 0; level < kDualLevels<D>; ++level) {
    evaluate(problem, static_cast<const D*>(x), w.p, w.Md, w.r);
    respond(problem, w.r, w.at);
    gradient(problem, w.Md, w.at.f, w.g);
    factor_hessian(problem, Mask<D>(true), w);
    newton_direction(problem, w);
    for (int i = 0; i < problem.size(); ++i) x[i] += w.p[i] - D(primal(w.p[i]));
  }
  evaluate(problem, static_cast<const D*>(x), w.p, w.Md, w.r);
}

// x: the result, padded. Leaves residuals, forces and stiffness at x in w.r and w.at.
template <class S>
CYCLOID_STAGE NewtonResult<S> solve_newton(const ConstraintProblem<S>& problem,
                                           const NewtonOptions& options, const NewtonSpace<S>& w,
                                           S* x) {
  const int n = problem.size();
  const S scale = S(options.scale), tolerance = S(options.tolerance);
  const S exact = sizeof(Scalar<S>) == 4 ? S(100) * tolerance : tolerance;
  start_newton(problem, w, x);
  S residual = scale * gradient(problem, w.Md, w.at.f, w.g), least = residual, stalls = S(0);
  NewtonResult<S> result{residual, S(0), residual <= tolerance, is_finite(residual)};
  Mask<S> active = result.finite & (residual > tolerance);
  for (int step = 0; step < options.most && any(active); ++step) {
    result.steps += select(active, S(1), S(0));
    factor_hessian(problem, active, w);
    const S slope0 = newton_direction(problem, w);
    look_along(problem, w);
    const S rounding = slope_rounding(problem, x, w);
    const Mask<S> changed = respond(problem, w.r1, w.at);
    S alpha = S(1);
    residual = scale * gradient_along(problem, alpha, w);
    const S slope1 = inner_product<S>(n, w.p, w.g);
    const S enough = S(step < 8 ? 0.3 : 0.01) * abs(slope0) + rounding;
    const Mask<S> full = (abs(slope1) <= enough) | (residual <= S(0.1) * least) | Mask<S>(!changed);
    const Mask<S> searching = active & Mask<S>(!full) & is_finite(residual);
    if (any(searching)) {
      residual = scale * shorten_step(problem, slope0, slope1, enough, searching, w, alpha);
    }

    const Mask<S> stuck = residual >= S(0.5) * least;
    stalls = select(stuck & (abs(slope0) <= rounding), stalls + S(1), S(0));
    const Mask<S> at_rounding = (stalls >= S(2)) | ((stalls >= S(1)) & (residual <= exact));
    const Mask<S> moves = active & Mask<S>(!(at_rounding & (residual > result.residual)));
    move(problem, alpha, moves, w, x);
    result.residual = select(moves, residual, result.residual);
    least = min(residual, least);
    const Mask<S> finite = is_finite(residual);
    result.finite = result.finite & Mask<S>(finite | Mask<S>(!active));
    const Mask<S> near_enough = residual <= select(changed, tolerance, exact);
    const Mask<S> done = near_enough | at_rounding;
    result.solved = result.solved | (active & finite & near_enough);
    result.rounded = result.rounded | (active & finite & at_rounding);
    active = active & finite & Mask<S>(!done);
  }
  result.rounded = result.rounded | active;
  if (any(result.rounded)) {
    const S forces = scale * sqrt(inner_product<S>(n, w.Md, w.Md));
    const S most = S(kRoundedTolerances) * tolerance * (S(1) + forces);
    result.solved = result.solved | (result.rounded & (result.residual <= most));
  }
  if constexpr (kDualLevels<S> > 0) settle_tangents(problem, w, x);
  respond(problem, w.r, w.at);
  for (int i = 0; i < n; ++i) x[i] += S(0);  // -0 becomes 0: whether a zero was added is not seen
  return result;
}

}  // namespace cycloid::inline rigid
