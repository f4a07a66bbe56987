#include "cycloid/soft/skew_solve.h"

#include <cmath>

namespace cycloid::inline soft {
namespace {

using Row = std::vector<double>;

double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

double skew_solve(const SparsePattern& pattern, const SolveInPlace& inverse,
                  const std::vector<double>& skew, double shift, bool transposed, double* b) {
  inverse(b);
  if (skew.empty() && shift == 0) return 0;
  const auto n = static_cast<std::size_t>(pattern.rows());
  const double sign = transposed ? -1 : 1;
  const auto apply = [&](const Row& x) {  // x + S⁻¹ (K - σ) x
    Row y(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = -shift * x[i];
      if (skew.empty()) continue;
      for (auto e = static_cast<std::size_t>(pattern.first[i]);
           e < static_cast<std::size_t>(pattern.first[i + 1]); ++e) {
        y[i] += sign * skew[e] * x[static_cast<std::size_t>(pattern.column[e])];
      }
    }
    inverse(y.data());
    for (std::size_t i = 0; i < n; ++i) y[i] += x[i];
    return y;
  };
  const std::size_t most = shift == 0 ? 60 : 300;
  constexpr double kSmall = 1e-15;
  Row first(b, b + n);
  const double size = std::sqrt(dot(first, first));
  if (size == 0) return 0;
  for (double& v : first) v /= size;
  std::vector<Row> basis = {first}, column;  // column k: of Hessenberg's matrix, rotated
  Row g = {size}, c, s;
  while (column.size() < most && std::abs(g.back()) > kSmall * size) {
    Row w = apply(basis.back()), h;
    for (const Row& v : basis) {
      h.push_back(dot(v, w));
      for (std::size_t i = 0; i < n; ++i) w[i] -= h.back() * v[i];
    }
    const double length = std::sqrt(dot(w, w));
    for (std::size_t k = 0; k < c.size(); ++k) {
      const double a = h[k], d = h[k + 1];
      h[k] = c[k] * a + s[k] * d, h[k + 1] = c[k] * d - s[k] * a;
    }
    const double r = std::hypot(h.back(), length);
    c.push_back(h.back() / r), s.push_back(length / r);
    h.back() = r;
    column.push_back(h);
    const double last = g.back();
    g.back() = c.back() * last;
    g.push_back(-s.back() * last);
    if (length <= kSmall * size) break;
    for (double& v : w) v /= length;
    basis.push_back(std::move(w));
  }
  Row y(column.size());
  for (std::size_t k = column.size(); k-- > 0;) {
    y[k] = g[k];
    for (std::size_t j = k + 1; j < column.size(); ++j) y[k] -= column[j][k] * y[j];
    y[k] /= column[k][k];
  }
  std::fill(b, b + n, 0.0);
  for (std::size_t k = 0; k < y.size(); ++k) {
    for (std::size_t i = 0; i < n; ++i) b[i] += y[k] * basis[k][i];
  }
  return std::abs(g.back()) / size;
}

}  // namespace cycloid::inline soft
