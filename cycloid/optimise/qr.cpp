#include "cycloid/optimise/qr.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cycloid/base/check.h"
#include "cycloid/base/error.h"

namespace cycloid::inline optimise {
namespace {

// a · b, in eight sums that do not wait for each other.
double dot(const double* a, const double* b, std::size_t n) {
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

double length(const double* a, std::size_t n) { return std::sqrt(dot(a, a, n)); }

}  // namespace

Qr::Qr(std::size_t rows, std::size_t cols, std::vector<double> a)
    : rows_(rows), cols_(cols), steps_(std::min(rows, cols)) {
  if (a.size() != rows * cols || a.empty()) {
    throw Error(message("qr: expected ", rows, " × ", cols, " numbers, got ", a.size()));
  }
  for (const double v : a) {
    if (!std::isfinite(v)) throw Error("qr: the matrix contains a number that is not finite");
  }
  a_.resize(a.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) at(i, j) = a[i * cols + j];
  }
  for (std::size_t j = 0; j < cols; ++j) {
    const double* const column = &at(0, j);
    left_.push_back(length(column, rows));
    const bool is_zero = std::all_of(column, column + rows, [](double v) { return v == 0; });
    if (!std::isfinite(left_[j]) || (left_[j] == 0 && !is_zero)) {
      throw Error(message("qr: squares of column ", j, " are no doubles; scale the matrix"));
    }
  }
  head_.resize(steps_);
  beta_.resize(steps_);
  order_.resize(cols_);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  for (std::size_t k = 0; k < steps_; ++k) {
    bring_longest_to(k);  // (2)
    reflect_below(k);     // (1)
  }
}

void Qr::bring_longest_to(std::size_t k) {
  const auto from = left_.begin() + static_cast<std::ptrdiff_t>(k);
  const auto longest =
      static_cast<std::size_t>(std::max_element(from, left_.end()) - left_.begin());
  if (longest == k) return;
  std::swap_ranges(&at(0, k), &at(0, k) + rows_, &at(0, longest));
  std::swap(left_[k], left_[longest]);
  std::swap(order_[k], order_[longest]);
}

// Column k from row k on becomes (R_kk, 0, …) under 1 - beta v vᵀ; the columns right of it follow.
void Qr::reflect_below(std::size_t k) {
  if (left_[k] == 0) return;  // beta 0: nothing to reflect
  const double r = at(k, k) > 0 ? -left_[k] : left_[k];
  head_[k] = at(k, k) - r;
  beta_[k] = -1 / (r * head_[k]);
  at(k, k) = r;
  const std::size_t below = rows_ - k - 1;
  const double* const v = a_.data() + k * rows_ + k + 1;
  for (std::size_t j = k + 1; j < cols_; ++j) {
    double* const column = a_.data() + j * rows_ + k + 1;
    const double sum = head_[k] * at(k, j) + dot(v, column, below);
    at(k, j) -= beta_[k] * sum * head_[k];
    for (std::size_t i = 0; i < below; ++i) column[i] -= beta_[k] * sum * v[i];
    left_[j] = length(column, below);
  }
}

std::size_t Qr::rank(double tolerance) const {
  const double least = tolerance * std::abs(at(0, 0));
  std::size_t k = 0;
  while (k < steps_ && std::abs(at(k, k)) > least) ++k;
  return k;
}

// y = R⁻¹ y for the leading n × n part.
void Qr::solve_upper(std::size_t n, std::span<double> y) const {
  for (std::size_t j = n; j-- > 0;) {
    y[j] /= at(j, j);
    for (std::size_t i = 0; i < j; ++i) y[i] -= at(i, j) * y[j];
  }
}

std::vector<double> Qr::solve(std::span<const double> b) const {
  CYCLOID_CHECK(b.size() == rows_, b.size(), rows_);
  CYCLOID_CHECK(rank(0) == cols_, rank(0), cols_);
  std::vector<double> y(b.begin(), b.end());
  for (std::size_t k = 0; k < steps_; ++k) {  // Qᵀ b
    double sum = head_[k] * y[k];
    for (std::size_t i = k + 1; i < rows_; ++i) sum += at(i, k) * y[i];
    y[k] -= beta_[k] * sum * head_[k];
    for (std::size_t i = k + 1; i < rows_; ++i) y[i] -= beta_[k] * sum * at(i, k);
  }
  solve_upper(cols_, y);  // (3)
  std::vector<double> x(cols_);
  for (std::size_t k = 0; k < cols_; ++k) x[order_[k]] = y[k];
  return x;
}

std::vector<double> Qr::inverse_gram() const {
  CYCLOID_CHECK(rank(0) == cols_, rank(0), cols_);
  std::vector<double> inverse(cols_ * cols_, 0.0);  // column j of R⁻¹ in row j
  for (std::size_t j = 0; j < cols_; ++j) {
    const std::span<double> column(inverse.data() + j * cols_, cols_);
    column[j] = 1;
    solve_upper(j + 1, column);
  }
  std::vector<double> gram(cols_ * cols_, 0.0);  // (4)
  for (std::size_t p = 0; p < cols_; ++p) {
    for (std::size_t q = 0; q < cols_; ++q) {
      double sum = 0;
      for (std::size_t j = std::max(p, q); j < cols_; ++j) {
        sum += inverse[j * cols_ + p] * inverse[j * cols_ + q];
      }
      gram[order_[p] * cols_ + order_[q]] = sum;
    }
  }
  return gram;
}

std::vector<double> Qr::null_direction(double tolerance) const {
  const std::size_t r = rank(tolerance);
  if (r == cols_) return {};
  std::vector<double> y(cols_, 0.0);  // (5): column r less its combination of those before
  for (std::size_t i = 0; i < r; ++i) y[i] = -at(i, r);
  solve_upper(r, y);
  y[r] = 1;
  double length = 0;
  for (const double v : y) length = std::hypot(length, v);
  std::vector<double> direction(cols_);
  for (std::size_t k = 0; k < cols_; ++k) direction[order_[k]] = y[k] / length;
  return direction;
}

}  // namespace cycloid::inline optimise
