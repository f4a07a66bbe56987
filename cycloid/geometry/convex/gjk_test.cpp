// Tests of gjk.h: known distances and overlaps.
#include "cycloid/geometry/convex/gjk.h"

#include <doctest/doctest.h>

namespace cycloid::test::gjk_test {

using V = Vec3<double>;

Pose<double> at(double x, double y = 0, double z = 0) {
  return {identity_matrix<double, 3>(), {x, y, z}};
}

TEST_CASE("closest_direction: balls given as ellipsoids lie apart along their centres") {
  const ConvexShape a{GeomKind::ellipsoid, at(0), {0.3, 0.3, 0.3}};
  const ConvexShape b{GeomKind::ellipsoid, at(0.6, 0.8), {0.5, 0.5, 0.5}};
  const ClosestDirection d = closest_direction(a, b, 1);
  REQUIRE(d.closeness == Closeness::apart);
  CHECK(std::abs(d.n.x - 0.6) < 1e-6);  // GJK's tolerance; the polish is find_meeting's
  CHECK(std::abs(separation(a, b, d.n) - 0.2) < 1e-10);
  CHECK(closest_direction(a, b, 0.1).closeness == Closeness::far);
}

TEST_CASE("least_overlap: the thinnest way out of a box is found, whatever the start") {
  for (int thin = 0; thin < 3; ++thin) {
    V size{0.9, 0.8, 0.7};
    size[thin] = 0.2;
    const ConvexShape box{GeomKind::box, at(0.05, 0.05, 0.05), size};
    const ConvexShape ball{GeomKind::ellipsoid, at(0), {0.1, 0.1, 0.1}};
    const V found = least_overlap(ball, box);
    CHECK(found[thin] > 1 - 1e-6);  // the box goes on: the ball leaves by the near side
    CHECK(std::abs(separation(ball, box, found) + 0.25) < 3e-7);  // EPA's tolerance
  }
}

}  // namespace cycloid::test::gjk_test
