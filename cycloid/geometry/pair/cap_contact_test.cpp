// Tests of cap_contact.h: codes, corners and closed forms. Its derivatives: convex_pair_test.cpp.
#include "cycloid/geometry/pair/cap_contact.h"

#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::cap_contact_test {

using V = Vec3<double>;

TEST_CASE("cap codes: encoding and decoding are inverse") {
  for (const GeomKind k2 : {GeomKind::cylinder, GeomKind::box}) {
    const int faces = k2 == GeomKind::box ? 6 : 2;
    for (int code = 0; code < kCapCodes; ++code) {
      if (code / 1024 % 6 >= faces) continue;
      REQUIRE(encode(decode_cap(code, k2), k2) == code);
    }
  }
}

TEST_CASE("cap_cosine: sixteen corners on the unit circle") {
  for (int j = -16; j < 32; ++j) {
    CHECK(std::abs(cap_cosine(j) - std::cos(j * M_PI / 8)) < 1e-14);
    CHECK(std::abs(cap_sine(j) - std::sin(j * M_PI / 8)) < 1e-14);
  }
}

TEST_CASE("unit_corner: the corners of a box's face go around it") {
  for (int face = kBoxFaces; face < kBoxFaces + 6; ++face) {
    for (int k = 0; k < 4; ++k) {
      const V a = unit_corner(GeomKind::box, face, k);
      const V b = unit_corner(GeomKind::box, face, (k + 1) % 4);
      CHECK(dot(a, a) == 3);
      CHECK(dot(a, b) == 1);  // neighbours share two of three signs
      CHECK(a[(face - kBoxFaces) / 2] == (face % 2 ? 1 : -1));
    }
  }
}

TEST_CASE("cap_touch: a cylinder on a box: a corner of the cap, one of the box, and a crossing") {
  const GeomPair<double> g{pose_at(0, 0, 1), {0.4, 0.5, 0}, pose_at(0.3, 0, 0.1), {0.3, 0.1, 0.45}};
  const int top = kBoxFaces + 5;
  const Touch<double> corner = cap_touch(g, GeomKind::box, {kLowerCap, top, {16 + 15, 16}});
  CHECK(std::abs(corner.dist + 0.05) < 1e-15);
  CHECK(std::abs(corner.pos.x - 0.4) < 1e-15);
  CHECK(std::abs(corner.pos.z - 0.525) < 1e-15);
  CHECK(corner.normal.z == -1);
  int inside = 0;
  for (int k = 0; k < 4; ++k) {
    const Touch<double> t = cap_touch(g, GeomKind::box, {kLowerCap, top, {(k + 3) % 4, k}});
    CHECK(std::abs(std::abs(t.pos.y) - 0.1) < 1e-15);
    inside += std::abs(t.pos.x) < 1e-15;
  }
  CHECK(inside == 2);
}

}  // namespace cycloid::test::cap_contact_test
