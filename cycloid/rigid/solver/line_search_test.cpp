#include "cycloid/rigid/solver/line_search.h"

#include "cycloid/rigid/solver/constraint_case_test.h"

namespace cycloid::line_search_test {

using test::LaneProblem;
using test::Numbers;
using test::PlainProblem;

// A problem with a point and a direction of descent: minus the gradient, preconditioned by nothing.
struct Case {
  Case(std::uint64_t seed, RowLaw cone, double length)
      : plain(test::random_problem(seed, {.cone = cone})),
        dofs(plain.parent),
        lanes(dofs, {plain}),
        x(test::FixedNumbers(seed).vector(plain.nv())),
        p(test::plain_point(plain, x).g) {
    for (double& v : p) v *= -length;
    const int rows = lanes.problem.all_rows();
    r.resize(static_cast<std::size_t>(rows));
    q.resize(static_cast<std::size_t>(rows));
    Numbers padded(static_cast<std::size_t>(dofs.size()));
    pad(dofs, x.data(), padded.data());
    row_residuals(lanes.problem, static_cast<const double*>(padded.data()), r.data());
    pad(dofs, p.data(), padded.data());
    row_products(lanes.problem, static_cast<const double*>(padded.data()), q.data());
  }
  Numbers at(double alpha) const {
    Numbers y = x;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += alpha * p[i];
    return y;
  }
  double slope(double alpha) const { return test::dot(test::plain_point(plain, at(alpha)).g, p); }
  double curvature(double alpha) const {
    const Numbers H = test::plain_point(plain, at(alpha)).H;
    double sum = 0;
    for (std::size_t i = 0; i < H.size(); ++i) sum += H[i] * p[i / p.size()] * p[i % p.size()];
    return sum;
  }
  // m₀ and m₁.
  void inertia(double& m0, double& m1) const {
    const std::size_t n = p.size();
    m0 = m1 = 0;
    for (std::size_t i = 0; i < n * n; ++i) {
      m0 += p[i / n] * plain.M[i] * (x[i % n] - plain.a0[i % n]);
      m1 += p[i / n] * plain.M[i] * p[i % n];
    }
  }
  PlainProblem plain;
  DofBlocks dofs;
  LaneProblem<double> lanes;
  Numbers x, p, r, q;
};

TEST_CASE("row_slopes: slope and curvature along a line are those of the plain problem") {
  for (const RowLaw cone : {RowLaw::pyramid, RowLaw::elliptic}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const Case c(seed, cone, 0.01);
      double m0, m1;
      c.inertia(m0, m1);
      for (const double alpha : {0.0, 0.3, 1.0, 2.5}) {
        const LineSlope<double> rows = row_slopes(c.lanes.problem, c.r.data(), c.q.data(), alpha);
        CHECK(m0 + alpha * m1 + rows.slope == doctest::Approx(c.slope(alpha)).epsilon(1e-9));
        CHECK(m1 + rows.curvature == doctest::Approx(c.curvature(alpha)).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("line_search: finds the minimum along the line, before and beyond the full step") {
  for (const RowLaw cone : {RowLaw::pyramid, RowLaw::elliptic}) {
    for (const double length : {0.003, 1.0}) {  // the minimum lies beyond 1, and near 0
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const Case c(seed, cone, length);
        Line<double> line{c.r.data(), c.q.data(), 0, 0, c.slope(0)};
        c.inertia(line.m0, line.m1);
        const double enough = 1e-9 * std::abs(line.slope0);
        const double alpha = line_search(
            c.lanes.problem, line, LineSlope<double>{c.slope(1), c.curvature(1)}, enough, true);
        CHECK(alpha > 0);
        if (alpha < kLongestStep * 0.999) {
          CHECK(std::abs(c.slope(alpha)) < 1e-7 * std::abs(line.slope0));
        } else {
          CHECK(c.slope(alpha) < 0);
        }
      }
    }
  }
}

TEST_CASE("line_search: ends where the step is known to rounding, short of what was asked") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Case c(seed, RowLaw::pyramid, 1.0);
    Line<double> line{c.r.data(), c.q.data(), 0, 0, c.slope(0)};
    c.inertia(line.m0, line.m1);
    const LineSlope<double> first{c.slope(1), c.curvature(1)};
    const double exact = line_search(c.lanes.problem, line, first, 1e-9, true);
    CHECK(line_search(c.lanes.problem, line, first, -1.0, true) ==
          doctest::Approx(exact).epsilon(1e-12));
  }
}

TEST_CASE("line_search: lanes that do not search keep the full step") {
  const Case c(2, RowLaw::pyramid, 1.0);
  const Line<double> line{c.r.data(), c.q.data(), 0, 1, c.slope(0)};
  CHECK(line_search(c.lanes.problem, line, LineSlope<double>{1.0, 1.0}, 0.0, false) == 1);
}

}  // namespace cycloid::line_search_test
