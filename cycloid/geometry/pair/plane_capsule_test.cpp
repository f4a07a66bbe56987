// Tests of plane_capsule.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/plane_capsule.h"

#include "cycloid/geometry/pair/collide_case_test.h"

namespace cycloid::test::plane_capsule_test {

struct PlaneCapsule {
  static constexpr int kTouches = kPlaneCapsuleTouches;
  static void collide(auto&&... a) { collide_plane_capsule(a...); }
  static void pullback(auto&&... a) { collide_plane_capsule_pullback(a...); }
};

TEST_CASE("collide_plane_capsule: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<PlaneCapsule>(kPlaneCapsuleContacts);
}

TEST_CASE(
    "collide_plane_capsule: pullback equals dual numbers with one end and with both ends in "
    "contact") {
  CHECK(check_collide_pullback<PlaneCapsule>("collide_plane_capsule",
                                             points_of_features<PlaneCapsule>({0}, 6)));
}

TEST_CASE("collide_plane_capsule: a place without a contact passes nothing back") {
  check_no_contact_is_zero<PlaneCapsule>(scene({{}}, {{0.4, 0.2}, {1, 0, 0, 0}, {3, 4, 9}}, 0.1));
}

TEST_CASE("collide_plane_capsule: finite upright, and without length or radius") {
  check_finite<PlaneCapsule>(
      {
          scene({{}}, {{0.3, 0.4}, {1, 0, 0, 0}, {0, 0, 0.5}}),  // upright
          scene({{}, {0.9, 0.2, -0.3, 0.4}}, {{0.3, 0.4},
                                              {0.9, 0.2, -0.3, 0.4},
                                              {0, 0, 0.1}}),  // along the normal of a tilted plane
          scene({{}}, {{0.3}}),                               // no length
          scene({{}}, {{}}),                                  // no size
      },
      scene({{}, {0.9, 0.2, -0.3, 0.4}}, {{0.3, 0.2}, {1, 0, 0, 0}, {0.1, 0.1, 0.1}}));
}

}  // namespace cycloid::test::plane_capsule_test
