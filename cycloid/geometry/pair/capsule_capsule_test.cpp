// Tests of capsule_capsule.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/capsule_capsule.h"

#include "cycloid/geometry/pair/collide_case_test.h"

namespace cycloid::test::capsule_capsule_test {

struct CapsuleCapsule {
  static constexpr int kTouches = kCapsuleCapsuleTouches;
  static void collide(auto&&... a) { collide_capsule_capsule(a...); }
  static void pullback(auto&&... a) { collide_capsule_capsule_pullback(a...); }
};

// Parallel axes, or opposed ones, displaced along and across.
void parallel(Numbers& in) {
  for (int i = 0; i < 4; ++i) in[14 + i] = in[4 + i];
  if (in[17] > 0) store(&in[14], hamilton_product(load_quat(&in[4]), Quat<double>{0, 1, 0, 0}));
}

TEST_CASE("collide_capsule_capsule: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<CapsuleCapsule>(kCapsuleCapsuleContacts);
}

TEST_CASE("collide_capsule_capsule: pullback equals dual numbers crossing, at ends, and parallel") {
  std::vector<Numbers> points = points_of_features<CapsuleCapsule>({0, 1, 2, 3, 4, 5, 6, 7, 8}, 2);
  for (const Numbers& x :
       points_of_features<CapsuleCapsule>({1, 2, 3, 4, 5, 6, 7, 8}, 2, parallel)) {
    points.push_back(x);
  }
  CHECK(check_collide_pullback<CapsuleCapsule>("collide_capsule_capsule", points));
}

TEST_CASE("collide_capsule_capsule: a place without a contact passes nothing back") {
  check_no_contact_is_zero<CapsuleCapsule>(
      scene({{0.2, 0.3}}, {{0.2, 0.3}, {1, 0, 0, 0}, {3, 4, 9}}, 0.1));
}

TEST_CASE(
    "collide_capsule_capsule: finite crossing in a point, coincident, collinear and without "
    "length") {
  check_finite<CapsuleCapsule>(
      {
          scene({{0.3, 0.4}}, {{0.3, 0.2}, {1, 1, 0, 0}}),               // crossing in a point
          scene({{0.3, 0.4}}, {{0.3, 0.4}}),                             // coincident
          scene({{0.3, 0.4}}, {{0.3, 0.4}, {1, 0, 0, 0}, {0, 0, 0.9}}),  // collinear
          scene({{0.3, 0.4}}, {{0.3, 0.4}, {1, 1e-4, 0, 0}, {0.1}}),     // nearly parallel
          scene({{0.3}}, {{0.3}}),                                       // no length, coincident
          scene({{0.3}, {1, 0, 0, 0}, {0.1}},
                {{0.3, 0.2}, {1, 1, 0, 0}}),  // a point beside a segment
      },
      scene({{0.3, 0.1}}, {{0.3, 0.2}, {0.9, 0.2, -0.3, 0.4}, {0.1, 0.2, 0.1}}));
}

}  // namespace cycloid::test::capsule_capsule_test
