// Tests of capsule_box.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/capsule_box.h"

#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::capsule_box_test {

struct CapsuleBox {
  static constexpr int kTouches = kCapsuleBoxTouches;
  static void collide(auto&&... a) { collide_capsule_box(a...); }
  static void pullback(auto&&... a) { collide_capsule_box_pullback(a...); }
};

// How the place on the axis is found, and whether the ball's centre lies inside the box.
int kind_of_axis_point(int code) {
  const AxisPoint a = decode_axis_point(code);
  const int signs = (a.sign[0] != 0) + (a.sign[1] != 0) + (a.sign[2] != 0);
  return 100 * (a.end != 0) + 10 * signs + 2 * (a.width >= 0) + (code % kBallCodes >= kInsideBox);
}

TEST_CASE("axis points: encoding and decoding are inverse") {
  for (const int end : {-1, 0, 1}) {
    for (int signs = 0; signs < 27; ++signs) {
      for (int width = -1; width < 3; ++width) {
        for (const int sign : {-1, 1}) {
          const AxisPoint a{end, {signs / 9 - 1, signs / 3 % 3 - 1, signs % 3 - 1}, width, sign};
          const AxisPoint b = decode_axis_point(encode(a, 7));
          CHECK(encode(b, 7) == encode(a, 7));
          CHECK(b.end == end);
          CHECK(b.width == width);
          CHECK(b.sign[1] == a.sign[1]);
          CHECK((width < 0 || b.width_sign == sign));
        }
      }
    }
  }
}

TEST_CASE(
    "collide_capsule_box: pullback equals dual numbers at ends, corners, edges, planes and "
    "widths") {
  CHECK(check_collide_pullback<CapsuleBox>("collide_capsule_box",
                                           points_of_kinds<CapsuleBox>(kind_of_axis_point, 4, 11)));
}

TEST_CASE("collide_capsule_box: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<CapsuleBox>(kCapsuleBoxContacts);
}

TEST_CASE("collide_capsule_box: pullback equals central differences of search and all") {
  check_differences<CapsuleBox>(100);
}

TEST_CASE("collide_capsule_box: a place without a contact passes nothing back") {
  Numbers in(kCollideInputs, 0.2);
  in[18] = 5;
  check_no_contact_is_zero<CapsuleBox>(in);
}

TEST_CASE("collide_capsule_box: finite when coincident, aligned, flat or without size") {
  FixedNumbers random(5);
  check_finite<CapsuleBox>(hard_placements(), random_placement(random, 0, 0.5));
}

}  // namespace cycloid::test::capsule_box_test
