#include "cycloid/rigid/sense/site_zone.h"

#include <doctest/doctest.h>

namespace cycloid::site_zone_test {

TEST_CASE("meets_zone: a ray meets a volume ahead of it and not one behind it") {
  Sensor s;
  s.zone_size = {1, 2, 3};
  const Vec3<double> x{1, 0, 0}, z{0, 0, 1};
  for (const Shape shape :
       {Shape::sphere, Shape::capsule, Shape::ellipsoid, Shape::cylinder, Shape::box}) {
    s.zone = shape;
    CHECK(meets_zone(s, Vec3<double>{-5, 0.1, 0.2}, x));
    CHECK_FALSE(meets_zone(s, Vec3<double>{5, 0.1, 0.2}, x));
    CHECK(meets_zone(s, Vec3<double>{0.1, 0.2, 0.3}, x));
    CHECK(meets_zone(s, Vec3<double>{0.1, 0.2, 0.3}, z));
    CHECK_FALSE(meets_zone(s, Vec3<double>{-5, 4, 0}, x));
    CHECK_FALSE(meets_zone(s, Vec3<double>{1.5, 0, -9}, z));
    CHECK(inside_zone(s, Vec3<double>{0.1, 0.2, 0.3}));
    CHECK_FALSE(inside_zone(s, Vec3<double>{1.1, 0, 0}));
  }
  s.zone = Shape::capsule;  // ends in balls: 2 + 1 along z
  CHECK(inside_zone(s, Vec3<double>{0, 0, 2.9}));
  s.zone = Shape::cylinder;
  CHECK_FALSE(inside_zone(s, Vec3<double>{0, 0, 2.1}));
}

}  // namespace cycloid::site_zone_test
