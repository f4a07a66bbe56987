#include "cycloid/optimise/fit/kalman.h"

#include <cmath>

#include "cycloid/base/check.h"

namespace cycloid::inline optimise {
namespace {

using Row = std::vector<double>;

// A B of (n, n) matrices.
Row product(const Row& a, const Row& b, std::size_t n) {
  Row out(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      const double f = a[i * n + k];
      if (f == 0) continue;
      for (std::size_t j = 0; j < n; ++j) out[i * n + j] += f * b[k * n + j];
    }
  }
  return out;
}

Row transposed(const Row& a, std::size_t n) {
  Row out(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) out[j * n + i] = a[i * n + j];
  }
  return out;
}

Row times(const Row& a, const Row& x, std::size_t n) {
  Row out(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) out[i] += a[i * n + j] * x[j];
  }
  return out;
}

Row transposed_times(const Row& a, const Row& x, std::size_t n) {
  Row out(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) out[j] += a[i * n + j] * x[i];
  }
  return out;
}

void make_symmetric(Row& a, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      a[i * n + j] = a[j * n + i] = 0.5 * (a[i * n + j] + a[j * n + i]);
    }
  }
}

// A row of (3), kept for (6).
struct Seen {
  std::size_t row;
  double y, s;
  Row K;
};

Seen take_row(const KalmanStep& step, std::size_t row, std::size_t n, Row& z, Row& P) {
  const double* c = step.C.data() + row * n;
  Seen seen{row, step.r[row], 1, Row(n, 0.0)};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) seen.K[i] += P[i * n + j] * c[j];
  }
  for (std::size_t i = 0; i < n; ++i) seen.y -= c[i] * z[i], seen.s += c[i] * seen.K[i];
  for (double& k : seen.K) k /= seen.s;
  for (std::size_t i = 0; i < n; ++i) {  // (3)
    z[i] += seen.K[i] * seen.y;
    for (std::size_t j = 0; j < n; ++j) P[i * n + j] -= seen.K[i] * seen.s * seen.K[j];
  }
  return seen;
}

// (6)
void leave_row(const KalmanStep& step, const Seen& seen, std::size_t n, Row& l, Row& L) {
  const double* c = step.C.data() + seen.row * n;
  double k_l = 0;
  Row L_k(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    k_l += seen.K[i] * l[i];
    for (std::size_t j = 0; j < n; ++j) L_k[i] += L[i * n + j] * seen.K[j];
  }
  double k_L_k = 0;
  for (std::size_t i = 0; i < n; ++i) k_L_k += seen.K[i] * L_k[i];
  for (std::size_t i = 0; i < n; ++i) {
    l[i] -= c[i] * (seen.y / seen.s + k_l);
    for (std::size_t j = 0; j < n; ++j) {
      L[i * n + j] += c[i] * c[j] * (1 / seen.s + k_L_k) - c[i] * L_k[j] - L_k[i] * c[j];
    }
  }
}

}  // namespace

KalmanResult kalman(const std::vector<KalmanStep>& steps, Row mean, Row covariance, bool smooth) {
  const std::size_t n = mean.size();
  CYCLOID_CHECK(covariance.size() == n * n, covariance.size(), n);
  KalmanResult out;
  std::vector<std::vector<Seen>> seen(steps.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const KalmanStep& step = steps[k];
    CYCLOID_CHECK(step.C.size() == step.r.size() * n, step.C.size(), step.r.size(), n);
    for (std::size_t row = 0; row < step.r.size(); ++row) {
      seen[k].push_back(take_row(step, row, n, mean, covariance));
      out.misfit += seen[k].back().y * seen[k].back().y / seen[k].back().s;
    }
    make_symmetric(covariance, n);
    out.mean.push_back(mean), out.covariance.push_back(covariance);
    if (k + 1 == steps.size()) break;
    CYCLOID_CHECK(step.F.size() == n * n && step.d.size() == n && step.Q.size() == n * n, k);
    mean = times(step.F, mean, n);  // (4)
    for (std::size_t i = 0; i < n; ++i) mean[i] += step.d[i];
    covariance = product(product(step.F, covariance, n), transposed(step.F, n), n);
    for (std::size_t i = 0; i < n * n; ++i) covariance[i] += step.Q[i];
    make_symmetric(covariance, n);
  }
  if (!smooth) return out;

  Row l(n, 0.0), L(n * n, 0.0);
  for (std::size_t k = steps.size(); k-- > 0;) {
    if (k + 1 < steps.size()) {  // (7)
      l = transposed_times(steps[k].F, l, n);
      L = product(product(transposed(steps[k].F, n), L, n), steps[k].F, n);
      make_symmetric(L, n);
    }
    Row& P = out.covariance[k];  // (5)
    const Row P_l = times(P, l, n), P_L_P = product(product(P, L, n), P, n);
    for (std::size_t i = 0; i < n; ++i) out.mean[k][i] -= P_l[i];
    for (std::size_t row = seen[k].size(); row-- > 0;) leave_row(steps[k], seen[k][row], n, l, L);
    for (std::size_t i = 0; i < n * n; ++i) P[i] -= P_L_P[i];
    make_symmetric(P, n);
  }
  return out;
}

}  // namespace cycloid::inline optimise
