// Tests of support.h: the furthest points of each shape.
#include "cycloid/geometry/convex/support.h"

#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::support_test {

using V = Vec3<double>;

V point(GeomKind kind, const V& d) { return support_point({kind, pose_at(0), {0.3, 0.4, 0.5}}, d); }

void check_point(const V& actual, const V& expected) {
  for (int i = 0; i < 3; ++i) CHECK(std::abs(actual[i] - expected[i]) < 1e-15);
}

TEST_CASE("support_point: corners, rims and ends of the cores") {
  const V d{0.48, -0.64, 0.6};
  check_point(point(GeomKind::sphere, d), {0, 0, 0});
  check_point(point(GeomKind::capsule, d), {0, 0, 0.4});
  check_point(point(GeomKind::cylinder, d), {0.18, -0.24, 0.4});
  check_point(point(GeomKind::box, d), {0.3, -0.4, 0.5});
  check_point(point(GeomKind::ellipsoid, {0, 1, 0}), {0, 0.4, 0});
}

TEST_CASE("separation: gap of two boxes along the axis between them, overlap across it") {
  const ConvexShape a{GeomKind::box, pose_at(0), {0.5, 0.5, 0.5}};
  const ConvexShape b{GeomKind::box, pose_at(2), {0.5, 0.3, 0.5}};
  CHECK(std::abs(separation(a, b, {1, 0, 0}) - 1) < 1e-15);
  CHECK(std::abs(separation(a, b, {0, 1, 0}) + 0.8) < 1e-15);
}

}  // namespace cycloid::test::support_test
