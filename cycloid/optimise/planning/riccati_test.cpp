#include "cycloid/optimise/planning/riccati.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/random.h"

namespace cycloid::riccati_test {

using Vector = std::vector<double>;

// A random linear-quadratic problem with a gap in its dynamics.
struct Case {
  std::int64_t T = 6;
  int n = 3, m = 2;
  Vector A, B, gaps, lx, lxx, lu, luu, lux;

  explicit Case(std::uint64_t seed, int states = 3, int inputs = 2) : n(states), m(inputs) {
    RandomStream random(seed);
    const auto fill = [&](Vector& v, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) v.push_back(random.uniform(-1.0, 1.0));
    };
    fill(A, T * n * n);
    fill(B, T * n * m);
    fill(gaps, T * n);
    fill(lx, (T + 1) * n);
    fill(lu, T * m);
    fill(lux, T * m * n);
    for (double& v : lux) v *= 0.1;
    lxx.assign((T + 1) * n * n, 0.0);
    luu.assign(T * m * m, 0.0);
    for (std::int64_t t = 0; t <= T; ++t) {
      for (int i = 0; i < n; ++i) lxx[(t * n + i) * n + i] = 1 + 0.1 * i;
      for (int i = 0; t < T && i < m; ++i) luu[(t * m + i) * m + i] = 1;
    }
  }
  LinearQuadratic lq() const {
    return {T,          n,         m,          A.data(),   B.data(), gaps.data(), lx.data(),
            lxx.data(), lu.data(), luu.data(), lux.data(), nullptr,  nullptr};
  }
  // The cost of inputs from dx = 0, and of those that gains give with a share a of k.
  double cost(const Vector& u) const {
    Vector x(n, 0.0);
    double J = 0;
    for (std::int64_t t = 0; t <= T; ++t) {
      for (int i = 0; i < n; ++i) {
        J += lx[t * n + i] * x[i] + 0.5 * lxx[(t * n + i) * n + i] * x[i] * x[i];
      }
      if (t == T) break;
      Vector next(n);
      for (int i = 0; i < n; ++i) {
        next[i] = gaps[t * n + i];
        for (int j = 0; j < n; ++j) next[i] += A[(t * n + i) * n + j] * x[j];
        for (int j = 0; j < m; ++j) next[i] += B[(t * n + i) * m + j] * u[t * m + j];
      }
      for (int i = 0; i < m; ++i) {
        J += lu[t * m + i] * u[t * m + i] + 0.5 * u[t * m + i] * u[t * m + i];
        for (int j = 0; j < n; ++j) J += u[t * m + i] * lux[(t * m + i) * n + j] * x[j];
      }
      x = next;
    }
    return J;
  }
  Vector inputs(const Gains& g) const {
    Vector x(n, 0.0), u(T * m);
    for (std::int64_t t = 0; t < T; ++t) {
      for (int i = 0; i < m; ++i) {
        u[t * m + i] = g.k[t * m + i];
        for (int j = 0; j < n; ++j) u[t * m + i] += g.K[(t * m + i) * n + j] * x[j];
      }
      Vector next(n);
      for (int i = 0; i < n; ++i) {
        next[i] = gaps[t * n + i];
        for (int j = 0; j < n; ++j) next[i] += A[(t * n + i) * n + j] * x[j];
        for (int j = 0; j < m; ++j) next[i] += B[(t * n + i) * m + j] * u[t * m + j];
      }
      x = next;
    }
    return u;
  }
};

TEST_CASE("riccati: its inputs are a stationary point of the whole problem, gaps and all") {
  for (const std::uint64_t seed : {1, 2, 3, 8}) {
    const Case c = seed == 8 ? Case(seed, 21, 9) : Case(seed);  // a large one has tiles and tails
    Gains g;
    REQUIRE(riccati(c.lq(), {}, g));
    const Vector u = c.inputs(g);
    for (std::size_t i = 0; i < u.size(); ++i) {
      const double h = 1e-4;  // the cost is quadratic: central differences are exact to rounding
      Vector up = u, down = u;
      up[i] += h;
      down[i] -= h;
      CHECK(std::abs(c.cost(up) - c.cost(down)) / (2 * h) < 1e-9);
      CHECK(c.cost(up) > c.cost(u));
    }
  }
}

TEST_CASE("riccati: what it expects is what happens without gaps, for every share of k") {
  Case c(4);
  std::fill(c.gaps.begin(), c.gaps.end(), 0.0);
  Gains g;
  REQUIRE(riccati(c.lq(), {}, g));
  CHECK(g.linear < 0);
  for (const double a : {1.0, 0.5, 0.1}) {
    Gains part = g;
    for (double& v : part.k) v *= a;
    const double change = c.cost(c.inputs(part)) - c.cost(Vector(c.T * c.m, 0.0));
    CHECK(change == doctest::Approx(a * g.linear + 0.5 * a * a * g.quadratic).epsilon(1e-10));
  }
}

TEST_CASE("riccati: damped on inputs or on states, V_xx is that of the gains it has found") {
  for (const bool on_state : {false, true}) {
    const Case c(9, 19, 5);
    Gains g;
    REQUIRE(riccati(c.lq(), {0.3, on_state}, g));
    // V_xx of every step acts in K of the step before: the definition, written out.
    Vector V(c.lxx.end() - c.n * c.n, c.lxx.end());
    for (std::int64_t t = c.T - 1; t >= 0; --t) {
      const double *A = c.A.data() + t * c.n * c.n, *B = c.B.data() + t * c.n * c.m,
                   *K = g.K.data() + t * c.m * c.n;
      // Closed loop: F = A + B K, and the step's own cost with du = K dx.
      Vector F(A, A + c.n * c.n),
          next(c.lxx.begin() + t * c.n * c.n, c.lxx.begin() + (t + 1) * c.n * c.n);
      const double *lux = c.lux.data() + t * c.m * c.n, *luu = c.luu.data() + t * c.m * c.m;
      for (int i = 0; i < c.n; ++i) {
        for (int j = 0; j < c.n; ++j) {
          for (int a = 0; a < c.m; ++a) F[i * c.n + j] += B[i * c.m + a] * K[a * c.n + j];
        }
      }
      for (int i = 0; i < c.n; ++i) {
        for (int j = 0; j < c.n; ++j) {
          double sum = 0;
          for (int a = 0; a < c.m; ++a) {
            sum += lux[a * c.n + i] * K[a * c.n + j] + K[a * c.n + i] * lux[a * c.n + j];
            for (int b = 0; b < c.m; ++b) sum += K[a * c.n + i] * luu[a * c.m + b] * K[b * c.n + j];
          }
          for (int k = 0; k < c.n; ++k) {
            for (int l = 0; l < c.n; ++l) sum += F[k * c.n + i] * V[k * c.n + l] * F[l * c.n + j];
          }
          next[i * c.n + j] += sum;
        }
      }
      V = next;
      if (t == 0) break;
      // K of the step before from this V: Q̃_uu K + Q̃_ux = 0.
      const double *Ap = A - c.n * c.n, *Bp = B - c.n * c.m, *Kp = K - c.m * c.n;
      Vector W = V;
      for (int i = 0; on_state && i < c.n; ++i) W[i * c.n + i] += 0.3;
      for (int a = 0; a < c.m; ++a) {
        for (int j = 0; j < c.n; ++j) {
          double sum = lux[(a - c.m) * c.n + j];
          for (int b = 0; b < c.m; ++b) {
            double Q = luu[(a - c.m) * c.m + b] + (a == b && !on_state ? 0.3 : 0.0);
            for (int k = 0; k < c.n; ++k) {
              for (int l = 0; l < c.n; ++l) Q += Bp[k * c.m + a] * W[k * c.n + l] * Bp[l * c.m + b];
            }
            sum += Q * Kp[b * c.n + j];
          }
          for (int k = 0; k < c.n; ++k) {
            for (int l = 0; l < c.n; ++l) sum += Bp[k * c.m + a] * W[k * c.n + l] * Ap[l * c.n + j];
          }
          CHECK(std::abs(sum) < 1e-7);
        }
      }
    }
  }
}

TEST_CASE("riccati: bounds hold, and a clamped input has no feedback") {
  const Case c(5);
  LinearQuadratic lq = c.lq();
  const Vector low(c.T * c.m, -0.05), high(c.T * c.m, 0.05);
  lq.low = low.data();
  lq.high = high.data();
  Gains g;
  REQUIRE(riccati(lq, {}, g));
  int clamped = 0;
  for (std::int64_t i = 0; i < c.T * c.m; ++i) {
    CHECK(std::abs(g.k[i]) <= 0.05);
    if (std::abs(g.k[i]) < 0.05) continue;
    ++clamped;
    for (int j = 0; j < c.n; ++j) CHECK(g.K[i * c.n + j] == 0);
  }
  CHECK(clamped > 0);
}

TEST_CASE("riccati: damping of either kind shortens k, and an indefinite problem asks for it") {
  Case c(6);
  Gains free, damped, on_state;
  REQUIRE(riccati(c.lq(), {}, free));
  REQUIRE(riccati(c.lq(), {100, false}, damped));
  REQUIRE(riccati(c.lq(), {100, true}, on_state));
  const auto size = [](const Gains& g) {
    double sum = 0;
    for (const double v : g.k) sum += v * v;
    return sum;
  };
  CHECK(size(damped) < 0.01 * size(free));
  CHECK(size(on_state) < 0.1 * size(free));
  for (double& v : c.luu) v = -100 * v;
  Gains none;
  CHECK_FALSE(riccati(c.lq(), {}, none));
  CHECK(riccati(c.lq(), {1000, false}, none));
}

}  // namespace cycloid::riccati_test
