#include "cycloid/rigid/sense/ray_sensor.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid::ray_sensor_test {

using test::Numbers;

using V = Vec3<double>;

// [size, p, d], with d not of length one, as a change of it is not.
void check(Shape shape, const std::vector<Numbers>& points) {
  const auto value = [&](const auto* in, auto* out) {
    out[0] = ray_distance(shape, load_vec3(in), load_vec3(in + 3), load_vec3(in + 6));
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const Vec3<S> size = load_vec3(in), p = load_vec3(in + 3), d = load_vec3(in + 6);
    Vec3<S> size_bar{}, p_bar{}, d_bar{};
    ray_distance_pullback(shape, size, p, d, ray_distance(shape, size, p, d), out_bar[0], size_bar,
                          p_bar, d_bar);
    add_to(in_bar, size_bar), add_to(in_bar + 3, p_bar), add_to(in_bar + 6, d_bar);
  };
  test::check_pullback("ray_distance", 1, value, pullback, points);
}

TEST_CASE("ray_distance: entries, exits, misses, and a plane from above alone") {
  const V x{1, 0, 0}, down{0, 0, -1}, ball{0.5, 0, 0};
  CHECK(ray_distance(Shape::sphere, ball, V{-2, 0, 0}, x) == doctest::Approx(1.5));
  CHECK(ray_distance(Shape::sphere, ball, V{0.1, 0, 0}, x) == doctest::Approx(0.4));
  CHECK(ray_distance(Shape::sphere, ball, V{2, 0, 0}, x) == -1);
  CHECK(ray_distance(Shape::sphere, ball, V{-2, 0.6, 0}, x) == -1);
  CHECK(ray_distance(Shape::box, V{0.5, 0.4, 0.3}, V{-2, 0, 0}, x) == doctest::Approx(1.5));
  CHECK(ray_distance(Shape::cylinder, V{0.5, 0.4, 0}, V{0, 0, 2}, down) == doctest::Approx(1.6));
  CHECK(ray_distance(Shape::capsule, V{0.5, 0.4, 0}, V{0, 0, 2}, down) == doctest::Approx(1.1));
  CHECK(ray_distance(Shape::capsule, V{0.5, 0.4, 0}, V{-2, 0, 0.6}, x) ==
        doctest::Approx(2 - std::sqrt(0.25 - 0.04)));
  CHECK(ray_distance(Shape::ellipsoid, V{0.5, 0.4, 0.3}, V{0, 0, 2}, down) == doctest::Approx(1.7));
  CHECK(ray_distance(Shape::plane, V{1, 1, 0}, V{0.5, 0, 2}, down) == doctest::Approx(2));
  CHECK(ray_distance(Shape::plane, V{1, 1, 0}, V{1.5, 0, 2}, down) == -1);
  CHECK(ray_distance(Shape::plane, V{0, 0, 0}, V{1.5, 0, 2}, down) == doctest::Approx(2));
  CHECK(ray_distance(Shape::plane, V{0, 0, 0}, V{0, 0, -2}, V{0, 0, 1}) == -1);
}

TEST_CASE("ray_distance: pullback equals dual numbers for every shape, from outside and inside") {
  const Numbers outside = {0.5, 0.4, 0.3, -1.4, 0.2, 0.9, 0.8, -0.05, -0.55},
                inside = {0.5, 0.4, 0.3, 0.1, 0.05, -0.1, 0.8, -0.3, -0.5},
                above = {0.5, 0.4, 0.3, 0.1, 0.05, 1.4, 0.05, 0.08, -0.9};
  for (const Shape shape :
       {Shape::sphere, Shape::ellipsoid, Shape::capsule, Shape::cylinder, Shape::box}) {
    check(shape, {outside, inside, above});
  }
  check(Shape::plane, {above});
}

}  // namespace cycloid::ray_sensor_test
