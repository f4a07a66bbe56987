// Tests of bounding.h.
#include "cycloid/geometry/bounding.h"

#include <doctest/doctest.h>

#include "cycloid/math/quaternion.h"

namespace cycloid::test::bounding_test {

Pose<double> at(double x, double y, double z) { return {identity_matrix<double, 3>(), {x, y, z}}; }

TEST_CASE("bounding_radius: MuJoCo's geom_rbound of every kind") {
  const double size[3] = {0.3, 0.4, 1.2};
  CHECK(bounding_radius(GeomKind::plane, size) == 0);
  CHECK(bounding_radius(GeomKind::sphere, size) == 0.3);
  CHECK(bounding_radius(GeomKind::capsule, size) == doctest::Approx(0.7));
  CHECK(bounding_radius(GeomKind::ellipsoid, size) == 1.2);
  CHECK(bounding_radius(GeomKind::cylinder, size) == doctest::Approx(0.5));
  CHECK(bounding_radius(GeomKind::box, size) == doctest::Approx(1.3));
}

TEST_CASE("spheres_near: balls within their radii and margin, a plane by its height") {
  CHECK(spheres_near(false, at(0, 0, 0), 1.0, at(0, 3, 4), 3.9, 0.1));
  CHECK(!spheres_near(false, at(0, 0, 0), 1.0, at(0, 3, 4), 3.9, 0.09));
  CHECK(spheres_near(true, at(9, 9, 1), 0.0, at(0, 0, 3), 1.5, 0.5));
  CHECK(!spheres_near(true, at(9, 9, 1), 0.0, at(0, 0, 3), 1.5, 0.4));
  CHECK(spheres_near(true, at(9, 9, 1), 0.0, at(0, 0, -300), 1.5, 0.0));
}

TEST_CASE("spheres_near: a pair that just touches stays, in float too") {
  for (float x = 1; x < 100; x *= 1.37f) {
    const Pose<float> a{identity_matrix<float, 3>(), {x, x, x}};
    const Pose<float> b{identity_matrix<float, 3>(), {x + 3, x, x + 4}};
    const float exact = norm(b.p - a.p);
    CHECK(spheres_near(false, a, exact / 3, b, exact - exact / 3, 0.0f));
  }
}

}  // namespace cycloid::test::bounding_test
