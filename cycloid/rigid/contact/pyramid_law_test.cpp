#include "cycloid/rigid/contact/pyramid_law.h"

#include "cycloid/rigid/constraint/row_law.h"
#include "tests/support/pullback_check.h"

namespace cycloid::pyramid_law_test {

using test::Numbers;

// [D, g, r], n numbers each, in the zone that r says.
Numbers point(int n, const Numbers& r) {
  Numbers in(static_cast<std::size_t>(3 * n), 0.0);
  const double g[] = {0, 0.7, 0.6, 0.3, 0.2, 0.4};
  for (int k = 1; k < n; ++k) {
    in[static_cast<std::size_t>(k)] = 40;
    in[static_cast<std::size_t>(n + k)] = g[k];
  }
  for (int k = 0; k < n; ++k) {
    in[static_cast<std::size_t>(2 * n + k)] = r[static_cast<std::size_t>(k)];
  }
  return in;
}

// All edges press, one edge of each direction presses, some directions press.
std::vector<Numbers> points(int n) {
  std::vector<Numbers> out;
  for (const Numbers& r : {Numbers{-3, 0.4, -0.5, 0.3, 0.6, -0.2}, Numbers{0.1, 2, -1.5, 3, 4, 2},
                           Numbers{-0.2, 0.1, 1.5, -3, 0.1, -2}}) {
    out.push_back(point(n, r));
  }
  Numbers plain = point(n, {-0.5, 0.4, 0.3, 0.2, 0.1, 0.6});  // a frictionless lane
  for (int k = 0; k < n; ++k) plain[static_cast<std::size_t>(k)] = k == 0 ? 25 : 0;
  out.push_back(plain);
  return out;
}

template <int n>
void check_against_edges(const Numbers& in) {
  const double *D = in.data(), *g = D + n, *r = g + n;
  const ConeResponse<double, n> at = pyramid_response<n>(D, g, r);
  Numbers f(n, 0.0), K(n * n, 0.0);
  double cost = row_cost(RowLaw::one_sided, D[0], 0.0, r[0]);
  const auto edge = [&](double weight, int k, double slope) {
    Numbers e(n, 0.0);
    e[0] = 1;
    if (k > 0) e[static_cast<std::size_t>(k)] = slope;
    const double residual = r[0] + (k > 0 ? slope * r[k] : 0);
    const RowResponse<double> row = row_response(RowLaw::one_sided, weight, 0.0, residual);
    for (std::size_t i = 0; i < n; ++i) {
      f[i] += e[i] * row.f;
      for (std::size_t j = 0; j < n; ++j) K[i * n + j] += row.K * e[i] * e[j];
    }
    if (k > 0) cost += row_cost(RowLaw::one_sided, weight, 0.0, residual);
  };
  edge(D[0], 0, 0);
  for (int k = 1; k < n; ++k) {
    edge(D[k], k, g[k]);
    edge(D[k], k, -g[k]);
  }
  CHECK(test::relative_error(Numbers(at.f, at.f + n), f) < 1e-14);
  CHECK(pyramid_cost<n>(D, g, r) == doctest::Approx(cost).epsilon(1e-14));
  const Numbers x = test::FixedNumbers(3).vector(n);
  Numbers y(n), expected(n, 0.0);
  at.K.multiply(x.data(), y.data());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) expected[i] += K[i * n + j] * x[j];
  }
  CHECK(test::relative_error(y, expected) < 1e-14);
}

template <int n>
void check_pyramid_pullback() {
  test::check_pullback(
      "pyramid_force", n,
      [](const auto* in, auto* out) { pyramid_force<n>(in, in + n, in + 2 * n, out); },
      [](const auto* in, const auto* bar, auto* in_bar) {
        pyramid_force_pullback<n>(in, in + n, in + 2 * n, bar, in_bar, in_bar + n, in_bar + 2 * n);
      },
      points(n));
}

TEST_CASE("pyramid_response: equals the sum over its edges, each a one-sided row") {
  for (const Numbers& in : points(3)) check_against_edges<3>(in);
  for (const Numbers& in : points(4)) check_against_edges<4>(in);
  for (const Numbers& in : points(6)) check_against_edges<6>(in);
}

TEST_CASE("pyramid_force: pullback equals dual numbers, whichever edges press") {
  check_pyramid_pullback<3>();
  check_pyramid_pullback<4>();
  check_pyramid_pullback<6>();
}

TEST_CASE("pyramid_response: nothing acts above the pyramid, nor where a lane has no contact") {
  for (const double D : {40.0, 0.0}) {
    Numbers in = point(3, {D > 0 ? 3.0 : -3.0, 1, 1});
    in[1] = in[2] = D;
    const ConeResponse<double, 3> at = pyramid_response<3>(in.data(), in.data() + 3, in.data() + 6);
    for (int k = 0; k < 3; ++k) {
      CHECK(at.f[k] == 0);
      CHECK(at.K.diagonal[k] == 0);
    }
  }
}

TEST_CASE("pyramid_response: the force is continuous across an edge") {
  const Numbers in = point(3, {-0.7, 1, 0.2});  // edge 1+ is zero
  Numbers a = in, b = in;
  a[6] -= 1e-9;
  b[6] += 1e-9;
  double f_a[3], f_b[3];
  pyramid_force<3>(a.data(), a.data() + 3, a.data() + 6, f_a);
  pyramid_force<3>(b.data(), b.data() + 3, b.data() + 6, f_b);
  for (int k = 0; k < 3; ++k) CHECK(std::abs(f_a[k] - f_b[k]) < 4 * 40 * 2e-9);
}

}  // namespace cycloid::pyramid_law_test
