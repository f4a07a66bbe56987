// The exact line search of Newton's method on a constraint problem.
//
//   φ(α) = ½ (x+αp-a₀)ᵀ M (x+αp-a₀) + s(r + αq),   q = J p                                    (1)
//   φ' = m₀ + α m₁ - f(r+αq)·q,   φ'' = m₁ + qᵀ K(r+αq) q,   m₀ = p·M(x-a₀),  m₁ = pᵀMp        (2)
// φ is strictly convex and C¹, and quadratic between the places where rows change their zone. Its
// minimum is bracketed, and found by Newton's method on φ' with bisection as the way out.
#pragma once

#include <limits>

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/solver/constraint_response.h"

namespace cycloid::inline rigid {

// φ' and φ''.
template <class S>
struct LineSlope {
  S slope, curvature;
};

// The rows' part of (2).
template <class S>
CYCLOID_STAGE LineSlope<S> row_slopes(const ConstraintProblem<S>& problem, const S* r, const S* q,
                                      const S& alpha) {
  LineSlope<S> sum{S(0), S(0)};
  const auto add_row = [&](RowLaw law, int i) {
    const RowResponse<S> now =
        row_response(law, problem.D[i], problem.friction[i], S(r[i] + alpha * q[i]));
    sum.slope -= now.f * q[i];
    sum.curvature += now.K * q[i] * q[i];
  };
  for_each_law(problem, add_row, [&]<class Law, int n>(Law, RowCount<n>, int row) {
    S at[n], K_q[n];
#pragma GCC unroll 6
    for (int k = 0; k < n; ++k) at[k] = r[row + k] + alpha * q[row + k];
    const ConeResponse<S, n> now = Law::template response<n>(
        problem.D + row, problem.friction + row, static_cast<const S*>(at));
    now.K.multiply(q + row, K_q);
#pragma GCC unroll 6
    for (int k = 0; k < n; ++k) {
      sum.slope -= now.f[k] * q[row + k];
      sum.curvature += K_q[k] * q[row + k];
    }
  });
  return sum;
}

// The line through x, along which residuals are r + αq; slope0 = φ'(0) < 0.
template <class S>
struct Line {
  const S *r, *q;
  S m0, m1, slope0;
};

inline constexpr int kMostLineSteps = 60;
inline constexpr double kLongestStep = 8;

// The step in the lanes of `searching`, 1 in the others. first: φ' and φ'' at 1. A lane is done
// where |φ'| ≤ `enough`, or where α is known to rounding; steps beyond 8 are not taken.
template <class S>
CYCLOID_STAGE S line_search(const ConstraintProblem<S>& problem, const Line<S>& line,
                            const LineSlope<S>& first, const S& enough, const Mask<S>& searching) {
  const S narrow = S(8 * std::numeric_limits<Scalar<S>>::epsilon());
  S alpha = S(1), slope = first.slope, curvature = first.curvature;
  S low = select(slope > S(0), S(0), S(1)), high = select(slope > S(0), S(1), S(kLongestStep));
  S best = alpha, best_slope = abs(slope);
  Mask<S> open = searching;
  for (int i = 0; i < kMostLineSteps && any(open); ++i) {
    const S newton = alpha - slope / curvature;
    const Mask<S> inside = (newton > low) & (newton < high);
    alpha = select(open, select(inside, newton, S(0.5) * (low + high)), alpha);
    const LineSlope<S> rows = row_slopes(problem, line.r, line.q, alpha);
    slope = line.m0 + alpha * line.m1 + rows.slope;  // (2)
    curvature = line.m1 + rows.curvature;
    low = select(slope > S(0), low, alpha);
    high = select(slope > S(0), alpha, high);
    const Mask<S> better = open & (abs(slope) < best_slope);
    best = select(better, alpha, best);
    best_slope = select(better, abs(slope), best_slope);
    open = open & (best_slope > enough) & (high - low > narrow * high);
  }
  return best;
}

}  // namespace cycloid::inline rigid
