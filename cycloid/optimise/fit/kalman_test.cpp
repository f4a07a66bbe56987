#include "cycloid/optimise/fit/kalman.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/random.h"
#include "cycloid/optimise/qr.h"

namespace cycloid::kalman_test {

using Row = std::vector<double>;

struct Case {
  std::size_t n, states;
  std::vector<KalmanStep> steps;
  Row mean, covariance;
};

// Random but fixed. Q has rank 1, so that covariances are nearly singular; the third state is not
// seen at all, the others by one to three rows.
Case random_case(std::size_t n, std::size_t states) {
  RandomStream random(7);
  const auto draw = [&](std::size_t size, double scale) {
    Row out(size);
    for (double& v : out) v = scale * random.normal();
    return out;
  };
  Case out{n, states, {}, draw(n, 1), Row(n * n, 0.0)};
  for (std::size_t i = 0; i < n; ++i) out.covariance[i * n + i] = 0.5 + static_cast<double>(i);
  for (std::size_t k = 0; k < states; ++k) {
    KalmanStep step;
    const std::size_t rows = k == 2 ? 0 : 1 + k % 3;
    step.C = draw(rows * n, 1), step.r = draw(rows, 1);
    step.F = draw(n * n, 0.5), step.d = draw(n, 0.1);
    const Row q = draw(n, 0.3);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) step.Q.push_back(q[i] * q[j] + (i == j ? 1e-3 : 0));
    }
    out.steps.push_back(step);
  }
  return out;
}

// A square root of the inverse: W with WᵀW = Q⁻¹, by Cholesky's factor of Q, inverted.
Row whitening(const Row& Q, std::size_t n) {
  Row l(n * n, 0.0), inverse(n * n, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double v = Q[i * n + j];
      for (std::size_t k = 0; k < j; ++k) v -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? std::sqrt(v) : v / l[j * n + j];
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double v = i == j ? 1 : 0;
      for (std::size_t k = j; k < i; ++k) v -= l[i * n + k] * inverse[k * n + j];
      inverse[i * n + j] = v / l[i * n + i];
    }
  }
  return inverse;
}

// The same problem as one least-squares problem of all states: prior, steps and rows, whitened.
struct Stacked {
  std::size_t rows = 0, columns = 0;
  Row a, b;
  void add(const Row& w, std::size_t m, std::size_t n,
           const std::vector<std::pair<std::size_t, Row>>& blocks, const Row& right) {
    for (std::size_t i = 0; i < m; ++i) {
      Row line(columns, 0.0);
      double value = 0;
      for (std::size_t j = 0; j < m; ++j) {
        value += w[i * m + j] * right[j];
        for (const auto& [at, block] : blocks) {
          for (std::size_t c = 0; c < n; ++c) line[at * n + c] += w[i * m + j] * block[j * n + c];
        }
      }
      a.insert(a.end(), line.begin(), line.end()), b.push_back(value), ++rows;
    }
  }
};

Row identity(std::size_t n, double scale = 1) {
  Row out(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) out[i * n + i] = scale;
  return out;
}

Stacked stacked(const Case& c, std::size_t states) {
  Stacked out;
  out.columns = c.n * states;
  out.add(whitening(c.covariance, c.n), c.n, c.n, {{0, identity(c.n)}}, c.mean);
  for (std::size_t k = 0; k < states; ++k) {
    const KalmanStep& s = c.steps[k];
    out.add(identity(s.r.size()), s.r.size(), c.n, {{k, s.C}}, s.r);
    if (k + 1 == states) break;
    Row minus_f = s.F;
    for (double& v : minus_f) v = -v;
    out.add(whitening(s.Q, c.n), c.n, c.n, {{k + 1, identity(c.n)}, {k, minus_f}}, s.d);
  }
  return out;
}

TEST_CASE("kalman: the smoother is the solution of one least-squares problem, with covariance") {
  const Case c = random_case(3, 6);
  const KalmanResult found = kalman(c.steps, c.mean, c.covariance, true);
  const Stacked all = stacked(c, c.states);
  const Qr qr(all.rows, all.columns, all.a);
  const Row expected = qr.solve(all.b), cov = qr.inverse_gram();
  for (std::size_t k = 0; k < c.states; ++k) {
    for (std::size_t i = 0; i < c.n; ++i) {
      CHECK(found.mean[k][i] == doctest::Approx(expected[k * c.n + i]).epsilon(1e-9));
      for (std::size_t j = 0; j < c.n; ++j) {
        const double reference = cov[(k * c.n + i) * all.columns + k * c.n + j];
        CHECK(std::abs(found.covariance[k][i * c.n + j] - reference) < 1e-10);
      }
    }
  }
}

TEST_CASE("kalman: the filter is that of the rows so far, and its last state the smoother's") {
  const Case c = random_case(3, 6);
  const KalmanResult filter = kalman(c.steps, c.mean, c.covariance, false);
  for (const std::size_t states : {std::size_t{1}, std::size_t{4}}) {
    const Stacked all = stacked(c, states);
    const Row expected = Qr(all.rows, all.columns, all.a).solve(all.b);
    for (std::size_t i = 0; i < c.n; ++i) {
      CHECK(filter.mean[states - 1][i] ==
            doctest::Approx(expected[(states - 1) * c.n + i]).epsilon(1e-9));
    }
  }
  const KalmanResult smoother = kalman(c.steps, c.mean, c.covariance, true);
  CHECK(smoother.mean.back() == filter.mean.back());
  CHECK(smoother.misfit == filter.misfit);
  CHECK(smoother.mean.front() != filter.mean.front());
}

TEST_CASE("kalman: what is known exactly stays so, and a walk without noise is a constant") {
  std::vector<KalmanStep> steps(5);
  for (KalmanStep& s : steps) {
    s = {.C = {1, 1}, .r = {2}, .F = identity(2), .d = {0, 0}, .Q = Row(4, 0.0)};
  }
  const KalmanResult found = kalman(steps, {0, 0.5}, {1, 0, 0, 0}, true);
  for (const Row& z : found.mean) {
    CHECK(z[0] == doctest::Approx(1.5 * 5 / 6));  // five rows and a prior of weight one
    CHECK(z[1] == 0.5);
  }
  for (const Row& P : found.covariance) {
    CHECK(P[0] == doctest::Approx(1.0 / 6));
    CHECK(P[3] == 0);
  }
}

}  // namespace cycloid::kalman_test
