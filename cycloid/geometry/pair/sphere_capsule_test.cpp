// Tests of sphere_capsule.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/sphere_capsule.h"

#include "cycloid/geometry/pair/collide_case_test.h"

namespace cycloid::test::sphere_capsule_test {

struct SphereCapsule {
  static constexpr int kTouches = kSphereCapsuleTouches;
  static void collide(auto&&... a) { collide_sphere_capsule(a...); }
  static void pullback(auto&&... a) { collide_sphere_capsule_pullback(a...); }
};

TEST_CASE("collide_sphere_capsule: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<SphereCapsule>(kSphereCapsuleContacts);
}

TEST_CASE("collide_sphere_capsule: pullback equals dual numbers at the side and at both ends") {
  CHECK(check_collide_pullback<SphereCapsule>("collide_sphere_capsule",
                                              points_of_features<SphereCapsule>({0, 1, 2}, 4)));
}

TEST_CASE("collide_sphere_capsule: a place without a contact passes nothing back") {
  check_no_contact_is_zero<SphereCapsule>(
      scene({{0.2}}, {{0.2, 0.3}, {1, 0, 0, 0}, {3, 4, 9}}, 0.1));
}

TEST_CASE(
    "collide_sphere_capsule: finite on the axis, at an end and for a capsule without length") {
  check_finite<SphereCapsule>(
      {
          scene({{0.3}}, {{0.3, 0.2}}),  // centre on the segment
          scene({{0.3}, {1, 0, 0, 0}, {0, 0, 0.2}},
                {{0.3, 0.2}, {0.9, 0.2, -0.3, 0.4}}),               // centre near an end
          scene({{0.3}, {1, 0, 0, 0}, {0, 0, 0.2}}, {{0.3, 0.2}}),  // centre on an end
          scene({{0.3}}, {{0.2}}),                                  // no length
      },
      scene({{0.3}}, {{0.3, 0.2}, {1, 0, 0, 0}, {0.1, 0.2, 0.1}}));
}

}  // namespace cycloid::test::sphere_capsule_test
