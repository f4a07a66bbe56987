#include "cycloid/math/norm.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

const auto norm_of = [](const auto* in, auto* out) { out[0] = norm(load_vec3(in)); };
const auto norm_back = [](const auto* in, const auto* out_bar, auto* in_bar) {
  auto v_bar = load_vec3(in_bar);
  norm_pullback(load_vec3(in), out_bar[0], v_bar);
  store(in_bar, v_bar);
};
const auto normalise_of = [](const auto* in, auto* out) { store(out, normalise(load_vec3(in))); };
const auto normalise_back = [](const auto* in, const auto* out_bar, auto* in_bar) {
  auto v_bar = load_vec3(in_bar);
  normalise_pullback(load_vec3(in), load_vec3(out_bar), v_bar);
  store(in_bar, v_bar);
};

}  // namespace

TEST_CASE("norm: Pythagoras, over the whole range of exponents, in double and float") {
  // sqrt(x² + y² + z²) in four roundings: 2 ulp.
  for (const double scale : {4.94e-324 * 16, 1e-310, 1e-200, 1e-150, 1.0, 1e150, 1e200, 1e307}) {
    const double n = norm(Vec3<double>{2 * scale, -3 * scale, 6 * scale});
    CHECK(n == doctest::Approx(7 * scale).epsilon(4e-16));
    const Vec3<double> u = normalise(Vec3<double>{2 * scale, -3 * scale, 6 * scale});
    CHECK(u.y == doctest::Approx(-3.0 / 7.0).epsilon(6e-16));
  }
  for (const float scale : {0x1p-145f, 1e-40f, 1e-30f, 1e-18f, 1.0f, 1e18f, 1e30f, 4e37f}) {
    const float n = norm(Vec3<float>{2 * scale, -3 * scale, 6 * scale});
    CHECK(n == doctest::Approx(7 * scale).epsilon(3e-7));
    CHECK(normalise(Vec3<float>{2 * scale, -3 * scale, 6 * scale}).z ==
          doctest::Approx(6.0 / 7.0).epsilon(4e-7));
  }
  CHECK(norm(3.0, 4.0) == 5);
  CHECK(norm(2.0, 3.0, 6.0) == 7);
}

TEST_CASE("norm: zero has length zero and direction zero, infinity and NaN stay what they are") {
  const Vec3<double> zero{};
  CHECK(norm(zero) == 0);
  CHECK(normalise(zero).x == 0);
  CHECK(normalise(zero).z == 0);
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(norm(Vec3<double>{1, inf, 2}) == inf);
  for (int i = 0; i < 3; ++i) {
    Vec3<double> v{1, 2, 3};
    v[i] = std::nan("");
    CHECK(std::isnan(norm(v)));
  }
}

TEST_CASE("norm: pullback equals dual numbers for tiny, ordinary and huge vectors") {
  test::check_pullback("norm", 1, norm_of, norm_back,
                       {{0.3, -0.4, 1.2},
                        {1e-9, 2e-9, -1e-9},
                        {1e-200, 2e-200, -1e-200},
                        {1e-310, 2e-310, -1e-310},
                        {1e200, 2e200, -1e200},
                        {0, 0, -3},
                        {0, 1e-170, 0}});
}

TEST_CASE("normalise: pullback equals dual numbers for tiny, ordinary and huge vectors") {
  // (2) is of size 1/|v|, so that for huge vectors the floor has to be lower still.
  test::check_pullback("normalise", 3, normalise_of, normalise_back,
                       {{0.3, -0.4, 1.2}, {1e-9, 2e-9, -1e-9}, {1e-4, 0, 0}, {0, 0, -3}});
  test::check_pullback("normalise", 3, normalise_of, normalise_back,
                       {{1e-200, 2e-200, -1e-200}, {1e200, 2e200, -1e200}}, {.floor = 1e-300});
}

TEST_CASE("norm, normalise: at zero the derivative is zero, beside lanes where it is not") {
  test::check_pullback("norm", 1, norm_of, norm_back, {{0, 0, 0}}, {.zero_by_law = true});
  test::check_pullback("normalise", 3, normalise_of, normalise_back, {{0, 0, 0}},
                       {.zero_by_law = true});
  using S = Pack<double, 4>;
  Vec3<S> v{S(0), S(0), S(0)}, bar{S(0), S(0), S(0)};
  set_lane(v.y, 2, 2.0);
  normalise_pullback(v, Vec3<S>{S(1), S(1), S(1)}, bar);
  CHECK(lane(bar.x, 2) == 0.5);
  CHECK(lane(bar.y, 2) == 0);
  for (const int l : {0, 1, 3}) CHECK(lane(bar.x, l) == 0);
}

TEST_CASE("norm: derivatives of the pullback equal nested duals, and are finite at zero") {
  test::check_pullback_derivative("norm", 1, norm_of, norm_back,
                                  {{0.3, -0.4, 1.2}, {1e-4, 2e-4, 0}, {0, 0, 0}});
  test::check_pullback_derivative("normalise", 3, normalise_of, normalise_back,
                                  {{0.3, -0.4, 1.2}, {1e-4, 2e-4, 0}, {0, 0, 0}});
}

}  // namespace cycloid
