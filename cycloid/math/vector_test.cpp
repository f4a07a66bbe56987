#include "cycloid/math/vector.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid {

TEST_CASE("vector: arithmetic acts on each entry, fields and indices name the same numbers") {
  const Vec3<double> a{1, -2, 3}, b{4, 5, -6};
  const Vec3<double> c = (a + b) * 2.0 - b / 0.5 + 3 * a - (-a);
  CHECK(c.x == 6);
  CHECK(c[1] == -12);
  CHECK(c.z == c[2]);
  CHECK(c.z == 18);
  Vec<double, 5> v{};
  v[4] = 2;
  v *= 3;
  CHECK(v[4] == 6);
  CHECK(v[0] == 0);
  CHECK(dot(v, v) == 36);
}

TEST_CASE("vector: cross product of the axes, orthogonality, Lagrange's identity") {
  const Vec3<double> x{1, 0, 0}, y{0, 1, 0};
  CHECK(cross(x, y).z == 1);
  CHECK(cross(y, x).z == -1);
  const Vec3<double> a{0.3, -1.2, 0.8}, b{2.0, 0.4, -0.7}, c = cross(a, b);
  CHECK(std::abs(dot(a, c)) < 1e-15);
  CHECK(std::abs(dot(b, c)) < 1e-15);
  CHECK(dot(c, c) == doctest::Approx(dot(a, a) * dot(b, b) - dot(a, b) * dot(a, b)).epsilon(1e-14));
}

TEST_CASE("vector: select chooses whole vectors per lane") {
  using S = Pack<double, 4>;
  S key(0.0);
  set_lane(key, 2, 1.0);
  const Vec3<S> a{S(1), S(2), S(3)}, zero{};
  const Vec3<S> c = select(key > S(0), a, zero);
  CHECK(lane(c.y, 2) == 2);
  CHECK(lane(c.y, 1) == 0);
}

TEST_CASE("vector: flat arrays and back") {
  double p[] = {1, 2, 3, 4};
  CHECK(load_vec3(p).z == 3);
  CHECK(load_vec<4>(p)[3] == 4);
  store(p + 1, Vec3<double>{7, 8, 9});
  add_to(p, Vec3<double>{1, 1, 1});
  CHECK(p[0] == 2);
  CHECK(p[1] == 8);
  CHECK(p[2] == 9);
  CHECK(p[3] == 9);
}

TEST_CASE("cross, dot: pullbacks equal dual numbers for ordinary and parallel vectors") {
  const std::vector<test::Numbers> points = {
      {0.3, -1.2, 0.8, 2.0, 0.4, -0.7}, {1, 2, 3, 2, 4, 6}, {0, 0, 0, 1, -1, 2}};
  test::check_pullback(
      "cross", 3,
      [](const auto* in, auto* out) { store(out, cross(load_vec3(in), load_vec3(in + 3))); },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        auto a_bar = load_vec3(in_bar), b_bar = load_vec3(in_bar + 3);
        cross_pullback(load_vec3(in), load_vec3(in + 3), load_vec3(out_bar), a_bar, b_bar);
        store(in_bar, a_bar), store(in_bar + 3, b_bar);
      },
      points);
  test::check_pullback(
      "dot", 1, [](const auto* in, auto* out) { out[0] = dot(load_vec3(in), load_vec3(in + 3)); },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        auto a_bar = load_vec3(in_bar), b_bar = load_vec3(in_bar + 3);
        dot_pullback(load_vec3(in), load_vec3(in + 3), out_bar[0], a_bar, b_bar);
        store(in_bar, a_bar), store(in_bar + 3, b_bar);
      },
      points);
}

}  // namespace cycloid
