#include "cycloid/rigid/contact/elliptic_law.h"

#include "tests/support/pullback_check.h"

namespace cycloid::elliptic_law_test {

using test::Numbers;

// [D, friction, r], n numbers each; impratio 2.
Numbers point(int n, const Numbers& r) {
  Numbers in(static_cast<std::size_t>(3 * n), 0.0);
  const double friction[] = {0.7 * 0.7 / 2, 0.7, 0.6, 0.3, 0.2, 0.4};
  in[0] = 40;
  for (int k = 0; k < n; ++k) {
    in[static_cast<std::size_t>(n + k)] = friction[k];
    in[static_cast<std::size_t>(2 * n + k)] = r[static_cast<std::size_t>(k)];
  }
  return in;
}

const Numbers kSticks = {-3, 0.2, -0.3, 0.2, 0.3, -0.1}, kSlips = {-0.4, 1.2, -0.9, 0.6, 0.4, 0.5},
              kLifts = {0.3, 1.1, -0.8, 0.5, 0.9, 0.5}, kFree = {3, 0.4, 0.5, 0.6, 0.2, 0.3};

template <int n>
void check_elliptic_pullback() {
  const auto f = [](const auto* in, auto* out) { elliptic_force<n>(in, in + n, in + 2 * n, out); };
  const auto f_pullback = [](const auto* in, const auto* bar, auto* in_bar) {
    elliptic_force_pullback<n>(in, in + n, in + 2 * n, bar, in_bar, in_bar + n, in_bar + 2 * n);
  };
  Numbers fewer = point(n, kSlips);  // a lane with fewer directions
  fewer[static_cast<std::size_t>(2 * n - 1)] = 0;
  test::check_pullback("elliptic_force", n, f, f_pullback,
                       {point(n, kSticks), point(n, kSlips), point(n, kLifts), fewer});
  test::check_pullback("elliptic_force", n, f, f_pullback, {point(n, kFree)},
                       {.zero_by_law = true});
}

template <int n>
void check_derivatives(const Numbers& in) {
  using D1 = Dual<double, 1>;
  std::vector<D1> x(in.begin(), in.end());
  const ConeResponse<double, n> at =
      elliptic_response<n>(in.data(), in.data() + n, in.data() + 2 * n);
  for (std::size_t j = 0; j < n; ++j) {
    x[2 * n + j].tangent[0] = 1;
    const D1 cost = elliptic_cost<n>(x.data(), x.data() + n, x.data() + 2 * n);
    CHECK(cost.tangent[0] == doctest::Approx(-at.f[j]).epsilon(1e-12));
    D1 f[n];
    elliptic_force<n>(x.data(), x.data() + n, x.data() + 2 * n, f);
    Numbers unit(n, 0.0), column(n), expected(n);
    unit[j] = 1;
    at.K.multiply(unit.data(), column.data());
    for (std::size_t i = 0; i < n; ++i) expected[i] = -f[i].tangent[0];
    CHECK(test::relative_error(column, expected) < 1e-12);
    x[2 * n + j].tangent[0] = 0;
  }
}

TEST_CASE("elliptic_response: known values in the three zones") {
  // μ² = 1, g = 1: T = 5 for r = (·, 3, 4).
  const double D[3] = {10, 0, 0}, friction[3] = {1, 1, 1};
  const double stick[3] = {-6, 3, 4}, slip[3] = {-1, 3, 4}, free[3] = {5, 3, 4};
  double f[3];
  elliptic_force<3>(D, friction, stick, f);
  CHECK(f[0] == 60);
  CHECK(f[1] == -30);
  CHECK(f[2] == -40);
  elliptic_force<3>(D, friction, slip, f);  // c = 5, r₀ - T = -6
  CHECK(f[0] == 30);
  CHECK(f[1] == doctest::Approx(-18));  // |f_t| = g f₀, against the slip
  CHECK(f[2] == doctest::Approx(-24));
  elliptic_force<3>(D, friction, free, f);
  for (const double v : f) CHECK(v == 0);
  CHECK(elliptic_cost<3>(D, friction, slip) == doctest::Approx(90));
  CHECK(elliptic_cost<3>(D, friction, stick) == doctest::Approx(5 * (36 + 25)));
}

TEST_CASE("elliptic_response: force and stiffness are derivatives of the cost in every zone") {
  for (const Numbers& r : {kSticks, kSlips, kLifts, kFree}) {
    check_derivatives<3>(point(3, r));
    check_derivatives<4>(point(4, r));
    check_derivatives<6>(point(6, r));
  }
}

TEST_CASE("elliptic_response: cost and force are continuous at both borders") {
  const double D[3] = {10, 0, 0}, friction[3] = {0.5, 1, 1}, step = 1e-9;
  for (const double border : {5.0, -10.0}) {  // T = 5: top at 5, bottom at -T/μ²
    const double a[3] = {border - step, 3, 4}, b[3] = {border + step, 3, 4};
    double f_a[3], f_b[3];
    elliptic_force<3>(D, friction, a, f_a);
    elliptic_force<3>(D, friction, b, f_b);
    for (int k = 0; k < 3; ++k) CHECK(std::abs(f_a[k] - f_b[k]) < 10 * 3 * step);
    CHECK(std::abs(elliptic_cost<3>(D, friction, a) - elliptic_cost<3>(D, friction, b)) <
          200 * 3 * step);
  }
}

TEST_CASE("elliptic_response: a frictionless lane is a one-sided row, an empty lane nothing") {
  const double D[3] = {10, 0, 0}, none[3] = {0, 0, 0}, friction[3] = {1, 0, 0};
  const double press[3] = {-2, 3, 4}, lift[3] = {2, 3, 4};
  const ConeResponse<double, 3> at = elliptic_response<3>(D, friction, press);
  CHECK(at.f[0] == 20);
  CHECK(at.K.diagonal[0] == 10);
  CHECK(at.f[1] == 0);
  CHECK(at.K.diagonal[1] == 0);
  CHECK(elliptic_response<3>(D, friction, lift).f[0] == 0);
  CHECK(elliptic_response<3>(none, friction, press).f[0] == 0);
}

TEST_CASE("elliptic_force: pullback equals dual numbers when sticking, slipping and free") {
  check_elliptic_pullback<3>();
  check_elliptic_pullback<4>();
  check_elliptic_pullback<6>();
}

}  // namespace cycloid::elliptic_law_test
