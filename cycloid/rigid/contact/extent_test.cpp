#include "cycloid/rigid/contact/extent.h"

#include "cycloid/geometry/bounding.h"
#include "cycloid/geometry/pair/collide_case_test.h"
#include "cycloid/rigid/contact/narrow_phase.h"

namespace cycloid::extent_test {

using test::Numbers;

TEST_CASE("extent_along: what a shape reaches along a direction, times its length") {
  const Pose<double> x{identity_matrix<double, 3>(), {}};
  const double size[3] = {0.2, 0.3, 0.6};
  const Vec3<double> d{0, 3, 4};
  const auto extent = [&](GeomKind kind) { return extent_along(kind, size, x, d, 5.0); };
  CHECK(extent(GeomKind::sphere) == doctest::Approx(1.0));
  CHECK(extent(GeomKind::capsule) == doctest::Approx(0.3 * 4 + 0.2 * 5));
  CHECK(extent(GeomKind::box) == doctest::Approx(0.3 * 3 + 0.6 * 4));
  CHECK(extent(GeomKind::ellipsoid) == doctest::Approx(std::hypot(0.3 * 3, 0.6 * 4)));
}

TEST_CASE("shapes_apart: never of shapes that touch, and of many whose spheres meet") {
  test::FixedNumbers random(43);
  int apart = 0, met = 0, touched = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Numbers in = random.vector(test::kCollideInputs);
    in[0] = 0.05;
    for (std::size_t i = 0; i < 3; ++i) {
      in[1 + i] = 0.3 * std::abs(in[1 + i]), in[11 + i] = 0.3 * std::abs(in[11 + i]);
      in[18 + i] = in[8 + i] + 0.4 * in[18 + i];
    }
    in[1] *= 0.3, in[11] *= 0.3;  // long shapes
    const test::CollideInputs<double> x(in.data());
    for (int i = 0; i < kGeomKinds; ++i) {
      for (int j = std::max(i, 1); j < kGeomKinds; ++j) {
        const GeomKind first = static_cast<GeomKind>(i), second = static_cast<GeomKind>(j);
        if (is_solid(first) || is_solid(second)) continue;
        Touch<double> touch[kBoxBoxTouches];
        double feature[kBoxBoxTouches];
        collide(first, second, x.size1, x.pose1, x.size2, x.pose2, x.margin, touch, feature);
        const bool touches = feature[0] >= 0;
        const bool is_apart =
            shapes_apart(first, x.size1, x.pose1, second, x.size2, x.pose2, x.margin);
        CHECK_FALSE((touches && is_apart));
        touched += touches;
        if (first == GeomKind::plane || touches) continue;
        const bool near = spheres_near(false, x.pose1, bounding_radius(first, x.size1), x.pose2,
                                       bounding_radius(second, x.size2), x.margin);
        met += near, apart += near && is_apart;
      }
    }
  }
  CHECK(touched > 500);
  CHECK(met > 500);
  CHECK(3 * apart > met);
}

}  // namespace cycloid::extent_test
