// Tests of sphere_cylinder.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/sphere_cylinder.h"

#include "cycloid/geometry/pair/collide_case_test.h"

namespace cycloid::test::sphere_cylinder_test {

struct SphereCylinder {
  static constexpr int kTouches = kSphereCylinderTouches;
  static void collide(auto&&... a) { collide_sphere_cylinder(a...); }
  static void pullback(auto&&... a) { collide_sphere_cylinder_pullback(a...); }
};

TEST_CASE("collide_sphere_cylinder: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<SphereCylinder>(kSphereCylinderContacts);
}

TEST_CASE(
    "collide_sphere_cylinder: pullback equals dual numbers at the side, both caps and both rims") {
  CHECK(check_collide_pullback<SphereCylinder>(
      "collide_sphere_cylinder", points_of_features<SphereCylinder>({0, 1, 2, 3, 4}, 4)));
}

TEST_CASE("collide_sphere_cylinder: a place without a contact passes nothing back") {
  check_no_contact_is_zero<SphereCylinder>(
      scene({{0.2}}, {{0.2, 0.3}, {1, 0, 0, 0}, {3, 4, 9}}, 0.1));
}

TEST_CASE("collide_sphere_cylinder: finite on the axis, the caps, the rims and without size") {
  check_finite<SphereCylinder>(
      {
          scene({{0.3}}, {{0.3, 0.4}}),                               // centre on the axis: side
          scene({{0.3}, {1, 0, 0, 0}, {0, 0, 0.3}}, {{0.3, 0.4}}),    // centre on the axis: cap
          scene({{0.3}, {1, 0, 0, 0}, {0, 0, 0.4}}, {{0.3, 0.4}}),    // centre on a cap
          scene({{0.3}, {1, 0, 0, 0}, {0.3, 0, 0.4}}, {{0.3, 0.4}}),  // centre on a rim
          scene({{0.3}, {1, 0, 0, 0}, {0.3, 0, 0.1}}, {{0.3, 0.4}}),  // centre on the side
          scene({{0.3}}, {{}}),                                       // no size
          scene({{0.3}, {1, 0, 0, 0}, {0, 0, 0.1}}, {{0, 0.05}}),     // a needle, above its end
      },
      scene({{0.3}}, {{0.3, 0.2}, {1, 0, 0, 0}, {0.1, 0.2, 0.1}}));
}

}  // namespace cycloid::test::sphere_cylinder_test
