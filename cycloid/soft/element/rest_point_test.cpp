#include "cycloid/soft/element/rest_point.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

constexpr double kCell[] = {0.1, 0, 0.05, 1.1, 0.2, 0, -0.1, 1.2, 0.1, 0.2, 0.1, 0.9};

template <class S>
void vectors(const S* in, Vec3<S>* out) {
  for (int a = 0; a < 4; ++a) out[a] = load_vec3(in + 3 * a);
}

}  // namespace

TEST_CASE("rest_point: slopes and volume pull back to the rest vertices") {
  test::check_pullback(
      "rest_point", 13,
      []<class S>(const S* in, S* out) {
        Vec3<S> X[4];
        vectors(in, X);
        const auto at = rest_point<Tet4, S>(X, 0);
        for (int a = 0; a < 4; ++a) store(out + 3 * a, at.slope[a]);
        out[12] = at.volume;
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        Vec3<S> X[4], X_bar[4];
        vectors(in, X);
        for (auto& v : X_bar) v = {S(0), S(0), S(0)};
        RestPoint<Tet4, S> bar{};
        vectors(out_bar, bar.slope);
        bar.volume = out_bar[12];
        rest_point_pullback(rest_point<Tet4, S>(X, 0), 0, bar, X_bar);
        for (int a = 0; a < 4; ++a) add_to(in_bar + 3 * a, X_bar[a]);
      },
      {test::Numbers(kCell, kCell + 12)});
}

TEST_CASE("gradient_at: of a linear field it is the field's matrix, and it pulls back") {
  Vec3<double> X[4], x[4];
  vectors(kCell, X);
  const Mat3<double> A{{1.1, 0.2, -0.3, 0.1, 0.8, 0.4, 0, -0.2, 1.3}};
  for (int a = 0; a < 4; ++a) x[a] = A * X[a] + Vec3<double>{1, 2, 3};
  const Mat3<double> F = gradient_at(rest_point<Tet4, double>(X, 0), x);
  for (int k = 0; k < 9; ++k) CHECK(F.e[k] == doctest::Approx(A.e[k]).epsilon(1e-13));
  test::Numbers point = test::FixedNumbers(1).vector(24);
  test::check_pullback(
      "gradient_at", 9,
      []<class S>(const S* in, S* out) {
        RestPoint<Tet4, S> at{};
        Vec3<S> now[4];
        vectors(in, at.slope), vectors(in + 12, now);
        const Mat3<S> G = gradient_at(at, now);
        for (int k = 0; k < 9; ++k) out[k] = G.e[k];
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        RestPoint<Tet4, S> at{}, bar{};
        Vec3<S> now[4], now_bar[4];
        vectors(in, at.slope), vectors(in + 12, now);
        for (int a = 0; a < 4; ++a) bar.slope[a] = now_bar[a] = {S(0), S(0), S(0)};
        Mat3<S> G_bar;
        for (int k = 0; k < 9; ++k) G_bar.e[k] = out_bar[k];
        gradient_at_pullback(at, now, G_bar, now_bar, bar);
        for (int a = 0; a < 4; ++a) {
          add_to(in_bar + 3 * a, bar.slope[a]), add_to(in_bar + 12 + 3 * a, now_bar[a]);
        }
      },
      {point});
}

}  // namespace cycloid
