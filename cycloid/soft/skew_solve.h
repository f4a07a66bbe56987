// Solves (S - σ + K) x = b, with S symmetric and positive definite, whose inverse is at hand, K
// skew and small, and σ a number.
//
// GMRES (SaadSchultz1986) on (1 + S⁻¹(K - σ)) x = S⁻¹ b: without K and σ it is one solve. Follower
// loads on an open surface have such a K (term/loads.h). With σ, the stiffness H = S - σ itself is
// not positive definite (equilibrium.h): S⁻¹H has eigenvalues near 1 but for the few of H that are
// about as small as σ, and each of these takes an iteration.
#pragma once

#include <functional>
#include <vector>

#include "cycloid/math/sparse_cholesky.h"

namespace cycloid::inline soft {

// Puts S⁻¹ b into b.
using SolveInPlace = std::function<void(double* b)>;

// inverse: of S. skew: numbers of the pattern, or empty; transposed: with Kᵀ = -K; shift: σ. b in,
// x out. Returns the relative residual.
double skew_solve(const SparsePattern& pattern, const SolveInPlace& inverse,
                  const std::vector<double>& skew, double shift, bool transposed, double* b);

}  // namespace cycloid::inline soft
