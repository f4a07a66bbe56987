// box_qp.h: a small convex quadratic within bounds, by projected Newton steps.
//
//   min ½ dᵀ H d + gᵀ d,   low ≤ d ≤ high                                              (1)
//   clamped: d_i at a bound where the slope (H d + g)_i leads out of the box           (2)
//   d_f ← clamp(d_f - a H_ff⁻¹ (H d + g)_f),   f: what is not clamped                  (3)
// with a by backtracking (Armijo along the projected arc, [Bertsekas1982]). This is the step of
// control-limited differential dynamic programming [Tassa2014]: what is clamped at the solution has
// no feedback, and H_ff gives the gains of the rest. The factor of H_ff is kept for them.
#pragma once

#include <span>
#include <vector>

namespace cycloid::inline optimise {

class BoxQp {
 public:
  explicit BoxQp(int size);

  // Returns false when H_ff is not positive definite. Without bounds (empty spans) this is one
  // solve. `d` holds the start and then the solution. H row by row; its lower triangle is read.
  bool solve(const double* H, const double* g, const double* low, const double* high, double* d);

  // Of the last solution: the inputs that are free.
  const std::vector<int>& free() const { return free_; }
  // Turns b (size of free) into H_ff⁻¹ b.
  void apply_inverse(double* b) const;
  // Turns the columns of B (size of free, columns) into those of H_ff⁻¹ B.
  void apply_inverse(int columns, double* B) const;

 private:
  bool factor(const double* H);

  int size_;
  std::vector<int> free_;
  std::vector<double> factor_, slope_, step_, trial_;
};

}  // namespace cycloid::inline optimise
