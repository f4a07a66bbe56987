// StiffnessSolver: solves H x = b with the symmetric matrix of a body, in one of two ways.
//
// direct: a Cholesky factor (sparse_cholesky.h): exact, and its memory grows faster than the body.
// iterative: conjugate gradients (HestenesStiefel1952) on the entries of H, preconditioned by the
// inverses D⁻¹ of the diagonal blocks of vertices: memory of the matrix alone.
//   z = D⁻¹ r,  p ← z + β p,  α = r·z / p·Hp,  x += α p,  r -= α H p                     (1)
//   until √(r·z) ≤ tolerance √(b·D⁻¹b)                                                   (2)
// p·Hp ≤ 0 shows that H is not positive definite. Sums are taken chunk by chunk of vertices, in one
// order, whatever the number of threads.
#pragma once

#include <memory>
#include <vector>

#include "cycloid/soft/solid_plan.h"

namespace cycloid::inline soft {

// (2) in the search, which mends the rest by further steps, and in the gradient.
inline constexpr double kSearchTolerance = 1e-6, kGradientTolerance = 1e-12;

struct SolveEnd {
  bool positive = true;  // false: a direction of no or negative stiffness was met
  int iterations = 0;    // of conjugate gradients
  double residual = 0;   // left side of (2) over its root; 0 of a direct solve
};

class StiffnessSolver {
 public:
  // The plan must outlive this.
  explicit StiffnessSolver(const SolidPlan& plan);

  // values: of the plan's pattern; an iterative solver keeps them and gives others of no meaning,
  // or none. False: not positive definite, as far as that shows here.
  bool factor(std::vector<double>& values, int threads);
  // b in, x out.
  SolveEnd solve(double* b, int threads, double tolerance = kGradientTolerance) const;
  std::size_t bytes() const;

 private:
  void precondition(int chunk, const double* r, double* z) const;
  SolveEnd conjugate_gradients(double* b, int threads, double tolerance) const;

  const SolidPlan& plan_;
  std::unique_ptr<CholeskyFactor> cholesky_;  // of a direct solver
  std::vector<double> values_, inverse_;      // H and D⁻¹ (vertices, 3, 3) of an iterative one
};

// "conjugate gradients stopped at ...": what an iterative solve that fell short says.
std::string describe(const SolveEnd& end, double tolerance);

}  // namespace cycloid::inline soft
