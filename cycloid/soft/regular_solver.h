// RegularSolver: solves with the stiffness of a body at rest, which need not be positive definite:
// beyond a point at which the body gives way it has negative eigenvalues, and is regular.
//
//   S = H + σ, factored, with σ ≥ 0 the first of a rising row that makes S positive definite   (1)
//   (S - σ + K) x = b by GMRES (skew_solve.h)                                                  (2)
// σ = 0 says that the body is stable there. Near a singular H (2) does not converge, or x is
// larger than any that double precision knows apart from noise: `solve` is then false.
#pragma once

#include "cycloid/soft/minimise.h"

namespace cycloid::inline soft {

class RegularSolver {
 public:
  // Of a minimum's factor, which is positive definite.
  RegularSolver(const SolidPlan& plan, std::unique_ptr<StiffnessSolver> factor,
                std::vector<double> skew);
  // Of the plan's direct solver; values and skew as after restrict_to_free.
  RegularSolver(const SolidPlan& plan, std::vector<double> values, std::vector<double> skew,
                int threads);

  bool stable() const { return shift_ == 0; }
  // b in, x out.
  bool solve(double* b, bool transposed, int threads) const;

 private:
  const SolidPlan& plan_;
  std::unique_ptr<StiffnessSolver> factor_;  // of S
  std::vector<double> skew_;                 // K
  double shift_ = 0, size_ = 0;              // σ, the largest entry of H
};

}  // namespace cycloid::inline soft
