// What the data say at the end of a fit: the spread of the noise, the information on θ, and what is
// weak.
//
// σ of an output that was not given, from its residuals at a minimum:
//   σ² = Σ (w - v)² / (n - share of the unknowns)                                          (1)
// Information, to first order. With J the Jacobian of all residuals by (θ, s_0 of each recording)
// where gaps are closed, and Q_s an orthonormal basis of its columns by starts,
//   R_θ = (1 - Q_s Q_sᵀ) J_θ,   cov θ = R_θ⁺ R_θ⁺ᵀ                                          (2)
// which is the θ block of (JᵀJ)⁻¹. Robust losses weigh the rows of J by ρ'(r)/r, priors add theirs.
#pragma once

#include "cycloid/optimise/identify.h"

namespace cycloid::inline optimise {

// (1), per output and kind of number; true where something changed by more than a percent.
bool estimate_sigma(FitProblem& problem, const Evaluated& at);

// Root mean squares, σ in use and whiteness of every output, into fit.outputs.
void describe_outputs(const FitProblem& problem, const Evaluated& at, Fit& fit);

// (2) at `at`: weak, determined, information, covariance and std of the fit.
void judge(const FitProblem& problem, const FitPoint& at, const Evaluated& seen,
           const FitPoint& guess, Loss loss, Fit& fit);

}  // namespace cycloid::inline optimise
