// Are residuals white? The test of Ljung and Box.
//
//   ρ_k = Σ e_i e_{i+k} / Σ e_i²                 autocorrelation at lag k, of mean-free e      (1)
//   Q = n (n + 2) Σ_{k=1…h} ρ_k² / (n - k)       h = min(10, n / 5)                            (2)
// Of white noise Q is nearly χ² with h degrees of freedom; the p-value is the chance of a larger
// one. Several series of one output add their Q and their degrees. [LjungBox1978]
#pragma once

#include <span>
#include <vector>

namespace cycloid::inline optimise {

// 1 where there is too little to tell.
double ljung_box(const std::vector<std::vector<double>>& series);

// The chance that χ² with so many degrees of freedom exceeds x.
double chi_square_above(double x, double degrees);

}  // namespace cycloid::inline optimise
