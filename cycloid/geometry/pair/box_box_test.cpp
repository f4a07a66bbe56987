// Tests of box_box.h and box_contact.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/box_box.h"

#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::box_box_test {

struct BoxBox {
  static constexpr int kTouches = kBoxBoxTouches;
  static void collide(auto&&... a) { collide_box_box(a...); }
  static void pullback(auto&&... a) { collide_box_box_pullback(a...); }
};

// Which box is the reference and what lines cross; which ends the edges meet at.
int kind_of_box_contact(int code) {
  if (code >= kBoxFaceCodes) {
    const BoxEdgeFeature f = decode_box_edge(code);
    return 1000 + 3 * (f.s_end + 1) + f.t_end + 1;
  }
  const BoxFaceFeature f = decode_box_face(code);
  return 100 * f.reference + 10 * (f.line[0] >= 4) + (f.line[1] >= 4);
}

TEST_CASE("collide_box_box: pullback equals dual numbers where corners, sides and edges meet") {
  CHECK(check_collide_pullback<BoxBox>("collide_box_box",
                                       points_of_kinds<BoxBox>(kind_of_box_contact, 2, 12)));
}

TEST_CASE("collide_box_box: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<BoxBox>(kBoxBoxContacts);
}

TEST_CASE("collide_box_box: pullback equals central differences of search and all") {
  check_differences<BoxBox>(100);
}

TEST_CASE("collide_box_box: a place without a contact passes nothing back") {
  Numbers in(kCollideInputs, 0.2);
  in[18] = 5;
  check_no_contact_is_zero<BoxBox>(in);
}

TEST_CASE("collide_box_box: finite when coincident, aligned, flat or without size") {
  FixedNumbers random(5);
  check_finite<BoxBox>(hard_placements(), random_placement(random, 0, 0.5));
}

}  // namespace cycloid::test::box_box_test
