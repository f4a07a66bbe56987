// Tests of plane_ellipsoid.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/plane_ellipsoid.h"

#include "cycloid/geometry/pair/collide_case_test.h"

namespace cycloid::test::plane_ellipsoid_test {

struct PlaneEllipsoid {
  static constexpr int kTouches = kPlaneEllipsoidTouches;
  static void collide(auto&&... a) { collide_plane_ellipsoid(a...); }
  static void pullback(auto&&... a) { collide_plane_ellipsoid_pullback(a...); }
};

TEST_CASE("collide_plane_ellipsoid: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<PlaneEllipsoid>(kPlaneEllipsoidContacts);
}

TEST_CASE("collide_plane_ellipsoid: pullback equals dual numbers at general orientations") {
  CHECK(check_collide_pullback<PlaneEllipsoid>("collide_plane_ellipsoid",
                                               points_of_features<PlaneEllipsoid>({0}, 6)));
}

TEST_CASE("collide_plane_ellipsoid: a place without a contact passes nothing back") {
  check_no_contact_is_zero<PlaneEllipsoid>(
      scene({{}}, {{0.4, 0.2, 0.3}, {1, 0, 0, 0}, {3, 4, 9}}, 0.1));
}

TEST_CASE("collide_plane_ellipsoid: finite for aligned, flat and empty ellipsoids") {
  check_finite<PlaneEllipsoid>(
      {
          scene({{}}, {{0.3, 0.4, 0.2}, {1, 0, 0, 0}, {0, 0, 0.1}}),  // aligned
          scene({{}}, {{0.3, 0.4}}),                                  // flat, parallel to the plane
          scene({{}}, {{}}),                                          // no size
      },
      scene({{}, {0.9, 0.2, -0.3, 0.4}}, {{0.3, 0.2, 0.1}, {1, 0, 0, 0}, {0.1, 0.1, 0.1}}));
}

}  // namespace cycloid::test::plane_ellipsoid_test
