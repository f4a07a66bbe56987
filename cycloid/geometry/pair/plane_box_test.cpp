// Tests of plane_box.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/plane_box.h"

#include "cycloid/geometry/pair/collide_case_test.h"

namespace cycloid::test::plane_box_test {

struct PlaneBox {
  static constexpr int kTouches = kPlaneBoxTouches;
  static void collide(auto&&... a) { collide_plane_box(a...); }
  static void pullback(auto&&... a) { collide_plane_box_pullback(a...); }
};

TEST_CASE("collide_plane_box: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<PlaneBox>(kPlaneBoxContacts);
}

TEST_CASE("collide_plane_box: pullback equals dual numbers at each of the eight corners") {
  CHECK(check_collide_pullback<PlaneBox>(
      "collide_plane_box", points_of_features<PlaneBox>({0, 1, 2, 3, 4, 5, 6, 7}, 3)));
}

TEST_CASE("collide_plane_box: a place without a contact passes nothing back") {
  check_no_contact_is_zero<PlaneBox>(scene({{}}, {{0.2, 0.3, 0.2}, {1, 0, 0, 0}, {3, 4, 9}}, 0.1));
}

TEST_CASE("collide_plane_box: finite flat, on an edge, inside the plane and without size") {
  check_finite<PlaneBox>(
      {
          scene({{}}, {{0.3, 0.4, 0.5}, {1, 0, 0, 0}, {0, 0, 0.5}}),  // flat
          scene({{}}, {{0.3, 0.3, 0.3},
                       {0.92387953251128674, 0.38268343236508977, 0, 0},
                       {0, 0, 0.3}}),      // on an edge
          scene({{}}, {{0.3, 0.4, 0.5}}),  // centre on the plane
          scene({{}}, {{}}),               // no size: eight corners count
      },
      scene({{}, {0.9, 0.2, -0.3, 0.4}}, {{0.3, 0.2, 0.2}, {1, 0, 0, 0}, {0.1, 0.1, 0.1}}));
}

TEST_CASE(
    "collide_plane_box: a box under the plane touches with its lower corners, not the first") {
  const Numbers upright =
      features_at<PlaneBox>(scene({}, {{0.1, 0.2, 0.3}, {1, 0, 0, 0}, {0, 0, -9}}));
  CHECK(upright == Numbers{0, 1, 2, 3});
  const Numbers turned =
      features_at<PlaneBox>(scene({}, {{0.1, 0.2, 0.3}, {0, 1, 0, 0}, {0, 0, -9}}));
  CHECK(turned == Numbers{4, 5, 6, 7});
}

}  // namespace cycloid::test::plane_box_test
