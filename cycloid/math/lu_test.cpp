#include "cycloid/math/lu.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

constexpr int kN = 4;

// A and b in one array, as both functions below take them.
const auto solution_of = []<class S>(const S* in, S* out) {
  S a[kN * kN], exchanged[kN];
  for (int k = 0; k < kN * kN; ++k) a[k] = in[k];
  lu_factor(kN, a, exchanged);
  for (int i = 0; i < kN; ++i) out[i] = in[kN * kN + i];
  lu_solve(kN, a, exchanged, out);
};
const auto solution_back = []<class S>(const S* in, const S* out_bar, S* in_bar) {
  S a[kN * kN], exchanged[kN], x[kN], work[kN];
  for (int k = 0; k < kN * kN; ++k) a[k] = in[k];
  lu_factor(kN, a, exchanged);
  for (int i = 0; i < kN; ++i) x[i] = in[kN * kN + i];
  lu_solve(kN, a, exchanged, x);
  lu_solve_pullback(kN, a, exchanged, x, out_bar, in_bar, in_bar + kN * kN, work);
};

// Well away from singular, but with zeros where elimination without exchanges would divide.
std::vector<Numbers> systems_to_solve() {
  std::vector<Numbers> points;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Numbers point = test::FixedNumbers(seed).vector(kN * kN + kN);
    for (int i = 0; i < kN; ++i) point[i * kN + (i + static_cast<int>(seed)) % kN] += 3;
    point[0] = seed == 4 ? 3 : 0;
    points.push_back(point);
  }
  return points;
}

}  // namespace

TEST_CASE("lu_solve: solves with A and with its transpose to rounding, rows exchanged") {
  for (const Numbers& point : systems_to_solve()) {
    double a[kN * kN], exchanged[kN], x[kN], y[kN];
    for (int k = 0; k < kN * kN; ++k) a[k] = point[k];
    CHECK(lu_factor(kN, a, exchanged));
    for (int i = 0; i < kN; ++i) x[i] = y[i] = point[kN * kN + i];
    lu_solve(kN, a, exchanged, x);
    lu_solve_transposed(kN, a, exchanged, y);
    for (int i = 0; i < kN; ++i) {
      double r = -point[kN * kN + i], s = r;
      for (int j = 0; j < kN; ++j) {
        r += point[i * kN + j] * x[j];
        s += point[j * kN + i] * y[j];
      }
      CHECK(std::abs(r) < 1e-14);
      CHECK(std::abs(s) < 1e-14);
    }
  }
}

TEST_CASE("lu_solve: pullback equals dual numbers, lanes with exchanges of their own") {
  test::check_pullback("lu_solve", kN, solution_of, solution_back, systems_to_solve());
}

TEST_CASE("lu_factor: says which lanes are singular or not finite, and leaves the others alone") {
  using S = Pack<double, 4>;
  S a[4], exchanged[2];
  const double entries[4][4] = {{1, 2, 3, 4},
                                {1, 2, 2, 4},
                                {1, std::numeric_limits<double>::quiet_NaN(), 3, 4},
                                {0, 1, 1, 0}};
  for (int k = 0; k < 4; ++k) {
    for (int l = 0; l < 4; ++l) set_lane(a[k], l, entries[l][k]);
  }
  const Mask<S> ok = lu_factor(2, a, exchanged);
  CHECK(ok[0]);
  CHECK_FALSE(ok[1]);
  CHECK_FALSE(ok[2]);
  CHECK(ok[3]);
  S b[2] = {S(5.0), S(6.0)};
  lu_solve(2, a, exchanged, b);
  CHECK(b[0][0] == doctest::Approx(-4.0));
  CHECK(b[1][0] == doctest::Approx(4.5));
  CHECK(b[0][3] == 6.0);
  CHECK(b[1][3] == 5.0);
}

}  // namespace cycloid
