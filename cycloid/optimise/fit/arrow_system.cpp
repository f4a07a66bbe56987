#include "cycloid/optimise/fit/arrow_system.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>

#include "cycloid/optimise/planning/products.h"

namespace cycloid::inline optimise {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;
using ConstMap = Eigen::Map<const Matrix>;

Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

ConstMap block(const std::vector<double>& of, std::size_t e, std::size_t rows, std::size_t cols) {
  return {of.data() + e * rows * cols, index(rows), index(cols)};
}

}  // namespace

ArrowSystem::ArrowSystem(std::size_t theta, std::size_t tangents, std::vector<bool> chained)
    : K_(theta), nt_(tangents), E_(chained.size()), chained_(std::move(chained)) {
  clear();
}

void ArrowSystem::clear() {
  held_theta_.assign(K_, false);
  held_start_.assign(E_, false);
  C_.assign(K_ * K_, 0.0);
  g_theta_.assign(K_, 0.0);
  g_start_.assign(E_ * nt_, 0.0);
  S_.assign(E_ * nt_ * nt_, 0.0);
  B_.assign(E_ * nt_ * K_, 0.0);
  N_.assign(E_ * nt_ * nt_, 0.0);
}

void ArrowSystem::add(std::size_t e, std::span<const double> r, std::span<const double> J,
                      std::span<const double> weights) {
  const std::size_t rows = r.size(), c = K_ + nt_;
  if (rows == 0) return;
  // Products of the weighted rows with the rows, and with r as one more column.
  std::vector<double> weighted(rows * c);
  Vector g = Vector::Zero(index(c));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < c; ++j) {
      weighted[i * c + j] = weights[i] * J[i * c + j];
      g[index(j)] += weighted[i * c + j] * r[i];
    }
  }
  Matrix H = Matrix::Zero(index(c), index(c));
  products().add_transposed(static_cast<int>(c), static_cast<int>(c), static_cast<int>(rows),
                            weighted.data(), J.data(), H.data());
  Eigen::Map<Matrix>(C_.data(), index(K_), index(K_)) += H.topLeftCorner(index(K_), index(K_));
  Eigen::Map<Matrix>(S_.data() + e * nt_ * nt_, index(nt_), index(nt_)) +=
      H.bottomRightCorner(index(nt_), index(nt_));
  Eigen::Map<Matrix>(B_.data() + e * nt_ * K_, index(nt_), index(K_)) +=
      H.bottomLeftCorner(index(nt_), index(K_));
  Eigen::Map<Vector>(g_theta_.data(), index(K_)) += g.head(index(K_));
  Eigen::Map<Vector>(g_start_.data() + e * nt_, index(nt_)) += g.tail(index(nt_));
}

void ArrowSystem::add_link(std::size_t e, std::span<const double> a, std::span<const double> E,
                           std::span<const double> w) {
  const std::size_t c = K_ + nt_;
  const ConstMap map(E.data(), index(nt_), index(c));
  const Eigen::Map<const Vector> gap(a.data(), index(nt_)), weight(w.data(), index(nt_));
  const Matrix J = -map, weighted = weight.asDiagonal() * J;
  add(e, a, {J.data(), nt_ * c}, w);
  // The next start: its own square, and products with θ and this start.
  Eigen::Map<Matrix> next(S_.data() + (e + 1) * nt_ * nt_, index(nt_), index(nt_));
  next.diagonal() += weight;
  Eigen::Map<Matrix>(B_.data() + (e + 1) * nt_ * K_, index(nt_), index(K_)) +=
      weighted.leftCols(index(K_));
  Eigen::Map<Matrix>(N_.data() + e * nt_ * nt_, index(nt_), index(nt_)) +=
      weighted.rightCols(index(nt_)).transpose();
  Eigen::Map<Vector>(g_start_.data() + (e + 1) * nt_, index(nt_)) +=
      weight.cwiseProduct(gap).eval();
}

void ArrowSystem::add_theta(double r, std::span<const double> J) {
  const Eigen::Map<const Vector> row(J.data(), index(K_));
  Eigen::Map<Matrix>(C_.data(), index(K_), index(K_)) += row * row.transpose();
  Eigen::Map<Vector>(g_theta_.data(), index(K_)) += r * row;
}

void ArrowSystem::hold_theta(std::size_t i) { held_theta_[i] = true; }
void ArrowSystem::hold_start(std::size_t e) { held_start_[e] = true; }

std::vector<double> ArrowSystem::theta_diagonal() const {
  std::vector<double> d(K_);
  for (std::size_t i = 0; i < K_; ++i) d[i] = C_[i * K_ + i];
  return d;
}

std::vector<double> ArrowSystem::start_diagonal() const {
  std::vector<double> d(E_ * nt_);
  for (std::size_t e = 0; e < E_; ++e) {
    for (std::size_t i = 0; i < nt_; ++i) d[e * nt_ + i] = S_[(e * nt_ + i) * nt_ + i];
  }
  return d;
}

ArrowSystem::Step ArrowSystem::solve(std::span<const double> theta_damping,
                                     std::span<const double> start_damping) const {
  const Eigen::Index K = index(K_), nt = index(nt_);
  Matrix C = block(C_, 0, K_, K_);
  Vector g = Eigen::Map<const Vector>(g_theta_.data(), K);
  for (std::size_t i = 0; i < K_; ++i) C(index(i), index(i)) += theta_damping[i];
  std::vector<Matrix> to_next(E_), to_theta(E_);
  std::vector<Vector> own(E_);
  Matrix S, B;
  Vector s;
  bool fresh = true;
  for (std::size_t e = 0; e < E_; ++e) {
    Matrix S_own = block(S_, e, nt_, nt_), B_own = block(B_, e, nt_, K_);
    Vector s_own = Eigen::Map<const Vector>(g_start_.data() + e * nt_, nt);
    for (std::size_t i = 0; i < nt_; ++i) {
      S_own(index(i), index(i)) += start_damping[e * nt_ + i];
    }
    if (!fresh) S_own += S, B_own += B, s_own += s;
    const Matrix N = block(N_, e, nt_, nt_);
    if (held_start_[e]) {
      to_next[e] = Matrix::Zero(nt, nt);
      to_theta[e] = Matrix::Zero(nt, K);
      own[e] = Vector::Zero(nt);
    } else {
      const Eigen::LLT<Matrix> factor(S_own);
      if (factor.info() != Eigen::Success) return {};
      to_next[e] = factor.solve(N);
      to_theta[e] = factor.solve(B_own);
      own[e] = factor.solve(s_own);
      C -= B_own.transpose() * to_theta[e];
      g -= B_own.transpose() * own[e];
    }
    fresh = !chained_[e];
    if (fresh) continue;
    S = -N.transpose() * to_next[e];
    B = -N.transpose() * to_theta[e];
    s = -N.transpose() * own[e];
  }
  Step step;
  step.theta.assign(K_, 0.0);
  step.starts.assign(E_ * nt_, 0.0);
  Eigen::Map<Vector> theta(step.theta.data(), K);
  if (K_ > 0) {
    for (std::size_t i = 0; i < K_; ++i) {
      if (!held_theta_[i]) continue;
      C.row(index(i)).setZero();
      C.col(index(i)).setZero();
      C(index(i), index(i)) = 1;
      g(index(i)) = 0;
    }
    const Eigen::LDLT<Matrix> factor(C);
    if (factor.info() != Eigen::Success || !factor.isPositive()) return {};
    theta = -factor.solve(g);
  }
  for (std::size_t e = E_; e-- > 0;) {
    Eigen::Map<Vector> start(step.starts.data() + e * nt_, nt);
    start = -own[e] - to_theta[e] * theta;
    if (chained_[e]) {
      start -= to_next[e] * Eigen::Map<const Vector>(step.starts.data() + (e + 1) * nt_, nt);
    }
  }
  step.ok = theta.allFinite() && std::all_of(step.starts.begin(), step.starts.end(),
                                             [](double v) { return std::isfinite(v); });
  return step;
}

}  // namespace cycloid::inline optimise
