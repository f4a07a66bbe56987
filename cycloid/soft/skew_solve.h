// Solves (H + K) x = b, with H symmetric and factored, and K skew and small.
//
// GMRES (SaadSchultz1986) on (1 + H⁻¹K) x = H⁻¹ b: with no K it is one solve. Follower loads on an
// open surface have such a K (term/loads.h).
#pragma once

#include <vector>

#include "cycloid/math/sparse_cholesky.h"

namespace cycloid::inline soft {

// skew: numbers of the pattern, or empty; transposed: with Kᵀ = -K. b in, x out. Returns the
// relative residual.
double skew_solve(const SparsePattern& pattern, const CholeskyFactor& factor,
                  const std::vector<double>& skew, bool transposed, int threads, double* b);

}  // namespace cycloid::inline soft
