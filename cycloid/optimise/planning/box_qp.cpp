#include "cycloid/optimise/planning/box_qp.h"

#include <algorithm>
#include <cmath>

#include "cycloid/math/cholesky.h"
#include "cycloid/optimise/planning/products.h"

namespace cycloid::inline optimise {
namespace {

constexpr int kMostSteps = 100;
constexpr double kSlopeTolerance = 1e-12, kArmijo = 0.1, kShorter = 0.6, kShortest = 1e-20;

double value_of(int n, const double* H, const double* g, const double* d, double* slope) {
  double value = 0;
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int j = 0; j < n; ++j) sum += (j <= i ? H[i * n + j] : H[j * n + i]) * d[j];
    value += d[i] * (0.5 * sum + g[i]);
    if (slope) slope[i] = sum + g[i];
  }
  return value;
}

}  // namespace

BoxQp::BoxQp(int size) : size_(size), slope_(size), step_(size), trial_(size) {
  free_.reserve(size);
}

bool BoxQp::factor(const double* H) {
  const int n = static_cast<int>(free_.size());
  factor_.resize(static_cast<std::size_t>(n) * n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) factor_[i * n + j] = H[free_[i] * size_ + free_[j]];
  }
  return llt_factor(n, factor_.data());
}

void BoxQp::apply_inverse(double* b) const {
  llt_solve(static_cast<int>(free_.size()), factor_.data(), b);
}

// L Lᵀ X = B by blocks of rows, so that most of the work is products of matrices. The factor's
// diagonal holds 1/L_ii (math/cholesky.h).
void BoxQp::apply_inverse(int columns, double* B) const {
  constexpr int kBlock = 4;
  const int n = static_cast<int>(free_.size());
  const Products product = products();
  const auto L = [&](int i, int j) { return factor_[static_cast<std::size_t>(i) * n + j]; };
  const auto row = [&](int i) { return B + static_cast<std::ptrdiff_t>(i) * columns; };
  const auto take = [&](int i, double share, int from) {  // row i -= share · row `from`
    for (int j = 0; j < columns; ++j) row(i)[j] -= share * row(from)[j];
  };
  const auto scale = [&](int i) {
    for (int j = 0; j < columns; ++j) row(i)[j] *= L(i, i);
  };
  std::vector<double> left(static_cast<std::size_t>(kBlock) * n);
  for (int first = 0; first < n; first += kBlock) {
    const int rows = std::min(kBlock, n - first);
    for (int a = 0; a < rows; ++a) {
      for (int l = 0; l < first; ++l) left[a * first + l] = -L(first + a, l);
    }
    if (first > 0) product.add(rows, columns, first, left.data(), B, row(first));
    for (int i = first; i < first + rows; ++i) {
      for (int j = first; j < i; ++j) take(i, L(i, j), j);
      scale(i);
    }
  }
  for (int first = (n - 1) / kBlock * kBlock; first >= 0; first -= kBlock) {
    const int end = std::min(first + kBlock, n), rows = end - first;
    for (int l = end; l < n; ++l) {
      for (int a = 0; a < rows; ++a) left[(l - end) * rows + a] = -L(l, first + a);
    }
    if (end < n) product.add_transposed(rows, columns, n - end, left.data(), row(end), row(first));
    for (int i = end - 1; i >= first; --i) {
      for (int j = i + 1; j < end; ++j) take(i, L(j, i), j);
      scale(i);
    }
  }
}

bool BoxQp::solve(const double* H, const double* g, const double* low, const double* high,
                  double* d) {
  const int n = size_;
  free_.clear();
  if (!low) {
    for (int i = 0; i < n; ++i) free_.push_back(i);
    if (!factor(H)) return false;
    for (int i = 0; i < n; ++i) d[i] = -g[i];
    apply_inverse(d);
    return true;
  }
  for (int i = 0; i < n; ++i) d[i] = std::clamp(d[i], low[i], high[i]);
  std::vector<int> before{-1};
  for (int round = 0; round < kMostSteps; ++round) {
    const double value = value_of(n, H, g, d, slope_.data());
    free_.clear();
    for (int i = 0; i < n; ++i) {
      const bool clamped =
          (d[i] <= low[i] && slope_[i] > 0) || (d[i] >= high[i] && slope_[i] < 0);  // (2)
      if (!clamped) free_.push_back(i);
    }
    if (free_ != before && !factor(H)) return false;
    before = free_;
    if (free_.empty()) return true;
    double most = 0, scale = 0;
    for (int i = 0; i < n; ++i) scale = std::max(scale, std::abs(g[i]));
    for (std::size_t k = 0; k < free_.size(); ++k) {
      step_[k] = -slope_[free_[k]];
      most = std::max(most, std::abs(step_[k]));
    }
    if (most <= kSlopeTolerance * scale) return true;
    apply_inverse(step_.data());
    double along = 0;
    for (std::size_t k = 0; k < free_.size(); ++k) along += step_[k] * slope_[free_[k]];
    if (!(along < 0)) return true;
    double a = 1;
    for (;; a *= kShorter) {
      std::copy_n(d, n, trial_.data());
      for (std::size_t k = 0; k < free_.size(); ++k) {
        const int i = free_[k];
        trial_[i] = std::clamp(d[i] + a * step_[k], low[i], high[i]);  // (3)
      }
      if (value_of(n, H, g, trial_.data(), nullptr) - value <= kArmijo * a * along) break;
      if (a < kShortest) return true;  // exact to rounding
    }
    std::copy_n(trial_.data(), n, d);
  }
  return true;
}

}  // namespace cycloid::inline optimise
