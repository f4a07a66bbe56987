#include "cycloid/rigid/sense/ray_surface.h"

#include <doctest/doctest.h>

namespace cycloid::ray_surface_test {

using V = Vec3<double>;

TEST_CASE("ray_surface: points outwards, and a larger shape is nearer") {
  const V size{0.5, 0.4, 0.3};
  const auto at = [&](Shape shape, const V& x) { return ray_surface(shape, size, x); };
  CHECK(at(Shape::plane, {1, 2, 0}).n.z == 1);
  CHECK(at(Shape::sphere, {0, -0.5, 0}).n.y == -0.5);
  CHECK(at(Shape::ellipsoid, {0, 0, 0.3}).n.z == doctest::Approx(1 / 0.3));
  CHECK(at(Shape::capsule, {0, 0, -0.9}).n.z == -0.5);
  CHECK(at(Shape::capsule, {0.5, 0, 0.1}).n.z == 0);
  CHECK(at(Shape::cylinder, {0.1, 0, -0.4}).n.z == -1);
  CHECK(at(Shape::cylinder, {0, 0.5, 0.1}).n.y == 0.5);
  CHECK(at(Shape::box, {-0.5, 0.1, 0.1}).n.x == -1);
  CHECK(at(Shape::box, {0.1, 0.1, 0.3}).n.z == 1);
  CHECK(at(Shape::sphere, {0, -0.5, 0}).size.x == -0.5);
  CHECK(at(Shape::cylinder, {0.1, 0, -0.4}).size.y == -1);
  CHECK(at(Shape::box, {0.1, 0.1, 0.3}).size.z == -1);
}

}  // namespace cycloid::ray_surface_test
