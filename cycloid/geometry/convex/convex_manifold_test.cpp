// Tests of convex_manifold.h: how many contacts where faces and edges lie along each other.
#include "cycloid/geometry/convex/convex_manifold.h"

#include "cycloid/geometry/convex/convex_pair.h"
#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::convex_manifold_test {

using V = Vec3<double>;

// Turned by an angle about x.
Pose<double> turned(double angle, double y, double z) {
  const double c = std::cos(angle), s = std::sin(angle);
  return {{{1, 0, 0, 0, c, -s, 0, s, c}}, {0.05, y, z}};
}

int count(GeomKind k1, GeomKind k2, const GeomPair<double>& g, double margin = 0) {
  FoundContact found[kManifoldTouches];
  return find_convex(k1, k2, g, margin, found);
}

TEST_CASE("find_manifold: a cylinder stands on four points of a box, leaning within five degrees") {
  for (const double lean : {0.0, 1e-9, 1e-4, 0.03}) {
    const GeomPair<double> g{turned(lean, 0, 0.98), {0.3, 0.5, 0}, pose_at(0), {1, 1, 0.5}};
    CHECK(count(GeomKind::cylinder, GeomKind::box, g) == 4);
  }
  const GeomPair<double> leaning{turned(0.2, 0, 0.98), {0.3, 0.5, 0}, pose_at(0), {1, 1, 0.5}};
  CHECK(count(GeomKind::cylinder, GeomKind::box, leaning) == 1);
}

TEST_CASE("find_manifold: a cylinder lies on two points of a box, a capsule on two of a cap") {
  for (const double lean : {0.0, 1e-9, 0.01}) {
    const GeomPair<double> lying{
        turned(M_PI / 2 + lean, 0, 0.78), {0.3, 0.5, 0}, pose_at(0), {1, 1, 0.5}};
    CHECK(count(GeomKind::cylinder, GeomKind::box, lying) == 2);
    const GeomPair<double> capsule{
        turned(M_PI / 2 + lean, 0, 0.58), {0.1, 0.5, 0}, pose_at(0), {0.4, 0.5, 0}};
    CHECK(count(GeomKind::capsule, GeomKind::cylinder, capsule) == 2);
  }
}

TEST_CASE("find_manifold: four points of a cap span more than half of the disc") {
  const GeomPair<double> g{turned(0, 0, 0.98), {0.3, 0.5, 0}, pose_at(0), {1, 1, 0.5}};
  FoundContact found[kManifoldTouches];
  REQUIRE(find_convex(GeomKind::cylinder, GeomKind::box, g, 0, found) == 4);
  V pos[4];
  for (int k = 0; k < 4; ++k) {
    const auto t = convex_pair_touch(GeomKind::cylinder, GeomKind::box, g, found[k].code, V{});
    CHECK(std::abs(t.dist + 0.02) < 1e-15);
    pos[k] = t.pos;
  }
  const V area = cross(pos[0] - pos[2], pos[1] - pos[3]) * 0.5;
  CHECK(std::sqrt(dot(area, area)) > 0.5 * M_PI * 0.09);  // the largest quadrilateral has 2 r²
}

TEST_CASE("find_manifold: rounding does not choose among corners that span equal areas") {
  FixedNumbers random(8);
  for (const double rounding : {1e-15, 1e-8}) {  // of double, of float
    for (int disc = 0; disc < 20; ++disc) {
      const double lean = 0.05 * random.next(), y = 0.2 * random.next();
      FoundContact first[kManifoldTouches], found[kManifoldTouches];
      for (int draw = 0; draw < 20; ++draw) {
        const double off = draw * rounding;
        const GeomPair<double> g{
            turned(lean - off, y + off, 0.98), {0.3, 0.5, 0}, pose_at(0), {1, 1, 0.5}};
        FoundContact* to = draw == 0 ? first : found;
        REQUIRE(find_convex(GeomKind::cylinder, GeomKind::box, g, 0.1, to) == 4);
        for (int k = 0; k < 4; ++k) CHECK(to[k].code == first[k].code);
      }
    }
  }
}

TEST_CASE("find_manifold: within the margin, before they touch") {
  const GeomPair<double> g{turned(0, 0, 1.02), {0.3, 0.5, 0}, pose_at(0), {1, 1, 0.5}};
  CHECK(count(GeomKind::cylinder, GeomKind::box, g, 0.05) == 4);
  CHECK(count(GeomKind::cylinder, GeomKind::box, g, 0.01) == 0);
}

}  // namespace cycloid::test::convex_manifold_test
