#include "cycloid/math/cholesky.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

// G Gᵀ + I for a random G: eigenvalues between 1 and n² / 2.
Numbers positive_definite(int n, std::uint64_t seed) {
  const Numbers g = test::FixedNumbers(seed).vector(static_cast<std::size_t>(n * n));
  Numbers a(g.size());
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = i == j;
      for (int k = 0; k < n; ++k) sum += g[i * n + k] * g[j * n + k];
      a[i * n + j] = sum;
    }
  }
  return a;
}

// |A x - b| / (|A| |x|), the largest entry of each; A from its lower triangle.
double residual(int n, const Numbers& a, const Numbers& x, const Numbers& b) {
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    double sum = -b[i];
    for (int j = 0; j < n; ++j) sum += a[std::max(i, j) * n + std::min(i, j)] * x[j];
    worst = std::max(worst, std::abs(sum));
  }
  return worst / (test::largest(a) * test::largest(x));
}

// A (as given, row by row) and b in one array.
Numbers joined(Numbers a, const Numbers& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

constexpr int kN = 4;

const auto llt_of = []<class S>(const S* in, S* out) {
  S a[kN * kN];
  for (int k = 0; k < kN * kN; ++k) a[k] = in[k];
  llt_factor(kN, a);
  for (int i = 0; i < kN; ++i) out[i] = in[kN * kN + i];
  llt_solve(kN, a, out);
};
const auto llt_back = []<class S>(const S* in, const S* out_bar, S* in_bar) {
  S a[kN * kN], x[kN], work[kN];
  for (int k = 0; k < kN * kN; ++k) a[k] = in[k];
  llt_factor(kN, a);
  for (int i = 0; i < kN; ++i) x[i] = in[kN * kN + i];
  llt_solve(kN, a, x);
  llt_solve_pullback(kN, a, x, out_bar, in_bar, in_bar + kN * kN, work);
};
const auto ldlt_of = []<class S>(const S* in, S* out) {
  S a[kN * kN];
  for (int k = 0; k < kN * kN; ++k) a[k] = in[k];
  ldlt_factor(kN, a);
  for (int i = 0; i < kN; ++i) out[i] = in[kN * kN + i];
  ldlt_solve(kN, a, out);
};
const auto ldlt_back = []<class S>(const S* in, const S* out_bar, S* in_bar) {
  S a[kN * kN], x[kN], work[kN];
  for (int k = 0; k < kN * kN; ++k) a[k] = in[k];
  ldlt_factor(kN, a);
  for (int i = 0; i < kN; ++i) x[i] = in[kN * kN + i];
  ldlt_solve(kN, a, x);
  ldlt_solve_pullback(kN, a, x, out_bar, in_bar, in_bar + kN * kN, work);
};

// Positive in the first half, negative in the second: quasi-definite, so that LDLᵀ exists.
Numbers quasi_definite(std::uint64_t seed) {
  Numbers a = positive_definite(kN, seed);
  for (int i = kN / 2; i < kN; ++i) {
    for (int j = kN / 2; j < kN; ++j) a[i * kN + j] = -a[i * kN + j];
  }
  return a;
}

}  // namespace

TEST_CASE("cholesky: two by two by hand") {
  Mat<double, 2, 2> a{{4, 99, 2, 10}};  // lower triangle (4; 2, 10); 99 is never read
  Mat<double, 2, 2> d = a;
  CHECK(llt_factor(a));
  CHECK(a(0, 0) == 0.5);  // 1 / L_00
  CHECK(a(1, 0) == 1);
  CHECK(a(1, 1) == doctest::Approx(1.0 / 3));
  CHECK(a(0, 1) == 99);
  CHECK(ldlt_factor(d));
  CHECK(d(0, 0) == 0.25);  // 1 / D_0
  CHECK(d(1, 0) == 0.5);
  CHECK(d(1, 1) == doctest::Approx(1.0 / 9));
  const Vec<double, 2> x = llt_solve(a, Vec<double, 2>{{8, 22}});
  CHECK(x[0] == doctest::Approx(1));
  CHECK(x[1] == doctest::Approx(2));
}

TEST_CASE("cholesky: solutions leave a residual of a few roundings, for every size") {
  // |A x - b| <= c n ε |A||x| with c of order one (Higham 2002, theorem 10.4).
  for (int n = 1; n <= 12; ++n) {
    const Numbers a = positive_definite(n, static_cast<std::uint64_t>(n));
    const Numbers b = test::FixedNumbers(99).vector(static_cast<std::size_t>(n));
    Numbers l = a, d = a, x = b, y = b;
    CHECK(llt_factor(n, l.data()));
    CHECK(ldlt_factor(n, d.data()));
    llt_solve(n, l.data(), x.data());
    ldlt_solve(n, d.data(), y.data());
    CHECK(residual(n, a, x, b) < 2e-16 * n);
    CHECK(residual(n, a, y, b) < 2e-16 * n);
  }
}

TEST_CASE("cholesky: float lanes agree with double, and with the size known at compile time") {
  using S = Pack<float, 8>;
  constexpr int n = 6;
  Mat<S, n, n> a{};
  Vec<S, n> b{};
  for (int l = 0; l < 8; ++l) {
    const Numbers lane_a = positive_definite(n, 40 + static_cast<std::uint64_t>(l));
    for (int k = 0; k < n * n; ++k) set_lane(a.e[k], l, static_cast<float>(lane_a[k]));
    for (int i = 0; i < n; ++i) set_lane(b[i], l, static_cast<float>(i - 2));
  }
  Mat<S, n, n> factor = a;
  CHECK(all(llt_factor(factor)));
  const Vec<S, n> x = llt_solve(factor, b);
  for (int l = 0; l < 8; ++l) {
    Numbers lane_a(n * n), lane_b(n), exact(n), actual(n);
    for (int k = 0; k < n * n; ++k) lane_a[k] = lane(a.e[k], l);
    for (int i = 0; i < n; ++i) exact[i] = lane(b[i], l), actual[i] = lane(x[i], l);
    CHECK(llt_factor(n, lane_a.data()));
    llt_solve(n, lane_a.data(), exact.data());
    CHECK(test::relative_error(actual, exact) < 4e-6);  // condition about 20, ε = 1.2e-7
  }
}

TEST_CASE("cholesky: a lane that fails is reported and leaves its neighbours alone") {
  using S = Pack<double, 4>;
  const Numbers good = positive_definite(3, 8);
  const Numbers b = {1, -2, 0.5};
  S a[9], d[9], x[3];
  for (int k = 0; k < 9; ++k) a[k] = d[k] = S(good[k]);
  for (int i = 0; i < 3; ++i) x[i] = S(b[i]);
  set_lane(a[4], 1, -1.0);                                     // a negative diagonal entry
  set_lane(a[8], 2, std::nan(""));                             // a number that is none
  set_lane(a[6], 3, std::numeric_limits<double>::infinity());  // an infinite one
  for (int k = 0; k < 9; ++k) d[k] = a[k];
  const Mask<S> ok = llt_factor(3, a), ok_d = ldlt_factor(3, d);
  CHECK(ok[0]);
  CHECK_FALSE(ok[1]);
  CHECK_FALSE(ok[2]);
  CHECK_FALSE(ok[3]);
  CHECK(ok_d[0]);
  CHECK(ok_d[1]);  // indefinite, but LDLᵀ takes it
  CHECK_FALSE(ok_d[2]);
  CHECK_FALSE(ok_d[3]);
  llt_solve(3, a, x);
  Numbers l = good, alone = b;
  llt_factor(3, l.data());
  llt_solve(3, l.data(), alone.data());
  for (int i = 0; i < 3; ++i) CHECK(lane(x[i], 0) == doctest::Approx(alone[i]).epsilon(1e-15));
}

TEST_CASE("cholesky: a singular matrix is reported even when rounding hides it") {
  int positive_pivots = 0, judged = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    // Rank 2 in three dimensions.
    const Numbers g = test::FixedNumbers(seed).vector(6);
    Numbers a(9);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) a[i * 3 + j] = g[2 * i] * g[2 * j] + g[2 * i + 1] * g[2 * j + 1];
    }
    // Without the threshold some of these would pass.
    const double l10 = a[3] / a[0], d1 = a[4] - l10 * a[3], l20 = a[6] / a[0];
    const double c21 = a[7] - l20 * a[3];
    positive_pivots += a[8] - l20 * a[6] - c21 * c21 / d1 > 0;
    // Nearly dependent rows 0 and 1 would amplify the last pivot's error: no promise there.
    if (d1 < 0.5 * a[4]) continue;
    ++judged;
    Numbers l = a, d = a;
    CHECK_FALSE(llt_factor(3, l.data()));
    CHECK_FALSE(ldlt_factor(3, d.data()));
  }
  CHECK(positive_pivots > 5);
  CHECK(judged > 20);
}

TEST_CASE("ldlt_factor: a pivot that is left over from large terms of both signs is reported") {
  // L_20 = L_21 = 1e8, D = (1, -1, 1): the last pivot is 1 after 1e16 - 1e16, lost to rounding.
  Numbers a = {1, 0, 0, 0, -1, 0, 1e8, -1e8, 1};
  CHECK_FALSE(ldlt_factor(3, a.data()));
  Numbers sound = {1, 0, 0, 0, -1, 0, 1e3, -1e3, 1};
  CHECK(ldlt_factor(3, sound.data()));
}

TEST_CASE("cholesky: badly scaled but positive definite matrices are accepted") {
  // diag(s) A diag(s) with s from 1e-8 to 1e8: the condition number is 1e32, the pivots are sound.
  Numbers a = positive_definite(3, 3);
  const double s[] = {1e-8, 1, 1e8};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) a[i * 3 + j] *= s[i] * s[j];
  }
  Numbers l = a, d = a;
  CHECK(llt_factor(3, l.data()));
  CHECK(ldlt_factor(3, d.data()));
}

TEST_CASE("llt_solve, ldlt_solve: implicit pullbacks equal duals through the factorisation") {
  const Numbers b = {0.7, -1.2, 0.4, 2.0};
  test::check_pullback("llt_solve", kN, llt_of, llt_back,
                       {joined(positive_definite(kN, 1), b), joined(positive_definite(kN, 2), b),
                        joined(positive_definite(kN, 3), {0, 0, 0, 1})});
  test::check_pullback("ldlt_solve", kN, ldlt_of, ldlt_back,
                       {joined(positive_definite(kN, 1), b), joined(quasi_definite(2), b),
                        joined(quasi_definite(3), {0, 0, 0, 1})});
}

TEST_CASE("llt_solve, ldlt_solve: the pullback's own derivative equals nested duals") {
  const Numbers b = {0.7, -1.2, 0.4, 2.0};
  test::check_pullback_derivative("llt_solve", kN, llt_of, llt_back,
                                  {joined(positive_definite(kN, 1), b)});
  test::check_pullback_derivative("ldlt_solve", kN, ldlt_of, ldlt_back,
                                  {joined(quasi_definite(2), b)});
}

TEST_CASE("cholesky: the pullbacks for compile-time sizes are those for run-time sizes") {
  const Numbers a = positive_definite(3, 5);
  Mat<double, 3, 3> l{}, d{}, l_bar{}, d_bar{};
  for (int k = 0; k < 9; ++k) l.e[k] = d.e[k] = a[k];
  CHECK(llt_factor(l));
  CHECK(ldlt_factor(d));
  const Vec3<double> b{1, -2, 0.5}, x_bar{0.3, 0.9, -0.4};
  const Vec3<double> x = llt_solve(l, b), y = ldlt_solve(d, b);
  Vec3<double> b_bar{1, 1, 1}, c_bar{1, 1, 1};
  llt_solve_pullback(l, x, x_bar, l_bar, b_bar);
  ldlt_solve_pullback(d, y, x_bar, d_bar, c_bar);
  Numbers a_bar(9, 0.0), rhs_bar(3, 1.0), work(3);
  const Numbers solution = {x.x, x.y, x.z}, cotangent = {0.3, 0.9, -0.4};
  llt_solve_pullback(3, l.e, solution.data(), cotangent.data(), a_bar.data(), rhs_bar.data(),
                     work.data());
  for (int k = 0; k < 9; ++k) {
    CHECK(l_bar.e[k] == doctest::Approx(a_bar[k]).epsilon(1e-14));
    CHECK(d_bar.e[k] == doctest::Approx(a_bar[k]).epsilon(1e-13));
  }
  for (int i = 0; i < 3; ++i) {
    CHECK(b_bar[i] == doctest::Approx(rhs_bar[i]).epsilon(1e-14));
    CHECK(c_bar[i] == doctest::Approx(rhs_bar[i]).epsilon(1e-13));
  }
  CHECK(a_bar[3] != 0);
  CHECK(a_bar[1] == 0);  // above the diagonal
}

}  // namespace cycloid
