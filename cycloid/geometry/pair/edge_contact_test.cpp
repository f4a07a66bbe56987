// Tests of edge_contact.h: codes and closed forms. Its derivatives: convex_pair_test.cpp.
#include "cycloid/geometry/pair/edge_contact.h"

#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::edge_contact_test {

using V = Vec3<double>;

TEST_CASE("edge codes: encoding and decoding are inverse, and fit into a float") {
  CHECK(kConvexCodes + kCapCodes + kEdgeCodes < 1 << 24);
  FixedNumbers random(2);
  for (int trial = 0; trial < 5000; ++trial) {
    const auto draw = [&](int n) { return static_cast<int>((random.next() + 1) * 0.5 * n); };
    const int on_second = draw(2);
    const GeomKind face_kind = on_second ? GeomKind::cylinder : GeomKind::box;
    const EdgeFeature f{on_second, draw(kConvexCodes),
                        on_second ? kUpperCap + draw(2) : kBoxFaces + draw(6),
                        on_second ? kBoxEdges + draw(12) : 0, draw(kEdgePlaces)};
    const EdgeFeature d = decode_edge(encode(f, face_kind), GeomKind::cylinder, GeomKind::box);
    CHECK(d.on_second == f.on_second);
    CHECK(d.closest == f.closest);
    CHECK(d.face == f.face);
    CHECK(d.edge == f.edge);
    CHECK(d.place == f.place);
  }
}

TEST_CASE("edge_touch: a cylinder lies on a box, at one end and where the face ends") {
  // Axis along y, lower line at z = 0.5 - 0.02; the face reaches from y = -0.3 to 0.3.
  GeomPair<double> g{pose_at(0, 0.2, 0.68), {0.2, 0.4, 0}, pose_at(0), {1, 0.3, 0.5}};
  g.x1.R = {{1, 0, 0, 0, 0, 1, 0, -1, 0}};
  const V n{0, 0, -1};
  EdgeFeature f{0, 0, kBoxFaces + 5, 0, kLowerPlace};
  const Touch<double> end = edge_touch(GeomKind::cylinder, GeomKind::box, g, f, n);
  CHECK(std::abs(end.dist + 0.02) < 1e-15);
  CHECK(std::abs(end.pos.y + 0.2) < 1e-15);
  CHECK(std::abs(end.pos.z - 0.49) < 1e-15);
  CHECK(end.normal.z == -1);
  f.place = kFirstSide + 2;  // axes z+1 = x: sides 0, 1; z+2 = y: sides 2 (+), 3 (-)
  const Touch<double> side = edge_touch(GeomKind::cylinder, GeomKind::box, g, f, n);
  CHECK(std::abs(side.pos.y - 0.3) < 1e-15);
  CHECK(std::abs(side.dist + 0.02) < 1e-15);
}

}  // namespace cycloid::test::edge_contact_test
