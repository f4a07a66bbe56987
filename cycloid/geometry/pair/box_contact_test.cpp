// Tests of box_contact.h: codes and closed forms. Its derivatives are tested by box_box_test.cpp.
#include "cycloid/geometry/pair/box_contact.h"

#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::box_contact_test {

using V = Vec3<double>;

TEST_CASE("box codes: encoding and decoding are inverse") {
  for (int code = 0; code < kBoxFaceCodes; ++code) CHECK(encode(decode_box_face(code)) == code);
  for (int code = kBoxFaceCodes; code < kBoxFaceCodes + kBoxEdgeCodes; ++code) {
    CHECK(encode(decode_box_edge(code)) == code);
  }
}

TEST_CASE("box_face_touch: a small box stands on a large one, corner by corner") {
  const GeomPair<double> g{pose_at(0), {1, 1, 0.5}, pose_at(0.1, 0.2, 0.6), {0.3, 0.2, 0.15}};
  for (const int u : {0, 1}) {
    for (const int v : {2, 3}) {
      const auto f = box_face_choice<double>({0, 2, 1, 2, -1, {u, v}});
      const Touch<double> t = box_face_touch(box_faces(g, f), f.line);
      CHECK(std::abs(t.dist + 0.05) < 1e-15);
      CHECK(std::abs(t.pos.x - (0.1 + (u == 0 ? 0.3 : -0.3))) < 1e-15);
      CHECK(std::abs(t.pos.y - (0.2 + (v == 2 ? 0.2 : -0.2))) < 1e-15);
      CHECK(std::abs(t.pos.z - 0.475) < 1e-15);
      CHECK(t.normal.z == 1);
    }
  }
}

TEST_CASE("box_face_touch: nearly parallel lines hold their crossing fixed") {
  // Edge v = +1 of the incident face against the plane +y of the reference, turned by 1e-11.
  GeomPair<double> g{pose_at(0), {1, 0.2, 0.5}, pose_at(0, 0, 0.9), {0.3, 0.2, 0.45}};
  g.x2.R(0, 1) = -1e-11, g.x2.R(1, 0) = 1e-11;
  const auto f = box_face_choice<double>({0, 2, 1, 2, -1, {2, 6}});
  const auto c = box_face_contact(box_faces(g, f), f.line);
  CHECK(c.inverse[0][0] == 0);
  CHECK(is_finite(c.u));
}

}  // namespace cycloid::test::box_contact_test
