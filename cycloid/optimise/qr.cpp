#include "cycloid/optimise/qr.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cycloid/base/check.h"
#include "cycloid/base/error.h"

namespace cycloid::inline optimise {

Qr::Qr(std::size_t rows, std::size_t cols, std::vector<double> a)
    : rows_(rows), cols_(cols), steps_(std::min(rows, cols)), a_(std::move(a)) {
  if (a_.size() != rows * cols || a_.empty()) {
    throw Error(message("qr: expected ", rows, " × ", cols, " numbers, got ", a_.size()));
  }
  for (const double v : a_) {
    if (!std::isfinite(v)) throw Error("qr: the matrix contains a number that is not finite");
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
  std::size_t longest = k;
  double most = -1;
  for (std::size_t j = k; j < cols_; ++j) {
    double length = 0;
    for (std::size_t i = k; i < rows_; ++i) length = std::hypot(length, at(i, j));
    if (length > most) longest = j, most = length;
  }
  if (longest == k) return;
  for (std::size_t i = 0; i < rows_; ++i) std::swap(at(i, k), at(i, longest));
  std::swap(order_[k], order_[longest]);
}

// Column k from row k on becomes (R_kk, 0, …) under 1 - beta v vᵀ; the columns right of it follow.
void Qr::reflect_below(std::size_t k) {
  double length = 0;
  for (std::size_t i = k; i < rows_; ++i) length = std::hypot(length, at(i, k));
  if (length == 0) return;  // beta 0: nothing to reflect
  const double r = at(k, k) > 0 ? -length : length;
  head_[k] = at(k, k) - r;
  beta_[k] = -1 / (r * head_[k]);
  at(k, k) = r;
  for (std::size_t j = k + 1; j < cols_; ++j) {
    double sum = head_[k] * at(k, j);
    for (std::size_t i = k + 1; i < rows_; ++i) sum += at(i, k) * at(i, j);
    at(k, j) -= beta_[k] * sum * head_[k];
    for (std::size_t i = k + 1; i < rows_; ++i) at(i, j) -= beta_[k] * sum * at(i, k);
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
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) y[i] -= at(i, j) * y[j];
    y[i] /= at(i, i);
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
