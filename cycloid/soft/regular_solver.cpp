#include "cycloid/soft/regular_solver.h"

#include <algorithm>
#include <cmath>

#include "cycloid/soft/skew_solve.h"

namespace cycloid::inline soft {
namespace {

constexpr double kFirstShift = 1e-12, kLastShift = 10;  // over the largest entry
constexpr double kSolved = 1e-9;                        // relative residual of (2)
constexpr double kLargest = 1e15;                       // of |H| |x| / |b|

double largest_of(const double* begin, const double* end) {
  double most = 0;
  for (; begin != end; ++begin) most = std::max(most, std::abs(*begin));
  return most;
}

}  // namespace

RegularSolver::RegularSolver(const SolidPlan& plan, std::unique_ptr<StiffnessSolver> factor,
                             std::vector<double> skew)
    : plan_(plan), factor_(std::move(factor)), skew_(std::move(skew)) {}

RegularSolver::RegularSolver(const SolidPlan& plan, std::vector<double> values,
                             std::vector<double> skew, int threads)
    : plan_(plan), factor_(std::make_unique<StiffnessSolver>(plan)), skew_(std::move(skew)) {
  size_ = largest_of(values.data(), values.data() + values.size());
  while (!factor_->factor(values, threads)) {
    const double next = shift_ == 0 ? kFirstShift * size_ : 4 * shift_;
    if (!(next > shift_ && next <= kLastShift * size_)) {  // nor where entries are not finite
      factor_.reset();
      return;
    }
    for_each_entry(plan.pattern, values, [&](std::size_t i, std::size_t j, double& value) {
      if (i == j) value += next - shift_;
    });
    shift_ = next;
  }
}

bool RegularSolver::solve(double* b, bool transposed, int threads) const {
  if (!factor_) return false;
  const auto n = static_cast<std::size_t>(plan_.numbers());
  const double right = largest_of(b, b + n);
  SolveEnd end;
  const auto inverse = [&](double* each) {
    const SolveEnd now = factor_->solve(each, threads);
    end.positive = end.positive && now.positive;
    end.residual = std::max(end.residual, now.residual);
  };
  const double left = skew_solve(plan_.pattern, inverse, skew_, shift_, transposed, b);
  return end.positive && end.residual <= kGradientTolerance && left <= kSolved &&
         size_ * largest_of(b, b + n) <= kLargest * right;
}

}  // namespace cycloid::inline soft
