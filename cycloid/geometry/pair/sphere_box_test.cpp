// Tests of sphere_box.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/sphere_box.h"

#include "cycloid/geometry/pair/collide_case_test.h"

namespace cycloid::test::sphere_box_test {

struct SphereBox {
  static constexpr int kTouches = kSphereBoxTouches;
  static void collide(auto&&... a) { collide_sphere_box(a...); }
  static void pullback(auto&&... a) { collide_sphere_box_pullback(a...); }
};

TEST_CASE("collide_sphere_box: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<SphereBox>(kSphereBoxContacts);
}

TEST_CASE(
    "collide_sphere_box: pullback equals dual numbers at every face, edge and corner, outside and "
    "inside") {
  std::vector<int> features;
  for (int f = 1; f < kInsideBox + 6; ++f) features.push_back(f);
  CHECK(check_collide_pullback<SphereBox>("collide_sphere_box",
                                          points_of_features<SphereBox>(features, 1)));
}

TEST_CASE("collide_sphere_box: a place without a contact passes nothing back") {
  check_no_contact_is_zero<SphereBox>(
      scene({{0.2}}, {{0.2, 0.3, 0.2}, {1, 0, 0, 0}, {3, 4, 9}}, 0.1));
}

TEST_CASE(
    "collide_sphere_box: finite on faces, edges and corners, in the middle and without size") {
  check_finite<SphereBox>(
      {
          scene({{0.3}, {1, 0, 0, 0}, {0.2, 0.1}}, {{0.2, 0.3, 0.4}}),       // on a face
          scene({{0.3}, {1, 0, 0, 0}, {0.2, 0.3}}, {{0.2, 0.3, 0.4}}),       // on an edge
          scene({{0.3}, {1, 0, 0, 0}, {0.2, 0.3, 0.4}}, {{0.2, 0.3, 0.4}}),  // on a corner
          scene({{0.3}, {1, 0, 0, 0}, {0.2000000000000001, 0.3, 0.4}},
                {{0.2, 0.3, 0.4}}),                         // just beyond a corner
          scene({{0.3}}, {{0.2, 0.2, 0.2}}),                // in the middle of a cube
          scene({{0.3}}, {{}}),                             // no size
          scene({{0.3}, {1, 0, 0, 0}, {0, 0, 0.1}}, {{}}),  // above a point
      },
      scene({{0.3}}, {{0.3, 0.2, 0.2}, {1, 0, 0, 0}, {0.1, 0.2, 0.1}}));
}

}  // namespace cycloid::test::sphere_box_test
