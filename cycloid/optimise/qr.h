// Householder QR with column pivoting of a small dense matrix, for least squares outside the lanes.
//
//   A P = Q R             A (m, n) row-major, Q orthogonal, R upper triangular    (1)
//   |R_00| ≥ |R_11| ≥ …   by choosing the longest remaining column                (2)
//   min |A x - b|:        R Pᵀ x = (Qᵀ b)_{0…n-1}, for full rank                  (3)
//   (AᵀA)⁻¹               = P R⁻¹ R⁻ᵀ Pᵀ                                          (4)
// The rank to a tolerance t is the number of |R_kk| > t |R_00|. Below n, the columns from there on
// are combinations of those before, and A v ≈ 0 for a direction v.                (5)
// After Golub & Van Loan 2013, section 5.4. Squares of A's numbers must be doubles,
// neither infinite nor all zero beside numbers that are not.
#pragma once

#include <span>
#include <vector>

namespace cycloid::inline optimise {

class Qr {
 public:
  // Throws Error when `a` does not have rows × cols numbers, all finite, their squares too.
  Qr(std::size_t rows, std::size_t cols, std::vector<double> a);

  std::size_t rank(double tolerance) const;
  // (3), for full rank.
  std::vector<double> solve(std::span<const double> b) const;
  // (4), (n, n), for full rank.
  std::vector<double> inverse_gram() const;
  // (5), of unit length; empty for full rank.
  std::vector<double> null_direction(double tolerance) const;

 private:
  double& at(std::size_t i, std::size_t j) { return a_[j * rows_ + i]; }
  double at(std::size_t i, std::size_t j) const { return a_[j * rows_ + i]; }
  void bring_longest_to(std::size_t k);
  void reflect_below(std::size_t k);
  void solve_upper(std::size_t n, std::span<double> y) const;

  std::size_t rows_, cols_, steps_;
  // R on and above the diagonal, Householder vectors below it; column by column.
  std::vector<double> a_;
  std::vector<double> left_;         // length of what is left of each column, from row k on
  std::vector<double> head_, beta_;  // first entry and 2/|v|² of each Householder vector
  std::vector<std::size_t> order_;   // column k of A P is column order_[k] of A
};

}  // namespace cycloid::inline optimise
